// Package export writes a fitted calibrator as a network in ONNX, so that PyTorch,
// scikit-learn and every runtime of ONNX can apply it without this program.
//
//	features (N×M), logits (N×C) ──► probabilities (N×C), codes (N×w)
//
// The network has only the inputs that the method reads, in float32, for any number of rows. It computes in float64, so
// that the order of sums hardly matters. Only the nearest codeword is found in float32, as in calibra apply: by x·c −
// ½|c|², one product of all slots with all codewords. If the engine adds the terms one by one with fused multiply-add,
// as calibra does, the codes are the same to the bit. If it adds them in another order, a slot may get another codeword
// when two are equally near up to rounding. Codes of several stages or with shares may differ in this way under any
// engine. All other differences above 1e-6 in TABLE.md come from the float32 of calibra apply. The network uses
// operators of opset 17.
//
// A bin, a step or a split of a tree ends midway between two values of the calibration rows. A row in float32 therefore
// falls on the same side as in calibra apply, unless float32 cannot distinguish it from the boundary. For a row that
// calibra apply refuses (with a NaN, an infinity, or only logits of −∞), the network gives NaN.
//
// # Where a network comes from
//
// A calibrator with a method ONNX writes its own network (see package graph/onnx). [layers.Trained] has this method for
// every [layers.Map] whose operations can be written in ONNX, also for maps from outside. Its base needs a method
// ViewONNX, and a map with inputs of its own needs InputsONNX. Methods that are tables write them by hand. If a part
// cannot be exported, the error names the part and the method that it needs.
//
// Methods that use other rows to predict a row cannot be exported: kc and pc read their calibration rows.
//
// This test compares ONNX Runtime with calibra apply on your own rows, and writes differences, file sizes and rows per
// second to TABLE.md:
//
//	go test ./experiments/export -run Networks -timeout 1h -in $PWD/features.npz
//
// experiments/export/TABLE.md is the table for the letters:
//
//	calibra pretrain --data letter --out encoders/letter
//	calibra encode --model encoders/letter --out letter.npz
package export
