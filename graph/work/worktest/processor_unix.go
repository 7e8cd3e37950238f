//go:build unix

package worktest

import (
	"syscall"
	"time"
)

// Processor is what this process has had of processors, which others that run beside it do not lengthen.
func Processor() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
