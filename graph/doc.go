// Package graph is how Calibra runs Gorgonia. Everything learned is described as
// a Gorgonia expression graph and differentiated by Gorgonia; this package holds
// what lies between that graph and a training loop.
//
//	Weights    ordered, named tensors that outlive any graph
//	Builder    describes one graph; keeps the first error; refuses reused names
//	Program    executes a graph again and again in memory allocated once
//	Objective  a mean loss with its gradient, compiled once per batch size
//	Function   outputs without a gradient, compiled once per batch size
//	Executor   where these run: this process (CPU), or elsewhere
//	Session    a fit that runs, one epoch a call
//	Staged, Remote, Planned  what executors, sessions and optimizers may do beyond that
//
// # The house
//
//	optim ─ an Optimizer ►  graph  ◄── implements Executor ── graph/cuda
//	                        │                                   │
//	                        ▼                                   │
//	                     graph/op  ◄──── a row for an op ───────┘
//	                      │     │
//	                      ▼     ▼
//	             graph/blas ──► graph/simd
//
// This package and [op] define what is computed and how this process does it. They know no
// device: whoever wants one passes its Executor in the settings of a fit. A Program lists its
// steps, so that an Executor can take them its own way, and leave to this process what it has
// no code for.
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
//
// # A loss with its gradient
//
//	w := graph.NewWeights(tensor.Float32)
//	w.Add("head/weight", graph.Normals(m*c, 0, 0.1, rng), m, c)
//	w.Add("head/bias", make([]float64, c), c)
//	loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
//		x, y := b.Take("features", features), b.Take("labels", labels) // B×M, B
//		return b.NLL(b.LogSoftmax(b.Linear("head", x)), y)
//	})
//	value, slopes, err := loss.Gradient(graph.Rows(0, 128))
//
// An op of your own is [op.New]; optim.Minimize takes the steps.
package graph
