//go:build amd64 && linux && !noasm

package simd

import (
	"syscall"

	"golang.org/x/sys/cpu"
)

// tilesGranted reports whether the processor multiplies tiles of bfloat16 and Linux lets this process use them, which
// it does from 5.16 on for a process that requests them, and for the threads that it starts from then on.
func tilesGranted() bool {
	const (
		requestPermission = 0x1023 // ARCH_REQ_XCOMP_PERM
		tileData          = 18     // XFEATURE_XTILEDATA
	)
	if x := &cpu.X86; !x.HasAMXTile || !x.HasAMXBF16 {
		return false
	}
	_, _, refused := syscall.RawSyscall(syscall.SYS_ARCH_PRCTL, requestPermission, tileData, 0)
	return refused == 0
}
