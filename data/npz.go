package data

import (
	"archive/zip"
	"context"
	"fmt"
	"io"
	"slices"
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
	left    []string // columns of the table that are no arrays
	taken   []string // arrays that stand for logits
	names   Names
	// categories are the classes of labels as the file lists them, nil without; ordered is true where their order is
	// said to have a meaning. orders are those that labels of text may be numbered in, the first by which they are, and
	// asked is true where the rows must tell which; order says which was taken, "" where the classes have names beside
	// the labels.
	categories     []string
	ordered, asked bool
	orders         []classOrder
	order          string
	close          func() error
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
			a.takeScores()
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
		return nil, Inputf(path, "is not an npz file, or a truncated one (%w); write it with numpy.savez, or as Parquet, Arrow or csv, and name a csv file F.csv", err)
	}
	if says := otherZip(z); says != "" {
		return nil, Inputf(path, "%s", says)
	}
	a := &archive{path: path, members: make(map[string]*zip.File), close: func() error { return nil }}
	for _, m := range z.File {
		key, isNPY := strings.CutSuffix(m.Name, ".npy")
		if !isNPY {
			continue
		}
		if a.members[key] != nil {
			return nil, Inputf(path, "holds %s twice; write the file again", Printable(key))
		}
		// No member can be longer than deflate makes it, so a forged size cannot
		// make the reader allocate more than a fixed multiple of the file.
		if m.CompressedSize64 > uint64(size) || m.UncompressedSize64 > 1032*m.CompressedSize64+1032 {
			return nil, Inputf(path, "is truncated or damaged: %s claims more bytes than the file can hold", Printable(key))
		}
		if m.Method == zip.Store && m.UncompressedSize64 != m.CompressedSize64 {
			return nil, Inputf(path, "is damaged: %s has %d bytes and claims %d", Printable(key), m.CompressedSize64, m.UncompressedSize64)
		}
		a.members[key] = m
		a.keys = append(a.keys, key)
	}
	return a, nil
}

func (a *archive) has(key string) bool { return a.members[key] != nil }

// first is the first of the keys that is there, "" if none is.
func (a *archive) first(keys ...string) string {
	return append(slices.DeleteFunc(keys, func(key string) bool { return !a.has(key) }), "")[0]
}

// takeScores lets the probabilities of a part without logits, or their logarithms, stand for its logits, since what
// they are is asked of them.
func (a *archive) takeScores() {
	for _, part := range partPrefixes {
		for _, name := range scoreArrays {
			if key := part + "logits"; !a.has(key) && a.has(part+name) {
				a.members[key], a.taken = a.members[part+name], append(a.taken, name, part+name)
			}
		}
	}
}

// entry is an array of an npz file by its header.
type entry struct {
	*header
	a    *archive
	key  string
	file *zip.File
}

// entry reads the header of the array key, of numbers or text, and no element. It and the size
// that the file gives the array agree.
func (a *archive) entry(key string) (*entry, error) {
	file := a.members[key]
	if file == nil {
		return nil, a.missing(key)
	}
	e := &entry{a: a, key: key, file: file}
	r, err := file.Open()
	if err != nil {
		return nil, e.fault("cannot be read: %w", err)
	}
	defer r.Close()
	if e.header, err = readHeader(r); err != nil {
		return nil, e.fault("%w", err)
	}
	if e.kind == 0 && !(e.unit != "" && strings.HasSuffix(key, "groups")) {
		return nil, e.unfit()
	}
	want, err := e.bytes()
	if err != nil {
		return nil, e.fault("%w", err)
	}
	if have := int64(file.UncompressedSize64) - e.length; have != want {
		return nil, e.fault("is truncated or damaged: its shape %s takes %d bytes and the file has %d", shapeString(e.shape), want, max(have, 0))
	}
	return e, nil
}

// fault is an *InputError about the array.
func (e *entry) fault(format string, args ...any) error {
	return Inputf(e.a.path, "%s%s "+format, append([]any{e.key, columnOf(e.a.path, e.key)}, args...)...)
}

// unfit is the error of an array that does not hold what it should.
func (e *entry) unfit() error {
	want := "float16, float32, float64 or an integer type"
	if strings.HasSuffix(e.key, "labels") {
		want = "integers 0…C−1 that number the classes, or as text that names them (labels.astype(str))"
	}
	return e.fault("has dtype %.20q; save it as %s", e.dtype, want)
}

// opened is an array whose elements are read in order.
type opened struct {
	*entry
	body io.ReadCloser
}

// open opens the array behind its header.
func (e *entry) open() (*opened, error) {
	r, err := e.file.Open()
	if err != nil {
		return nil, e.fault("cannot be read: %w", err)
	}
	if _, err := io.CopyN(io.Discard, r, e.length); err != nil {
		r.Close()
		return nil, e.fault("%w", truncated(err))
	}
	return &opened{e, r}, nil
}

