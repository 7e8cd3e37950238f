package cuda

import (
	"fmt"
	"math/bits"
)

// Memory is an array on a device; the zero Memory is none, and the null pointer to a
// kernel.
type Memory struct {
	at    Pointer
	bytes int
}

func (m Memory) Bytes() int { return m.bytes }

// Slice is bytes of m from an offset on. It panics outside of m.
func (m Memory) Slice(offset, bytes int) Memory {
	if offset < 0 || bytes < 0 || offset+bytes > m.bytes {
		panic(fmt.Sprintf("cuda: bytes %d to %d of %d", offset, offset+bytes, m.bytes))
	}
	return Memory{m.at + Pointer(offset), bytes}
}

// pool keeps freed memory by its size, rounded up to an eighth of a power of two, for
// the next array of that size: an allocation of the driver's waits for the whole device.
// All work is on one stream, so memory that is given back is overwritten only after what
// was enqueued before.
type pool struct {
	driver Driver
	free   map[int][]Pointer
	size   map[Pointer]int // of what is in use
	used   int             // bytes in use
}

func newPool(d Driver) *pool {
	return &pool{driver: d, free: map[int][]Pointer{}, size: map[Pointer]int{}}
}

// smallest is the pool's least size, the driver's alignment.
const smallest = 256

// rounded is the size that an array of that many bytes takes.
func rounded(bytes int) int {
	if bytes <= smallest {
		return smallest
	}
	step := max(smallest, 1<<(bits.Len(uint(bytes-1))-4))
	return (bytes + step - 1) / step * step
}

func (p *pool) alloc(bytes int) (Memory, error) {
	size := rounded(bytes)
	if list := p.free[size]; len(list) > 0 {
		p.free[size] = list[:len(list)-1]
		return p.take(list[len(list)-1], size, bytes), nil
	}
	at, err := p.driver.Alloc(size)
	if OutOfMemory(err) {
		if trimErr := p.trim(); trimErr != nil {
			return Memory{}, trimErr
		}
		at, err = p.driver.Alloc(size)
	}
	if err != nil {
		return Memory{}, fmt.Errorf("cuda: %s for an array with %s in use: %w", inUnits(size), inUnits(p.used), err)
	}
	return p.take(at, size, bytes), nil
}

func (p *pool) take(at Pointer, size, bytes int) Memory {
	p.size[at] = size
	p.used += size
	return Memory{at, bytes}
}

// give takes an array back. It panics if the array is not the pool's.
func (p *pool) give(m Memory) {
	size, ok := p.size[m.at]
	if !ok {
		panic("cuda: memory is freed that is not in use")
	}
	delete(p.size, m.at)
	p.used -= size
	p.free[size] = append(p.free[size], m.at)
}

// trim gives all that is free back to the driver.
func (p *pool) trim() error {
	for size, list := range p.free {
		delete(p.free, size)
		for _, at := range list {
			if err := p.driver.Free(at); err != nil {
				return fmt.Errorf("cuda: %w", err)
			}
		}
	}
	return nil
}

// inUnits is a size in the unit that keeps it short.
func inUnits(bytes int) string {
	switch {
	case bytes >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(bytes)/(1<<30))
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
}
