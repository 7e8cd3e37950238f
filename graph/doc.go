// Package graph runs Gorgonia graphs for Calibra. Every loss that is minimized is described as a Gorgonia expression
// graph and differentiated by Gorgonia. This package connects such a graph with a training loop.
//
//	Weights    ordered, named tensors that outlive any graph
//	Builder    describes one graph; keeps the first error; refuses reused names
//	Program    executes a graph again and again in memory allocated once
//	Objective  a mean loss with its gradient, compiled once per batch size
//	Function   outputs without a gradient, compiled once per batch size
//	Executor   where these run: this process (CPU), or elsewhere
//	Session    a running fit; one call computes one epoch
//	Remote, Planned  optional interfaces of sessions and optimizers
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
// This package and [op] define what is computed, and how this process computes it. They know no
// device. To use one, pass its Executor in the settings of a fit. A Program lists its steps, so
// that an Executor can run them in its own way and leave to this process those it has no code for.
//
// # Rows, not batches
//
// A graph refers to the data of a fit (features, codes, labels) as whole tables. A step gets
// only the row numbers of its batch, and [Builder.Take] reads these rows inside the graph.
// So the tables are moved to a device only once.
//
// # Why an executor of our own
//
// Gorgonia's TapeMachine forgets its registers at each Reset, so a training loop
// allocates every value anew; it accumulates gradients unless they are zeroed,
// and starts a new goroutine for each run. Program walks the same graph in
// topological order and keeps each value where it is. A test checks that both give equal values.
//
// # Pitfalls of Gorgonia that Builder avoids
//
// Two leaves of equal name and shape silently become one node: names are unique
// here, otherwise there is an error. SoftMax and LogSoftMax of one input hash to the same
// node, so package op has its own. Dropout and random nodes are seeded by the clock, so they
// are refused, and randomness must be an input. Graphs share global state while they are
// built, so only one is built at a time; several may run at a time.
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
