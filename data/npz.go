package data

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
)

// archive is an npz file open for reading: a zip of npy arrays, keyed by name
// without ".npy". Every error of its methods is an *InputError naming the file
// and the key.
type archive struct {
	path    string
	members map[string]*zip.File
	keys    []string // in file order
	table   bool     // it stands for a table
	names   Names
	close   func() error
}

// openArchive opens the npz file at path, or a table file as the npz that it stands for; the
// caller closes it.
func openArchive(path string) (*archive, error) { return openWanted(context.Background(), path) }

// openWanted is openArchive of a file that is read until ctx is cancelled.
func openWanted(ctx context.Context, path string) (*archive, error) {
	f, err := OpenFile(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return nil, Inputf(path, "cannot be opened: %w", err)
	}
	r := whileWanted{ctx, f}
	a, err := openTable(path, r, info.Size())
	if a == nil && err == nil {
		if a, err = newArchive(path, r, info.Size()); err == nil {
			a.close = f.Close
			return a, nil
		}
	}
	f.Close()
	return a, err
}

// wanted reads the archive at path until ctx is cancelled, which is then the error.
func wanted[T any](ctx context.Context, path string, read func(*archive) (T, error)) (v T, err error) {
	a, err := openWanted(ctx, path)
	if err == nil {
		defer a.close()
		v, err = read(a)
	}
	if cancelled := ctx.Err(); cancelled != nil { // whatever the reader made of it
		var none T
		return none, Inputf(path, "was not read to its end: %w", cancelled)
	}
	return v, err
}

// within reads the archive at path.
func within[T any](path string, read func(*archive) (T, error)) (T, error) {
	return wanted(context.Background(), path, read)
}

// newArchive reads the directory of the npz of size bytes in r.
func newArchive(path string, r io.ReaderAt, size int64) (*archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, Inputf(path, "is not an npz file, or a truncated one (%w); write it with numpy.savez, or as Parquet, Arrow or csv", err)
	}
	a := &archive{path: path, members: make(map[string]*zip.File), close: func() error { return nil }}
	for _, m := range z.File {
		key, isNPY := strings.CutSuffix(m.Name, ".npy")
		if !isNPY {
			continue
		}
		if a.members[key] != nil {
			return nil, Inputf(path, "holds %s twice; write the file again", printable(key))
		}
		// No member can be longer than deflate makes it, so a forged size cannot
		// make the reader allocate more than a fixed multiple of the file.
		if m.CompressedSize64 > uint64(size) || m.UncompressedSize64 > 1032*m.CompressedSize64+1032 {
			return nil, Inputf(path, "is truncated or damaged: %s claims more bytes than the file can hold", printable(key))
		}
		if m.Method == zip.Store && m.UncompressedSize64 != m.CompressedSize64 {
			return nil, Inputf(path, "is damaged: %s has %d bytes and claims %d", printable(key), m.CompressedSize64, m.UncompressedSize64)
		}
		a.members[key] = m
		a.keys = append(a.keys, key)
	}
	return a, nil
}

func (a *archive) has(key string) bool { return a.members[key] != nil }

// opened is an array of an npz file whose elements are read in order.
type opened struct {
	*header
	a    *archive
	key  string
	body io.ReadCloser
}

// open opens the array key behind its header.
func (a *archive) open(key string) (*opened, error) {
	h, err := a.anyHeader(key)
	if err != nil {
		return nil, err
	}
	r, err := a.members[key].Open()
	if err != nil {
		return nil, Inputf(a.path, "%s cannot be read: %w", key, err)
	}
	if _, err := io.CopyN(io.Discard, r, h.length); err != nil {
		r.Close()
		return nil, Inputf(a.path, "%s %w", key, truncated(err))
	}
	return &opened{h, a, key, r}, nil
}

