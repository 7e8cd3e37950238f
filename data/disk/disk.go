package disk

import (
	"os"
	"path/filepath"
	"sync/atomic"
)

// interrupted is what [Interrupt] was given.
var interrupted atomic.Pointer[func(change, path string) error]

// Interrupt calls before ahead of each change of the disk that this module makes (create, write, sync, mkdir, rename or
// remove), with the path. If before returns an error, the change is not made. It is for tests, one at a time, until
// restore is called.
func Interrupt(before func(change, path string) error) (restore func()) {
	interrupted.Store(&before)
	return func() { interrupted.Store(nil) }
}

// change makes a change of the disk, unless a test lets it fail.
func change(what, path string, make func() error) error {
	if before := interrupted.Load(); before != nil {
		if err := (*before)(what, path); err != nil {
			return err
		}
	}
	return make()
}

// MkdirAll makes the directory at path, and those above it, unless they are there.
func MkdirAll(path string) error {
	return change("mkdir", path, func() error { return os.MkdirAll(path, 0o777) })
}

// Remove removes the file or the empty directory at path.
func Remove(path string) error {
	return change("remove", path, func() error { return os.Remove(path) })
}

// RemoveAll removes the file or the directory at path with all that is in it, if it is there.
func RemoveAll(path string) error {
	return change("remove", path, func() error { return os.RemoveAll(path) })
}

// inside changes files of a directory and none outside of it, whatever links it holds.
type inside struct{ *os.Root }

func (d inside) change(what, name string, make func() error) error {
	return change(what, filepath.Join(d.Name(), name), make)
}

func (d inside) mkdir(name string) error {
	return d.change("mkdir", name, func() error { return d.MkdirAll(name, 0o777) })
}

func (d inside) rename(from, to string) error {
	return d.change("rename", to, func() error { return d.Rename(from, to) })
}

// remove removes a file or a directory with all that is in it, if it is there.
func (d inside) remove(name string) error {
	return d.change("remove", name, func() error { return d.RemoveAll(name) })
}

// sync makes what was made and renamed in a directory outlast a power failure, where the system can.
func (d inside) sync(name string) {
	_ = d.change("sync", name, func() error {
		dir, err := d.Open(name)
		if err == nil {
			_ = dir.Sync()
			dir.Close()
		}
		return nil
	})
}
