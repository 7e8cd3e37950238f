// Package graph is how Calibra runs Gorgonia. Everything learned is described as
// a Gorgonia expression graph and differentiated by Gorgonia; this package holds
// what lies between that graph and a training loop.
//
//	Weights    ordered, named tensors that outlive any graph
//	Builder    describes one graph; keeps the first error; refuses reused names
//	Program    executes a graph again and again in memory allocated once
//	Objective  a mean loss with its gradient, compiled once per batch size
//	Function   outputs without a gradient, compiled once per batch size
//	Session    a whole fit on a CUDA device, its steps recorded once and replayed
//
// # Rows, not batches
//
// The data of a fit are tables (features, codes, labels) that a graph refers to
// as a whole. A step is fed nothing but the numbers of the rows it works on, and
// [Builder.Take] reads those rows inside the graph. Whoever owns the tables'
// memory, be it this process or a device, moves them once.
//
// # Why an executor of our own
//
// Gorgonia's TapeMachine forgets its registers at each Reset, so a training loop
// allocates every value anew; it accumulates gradients unless they are zeroed,
// and hands each run to a fresh goroutine. Program walks the same graph in
// topological order and keeps each value where it is. A test holds the two equal.
//
// # Traps of Gorgonia that Builder closes
//
// Two leaves of equal name and shape silently become one node: names are unique
// here, or an error. SoftMax and LogSoftMax of one input hash to the same node:
// package op has its own. Dropout and random nodes draw from the clock: they are
// refused, randomness comes in as an input. Graphs share global state while they
// are built: building is serialized, running is not.
package graph
