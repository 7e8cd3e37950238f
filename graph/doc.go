// Package graph is how Calibra runs Gorgonia. Everything learned is described as
// a Gorgonia expression graph and differentiated by Gorgonia; this package holds
// what lies between that graph and a training loop.
//
//	Weights    ordered, named tensors that outlive any graph
//	Builder    describes one graph; keeps the first error; refuses reused names
//	Program    executes a graph again and again in memory allocated once
//	Objective  a mean loss with its gradient, compiled once per batch size
//	Function   outputs without a gradient, compiled once per batch size
//	Session    training on a CUDA device, its steps recorded once and replayed
//	Residence  what stays on the device from one stage of a fit to the next
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
// # How near the machine
//
// calibra bench counts what each workload cannot do without (the formulas are in
// experiments/bench/roof.go), measures in the same run how fast the machine multiplies
// matrices and copies memory, and prints the share of that roof. Medians of five
// runs on two cores of a Xeon with AVX-512 that other machines share, at 150 GFLOP/s and
// 12 GB/s (126 to 224 from run to run, so that shares are told to some 5 %):
//
//	                                    count        floor    measured  share
//	stage 1, 10,000 rows × 2,048        3.5 GFLOP    23 ms    80 ms    27 %
//	stage 2, 10,000 rows, C = 10        0.36 GFLOP   2.4 ms   20 ms    10 %
//	stage 2, 1,000 rows, C = 100        3.6 GFLOP    24 ms    59 ms    39 %
//	LCE, 20,250 rows, C = 10            59 GFLOP     0.39 s   0.96 s   41 %
//	LCE, 5,000 rows, C = 100            8.1 GFLOP    54 ms    0.26 s   19 %
//	predictions, a row                  0.30 MFLOP   2.0 µs   4.0 µs   52 %
//
// Below 30 % of the roof, the counted products are not where the time goes:
//
//   - Stage 1 multiplies thin matrices. A step of 128 rows compares 8,192 slots of 32
//     columns with 64 codewords, a product whose inner dimension is too short to hide its
//     loads, then seeks the least of each row, adds each slot to its codeword's sum, and
//     gives the head a product 10 columns wide: a profile finds under half of the time in
//     products.
//   - Stage 2 with few classes works on 128 × C² = 12,800 concentrations a step, some 0.2 ms.
//     ln Γ, ψ, softplus and the exponentials, a dozen launches on two threads and the
//     softmax over 10 classes cost as much as the products; none of it is large enough to
//     run at the rate of a 1,024-wide product.
//   - LCE with many classes finds most classes of most rows in thinly filled bins, whose
//     members are collected one by one; the dense product over the fullest bin of every
//     class is a third of the time.
//
// Cost grows linearly in N and, from C = 30 on, as C²: calibra bench --scaling DIR draws it.
package graph