// end meets the end of the array, where the zip reader compares the checksum.
func (o *opened) end() error {
	if _, err := io.Copy(io.Discard, o.body); err != nil {
		return Inputf(o.a.path, "%s is damaged (%w); copy or write the file again", o.key, err)
	}
	return nil
}

// read hands the header of the array key and its elements to decode.
func (a *archive) read(key string, decode func(h *header, r io.Reader) error) error {
	o, err := a.open(key)
	if err != nil {
		return err
	}
	defer o.body.Close()
	if err := a.holds(key); err != nil {
		return err
	}
	if err := decode(o.header, o.body); err != nil {
		return Inputf(a.path, "%s %w", key, err)
	}
	return o.end()
}

// header reads the header of the array key of numbers, and no element. It and the size that
// the file gives the array agree.
func (a *archive) header(key string) (*header, error) {
	h, err := a.anyHeader(key)
	if err == nil && h.text() {
		return nil, a.unfit(key, h)
	}
	return h, err
}

// unfit is the error of an array that does not hold what it should.
func (a *archive) unfit(key string, h *header) error {
	want := "float16, float32, float64 or an integer type"
	if strings.HasSuffix(key, "labels") {
		want = "integers 0…C−1 that number the classes, or as text that names them (labels.astype(str))"
	}
	return Inputf(a.path, "%s has dtype %.20q; save it as %s", key, h.dtype, want)
}

// anyHeader is header of numbers or text.
func (a *archive) anyHeader(key string) (*header, error) {
	m := a.members[key]
	if m == nil {
		return nil, a.missing(key)
	}
	r, err := m.Open()
	if err != nil {
		return nil, Inputf(a.path, "%s cannot be read: %w", key, err)
	}
	defer r.Close()
	h, err := readHeader(r)
	if err != nil {
		return nil, Inputf(a.path, "%s %w", key, err)
	}
	if h.kind == 0 {
		return nil, a.unfit(key, h)
	}
	want, err := h.bytes()
	if err != nil {
		return nil, Inputf(a.path, "%s %w", key, err)
	}
	if have := int64(m.UncompressedSize64) - h.length; have != want {
		return nil, Inputf(a.path, "%s is truncated or damaged: its shape %s takes %d bytes and the file has %d",
			key, shapeString(h.shape), want, max(have, 0))
	}
	return h, nil
}

// dense is how many times its bytes in the file an array may have before it is inflated
// once to see whether they are there. Features and logits are two to four times as long.
const dense = 16

// holds returns an error unless the array key has the bytes that its size claims, before
// memory is taken for them.
func (a *archive) holds(key string) error {
	m := a.members[key]
	if m.UncompressedSize64 < 1<<24 || m.UncompressedSize64 < dense*m.CompressedSize64 {
		return nil
	}
	r, err := m.Open()
	if err != nil {
		return Inputf(a.path, "%s cannot be read: %w", key, err)
	}
	defer r.Close()
	claimed := int64(m.UncompressedSize64) + 1 // to read the end too, with its checksum
	if _, err := io.Copy(io.Discard, io.LimitReader(r, claimed)); err != nil {
		return Inputf(a.path, "%s is damaged (%w); copy or write the file again", key, truncated(err))
	}
	return nil
}

// missing says that key is absent, and what is there instead.
func (a *archive) missing(key string) error {
	if len(a.keys) == 0 {
		return Inputf(a.path, "has no %s; it holds no array at all", key)
	}
	var shown []string
	for _, have := range a.keys {
		shown = append(shown, printable(have))
	}
	return Inputf(a.path, "has no %s; it holds %s", key, listed(shown, 12))
}

// values are those of a real N×M array, row by row. A NaN always, and an infinity unless
// allowed(value), is an error with its row and column.
func values[T float32 | float64](a *archive, key string, rows, cols int, allowed func(v float64) bool) (values []T, err error) {
	err = a.read(key, func(h *header, r io.Reader) error {
		values = make([]T, rows*cols)
		if err := decode(h, r, values); err != nil {
			return err
		}
		if h.fortran {
			columns := values
			values = make([]T, rows*cols)
			for i := range values {
				values[i] = columns[i%cols*rows+i/cols]
			}
		}
		return finite(values, cols, 0, allowed)
	})
	return values, err
}

