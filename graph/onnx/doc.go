// Package onnx turns computation graphs into networks in ONNX.
//
// [Network.Graph] translates a Gorgonia graph, as a builder describes it. Each of its operations is written in ops.go,
// or writes itself ([Kernel]). A calibrator that is not a graph, such as a table of steps, is written by hand with the
// methods of [Network], each of which adds one operator. A calibrator that has a network is a [Calibrator]; package
// experiments/export writes the file. An [Engine] runs a network in this process, one row in some microseconds, with
// log Γ to the last digits where the network is made by [Serve].
//
// Networks take features and logits in float32 and compute in float64. Only a term of log Γ below 1e-3 and the check
// for finite inputs use float32. Operators that no output needs are left out. All operators are in opset 17, but for
// trees, whose operator is in opset 3 of ai.onnx.ml.
//
// ONNX has no operator for log Γ; lgamma.go computes it within 4e-9. Sums of log Γ, as in a Beta function, are computed
// as the logarithm of a product.
package onnx
