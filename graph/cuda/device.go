package cuda

import (
	"fmt"
	"math"
	"regexp"
	"sync"
	"unsafe"
)

// Device is a card with the kernels loaded, one stream and a pool of memory. It is not
// safe for concurrent use: hold Lock for each piece of work, and leave no error behind. Arrays
// may stay in between.
type Device struct {
	sync.Mutex
	driver    Driver
	stream    Stream
	module    Module
	functions map[string]Function
	pool      *pool
	held      *[]Memory // while recording: what is freed meanwhile
	err       error

	constants map[string]Memory // see constant
}

// Open makes a device of a driver: it loads the kernels.
func Open(d Driver) (*Device, error) {
	stream, err := d.NewStream()
	if err != nil {
		return nil, fmt.Errorf("cuda: open %s: %w", d.Name(), err)
	}
	module, err := d.Load(kernelImage)
	if err != nil {
		return nil, fmt.Errorf("cuda: load the kernels on %s: %w", d.Name(), err)
	}
	return &Device{driver: d, stream: stream, module: module, functions: map[string]Function{}, pool: newPool(d), constants: map[string]Memory{}}, nil
}

func (d *Device) Name() string { return d.driver.Name() }

// Describe is which card this is, what its driver serves and how much memory it has free.
func (d *Device) Describe() string {
	major, minor := d.driver.Capability()
	s := fmt.Sprintf("%s, compute capability %d.%d", d.Name(), major, minor)
	if major, minor := d.driver.Version(); major > 0 {
		s += fmt.Sprintf(", driver of CUDA %d.%d", major, minor)
	}
	if free, total, err := d.driver.Memory(); err == nil {
		s += fmt.Sprintf(", %s of %s free", inUnits(free), inUnits(total))
	}
	return s
}

// Err is the first error since the device was opened or the error was last cleared.
func (d *Device) Err() error { return d.err }

// clearError forgets the error, so that the work can be tried in another way.
func (d *Device) clearError() { d.err = nil }

func (d *Device) fail(err error) {
	if err != nil && d.err == nil {
		d.err = fmt.Errorf("cuda: %w", err)
	}
}

// Alloc is an array of n elements of 4 bytes, holding anything.
func (d *Device) Alloc(n int) Memory { return d.allocBytes(4 * n) }

// alloc64 is an array of n elements of 8 bytes, holding anything.
func (d *Device) alloc64(n int) Memory { return d.allocBytes(8 * n) }

func (d *Device) allocBytes(bytes int) Memory {
	if d.err != nil {
		return Memory{}
	}
	m, err := d.pool.alloc(bytes)
	if OutOfMemory(err) {
		if free, total, sizeErr := d.driver.Memory(); sizeErr == nil {
			err = fmt.Errorf("%w (%s of %s are free)", err, inUnits(free), inUnits(total))
		}
	}
	if err != nil && d.err == nil {
		d.err = err
	}
	return m
}

// Free gives arrays back, and ignores arrays that were never allocated.
func (d *Device) Free(arrays ...Memory) {
	for _, m := range arrays {
		switch {
		case m.at == 0:
		case d.held != nil:
			*d.held = append(*d.held, m)
		default:
			d.pool.give(m)
		}
	}
}

// Trim gives the memory that no array uses back to the driver.
func (d *Device) Trim() error { return d.pool.trim() }

// element is what arrays hold.
type element interface {
	int32 | int64 | float32 | float64
}

// Upload copies x to m, which must hold it, once all that was enqueued before is done.
func Upload[T element](d *Device, m Memory, x []T) {
	if d.err == nil && len(x) > 0 {
		d.fail(d.driver.Upload(d.stream, m.Slice(0, size(x)).at, unsafe.Pointer(&x[0]), size(x)))
	}
}

// Uploaded is a new array that holds x.
func Uploaded[T element](d *Device, x []T) Memory {
	m := d.allocBytes(size(x))
	Upload(d, m, x)
	return m
}

// constant is x as float32, uploaded where an op asks for it first, which may not be while a step is recorded, and
// kept.
func (d *Device) constant(x []float64) Memory {
	key := fmt.Sprint(x)
	m, known := d.constants[key]
	if !known {
		short := make([]float32, len(x))
		for i, v := range x {
			short[i] = float32(v)
		}
		if m = Uploaded(d, short); d.err == nil {
			d.constants[key] = m
		}
	}
	return m
}

// Download copies the beginning of m to x, once all that was enqueued before is done.
func Download[T element](d *Device, x []T, m Memory) {
	if d.err == nil && len(x) > 0 {
		d.fail(d.driver.Download(d.stream, unsafe.Pointer(&x[0]), m.Slice(0, size(x)).at, size(x)))
	}
}

// size is how many bytes x takes.
func size[T element](x []T) int { return len(x) * int(unsafe.Sizeof(*new(T))) }

// Copy enqueues a copy of src to the beginning of dst.
func (d *Device) Copy(dst, src Memory) {
	if d.err != nil || src.bytes == 0 {
		return
	}
	d.fail(d.driver.Copy(d.stream, dst.Slice(0, src.bytes).at, src.at, src.bytes))
}

