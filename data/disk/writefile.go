package disk

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"calibra/data"
)

// WriteFile makes the file at path hold exactly what write writes, or leaves it
// as it was: the bytes go to a temporary name in the same directory, reach the
// disk, and only then take the name path. A link to a file stays, and that file is
// replaced. The file may be read by whom the process's umask allows.
//
// A directory that cannot be written to, and a path that names one or a device, is a
// *data.InputError.
func WriteFile(path string, write func(io.Writer) error) error {
	if err := CheckFile(path); err != nil {
		return err
	}
	place := path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		place = target
	}
	dir, base := filepath.Split(place)
	Sweep(dir, func(name string) bool { return name == base }) // what killed processes left of it
	root, err := os.OpenRoot(filepath.Clean(dir))
	if err != nil {
		return data.Inputf(path, "cannot be written: %w", err)
	}
	defer root.Close()
	d, made := inside{root}, temporary(base)
	if err := d.write(path, made, write); err != nil {
		return err
	}
	if err := d.rename(made, base); err != nil {
		_ = d.remove(made)
		return data.Inputf(path, "cannot be written: %w", err)
	}
	d.sync(".")
	return nil
}

// write makes a new file that is to be at path, locked until it is whole and on the disk. What fails leaves none.
func (d inside) write(path, name string, write func(io.Writer) error) error {
	var f *os.File
	err := d.change("create", name, func() (err error) {
		f, err = d.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
		return err
	})
	if err != nil {
		return data.Inputf(path, "cannot be written: %w", err)
	}
	tryLock(f, true)
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			_ = d.remove(name)
		}
	}()
	buf := bufio.NewWriterSize(file{f}, 1<<18)
	sync := func() error { return d.change("sync", name, f.Sync) }
	for _, step := range []func() error{func() error { return write(buf) }, buf.Flush, sync, f.Close} {
		if err := step(); err != nil {
			return fmt.Errorf("data: write %s: %w", path, err)
		}
	}
	done = true
	return nil
}

// file is one that is being written under a name of which nobody is told.
type file struct{ *os.File }

func (f file) Write(p []byte) (n int, err error) {
	err = change("write", f.Name(), func() (err error) { n, err = f.File.Write(p); return err })
	return n, data.Cause(err)
}

// CheckFile returns a *data.InputError if path is there and no regular file, which
// [WriteFile] would have to destroy.
func CheckFile(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil || info.Mode().IsRegular():
		return nil
	case info.IsDir():
		return data.Inputf(path, "cannot be written: it is a directory; name a file")
	}
	return data.Inputf(path, "cannot be written: it is a device or a pipe; name a file")
}

// WriteBytes is [WriteFile] of content.
func WriteBytes(path string, content []byte) error { return WriteFile(path, writing(content)) }

// WriteNPZ writes the arrays to the npz file at path, whole or not at all; see [data.NPZ].
func WriteNPZ(path string, arrays ...data.Array) error { return WriteFile(path, data.NPZ(arrays...)) }

// WriteArrays writes arrays of N rows to the file at path, whole or not at all, as a table or as an
// npz file; see [data.Formatted].
func WriteArrays(path string, arrays ...data.Array) error {
	write, err := data.Formatted(path, arrays...)
	if err != nil {
		return err
	}
	return WriteFile(path, write)
}

func writing(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}
