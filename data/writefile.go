package data

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// WriteFile makes the file at path hold exactly what write writes, or leaves it
// as it was: the bytes go to a temporary name in the same directory, reach the
// disk, and only then take the name path.
//
// A directory that cannot be written to is an *InputError.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	dir, base := filepath.Split(path)
	if dir == "" {
		dir = "."
	}
	f, err := os.CreateTemp(dir, "."+base+".*")
	if err != nil {
		return Inputf(path, "cannot be written: %w", err)
	}
	done := false
	defer func() {
		if !done { // also when write panics
			f.Close()
			os.Remove(f.Name())
		}
	}()

	buf := bufio.NewWriterSize(f, 1<<18)
	if err := write(buf); err != nil {
		return fmt.Errorf("data: write %s: %w", path, err)
	}
	if err := errors.Join(buf.Flush(), f.Chmod(0o644), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("data: write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return Inputf(path, "cannot be written: %w", err)
	}
	done = true
	return syncDir(dir)
}

// WriteBytes is [WriteFile] of content.
func WriteBytes(path string, content []byte) error {
	return WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(content)
		return err
	})
}

// syncDir makes a rename in dir outlast a power failure, where the system can.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return nil // a directory one may write to but not read
	}
	defer d.Close()
	_ = d.Sync() // not every file system syncs directories
	return nil
}