// Clear enqueues zeros to all of m.
func (d *Device) Clear(m Memory) { d.fill(m, 0) }

// fillInt enqueues v to all elements of m.
func (d *Device) fillInt(m Memory, v int32) { d.fill(m, uint32(v)) }

func (d *Device) fill(m Memory, word uint32) {
	if d.err == nil && m.bytes > 0 {
		d.fail(d.driver.Fill(d.stream, m.at, word, m.bytes/4))
	}
}

// wait waits for all that was enqueued and gives the first error.
func (d *Device) wait() error {
	if d.err == nil {
		d.fail(d.driver.Synchronize(d.stream))
	}
	return d.err
}

// preload finds all kernels of an image, so that none is loaded while launches are recorded.
func (d *Device) preload(image []byte) error {
	for _, name := range entries.FindAllSubmatch(image, -1) {
		d.function(string(name[1]))
	}
	return d.err
}

var entries = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

func (d *Device) function(name string) Function {
	f, ok := d.functions[name]
	if !ok && d.err == nil {
		var err error
		if f, err = d.driver.Function(d.module, name); err != nil {
			d.err = fmt.Errorf("cuda: kernel %s: %w", name, err)
		} else {
			d.functions[name] = f
		}
	}
	return f
}

// threads of a block of a one-dimensional launch, and the most blocks of one: each
// thread then takes several elements.
const (
	threads    = 256
	mostBlocks = 1 << 14
)

// each is a one-dimensional grid for n elements.
func each(n int) Grid { return blocks(min((n+threads-1)/threads, mostBlocks)) }

// blocks is a grid of n of them.
func blocks(n int) Grid { return box(n, 1, 1) }

// box is a grid of x by y by z blocks.
func box(x, y, z int) Grid { return Grid{X: x, Y: y, Z: z, ThreadsX: threads, ThreadsY: 1} }

// warps is a grid of a warp for each of n rows.
func warps(n int) Grid { return blocks((n + 7) / 8) }

// columns is a grid of column blocks, 32 columns by 8 sharers, for n columns.
func columns(n int) Grid { return columnBlocks((n+31)/32, 1, 1) }

// columnBlocks is a grid of x by y by z column blocks.
func columnBlocks(x, y, z int) Grid { return Grid{X: x, Y: y, Z: z, ThreadsX: 32, ThreadsY: 8} }

// mostPlanes is how many blocks a card takes along y, and along z.
const mostPlanes = 1<<16 - 1

// launch enqueues a kernel. Arguments are those of cells. Sizes that a kernel cannot count or
// a card has no blocks for are an error.
func (d *Device) launch(name string, g Grid, args ...any) {
	if d.err != nil || g.X == 0 || g.Y == 0 || g.Z == 0 {
		return
	}
	f := d.function(name)
	if d.err != nil {
		return
	}
	packed, err := cells(args)
	switch {
	case err != nil:
	case g.Y > mostPlanes || g.Z > mostPlanes:
		err = fmt.Errorf("%d×%d×%d blocks are too many for a card", g.X, g.Y, g.Z)
	default:
		err = d.driver.Launch(d.stream, f, g, packed)
	}
	if err != nil {
		d.err = fmt.Errorf("cuda: kernel %s: %w", name, err)
	}
}

// cells packs arguments, each into the low bytes of 8: Memory or an operand, int, which is int32 to the
// kernel, int64 and float32. It panics on others; an int that is none of int32 is an error.
func cells(args []any) ([]uint64, error) {
	packed := make([]uint64, len(args))
	for i, a := range args {
		switch a := a.(type) {
		case Memory:
			packed[i] = uint64(a.at)
		case operand:
			packed[i] = uint64(a.at)
		case int:
			if int(int32(a)) != a {
				return nil, fmt.Errorf("%d is more than a kernel counts", a)
			}
			packed[i] = uint64(uint32(int32(a)))
		case int64:
			packed[i] = uint64(a)
		case float32:
			packed[i] = uint64(math.Float32bits(a))
		default:
			panic(fmt.Sprintf("cuda: a kernel takes no %T", a))
		}
	}
	return packed, nil
}

// Recording is a graph of launches that was recorded once and can be replayed.
type Recording struct {
	graph Graph
	held  []Memory // arrays that the launches use and enqueue has freed
}

// Record keeps what enqueue enqueues, without running it. Arrays that enqueue allocates
// and frees stay the recording's.
func (d *Device) Record(enqueue func()) (r Recording) {
	if d.err != nil {
		return r
	}
	if d.fail(d.driver.Capture(d.stream)); d.err != nil {
		return r
	}
	d.held = &r.held
	enqueue()
	d.held = nil
	g, err := d.driver.EndCapture(d.stream)
	d.fail(err)
	r.graph = g
	return r
}

func (d *Device) Replay(r Recording) {
	if d.err == nil {
		d.fail(d.driver.LaunchGraph(d.stream, r.graph))
	}
}

// Forget frees a recording, and its arrays, once it has run.
func (d *Device) Forget(r Recording) {
	d.wait()
	if r.graph != 0 {
		d.fail(d.driver.FreeGraph(r.graph))
	}
	d.Free(r.held...)
}
