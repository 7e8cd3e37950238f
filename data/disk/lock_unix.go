//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of an open file or directory, shared with other readers or alone,
// and reports whether it could. It ends with the file, also when the process is killed. Where
// the file system has no locks, nothing is locked, and locks is false.
func tryLock(f *os.File, alone bool) (ok, locks bool) {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		switch {
		case err == nil:
			return true, true
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, true
		case !errors.Is(err, syscall.EINTR):
			return true, false
		}
	}
}

// alive reports whether this machine has a process of that number.
func alive(pid int) bool {
	return pid > 0 && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}
