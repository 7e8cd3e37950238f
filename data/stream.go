package data

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Stream is one part of an npz file of features, as [Open] describes it, of which a batch of
// rows is in memory at a time, and the labels.
type Stream struct {
	Labels  []int      // N; nil if the file has none
	Rows    int        // N
	Width   int        // M, 0 without features
	Classes int        // C of the logits, 0 without
	Unread  string     // see [Source]
	Soft    *mat.Dense // N×C, of labels that are not certain; nil: they are
	Weights []float64  // N, as the file has them; nil: 1
	// Scores are what the logits hold: of Probabilities the logarithms are handed over.
	Scores Scores

	a              *archive
	part           string
	have           []string
	features       string // keys, "" where the part has no such array
	logits         string
	singleFeatures bool
}

// OpenStream opens a part (test) of the file at path and reads its labels, with the names of [OpenAs]. It is nil for a
// file that cannot be read in order: a table, and arrays by columns; [Open] reads these. The
// caller closes it.
func OpenStream(path, part string, names Names) (*Stream, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	if err := a.name(names); err != nil {
		a.close()
		return nil, err
	}
	s, err := newStream(a, part)
	if s == nil {
		a.close()
	}
	return s, err
}

func newStream(a *archive, part string) (*Stream, error) {
	if a.table {
		return nil, nil
	}
	src := &Source{Path: a.path}
	if _, _, err := src.headers(a); err != nil {
		return nil, err
	}
	s := &Stream{a: a, part: part, Classes: src.Classes, Unread: a.unread()}
	for _, prefix := range partPrefixes {
		for _, suffix := range partArrays {
			if key := prefix + suffix; a.has(key) {
				s.have = append(s.have, key)
			}
		}
	}
	features, inOrder, err := s.rowsOf("_features")
	if err != nil || !inOrder {
		return nil, err
	}
	if features != nil {
		s.features, s.Width, s.singleFeatures = part+"_features", features.shape[1], features.single()
	}
	logits, inOrder, err := s.rowsOf("_logits")
	if err != nil || !inOrder {
		return nil, err
	}
	if s.Classes = 0; logits != nil {
		s.logits, s.Classes = part+"_logits", logits.shape[1]
	}
	if s.Rows == 0 { // nothing to predict, which Open says better
		return nil, nil
	}
	return s, s.readLabels()
}

// rowsOf is the header of an array of the part, nil without one; it is not inOrder by columns.
func (s *Stream) rowsOf(suffix string) (h *header, inOrder bool, err error) {
	if !s.a.has(s.part + suffix) {
		return nil, true, nil
	}
	if h, err = s.a.header(s.part + suffix); err != nil {
		return nil, false, err
	}
	s.Rows = h.shape[0]
	return h, !h.fortran, nil
}

// readLabels reads the labels, and how much each row counts.
func (s *Stream) readLabels() (err error) {
	var rows Set
	if rows.Copies, rows.Weights, err = s.a.weights(s.part+"_weights", s.Rows); err != nil {
		return err
	}
	s.Weights = rows.Written()
	key := s.part + "_labels"
	if !s.a.has(key) {
		return nil
	}
	if s.Labels, s.Soft, err = s.a.shares(key); err != nil || s.Classes == 0 {
		return err
	}
	return s.a.checkLabels(key, s.Labels, s.Classes)
}

// Close closes the file.
func (s *Stream) Close() error { return s.a.close() }

// Require is [Source.Require].
func (s *Stream) Require(keys ...string) error {
	for _, key := range keys {
		if !slices.Contains(s.have, key) {
			return Inputf(s.a.path, "has no %s; it holds %s", key, strings.Join(s.have, ", "))
		}
	}
	return nil
}

// Each calls do for batches of so many rows in order, lo being the number of the first, with
// their features, logits and labels as far as they are there, or their features alone. The
// memory of a batch is used again for the next. Whatever is wrong with the file, to its last
// byte, is an *InputError; so Each may find only behind the last batch that the file is
// damaged.
func (s *Stream) Each(ctx context.Context, rows int, featuresAlone bool, do func(lo int, x *Set) error) error {
	b := batches{Stream: s}
	defer b.close()
	var err error
	if b.features, err = b.open(s.features); err != nil {
		return err
	}
	if !featuresAlone {
		if b.logits, err = b.open(s.logits); err != nil {
			return err
		}
	}
	for lo := 0; lo < s.Rows; lo += rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		x, err := b.next(lo, min(rows, s.Rows-lo))
		if err != nil {
			return err
		}
		if err := do(lo, x); err != nil {
			return err
		}
	}
	return b.end()
}