// end meets the end of the array, where the zip reader compares the checksum.
func (o *opened) end() error {
	if _, err := io.Copy(io.Discard, o.body); err != nil {
		return o.fault("is damaged (%w); copy or write the file again", err)
	}
	return nil
}

// read hands the elements of the array to decode.
func (e *entry) read(decode func(r io.Reader) error) error {
	o, err := e.open()
	if err != nil {
		return err
	}
	defer o.body.Close()
	if err := e.holds(); err != nil {
		return err
	}
	if err := decode(o.body); err != nil {
		return e.fault("%w", err)
	}
	return o.end()
}

// dense is how many times its bytes in the file an array may have before it is inflated
// once to see whether they are there. Features and logits are two to four times as long.
const dense = 16

// holds returns an error unless the array has the bytes that its size claims, before memory is
// taken for them.
func (e *entry) holds() error {
	if claimed := e.file.UncompressedSize64; claimed < 1<<24 || claimed < dense*e.file.CompressedSize64 {
		return nil
	}
	o, err := e.open()
	if err != nil {
		return err
	}
	defer o.body.Close()
	return o.end()
}

// missing is the error that key is absent; it names what is there instead.
func (a *archive) missing(key string) error {
	if len(a.keys) == 0 {
		return Inputf(a.path, "has no %s; it holds no array at all", key)
	}
	return Inputf(a.path, "has no %s%s; it holds %s", key, columnOf(a.path, key), listed(Each(a.keys, Printable), 12))
}

