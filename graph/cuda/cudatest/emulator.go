package cudatest

import (
	"fmt"
	"sync"
	"unsafe"

	"calibra/graph/cuda"
)

// Emulator is a Driver whose device is this process: memory is Go's, poisoned with NaNs,
// and kernels run when they are launched.
type Emulator struct {
	// Capacity is how many bytes can be in use; 0: no bound.
	Capacity int
	// Major is the compute capability's; 0: 7.
	Major int
	// Syncs counts the host's waits for the device, Launches the kernels run, replayed
	// ones included, and Uploaded and Downloaded the bytes copied.
	Syncs, Launches, Uploaded, Downloaded int

	run  func(name string, g cuda.Grid, cells []uint64, seed uint64) error
	has  func(name string) bool
	seed uint64

	arrays    map[cuda.Pointer][]byte
	inUse     int
	functions []string
	graphs    [][]func() error
	recording bool
	recorded  []func() error
}

var _ cuda.Driver = (*Emulator)(nil)

func newEmulator(seed uint64) *Emulator {
	return &Emulator{seed: seed, arrays: map[cuda.Pointer][]byte{}}
}

// onlyOne is that the library has one set of fibers.
var onlyOne sync.Mutex

func (e *Emulator) failed(call string, code int) error { return &cuda.Error{Call: call, Code: code} }

// Name shows that this is no card.
func (e *Emulator) Name() string { return "emulated device" }

// Capability is Major.0.
func (e *Emulator) Capability() (major, minor int) { return max(e.Major, 7), 0 }

func (e *Emulator) Version() (major, minor int) { return 0, 0 }

// Memory is what Capacity leaves.
func (e *Emulator) Memory() (free, total int, err error) {
	total = e.Capacity
	if total == 0 {
		total = 1 << 34
	}
	return total - e.inUse, total, nil
}

// InUse is how many bytes are allocated.
func (e *Emulator) InUse() int { return e.inUse }

// Alloc is memory full of NaNs.
func (e *Emulator) Alloc(bytes int) (cuda.Pointer, error) {
	if e.Capacity > 0 && e.inUse+bytes > e.Capacity {
		return 0, e.failed("cuMemAlloc", 2)
	}
	words := make([]uint64, (bytes+7)/8+1)
	array := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), bytes)
	for i := range array {
		array[i] = 0xff
	}
	p := cuda.Pointer(unsafe.Pointer(&words[0]))
	e.arrays[p] = array
	e.inUse += bytes
	return p, nil
}

func (e *Emulator) Free(p cuda.Pointer) error {
	array, ok := e.arrays[p]
	if !ok {
		return e.failed("cuMemFree", 1)
	}
	e.inUse -= len(array)
	delete(e.arrays, p)
	return nil
}

// at is bytes of device memory from p on.
func (e *Emulator) at(p cuda.Pointer, bytes int) ([]byte, error) {
	for start, array := range e.arrays {
		if offset := int(p) - int(start); offset >= 0 && offset+bytes <= len(array) {
			return array[offset : offset+bytes], nil
		}
	}
	return nil, e.failed("memory access", 700)
}

// do runs f now, or whenever the recording is replayed.
func (e *Emulator) do(f func() error) error {
	if e.recording {
		e.recorded = append(e.recorded, f)
		return nil
	}
	return f()
}

func (e *Emulator) Upload(s cuda.Stream, dst cuda.Pointer, src unsafe.Pointer, bytes int) error {
	return e.travel(s, &e.Uploaded, dst, bytes, func(device []byte) { copy(device, unsafe.Slice((*byte)(src), bytes)) })
}

func (e *Emulator) Download(s cuda.Stream, dst unsafe.Pointer, src cuda.Pointer, bytes int) error {
	return e.travel(s, &e.Downloaded, src, bytes, func(device []byte) { copy(unsafe.Slice((*byte)(dst), bytes), device) })
}

// travel copies from or to device memory.
func (e *Emulator) travel(s cuda.Stream, count *int, at cuda.Pointer, bytes int, move func(device []byte)) error {
	if err := e.Synchronize(s); err != nil {
		return err
	}
	*count += bytes
	device, err := e.at(at, bytes)
	move(device)
	return err
}

func (e *Emulator) Copy(_ cuda.Stream, dst, src cuda.Pointer, bytes int) error {
	return e.do(func() error {
		to, err := e.at(dst, bytes)
		if err != nil {
			return err
		}
		from, err := e.at(src, bytes)
		copy(to, from)
		return err
	})
}

func (e *Emulator) Fill(_ cuda.Stream, dst cuda.Pointer, word uint32, words int) error {
	return e.do(func() error {
		to, err := e.at(dst, 4*words)
		for i := range to {
			to[i] = byte(word >> (8 * (i % 4)))
		}
		return err
	})
}

func (e *Emulator) NewStream() (cuda.Stream, error) { return 1, nil }

func (e *Emulator) Synchronize(cuda.Stream) error {
	if e.recording {
		return e.failed("cuStreamSynchronize", 900)
	}
	e.Syncs++
	return nil
}

func (e *Emulator) Load([]byte) (cuda.Module, error) { return 1, nil }

func (e *Emulator) Function(_ cuda.Module, name string) (cuda.Function, error) {
	if !e.has(name) {
		return 0, e.failed("cuModuleGetFunction", 500)
	}
	e.functions = append(e.functions, name)
	return cuda.Function(len(e.functions)), nil
}

func (e *Emulator) Launch(_ cuda.Stream, f cuda.Function, g cuda.Grid, cells []uint64) error {
	if g.X < 1 || g.Y < 1 || g.Z < 1 || g.Y > 65535 || g.Z > 65535 || g.ThreadsX*g.ThreadsY > 1024 {
		return e.failed("cuLaunchKernel", 1)
	}
	kept := append([]uint64(nil), cells...)
	return e.do(func() error {
		onlyOne.Lock()
		defer onlyOne.Unlock()
		e.Launches++
		e.seed = e.seed*6364136223846793005 + 1442695040888963407
		return e.run(e.functions[f-1], g, kept, e.seed)
	})
}

func (e *Emulator) Capture(cuda.Stream) error {
	e.recording, e.recorded = true, nil
	return nil
}

func (e *Emulator) EndCapture(cuda.Stream) (cuda.Graph, error) {
	if !e.recording {
		return 0, fmt.Errorf("cudatest: nothing is recorded")
	}
	e.recording = false
	e.graphs = append(e.graphs, e.recorded)
	return cuda.Graph(len(e.graphs)), nil
}

func (e *Emulator) LaunchGraph(_ cuda.Stream, g cuda.Graph) error {
	for _, f := range e.graphs[g-1] {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

func (e *Emulator) FreeGraph(g cuda.Graph) error {
	e.graphs[g-1] = nil
	return nil
}
