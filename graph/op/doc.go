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
// An op is a [Kernel] given to [New], and a [Differentiable] one if it has a gradient. elu.go is
// the template, one file:
//
//	type ELUOp struct{ Of Kind }
//
//	func (o ELUOp) Form() string                           // the shapes, such as "B C, C -> B C"
//	func (o ELUOp) Run(out Value, in []Value)              // Dispatch to a generic function
//	func (o ELUOp) Grad(in, out, g) (Nodes, error)         // in terms of ops: Times(2).Of(g, in[0])
//
//	func elu[F Float](o ELUOp, v Args[F])                  // for float32 and for float64
//
// [Formed] has the language of Form; an op whose shapes it cannot express is [Shaped]. A method
// WRT() []bool reports by which inputs an op has a derivative where that is not all of float type.
//
// A form that ends in "by B" lets a program compute some rows at a time of several ops, on several
// threads; graphtest.Op checks that the op does compute each row by itself.
//
// The function writes every element of v.Out(), whose memory is reused. A row in the table of
// gradient_test.go checks the gradient; outside, graphtest.Op does. That is all: where a device
// has no row for an op, this process runs it inside fits there. Such a row is one more function,
// in graph/cuda/table.go.
//
// # Products, and ops that are computed together
//
// Package blas computes matrix products, as a rule by the kernels of package simd.
// [Fuse] lets a program compute some ops together.
package op
