package disk

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

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
	dir, base := filepath.Dir(place), filepath.Base(place)
	Sweep(dir, func(name string) bool { return name == base }) // what killed processes left of it
	return replace(diskAt(dir), path, base, write)
}

// replace is WriteFile of the file name of the disk, which is told as path.
func replace(disk Disk, path, name string, write func(io.Writer) error) error {
	var (
		f    File
		made string
		err  error
	)
	for n := range 1000 {
		made = temporary(name, n)
		if f, err = disk.Create(made); !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return cannotWrite(path, err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			_ = disk.Remove(made)
		}
	}()
	if err := fill(f, f, write); err != nil {
		return notWritten(path, made, err)
	}
	if err := disk.Rename(made, name); err != nil {
		return cannotWrite(path, err)
	}
	done = true
	disk.Sync(".")
	return nil
}

// fill closes f when what write writes has gone to w, which is f or writes to it, and is on the disk.
func fill(f File, w io.Writer, write func(io.Writer) error) error {
	buf := bufio.NewWriterSize(w, 1<<18)
	for _, step := range []func() error{func() error { return write(buf) }, buf.Flush, f.Sync, f.Close} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// cannotWrite is the error of a file that cannot be made: the user's to mend, a
// *data.InputError, unless the disk is full.
func cannotWrite(path string, err error) error {
	if full(err) {
		return fmt.Errorf("data: write %s: %w", path, data.Cause(err))
	}
	return data.Inputf(path, "cannot be written: %w", err)
}

// notWritten is the error of the file at path, which is made under another name.
func notWritten(path, made string, err error) error {
	if failure := (*fs.PathError)(nil); errors.As(err, &failure) && filepath.Base(failure.Path) == filepath.Base(made) {
		err = failure.Err
	}
	return fmt.Errorf("data: write %s: %w", path, err)
}

// full reports whether err is of a disk that takes no more.
func full(err error) bool {
	return slices.ContainsFunc([]error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EIO}, func(failure error) bool { return errors.Is(err, failure) })
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

func writing(content []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	}
}
