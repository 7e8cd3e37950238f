//go:build linux || darwin

package tile

import (
	"fmt"
	"syscall"
	"testing"
	"unsafe"
)

// guarded returns a copy of x that ends where memory ends: one byte read or written
// behind it stops the process.
func guarded[T float32 | int32](t *testing.T, x []T) []T {
	page := syscall.Getpagesize()
	bytes := len(x) * int(unsafe.Sizeof(x[0]))
	room := (bytes + page - 1) / page * page
	m, err := syscall.Mmap(-1, 0, room+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mprotect(m[room:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(m) })
	y := unsafe.Slice((*T)(unsafe.Pointer(&m[room-bytes])), len(x))
	copy(y, x)
	return y
}

// No kernel touches what lies behind its arguments.
func TestNothingBehindTheEnd(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := 1; n <= 2*registerRows; n++ {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				some := func(length int, seed uint64) []float32 { return guarded(t, uniforms(length, seed)) }
				for _, k := range []int{1, 2, 53} {
					stride := k + n%3
					dst, a, b := some(n*Lanes, 1), some((n-1)*stride+k, 2), some(k*Lanes, 3)
					Multiply(dst, a, stride, n, k, b)
					Distances(dst, a, stride, n, k, b)
				}
				Gaussian(some(n*Lanes, 4), some(n*Lanes, 5))
				AddRows(some(Lanes, 6), guarded(t, make([]int32, n)), some(n*Lanes, 7))
			})
		}
		moments := guarded(t, uniforms(3*Lanes, 8))
		AddMoments(moments, 0.3, guarded(t, uniforms(Lanes, 9)), guarded(t, uniforms(Lanes, 10)))
	})
}
