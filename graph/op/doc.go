// Package op holds Calibra's own differentiable operations. They are Gorgonia ops ([gorgonia.Op], differentiated
// through [gorgonia.SDOp]) that Gorgonia lacks, or that allocate too much memory in Gorgonia for a training loop.
//
// Every op writes into a preallocated output, so a compiled program runs
// without allocating; every op is generic over float32 (training) and float64
// (checking); and every gradient is made of ops of this package.
//
// Letters as in package data: B rows of a batch, w slots, d slot width, M = w·d
// features, K codewords, C classes. Codes and labels are int32.
//
// # Families
//
// X is a tensor of any shape, int an input of int32.
//
//	file                 ops                                                    shapes
//	arithmetic.go        Plus, Times, Scale                                     X, X -> X; X -> X
//	                     TimesScalar, Inner                                     B C, 1 -> B C; B C, B C -> 1
//	                     AddRow, TimesRow, SumRows, RepeatRow                   B C, C -> B C; B C -> C; C -> B C
//	                     Sum, Spread                                            X -> (); 1 -> N
//	elementwise.go       Softplus, Sigmoid, Exp, Lgamma, Digamma, Trigamma,     X -> X
//	                     FlooredLog
//	activations.go       ELU, ReLU, ReGLU, Dropout                              X -> X; B 2H -> B H; B H, 1 -> B H
//	matmul.go            MatMul, MatMulNT, MatMulTN, BlockMatMul                m k, k n -> m n
//	                     Outer, OuterLeft, OuterRight                           K C, K D -> K C*D and back
//	select.go            Take                                                   N M, int B -> B M
//	                     Columns, JoinColumns, Category, Reshape                B M -> B L; B M, B L -> B M+L; int
//	softmax.go           LogSoftmax, LogSoftmaxVector, Softmax                  B C -> B C
//	losses.go            NLL, CrossEntropy, JensenShannon                       B C, labels or B C -> ()
//	ramps.go             Ramps                                                  B C, P 1 -> B C
//	dirichlet.go         DirichletScores                                        B C*C, B C -> B C
//	dirichletproduct.go  the same of a mass times a table, made row by row      B K, K C*C, B C -> B C
//	codebook.go          Count, Blend, Normalize, Gather, ScatterAdd            codes, K d -> B w*d and back
//	nearest.go           Nearest, NearestIn, Nearby, NearShares                 B M, K d -> int B w, B w*m
//	integers.go          CodeSum, CompareCodes, Interleave                      int B w, int B w -> int B w, int B w*n
//	                     SumBlocks                                              B g*b*d -> B g*d
//	masses.go            Mass, ShareMass, WordSum                               int B w, w -> B K
//	tables.go            TableSum, TableScatter, ShareSum, ShareScatter         w*K C, int B w -> B C and back
//	kernels.go           Gaussian, OmitSelf, Shares, Background                 B d, J d -> B J
//	attention.go         Tokens, HeadScores, HeadMix, HeadMixBack               B F, F d -> B F*d
//	norms.go             ChannelMean, ChannelVariance, BatchNorm, LayerNorm     X -> C; X, C, … -> X
//	images.go            Conv, PlaneMean, Augment                               N C H W, O C k l -> N O H' W'
//
// The frame is op.go (what an op is), form.go (shapes), run.go (memory and threads) and fuse.go (what a program
// replaces).
//
// # Adding an op, here or in a package of your own
//
// An op is a [Kernel] given to [New], and a [Differentiable] one if it has a gradient. ELU in activations.go
// is the template:
//
//	type ELUOp struct{ Of Kind }
//
//	func (o ELUOp) Form() string                           // the shapes, such as "B C, C -> B C"
//	func (o ELUOp) Run(out Value, in []Value)              // Dispatch to a generic function
//	func (o ELUOp) Grad(in, out, g) Nodes                  // in terms of ops: Times(2).Of(g, in[0])
//
//	func elu[F Float](o ELUOp, v Args[F])                  // for float32 and for float64
//
// [Formed] has the language of Form; an op whose shapes it cannot express is [Shaped]. A method
// WRT() []bool reports by which inputs an op has a derivative, if not by all inputs of float type.
//
// If a form ends in "by B", a program may compute several ops for some rows at a time, on several
// threads. graphtest.Op checks that the op really computes each row independently.
//
// The function writes every element of v.Out(), whose memory is reused. A row in the table of
// gradient_test.go checks the gradient; in a package of your own, graphtest.Op checks it. If a device has no code for
// an op, this process runs the op during fits on that device. Code for a device is a row of graph/cuda/table.go. An op
// here without one stands in later of graph/cuda/table_test.go.
//
// An op is exported to ONNX by a case in graph/onnx/ops.go, and a row of its graph_test.go compares the two. This
// package cannot import graph/onnx; in a package of your own, the op has a method ONNX.
//
// # Products, and ops that are computed together
//
// Package blas computes matrix products, as a rule by the kernels of package simd.
// [Fuse] lets a program compute some ops together.
package op
