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
// # Adding an op, here or in a package of your own
//
// An op is a [Kernel], or a [Smooth] one if it has a gradient, given to [New]. elu.go is the
// template, one file:
//
//	type ELUOp struct{ Of Kind }
//
//	func (o ELUOp) Signature() []Kind                             // types of inputs and output
//	func (ELUOp) Shape(in []tensor.Shape) (tensor.Shape, error)   // of the output
//	func (ELUOp) Run(out gorgonia.Value, in []gorgonia.Value)     // in float32 and in float64
//	func (ELUOp) WRT() []bool                                     // which inputs have a gradient
//	func (o ELUOp) Grad(in, out, g) (gorgonia.Nodes, error)       // in terms of ops
//
// Run writes every element of out, whose memory is reused. [Values] is the memory of a value,
// [SameShape] the shape of most. A row in the table of gradient_test.go checks the gradient;
// outside, graphtest.Op does. That is all: where a device has no row for an op, this
// process runs it inside fits there. Such a row is one more function, in graph/cuda/table.go.
//
// # Who multiplies
//
// Products are made by whom package blas chose, which is package simd as a rule. [Fuse] and
// [Pair] let a program in this process take some ops together.
package op