// matrix reads a real N×M array, N and M at least 1; see values.
func (a *archive) matrix(key string, allowed func(v float64) bool) (*mat.Dense, error) {
	rows, cols, err := a.size(key, 8)
	if err != nil {
		return nil, err
	}
	all, err := values[float64](a, key, rows, cols, allowed)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(rows, cols, all), nil
}

// single tells whether float32 holds every value of the header's type.
func (h *header) single() bool {
	return h.kind == 'f' && h.size <= 4 || (h.kind == 'i' || h.kind == 'u') && h.size <= 2
}

// width is the bytes that a value of the features key takes in memory.
func (a *archive) width(key string) int {
	if h, err := a.header(key); err == nil && h.single() {
		return 4
	}
	return 8
}

// features reads a real N×M array of finite values as [archive.matrix] does, but leaves
// those that single precision holds in it.
func (a *archive) features(key string) (mat.Matrix, error) {
	h, err := a.header(key)
	if err != nil {
		return nil, err
	}
	if !h.single() || h.fortran {
		return a.matrix(key, onlyFinite)
	}
	rows, cols, err := a.size(key, 4)
	if err != nil {
		return nil, err
	}
	all, err := values[float32](a, key, rows, cols, onlyFinite)
	if err != nil {
		return nil, err
	}
	return NewSingles(all, cols), nil
}

// size is N and M of a real N×M array, by its header, if memory has room for it at so many
// bytes a value.
func (a *archive) size(key string, value int) (rows, cols int, err error) {
	h, err := a.header(key)
	if err != nil {
		return 0, 0, err
	}
	if len(h.shape) != 2 {
		return 0, 0, Inputf(a.path, "%s has shape %s; it must have two axes, rows and columns", key, shapeString(h.shape))
	}
	rows, cols = h.shape[0], h.shape[1]
	if rows == 0 || cols == 0 {
		return 0, 0, Inputf(a.path, "%s has shape %s; it must have at least one row and one column", key, shapeString(h.shape))
	}
	each := float64(value) * float64(cols)
	if h.fortran {
		each *= 2
	}
	return rows, cols, CheckRoom(a.path, key, rows, each, "rows")
}

// shares reads labels that may be soft, N×C: then they are the most probable classes.
func (a *archive) shares(key string) (labels []int, soft *mat.Dense, err error) {
	if a.wide(key) {
		return a.soft(key)
	}
	labels, err = a.labels(key)
	return labels, nil, err
}

// wide tells whether the numbers of key have several columns.
func (a *archive) wide(key string) bool {
	h, err := a.header(key)
	return err == nil && len(h.shape) == 2 && h.shape[1] > 1
}

// labels reads N integers, or texts that name classes (see [Names]); (N, 1) is taken for (N,).
func (a *archive) labels(key string) ([]int, error) {
	rows, err := a.count(key)
	if err != nil {
		return nil, err
	}
	if h, err := a.anyHeader(key); err == nil && h.text() {
		text, err := a.textArray(key)
		if err != nil {
			return nil, err
		}
		return a.numbered(key, text)
	}
	if a.wide(key) {
		labels, soft, err := a.soft(key)
		if soft != nil {
			return nil, Inputf(a.path, "%s holds probabilities of classes; here each row has one class", key)
		}
		return labels, err
	}
	var labels []int
	err = a.read(key, func(h *header, r io.Reader) error {
		labels = make([]int, rows)
		return h.ints(r, labels)
	})
	return labels, err
}

