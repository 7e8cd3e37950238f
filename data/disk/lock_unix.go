//go:build unix

package disk

import (
	"errors"
	"os"
	"syscall"
)

// tryLock takes the lock of an open file or directory, shared with other readers or alone,
// and reports whether it could. It ends with the file, also when the process is killed. Where
// the file system has no locks, nothing is locked.
func tryLock(f *os.File, alone bool) bool {
	how := syscall.LOCK_SH
	if alone {
		how = syscall.LOCK_EX
	}
	for {
		if err := syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB); !errors.Is(err, syscall.EINTR) {
			return !errors.Is(err, syscall.EWOULDBLOCK)
		}
	}
}

// alive reports whether this machine has a process of that number.
func alive(pid int) bool { return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }
