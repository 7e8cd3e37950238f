package disk

import (
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
)

// Disk is how files of one directory are changed; names are below it. All that this module
// writes goes through one, so that a test can let each step fail (see [Simulate]).
type Disk interface {
	// Create makes a new file, locked by this process, and opens it to be written.
	Create(name string) (File, error)
	// Mkdir makes a directory that is not there.
	Mkdir(name string) error
	// MkdirAll makes a directory and those above it, unless they are there.
	MkdirAll(name string) error
	// Rename gives a file another name. A file that had it is gone.
	Rename(from, to string) error
	// Remove removes a file or an empty directory.
	Remove(name string) error
	// RemoveAll removes a file or a directory with all that is in it.
	RemoveAll(name string) error
	// Sync makes what was made and renamed in a directory outlast a power failure, where
	// the system can.
	Sync(name string)
}

// File is a file that is being written.
type File interface {
	io.WriteCloser
	Sync() error
}

// simulated is what [Simulate] was given.
var simulated atomic.Pointer[func(dir string, real Disk) Disk]

// Simulate lets every change of a directory pass what wrap makes of it, until restore is
// called. It is for tests, of which one at a time may do so.
func Simulate(wrap func(dir string, real Disk) Disk) (restore func()) {
	simulated.Store(&wrap)
	return func() { simulated.Store(nil) }
}

func changed(dir string, real Disk) Disk {
	if wrap := simulated.Load(); wrap != nil {
		return (*wrap)(dir, real)
	}
	return real
}

// diskAt is the disk of the directory that the user named, whose links are followed.
func diskAt(dir string) Disk { return changed(dir, named(dir)) }

// named changes files by their paths.
type named string

func (d named) at(name string) string { return filepath.Join(string(d), name) }

func (d named) Create(name string) (File, error) {
	f, err := os.OpenFile(d.at(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return locked(f, err)
}

func (d named) Mkdir(name string) error      { return os.Mkdir(d.at(name), 0o777) }
func (d named) MkdirAll(name string) error   { return os.MkdirAll(d.at(name), 0o777) }
func (d named) Rename(from, to string) error { return os.Rename(d.at(from), d.at(to)) }
func (d named) Remove(name string) error     { return os.Remove(d.at(name)) }
func (d named) RemoveAll(name string) error  { return os.RemoveAll(d.at(name)) }

func (d named) Sync(name string) { synced(os.Open(d.at(name))) }

// rooted changes files of a directory and none outside of it, whatever links it holds.
type rooted struct{ *os.Root }

func (d rooted) Create(name string) (File, error) {
	f, err := d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	return locked(f, err)
}

func (d rooted) Mkdir(name string) error    { return d.Root.Mkdir(name, 0o777) }
func (d rooted) MkdirAll(name string) error { return d.Root.MkdirAll(name, 0o777) }

func (d rooted) Sync(name string) { synced(d.Open(name)) }

func locked(f *os.File, err error) (File, error) {
	if err != nil {
		return nil, err
	}
	tryLock(f, true)
	return f, nil
}

// synced syncs a directory, unless one may write to it but not read, or the file system syncs
// none.
func synced(dir *os.File, err error) {
	if err == nil {
		_ = dir.Sync()
		dir.Close()
	}
}

// MkdirAll makes the directory at path, and those above it, unless they are there.
func MkdirAll(path string) error { return diskAt(filepath.Dir(path)).MkdirAll(filepath.Base(path)) }

// Remove removes the file or the empty directory at path.
func Remove(path string) error { return diskAt(filepath.Dir(path)).Remove(filepath.Base(path)) }
