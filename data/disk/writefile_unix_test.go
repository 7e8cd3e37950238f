//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"calibra/data"
)

// TestWriteFileHeedsUmask: a file of a user who shows nothing to others is not shown.
func TestWriteFileHeedsUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	path := filepath.Join(t.TempDir(), "out")
	if err := WriteBytes(path, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

// TestWriteFileSparesDevices: of a pipe, as of /dev/null to the superuser, the directory
// would allow the replacement.
func TestWriteFileSparesDevices(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	if err := WriteBytes(pipe, nil); !errors.As(err, new(*data.InputError)) {
		t.Errorf("got %v", err)
	}
	if info, err := os.Stat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("the pipe is none any more: %v", err)
	}
}
