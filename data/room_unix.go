//go:build unix

package data

import "syscall"

// addressSpace is the limit of the process's memory that the shell set, or 0.
func addressSpace() int64 {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &limit); err != nil || uint64(limit.Cur) >= 1<<62 {
		return 0
	}
	return int64(limit.Cur)
}
