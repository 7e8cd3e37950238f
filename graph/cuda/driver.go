package cuda

import "unsafe"

// Pointer is an address on the device, 0 for none.
type Pointer uintptr

// Stream, Module, Function, Event and Graph are the driver's handles.
type (
	Stream   uintptr
	Module   uintptr
	Function uintptr
	Event    uintptr
	Graph    uintptr
)

// Grid is the size of a launch: blocks, and threads of a block.
type Grid struct{ X, Y, Z, ThreadsX, ThreadsY int }

// Driver is what a device can do, each method one call of the CUDA driver in the
// context of one card. Copies and launches are enqueued on a stream, in order. A copy from or
// to the host may read or write there until an event marked after it has passed, or
// Synchronize has returned: of pageable memory the driver mostly takes it before it returns,
// but where a card reads that by itself it need not ("API synchronization behavior" in the
// driver's reference). Methods may be called from any goroutine. Errors are of type [*Error].
type Driver interface {
	Name() string
	Capability() (major, minor int)
	// Version is the newest CUDA that the driver serves; 0.0 where that is not known.
	Version() (major, minor int)
	Memory() (free, total int, err error)
	// Rate is the float32 multiplications and additions a second that the card can do at
	// its highest clock.
	Rate() (float64, error)

	Alloc(bytes int) (Pointer, error)
	Free(p Pointer) error
	// AllocHost is page-locked memory of the host, which copies do not wait for.
	AllocHost(bytes int) (unsafe.Pointer, error)
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

	NewEvent() (Event, error)
	Mark(e Event, s Stream) error
	// Wait returns once the device has passed the event's last mark.
	Wait(e Event) error
	// Milliseconds between two events that the device has passed.
	Milliseconds(from, to Event) (float32, error)
}
