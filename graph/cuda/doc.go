// Package cuda runs fits and kernel sums on an NVIDIA GPU. It needs only the driver: no cgo, no build tag, no CUDA
// toolkit on the user's machine. It is the only package that knows devices, and only the command chooses one.
//
//	e, err := cuda.CUDA.Open(func(sentence string) { log.Print(sentence) })
//	settings.Executor = e // of a fit
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
// libcuda is opened with purego. The kernels are CUDA C++ in kernels/, compiled by go generate to PTX for compute
// capability 7.0, which a driver of CUDA 11.8 or later compiles for whatever later card there is. The PTX is committed,
// with the hash of the sources it was made from.
//
// # Launches
//
// Every method of Device that computes puts launches into the device's only stream and returns at once; copies from and
// to memory wait for them. As in CUDA itself, an error may appear later. After the first error all calls do nothing,
// and [Device.Err] returns that error.
//
// The arguments of a launch do not change from step to step of a fit, because the step number is counted in device
// memory. [Device.Record] can therefore keep the launches of one step as a graph and replay it.
//
// # What runs here
//
// Fits in float32 run on the device. The steps of a session are recorded once and replayed. Adam and SGD, with or
// without a schedule, update the weights on the device (pass.go). Any other rule of package optim updates them in this
// process; gradients and weights are then copied at each step. An op of your own without a row in the table is also run
// by this process: its inputs are downloaded and its output is uploaded. A message says so once. For quasi-Newton
// methods, loss and gradient run on the device. For the metrics, the local residuals, their noise floor and their
// bootstrap do.
//
// Fits in float64, predictions and global metrics stay on the CPU.
//
// The device is locked during a call of a session, but not while an observer, a validation or a describing function
// runs. So fits may start inside other fits, and several may run at the same time.
//
// # A row for an op
//
//	{op.ELUOp{}, "map", "each size", "out x0 elu 0. size", nil},
//
// A row names the kernel, its grid, and its arguments by words for the op's values, lengths and settings (call.value
// lists the words; an op that needs more has a function). A row of onDevice in table_test.go compares it with the op's
// own Run in float32 and float64. A new kernel is written in kernels/, and go generate compiles it to PTX with NVRTC
// 11.8.
//
// Matrix products are computed in float32, not in TF32, whose errors are about 1e-3.
//
// # Same bytes
//
// No kernel adds floats atomically. The order of every sum depends only on the shapes, not on the card or on which
// block finishes first. So the same seed gives the same bytes on every card. The CPU gives other bytes, because it adds
// in another order. Random numbers of a graph, such as dropout's masks, are an integer hash of seed, step and position,
// and are the same on both.
//
// # Tests without a card
//
// Package cudatest compiles the same kernel sources with the host's C++ compiler and runs
// them behind the Driver interface, the threads of a block as fibers that take turns in a
// random order. Tests that need a card are skipped with a message; verify.sh runs them all.
package cuda
