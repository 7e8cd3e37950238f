// Package cuda runs Calibra's operations on an NVIDIA GPU through the driver alone: no
// cgo, no build tag, no CUDA toolkit on the user's machine.
//
//	Driver   what libcuda does, one method a call; tests put another in its place
//	Device   a driver with a stream, the kernels and a pool of memory
//	Memory   an array on the device
//	Choose   which device this process runs on: auto, cpu or cuda
//
// libcuda is opened with purego, as package blas opens a system BLAS. The kernels are
// CUDA C++ in kernels/, compiled by go generate to PTX for compute capability 7.0 (the
// products in TF32: 8.0), which a driver of CUDA 11.8 or later compiles for whatever later card
// there is. The PTX is committed, with the hash of the sources it was made from.
//
// # Launches
//
// Every method of Device that computes, such as [Device.Product], enqueues launches on
// the device's one stream and returns at once. As in CUDA itself an error may show later:
// the first one sticks, later calls do nothing, and [Device.Sync] tells it.
//
// A launch names no number that changes from step to step of a fit (the step is counted
// in device memory), so that [Device.Record] can keep the launches of a step as one
// graph and replay it.
//
// # What runs here
//
// Every op has a kernel, forward and gradient: package op does not compile without. So every
// fit in float32 does, encoders and baselines included: steps of Adam, AdamW and SGD with
// weights and optimizer state on the card, and loss and gradient of the quasi-Newton methods,
// whose steps the host takes. Of the metrics the local residuals, their noise floor and their
// bootstrap. On the CPU stay
//
//   - fits in float64, the smooth baselines and the quickstart's encoder: gradients of 1e-6
//     are beyond float32, and so few weights are no work for a card;
//   - the codebook of anchored.Anchor, which is learned without a loss in a few passes;
//   - predictions, one pass over the features: a saved model predicts the same bytes with a
//     card and without. What is served is layers.Predictor. Encoding raw rows stays on the CPU
//     too, or goes to ONNX Runtime;
//   - global metrics, which are sorting and counting.
//
// Between the stages of the paper's fit features, codebook, head and codes stay on the card
// (graph.Residence); log p̂ and codeword masses, C + K numbers a row, travel there for the
// second stage.
//
// Products are of float32. With CALIBRA_CUDA_TF32=1 the matrix units of cards from compute
// capability 8.0 on make those of op.MatMul, op.BlockMatMul and attention in TF32, errors of
// some 1e-3 with them; an older card refuses.
//
// # Same bytes
//
// No kernel adds floats atomically: the order of every sum depends on shapes alone, never
// on the card or on which block comes first. The same seed gives the same bytes on the
// device; they are not the CPU's bytes, whose sums have another order. What a graph draws,
// such as dropout's masks, is a hash of seed, step and place in whole numbers, and is the
// same on both.
//
// # What to expect
//
// Modelled, not measured, for an H200 (132 multiprocessors at 1.98 GHz, 67 TFLOP/s in
// float32): instructions of the loops, as assembled for sm_90, over four a clock and
// multiprocessor, 80 % of which are taken to be filled; 1.7 µs for each launch of a recorded
// step. TestCardBreakdown of experiments/bench measures the same.
//
//	local_waves 20,250×10, 50 dimensions      1.8 ms, floor 0.73
//	            75,000×8                       23 ms, floor 9.1
//	            20,250×100                     10 ms, floor 4.0: its sums pass memory, 31 GB
//	redraw_sums 20,250×10, 50 vectors          24 ms: kernel values are made 7 times
//	a step of stage 1, C = 10                  36 µs: 13 launches are 22 of them
//	a step of stage 2, C = 10                  28 µs: 14 launches are 24 of them
//	                   C = 100                 49 µs, floor 6.9: launches 24, product_nn 5,
//	                                           product_tn 6, scores 5, by_form 8
//	a step of ResNet-20                        its convolutions, and 306 launches: 520 µs
//
// Which steps of a program share a launch: op.Launches, op.Taken and op.Averaged.
//
// A pair of tiles costs local_waves 2,100 instructions a warp for kernel values and 160 a
// class. An LCE also takes 24 bytes a row and class over the bus, through page-locked memory:
// 49 MB at 20,250×100, some 2 ms.
//
// # Tests without a card
//
// Package cudatest compiles the same kernel sources with the host's C++ compiler and runs
// them behind the Driver interface, the threads of a block as fibers that take turns in a
// random order. What needs a card skips and says so; verify.sh runs all of it.
package cuda
