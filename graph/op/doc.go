// Package op holds Calibra's own differentiable operations: plain Gorgonia ops
// ([gorgonia.Op], differentiated through [gorgonia.SDOp]) for what the paper
// needs and Gorgonia lacks, or allocates too freely for a training loop.
//
// Every op writes into a preallocated output, so a compiled program runs
// without allocating; every op is generic over float32 (training) and float64
// (checking); and every gradient is made of ops of this package.
//
// Letters as in package data: B rows of a batch, w slots, d slot width, M = w·d
// features, K codewords, C classes. Codes and labels are int32.
//
// # Adding an op
//
// Copy flooredlog.go: one type with signature, shape and run, plus wrt and grad if
// it can be differentiated; a constructor beside it; its enqueue method in one of
// device*.go, which launches kernels of package cuda; a row in the tables of
// gradient_test.go and device_test.go. The tests fail while those rows are missing.
package op
