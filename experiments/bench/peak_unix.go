//go:build unix

package main

import (
	"os"
	"runtime"
	"syscall"
)

// peak is the most memory, in MB, that a process that ended had at once.
func peak(p *os.ProcessState) float64 {
	usage, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0
	}
	unit := 1024.0
	if runtime.GOOS == "darwin" {
		unit = 1
	}
	return float64(usage.Maxrss) * unit / 1e6
}
