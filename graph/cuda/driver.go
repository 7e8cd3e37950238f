package cuda

import "unsafe"

// Pointer is an address on the device, 0 for none.
type Pointer uintptr

// Stream, Module, Function and Graph are the driver's handles.
type (
	Stream   uintptr
	Module   uintptr
	Function uintptr
	Graph    uintptr
)

// Grid is the size of a launch: blocks, and threads of a block.
type Grid struct{ X, Y, Z, ThreadsX, ThreadsY int }

// Driver is what a device can do, each method one call of the CUDA driver in the
// context of one card. Copies and launches are enqueued on a stream, in order. A copy from or
// to the host has happened when its method returns, and so has all that was enqueued before.
// Methods may be called from any goroutine. Errors are of type [*Error].
type Driver interface {
	Name() string
	Capability() (major, minor int)
	// Version is the newest CUDA that the driver serves; 0.0 where that is not known.
	Version() (major, minor int)
	Memory() (free, total int, err error)

	Alloc(bytes int) (Pointer, error)
	Free(p Pointer) error
	Upload(s Stream, dst Pointer, src unsafe.Pointer, bytes int) error
	Download(s Stream, dst unsafe.Pointer, src Pointer, bytes int) error
	Copy(s Stream, dst, src Pointer, bytes int) error
	Fill(s Stream, dst Pointer, word uint32, words int) error

	NewStream() (Stream, error)
	Synchronize(s Stream) error
	Load(image []byte) (Module, error)
	Function(m Module, name string) (Function, error)
	// Launch starts a kernel; each cell holds an argument in its low bytes.
	Launch(s Stream, f Function, g Grid, cells []uint64) error

	// Capture records what is enqueued on s, instead of running it, until EndCapture
	// makes it a graph.
	Capture(s Stream) error
	EndCapture(s Stream) (Graph, error)
	LaunchGraph(s Stream, g Graph) error
	FreeGraph(g Graph) error
}
