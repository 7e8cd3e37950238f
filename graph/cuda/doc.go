// Package cuda runs fits and kernel sums on an NVIDIA GPU through the driver alone: no
// cgo, no build tag, no CUDA toolkit on the user's machine. It is the room of devices; nothing
// below it knows of them, and the command alone chooses one.
//
//	Executor  a graph.Executor on a device: On, WherePays; Choice.Open for a command
//	Device    a driver with a stream, the kernels and a pool of memory
//	Driver    what libcuda does, one method a call; tests put another in its place
//	Memory    an array on the device
//
//	graph.Program ── program.go ──► fuse.go ──► table.go ──► device.go ──► Driver ──► the card
//	   its steps       laid out      some        kernel, grid   launches
//	                   in memory     together    and arguments
//	                                             of each op
//
// libcuda is opened with purego. The kernels are
// CUDA C++ in kernels/, compiled by go generate to PTX for compute capability 7.0 (the
// products in TF32: 8.0), which a driver of CUDA 11.8 or later compiles for whatever later card
// there is. The PTX is committed, with the hash of the sources it was made from.
//
// # Launches
//
// Every method of Device that computes enqueues launches on the device's one stream and
// returns at once. As in CUDA itself an error may show later: the first one sticks, later
// calls do nothing, and [Device.Err] gives it.
//
// A launch names no number that changes from step to step of a fit (the step is counted
// in device memory), so that [Device.Record] can keep the launches of a step as one
// graph and replay it.
//
// # What runs here
//
// Fits in float32: the steps of a session are recorded once and replayed. Adam and SGD, alone or
// with a schedule, move the weights there (pass.go); any other rule of package optim moves them
// in this process, to which gradients come and from which weights go at each step. An op without
// a row in the table is run by this process too, its inputs downloaded and its output uploaded.
// Both are said in a sentence, once. Of quasi-Newton methods loss and gradient run here, of the
// metrics the local residuals, their noise floor and their bootstrap.
//
// Fits in float64, predictions and global metrics stay on the CPU. Between the stages of a fit
// that shares stages (graph.Staged), tables, weights and what was computed of them stay on the card.
//
// The device is locked for one call of a session at a time, never while an observer, a
// validation or a describing function runs: fits may begin within fits, and side by side.
//
// # A row for an op
//
//	{op.ELUOp{}, "map", "each size", "out x0 elu 0. size", nil},
//
// a kernel, its grid and its arguments in words that stand for the op's values, lengths and
// settings (call.value has them; an op that needs more has a function),
// and a row of onDevice in table_test.go, which holds it to the op's own Run in float32 and
// float64. A kernel that does not exist yet is written in kernels/, and go generate, with NVRTC
// 11.8, compiles it to PTX.
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
// # Tests without a card
//
// Package cudatest compiles the same kernel sources with the host's C++ compiler and runs
// them behind the Driver interface, the threads of a block as fibers that take turns in a
// random order. What needs a card skips with a message; verify.sh runs all of it.
package cuda
