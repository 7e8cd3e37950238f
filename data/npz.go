package data

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/sbinet/npyio/npy"
	"gonum.org/v1/gonum/mat"
)

// archive is an npz file open for reading: a zip of npy arrays, keyed by name
// without ".npy". Every error of its methods is an *InputError naming the file
// and the key.
type archive struct {
	path    string
	members map[string]*zip.File
	keys    []string // in file order
	close   func() error
}

// openArchive opens the npz file at path; the caller closes it.
func openArchive(path string) (*archive, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, Inputf(path, "cannot be opened: %w", err)
	}
	info, err := f.Stat()
	if err != nil || info.IsDir() {
		f.Close()
		return nil, Inputf(path, "is not a file; name an npz file")
	}
	a, err := newArchive(path, f, info.Size())
	if err != nil {
		f.Close()
		return nil, err
	}
	a.close = f.Close
	return a, nil
}

// newArchive reads the directory of the npz of size bytes in r.
func newArchive(path string, r io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, Inputf(path, "is not an npz file, or a truncated one (%w); write it with numpy.savez", err)
	}
	a := &archive{path: path, members: make(map[string]*zip.File), close: func() error { return nil }}
	for _, m := range z.File {
		key, isNPY := strings.CutSuffix(m.Name, ".npy")
		if !isNPY {
			continue
		}
		if a.members[key] != nil {
			return nil, Inputf(path, "holds %s twice; write the file again", key)
		}
		// No member can be longer than deflate makes it, so a forged size cannot
		// make the reader allocate more than a fixed multiple of the file.
		if m.CompressedSize64 > uint64(size) || m.UncompressedSize64 > 1032*m.CompressedSize64+1032 {
			return nil, Inputf(path, "is truncated or damaged: %s claims more bytes than the file can hold", key)
		}
		a.members[key] = m
		a.keys = append(a.keys, key)
	}
	return a, nil
}

func (a *archive) has(key string) bool { return a.members[key] != nil }

// read opens the array key, checks that its header and its size agree, and hands
// both to decode.
func (a *archive) read(key string, decode func(h *header, r io.Reader) error) error {
	m := a.members[key]
	if m == nil {
		return a.missing(key)
	}
	r, err := m.Open()
	if err != nil {
		return Inputf(a.path, "%s cannot be read: %w", key, err)
	}
	defer r.Close()
	h, err := readHeader(r)
	if err != nil {
		return Inputf(a.path, "%s %w", key, err)
	}
	want, err := h.bytes()
	if err != nil {
		return Inputf(a.path, "%s %w", key, err)
	}
	if have := int64(m.UncompressedSize64) - h.length; have != want {
		return Inputf(a.path, "%s is truncated or damaged: its shape %s takes %d bytes and the file has %d",
			key, shapeString(h.shape), want, max(have, 0))
	}
	if err := decode(h, r); err != nil {
		return Inputf(a.path, "%s %w", key, err)
	}
	// The zip reader compares the checksum when it meets the end.
	if _, err := io.Copy(io.Discard, r); err != nil {
		return Inputf(a.path, "%s is damaged (%w); copy or write the file again", key, err)
	}
	return nil
}

// missing says that key is absent, and what is there instead.
func (a *archive) missing(key string) error {
	if len(a.keys) == 0 {
		return Inputf(a.path, "has no %s; it holds no array at all", key)
	}
	shown := a.keys[:min(len(a.keys), 12)]
	return Inputf(a.path, "has no %s; it holds %s", key, strings.Join(shown, ", "))
}

// matrix reads a real N×M array, N and M at least 1. A NaN always, and an
// infinity unless allowed(value), is an error with its row and column.
func (a *archive) matrix(key string, allowed func(v float64) bool) (*mat.Dense, error) {
	var m *mat.Dense
	err := a.read(key, func(h *header, r io.Reader) error {
		if len(h.shape) != 2 {
			return fmt.Errorf("has shape %s; it must have two axes, rows and columns", shapeString(h.shape))
		}
		rows, cols := h.shape[0], h.shape[1]
		if rows == 0 || cols == 0 {
			return fmt.Errorf("has shape %s; it must have at least one row and one column", shapeString(h.shape))
		}
		values := make([]float64, rows*cols)
		if err := h.floats(r, values); err != nil {
			return err
		}
		if h.fortran {
			values = mat.DenseCopyOf(mat.NewDense(cols, rows, values).T()).RawMatrix().Data
		}
		for i, v := range values {
			if v-v != 0 && !allowed(v) { // NaN or ±Inf
				return fmt.Errorf("holds %v at row %d, column %d; every value must be finite", v, i/cols, i%cols)
			}
		}
		m = mat.NewDense(rows, cols, values)
		return nil
	})
	return m, err
}

func onlyFinite(float64) bool { return false }

// labels reads N integers; (N, 1) is taken for (N,).
func (a *archive) labels(key string) ([]int, error) {
	var labels []int
	err := a.read(key, func(h *header, r io.Reader) error {
		if len(h.shape) != 1 && !(len(h.shape) == 2 && h.shape[1] == 1) {
			return fmt.Errorf("has shape %s; labels have one axis, one integer a row", shapeString(h.shape))
		}
		if h.kind == 'f' {
			return fmt.Errorf("is of dtype float%d; labels must be integers 0…C−1", 8*h.size)
		}
		if h.shape[0] == 0 {
			return errors.New("has no rows; it must have at least one")
		}
		labels = make([]int, h.shape[0])
		return h.ints(r, labels)
	})
	return labels, err
}

// checkLabels returns an error for the first label outside 0…classes−1.
func (a *archive) checkLabels(key string, labels []int, classes int) error {
	i := Stray(labels, classes)
	if i < 0 {
		return nil
	}
	return Inputf(a.path, "%s holds %d at row %d; labels must lie in 0…%d", key, labels[i], i, classes-1)
}

// ReadMatrix reads the real N×M array key of the npz file at path. Half, single
// and double precision and integers are read, in either byte order and either
// memory order; a value that is not finite is an *InputError.
func ReadMatrix(path, key string) (*mat.Dense, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.close()
	return a.matrix(key, onlyFinite)
}

// Array is one array of an npz file.
type Array struct {
	Name  string // the key
	Value any    // *mat.Dense (written as float64), []float64, []float32, []int (as int64)
}

// WriteNPZ writes the arrays, in the order given, to the npz file at path,
// whole or not at all (see [WriteFile]). Equal arrays give equal bytes: members
// are stored, not deflated, and dated 1980.
func WriteNPZ(path string, arrays ...Array) error {
	return WriteFile(path, func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, a := range arrays {
			m, err := z.CreateHeader(&zip.FileHeader{
				Name:     a.Name + ".npy",
				Method:   zip.Store,
				Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC),
			})
			if err != nil {
				return err
			}
			value := a.Value
			if ints, ok := value.([]int); ok {
				value = int64s(ints)
			}
			if err := npy.Write(m, value); err != nil {
				return fmt.Errorf("array %s: %w", a.Name, err)
			}
		}
		return z.Close()
	})
}

func int64s(v []int) []int64 {
	out := make([]int64, len(v))
	for i, x := range v {
		out[i] = int64(x)
	}
	return out
}