// batches reads the arrays of a stream side by side.
type batches struct {
	*Stream
	opened           []*inOrder
	features, logits *inOrder // nil: not there, or not asked for
	singles          []float32
	doubles, scores  []float64
}

// open opens the array key, nil without a key.
func (b *batches) open(key string) (*inOrder, error) {
	if key == "" {
		return nil, nil
	}
	m, err := b.a.open(key)
	if m != nil {
		b.opened = append(b.opened, m)
	}
	return m, err
}

// next reads n rows, lo being the number of the first.
func (b *batches) next(lo, n int) (x *Set, err error) {
	x = &Set{}
	if b.features != nil && b.singleFeatures {
		if b.singles, err = nextRows(b.a, b.features, lo, n, b.singles); err != nil {
			return nil, err
		}
		x.Features = NewSingles(b.singles, b.Width)
	} else if b.features != nil {
		if b.doubles, err = nextRows(b.a, b.features, lo, n, b.doubles); err != nil {
			return nil, err
		}
		x.Features = mat.NewDense(n, b.Width, b.doubles)
	}
	if b.logits != nil {
		if b.scores, err = nextRows(b.a, b.logits, lo, n, b.scores); err != nil {
			return nil, err
		}
		x.Logits = mat.NewDense(n, b.Classes, b.scores)
		if b.Scores == Probabilities {
			if err := TakeLogs(b.a.path, b.Stream.logits, x.Logits, lo); err != nil {
				return nil, err
			}
		}
	}
	if b.Labels != nil {
		x.Labels = b.Labels[lo : lo+n]
	}
	return x, nil
}

// end meets the end of every array, where the zip reader compares the checksum.
func (b *batches) end() error {
	for _, m := range b.opened {
		if _, err := io.Copy(io.Discard, m.body); err != nil {
			return Inputf(b.a.path, "%s is damaged (%w); copy or write the file again", m.key, err)
		}
	}
	return nil
}

func (b *batches) close() {
	for _, m := range b.opened {
		m.body.Close()
	}
}

// inOrder is an array of an npz file that is read in order.
type inOrder struct {
	*header
	key  string
	body io.ReadCloser
}

// open opens the array key of numbers behind its header.
func (a *archive) open(key string) (*inOrder, error) {
	h, err := a.header(key)
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
	return &inOrder{h, key, r}, nil
}

// nextRows reads the next n rows of an array, lo being the number of the first, into values, or
// into a slice of its own where that is too short.
func nextRows[T float32 | float64](a *archive, m *inOrder, lo, n int, values []T) ([]T, error) {
	columns := m.shape[1]
	values = slices.Grow(values[:0], n*columns)[:n*columns]
	if err := decode(m.header, m.body, values); err != nil {
		return nil, Inputf(a.path, "%s %w", m.key, err)
	}
	for i, v := range values {
		if v-v != 0 {
			return nil, Inputf(a.path, "%s holds %v at row %d, column %d; every value must be finite", m.key, v, lo+i/columns, i%columns)
		}
	}
	return values, nil
}

// Streamed is an array of an npz file (N×C, float64) whose rows are made while it is written.
type Streamed struct {
	Rows, Columns int
	// Each calls write with the values of the next rows, row by row, until there are N.
	Each func(write func(values []float64) error) error
}

// writeStreamed writes v as npyio writes a matrix.
func writeStreamed(w io.Writer, v *Streamed) error {
	text := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", v.Rows, v.Columns)
	const start = 12 // bytes before the dictionary; npyio pads with as many blanks as it is too long
	text += strings.Repeat(" ", (start+len(text)+1)%16) + "\n"
	head := binary.LittleEndian.AppendUint32([]byte("\x93NUMPY\x02\x00"), uint32(len(text)))
	if _, err := w.Write(append(head, text...)); err != nil {
		return err
	}
	left := v.Rows * v.Columns
	var bytes []byte
	err := v.Each(func(values []float64) error {
		bytes = bytes[:0]
		for _, x := range values {
			bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(x))
		}
		left -= len(values)
		_, err := w.Write(bytes)
		return err
	})
	if err == nil && left != 0 {
		err = fmt.Errorf("data: %d of %d values were not written", left, v.Rows*v.Columns)
	}
	return err
}
