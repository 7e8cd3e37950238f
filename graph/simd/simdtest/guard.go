//go:build linux || darwin

package simdtest

import (
	"syscall"
	"testing"
	"unsafe"
)

// Guarded returns a copy of x, which must not be empty, that ends where memory ends: one
// byte read or written behind it stops the process.
func Guarded[T float32 | float64 | int32](t *testing.T, x []T) []T {
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
