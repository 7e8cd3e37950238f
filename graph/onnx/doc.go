// Package onnx makes networks in ONNX of computation graphs.
//
// [Network.Graph] takes a graph of Gorgonia's, as a builder describes it, to ONNX: each of its
// operations has a row in the table of ops.go, or says itself ([Kernel]). What is no graph, such
// as a table of steps, is said by hand with the methods of [Network], which add an operator each.
// A calibrator that has a network is a [Calibrator]; package experiments/export writes the file.
//
// Networks compute in float64 and take features and logits in float32; the nearest codeword
// alone is found in float32. They use operators of opset 17 and no later ones.
//
// Lgamma is no operator of ONNX. It is the function calibra.Lgamma of the file (see
// lgamma.go): eight shifts and Stirling's series, within 2e-14 of the larger of 1 and
// |log Γ(x)| for x ≥ 1e-8.
package onnx
