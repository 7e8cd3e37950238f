// Package export writes a fitted calibrator as a network in ONNX, so that PyTorch,
// scikit-learn and every runtime of ONNX can apply it without this program.
//
//	features (N×M), logits (N×C) ──► probabilities (N×C), codes (N×w)
//
// The network has those of the two inputs that the method reads, in float32, and any
// number of rows. It computes in float64, as the file's precision then is that of the
// fit and not that of the order of a sum; the nearest codeword alone is found in float32, by
// x·c − ½|c|² as calibra apply finds it: one product of all slots with all codewords, whose
// terms an engine adds one by one, fused, as calibra does. So codes are the same to the bit, also
// of a slot to which two codewords are equally near but for a rounding. Where an engine
// adds in another order, such a slot may get the other's. Codes of several stages or with
// shares may differ so everywhere. What else is above 1e-6 in TABLE.md is the float32 of calibra apply. The
// network uses operators of opset 17.
//
// A bin, a step or a split of a tree ends midway between two values of the calibration rows, so that a
// row whose scores the network gets in float32 lies on the same side as in calibra apply, unless
// float32 cannot tell it from that place. Of a row that calibra apply refuses, with a NaN, an infinity or
// no logit but −∞, the network says NaN.
//
// # Where a network comes from
//
// A calibrator that has a method ONNX writes itself (see package graph/onnx). [layers.Trained] has
// it for every [layers.Map] whose operations can be written in ONNX, whoever wrote it: on a base
// with ViewONNX, of inputs with InputsONNX. Methods that are tables write them by hand. A refusal
// names what lacks the method and what to write.
//
// Methods that predict a row with the help of other rows are refused: kc, pc and dac read their
// calibration rows.
//
// A table of how far ONNX Runtime is from calibra apply on rows of one's own, of the files'
// sizes and of the rows a second of both is written to TABLE.md by
//
//	go test ./experiments/export -run Networks -timeout 1h -in $PWD/features.npz
//
// experiments/export/TABLE.md is that of the letters:
//
//	calibra pretrain --data letter --out encoders/letter
//	calibra encode --model encoders/letter --out letter.npz
package export
