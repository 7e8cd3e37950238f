package data

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// What a file may hold that is read at once.
const (
	MostSettings      = 64 << 10 // written by hand
	mostConfiguration = 16 << 20 // written by this program: a configuration, a manifest, a cell
)

// OpenFile opens the file at path, or the file that the link at path points to, for reading.
// Anything that is no file is an *InputError that names what it is; OpenFile never waits for a pipe.
func OpenFile(path string) (*os.File, error) {
	f, err := openRegular(func() (fs.FileInfo, error) { return os.Stat(path) }, func(flag int) (*os.File, error) { return os.OpenFile(path, flag, 0) })
	if err != nil {
		return nil, Inputf(path, "cannot be opened: %w", err)
	}
	return f, nil
}

// ReadPlain is [ReadConfiguration] of the file name below root, which must not be a link. If there is no file, the
// error is fs.ErrNotExist.
func ReadPlain(root *os.Root, name string) ([]byte, error) {
	path := filepath.Join(root.Name(), name)
	f, err := OpenIn(root, name)
	if err != nil {
		return nil, Inputf(path, "cannot be read: %w", err)
	}
	defer f.Close()
	return readAll(path, f, mostConfiguration)
}

// OpenIn opens the file name below root, which must not be a link, as [OpenFile] does. Its error is as it came.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	return openRegular(func() (fs.FileInfo, error) { return root.Lstat(name) },
		func(flag int) (*os.File, error) { return root.OpenFile(name, flag, 0) })
}

// whileWanted reads what it is of until ctx is cancelled, whose error it gives from then on.
type whileWanted struct {
	ctx context.Context
	of  io.ReaderAt
}

// ReadAt reads a megabyte at a time, so that the end of a large read need not be waited for.
func (r whileWanted) ReadAt(b []byte, at int64) (n int, err error) {
	const most = 1 << 20
	for n < len(b) && err == nil {
		if err = r.ctx.Err(); err != nil {
			return n, err
		}
		var got int
		got, err = r.of.ReadAt(b[n:min(n+most, len(b))], at+int64(n))
		n += got
	}
	return n, err
}

// openRegular opens what stat describes if it is a file. Stat is called before, since some
// devices act when they are opened, and after, since it may be another by then.
func openRegular(stat func() (fs.FileInfo, error), open func(flag int) (*os.File, error)) (*os.File, error) {
	info, err := stat()
	if err == nil {
		err = noFile(info)
	}
	if err != nil {
		return nil, err
	}
	f, err := open(os.O_RDONLY | syscall.O_NONBLOCK)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil {
		err = noFile(info)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// noFile is the error of what is not a file, nil of one.
func noFile(info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return errors.New("it is not a file but a directory; name a file")
	case mode&fs.ModeNamedPipe != 0:
		return errors.New("it is not a file but a pipe; write what it gives to a file and name that")
	case mode&fs.ModeSocket != 0:
		return errors.New("it is not a file but a socket; name a file")
	case mode&fs.ModeSymlink != 0:
		return errors.New("it is not a file but a link; name the file that it points to")
	}
	return errors.New("it is not a file but a device; name a file")
}

// ReadFile reads the file at path, which must have room in memory; see [OpenFile].
func ReadFile(path string) ([]byte, error) { return ReadSmall(path, room()) }

// ReadSmall is ReadFile of a file of at most so many bytes.
func ReadSmall(path string, most int64) ([]byte, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(path, f, most)
}

// ReadConfiguration is ReadFile of a file of settings or results that this program wrote.
func ReadConfiguration(path string) ([]byte, error) { return ReadSmall(path, mostConfiguration) }

// readAll reads f, of at most so many bytes, whatever its stated size.
func readAll(path string, f *os.File, most int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, Inputf(path, "cannot be read: %w", err)
	}
	if info.Size() > most {
		return nil, Inputf(path, "has %s; at most %s are read of such a file", size(float64(info.Size())), size(float64(most)))
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	switch {
	case err != nil:
		return nil, Inputf(path, "cannot be read: %w", err)
	case int64(len(text)) > most:
		return nil, Inputf(path, "has more than %s, the most that is read of such a file", size(float64(most)))
	}
	return text, nil
}