// count is N of N labels, by their header.
func (a *archive) count(key string) (rows int, err error) {
	h, err := a.anyHeader(key)
	if err != nil {
		return 0, err
	}
	if len(h.shape) == 2 && h.shape[1] > 1 && h.shape[0] > 0 && !h.text() { // a column for each class
		return h.shape[0], CheckRoom(a.path, key, h.shape[0], 8*float64(h.shape[1]), "rows")
	}
	if len(h.shape) != 1 && !(len(h.shape) == 2 && h.shape[1] == 1) {
		return 0, Inputf(a.path, "%s has shape %s; labels have one axis, one integer a row", key, shapeString(h.shape))
	}
	if h.kind == 'f' {
		return 0, Inputf(a.path, "%s has dtype float%d; save it as integers 0…C−1, for instance labels.astype(numpy.int64)", key, 8*h.size)
	}
	if h.shape[0] == 0 {
		return 0, Inputf(a.path, "%s has no rows; it must have at least one", key)
	}
	return h.shape[0], CheckRoom(a.path, key, h.shape[0], 8, "rows")
}

// checkLabels returns an error for the first label outside 0…classes−1.
func (a *archive) checkLabels(key string, labels []int, classes int) error {
	i := InvalidLabel(labels, classes)
	if i < 0 {
		return nil
	}
	return Inputf(a.path, "%s holds %d at row %d; labels must lie in 0…%d", key, labels[i], i, classes-1)
}

// checkShares is checkLabels of labels that may be soft.
func (a *archive) checkShares(key string, labels []int, soft *mat.Dense, classes int) error {
	if soft != nil && soft.RawMatrix().Cols != classes {
		return Inputf(a.path, "%s has %d columns and there are %d classes; it must have one for each", key, soft.RawMatrix().Cols, classes)
	}
	return a.checkLabels(key, labels, classes)
}

// HasArray says whether the npz or table file at path holds key.
func HasArray(path, key string) (bool, error) {
	return within(path, func(a *archive) (bool, error) { return a.has(key), nil })
}

// ReadMatrix reads the real N×M array key of the npz file at path. Half, single
// and double precision and integers are read, in either byte order and either
// memory order; a value that is not finite is an *InputError.
func ReadMatrix(path, key string) (*mat.Dense, error) {
	return within(path, func(a *archive) (*mat.Dense, error) { return a.matrix(key, onlyFinite) })
}

// ReadFeatures is [ReadMatrix] of an array that stays in single precision if the file has it
// so: a *mat.Dense or [*Singles].
func ReadFeatures(path, key string) (mat.Matrix, error) {
	return within(path, func(a *archive) (mat.Matrix, error) { return a.features(key) })
}

// Array is one array of an npz file.
type Array struct {
	Name  string // the key
	Value any    // *mat.Dense, *Singles or, but for tables, *Streamed (written as float64), Written, []float64, []float32, []int (as int64), []string
}

// WriteNPZ writes the arrays, in the order given, to the npz file at path,
// whole or not at all (see [WriteFile]). Equal arrays give equal bytes: members
// are stored, not deflated, and dated 1980.
func WriteNPZ(path string, arrays ...Array) error { return WriteFile(path, NPZ(arrays...)) }

// NPZ writes what WriteNPZ writes, as [WriteFile] and [Folder.WriteFile] take it.
func NPZ(arrays ...Array) func(io.Writer) error {
	return func(w io.Writer) error {
		z := zip.NewWriter(w)
		for _, a := range arrays {
			if err := writeArray(z, a); err != nil {
				return err
			}
		}
		return z.Close()
	}
}

func writeArray(z *zip.Writer, a Array) error {
	m, err := z.CreateHeader(&zip.FileHeader{
		Name:     a.Name + ".npy",
		Method:   zip.Store,
		Modified: time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC),
	})
	if err != nil {
		return err
	}
	v, err := written(a.Value)
	if err == nil {
		err = v.write(m)
	}
	if err != nil {
		return fmt.Errorf("array %s: %w", a.Name, err)
	}
	return nil
}