// values are those of a real N×M array, row by row. A NaN always, and an infinity unless
// allowed(value), is an error with its row and column.
func values[T float32 | float64](e *entry, rows, cols int, allowed func(v float64) bool) (values []T, err error) {
	err = e.read(func(r io.Reader) error {
		values = make([]T, rows*cols)
		if err := decode(e.header, r, values); err != nil {
			return err
		}
		if e.fortran {
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

// matrix reads the real N×M array key, N and M at least 1; see values.
func (a *archive) matrix(key string, allowed func(v float64) bool) (*mat.Dense, error) {
	e, err := a.entry(key)
	if err != nil {
		return nil, err
	}
	return e.matrix(allowed)
}

func (e *entry) matrix(allowed func(v float64) bool) (*mat.Dense, error) {
	rows, cols, err := e.shaped(8)
	if err != nil {
		return nil, err
	}
	all, err := values[float64](e, rows, cols, allowed)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(rows, cols, all), nil
}

// width is the bytes that a value of features takes in memory.
func (h *header) width() int {
	if h.single() {
		return 4
	}
	return 8
}

// single reports whether float32 holds every value of the header's type.
func (h *header) single() bool {
	return h.kind == 'f' && h.size <= 4 || (h.kind == 'i' || h.kind == 'u') && h.size <= 2
}

// features reads a real N×M array of finite values as [entry.matrix] does, but leaves
// those that single precision holds in it.
func (e *entry) features() (mat.Matrix, error) {
	if !e.single() || e.fortran {
		return e.matrix(onlyFinite)
	}
	rows, cols, err := e.shaped(4)
	if err != nil {
		return nil, err
	}
	all, err := values[float32](e, rows, cols, onlyFinite)
	if err != nil {
		return nil, err
	}
	return NewSingles(all, cols), nil
}

// shaped is N and M of a real N×M array, if memory has room for it at so many bytes a value.
func (e *entry) shaped(value int) (rows, cols int, err error) {
	if e.text() {
		return 0, 0, e.unfit()
	}
	if len(e.shape) != 2 {
		return 0, 0, e.fault("has shape %s; it must have two axes, rows and columns%s", shapeString(e.shape), e.flattened())
	}
	rows, cols = e.shape[0], e.shape[1]
	if rows == 0 || cols == 0 {
		return 0, 0, e.fault("has shape %s; it must have at least one row and one column", shapeString(e.shape))
	}
	each := float64(value) * float64(cols)
	if e.fortran {
		each *= 2
	}
	return rows, cols, CheckRoom(e.a.path, e.key, rows, each, "rows")
}

// flattened says how an array of one axis, or of more than two, becomes rows and columns.
func (e *entry) flattened() string {
	of := map[int]string{3: "; of tokens, N×T×C, write %s.reshape(-1, C)", 4: "; of pixels, N×C×H×W, write numpy.moveaxis(%s, 1, -1).reshape(-1, C)"}[len(e.shape)]
	logits, probabilities := strings.HasSuffix(e.key, "logits"), strings.HasSuffix(e.key, "probs")
	switch one := len(e.shape) == 1; {
	case one && logits:
		return fmt.Sprintf("; of two classes and a logit of the second, write numpy.column_stack([0 * %[1]s, %[1]s])", e.key)
	case one && probabilities:
		return fmt.Sprintf("; of two classes and the probability of the second, write numpy.column_stack([1 - %[1]s, %[1]s])", e.key)
	case one:
		return fmt.Sprintf("; write %s.reshape(-1, 1)", e.key)
	case of == "":
		return ""
	case logits || probabilities:
		return fmt.Sprintf(of, e.key) + " and labels.reshape(-1), without the rows whose label is ignored; of several outputs, write a file for each"
	}
	return fmt.Sprintf("; take a vector for each row, such as that of the first token, %s[:, 0]", e.key)
}

// labels reads N integers, or texts that name classes (see [Names]); (N, 1) is taken for (N,).
func (a *archive) labels(key string) ([]int, error) {
	e, err := a.entry(key)
	if err != nil {
		return nil, err
	}
	labels, soft, err := e.labels()
	if soft != nil {
		return nil, e.fault("holds probabilities of classes; here each row has one class")
	}
	return labels, err
}

// labels reads labels that may be soft, N×C: then they are the most probable classes.
func (e *entry) labels() (labels []int, soft *mat.Dense, err error) {
	rows, err := e.count()
	if err != nil {
		return nil, nil, err
	}
	if e.wide() {
		return e.soft()
	}
	if e.text() {
		text, err := e.texts()
		if err != nil {
			return nil, nil, err
		}
		labels, err = e.numbered(text)
		return labels, nil, err
	}
	err = e.read(func(r io.Reader) error {
		labels = make([]int, rows)
		return e.ints(r, labels)
	})
	return labels, nil, err
}

// wide reports whether there are numbers in several columns, one for each class.
func (h *header) wide() bool {
	return !h.text() && len(h.shape) == 2 && h.shape[0] > 0 && h.shape[1] > 1
}

// count is N of N labels.
func (e *entry) count() (rows int, err error) {
	switch {
	case e.wide():
		return e.shape[0], CheckRoom(e.a.path, e.key, e.shape[0], 8*float64(e.shape[1]), "rows")
	case len(e.shape) != 1 && !(len(e.shape) == 2 && e.shape[1] == 1):
		return 0, e.fault("has shape %s; labels have one axis, one integer a row (of tokens or pixels: labels.reshape(-1))", shapeString(e.shape))
	case e.kind == 'f':
		return 0, e.fault("has dtype float%d; save it as integers 0…C−1, for instance labels.astype(numpy.int64)", 8*e.size)
	case e.shape[0] == 0:
		return 0, e.fault("has no rows; it must have at least one")
	}
	return e.shape[0], CheckRoom(e.a.path, e.key, e.shape[0], 8, "rows")
}

// checkLabels returns an error for the first label outside 0…classes−1.
func (a *archive) checkLabels(key string, labels []int, classes int) error {
	i := InvalidLabel(labels, classes)
	if i < 0 {
		return nil
	}
	hint := ""
	if labels[i] == -100 || labels[i] == 255 {
		hint = fmt.Sprintf("; if it marks rows to be ignored, leave these out: keep = labels != %d, logits[keep], labels[keep]", labels[i])
	} else if slices.Max(labels) < 0 {
		hint = "; of rows without labels leave the array out"
	}
	return Inputf(a.path, "%s%s holds %d at row %d; labels must lie in 0…%d%s", key, columnOf(a.path, key), labels[i], i, classes-1, hint)
}

// checkShares is checkLabels of labels that may be soft.
func (a *archive) checkShares(key string, labels []int, soft *mat.Dense, classes int) error {
	if soft != nil && soft.RawMatrix().Cols != classes {
		return Inputf(a.path, "%s has %d columns and there are %d classes; it must have one for each", key, soft.RawMatrix().Cols, classes)
	}
	return a.checkLabels(key, labels, classes)
}

// HasArray reports whether the npz or table file at path holds key.
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
	return within(path, func(a *archive) (mat.Matrix, error) {
		e, err := a.entry(key)
		if err != nil {
			return nil, err
		}
		return e.features()
	})
}

// Array is one array of an npz file.
type Array struct {
	Name  string // the key
	Value any    // *mat.Dense, *Singles (written as float64) or, but for tables, Written, []float64, []float32, []int (as int64), []string
}

// NPZ returns what writes the arrays, in the order given, as an npz file. Equal arrays give equal
// bytes: members are stored, not deflated, and dated 1980.
func NPZ(arrays ...Array) func(io.Writer) error {
	return func(w io.Writer) error {
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
			v, err := written(a.Value)
			if err == nil {
				err = v.write(m)
			}
			if err != nil {
				return fmt.Errorf("array %s: %w", a.Name, err)
			}
		}
		return z.Close()
	}
}
