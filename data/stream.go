package data

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Stream is one part of an npz file of features, as [Open] describes it. It keeps one batch of
// rows at a time in memory, and all labels.
type Stream struct {
	Labels  []int      // N; nil if the file has none
	Rows    int        // N
	Width   int        // M, 0 without features
	Classes int        // C of the logits, 0 without
	Unread  string     // see [Source]
	Soft    *mat.Dense // N×C, of labels that are not certain; nil: they are
	Weights []float64  // N, as the file has them; nil: 1
	Groups  Groups
	Scores  Scores  // how the logits are read, after Settle was called
	Floor   float64 // as of a [Source]

	a                *archive
	part             string
	have             []string
	judge            *Judge // nil before Settle
	features, logits *entry // nil where the part has no such array
}

// OpenStream opens a part (test) of the file at path and reads its labels, with the names of [OpenContext]. It is nil
// for a file that cannot be read in order: a table, and arrays by columns; [Open] reads these. The caller closes it.
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
	if a.table || a.orders != nil { // the rows together tell which order the classes have
		return nil, nil
	}
	parts, _, err := a.parts()
	if err != nil {
		return nil, err
	}
	p := parts[slices.IndexFunc(parts, func(p block) bool { return p.prefix == part+"_" })]
	inOrder := func(e *entry) bool { return e == nil || !e.fortran }
	if p.features == nil && p.logits == nil || !inOrder(p.features) || !inOrder(p.logits) {
		return nil, nil // there is nothing to predict, which Open's error explains better, or it stands by columns
	}
	s := &Stream{a: a, part: part, Unread: a.unread(), Rows: p.rows, features: p.features, logits: p.logits}
	s.have = slices.DeleteFunc(partKeys(), func(key string) bool { return !a.has(key) })
	if s.features != nil {
		s.Width = s.features.shape[1]
	}
	if s.logits != nil {
		s.Classes = s.logits.shape[1]
	}
	p.features, p.logits = nil, nil
	beside, err := p.read()
	if err != nil {
		return s, err
	}
	s.Weights, s.Groups, s.Labels, s.Soft = beside.Weights, beside.Groups, beside.Labels, beside.Soft
	if s.Labels == nil || s.Classes == 0 {
		return s, nil
	}
	if s.Soft == nil {
		if err := a.byNumber(s.Classes, s.Labels); err != nil {
			return s, err
		}
	}
	return s, a.checkLabels(p.labels.key, s.Labels, s.Classes)
}

func (s *Stream) Close() error { return s.a.close() }

// Require is [Source.Require].
func (s *Stream) Require(keys ...string) error {
	return require(s.a.path, s.have, keys)
}

// Judge has seen the logits of all rows.
func (s *Stream) Judge(ctx context.Context) (*Judge, error) {
	s.judge = nil
	seen := &Judge{}
	if s.logits == nil {
		return seen, nil
	}
	alone := *s
	alone.features, alone.Labels = nil, nil
	err := alone.Each(ctx, max(1, judgedValues/s.Classes), false, func(lo int, x *Set) error {
		seen.Add(x.Logits, lo)
		return nil
	})
	s.judge = seen
	return seen, err
}

// judgedValues is how many logits are judged at a time.
const judgedValues = 1 << 18

// Settle is [Source.Settle] of the part, once [Stream.Judge] has seen it: what Each hands over is read as as.
func (s *Stream) Settle(as Scores) error {
	if s.Scores = as; s.judge == nil {
		return nil
	}
	s.Floor = cmp.Or(s.Floor, s.judge.floor())
	return s.judge.accept(s.a.path, s.part+"_logits", as, "")
}

// Each calls do for batches of so many rows in order, lo being the number of the first, with
// their features, logits and labels as far as they are there, or their features alone. The
// memory of a batch is used again for the next. Whatever is wrong with the file, to its last
// byte, is an *InputError; so Each may find only behind the last batch that the file is
// damaged.
func (s *Stream) Each(ctx context.Context, rows int, featuresAlone bool, do func(lo int, x *Set) error) error {
	b := batches{Stream: s}
	for _, array := range []struct {
		of *entry
		to **opened
	}{{s.features, &b.features}, {s.logits, &b.logits}} {
		if array.of == nil || featuresAlone && array.of == s.logits {
			continue
		}
		o, err := array.of.open()
		if err != nil {
			return err
		}
		defer o.body.Close()
		*array.to = o
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
	for _, o := range []*opened{b.features, b.logits} {
		if o != nil {
			if err := o.end(); err != nil {
				return err
			}
		}
	}
	return nil
}

// batches reads the arrays of a stream side by side.
type batches struct {
	*Stream
	features, logits *opened // nil: not there, or not asked for
	singles          []float32
	doubles, scores  []float64
}

// next reads n rows, lo being the number of the first.
func (b *batches) next(lo, n int) (x *Set, err error) {
	x = &Set{}
	if b.features != nil && b.features.single() {
		if b.singles, err = nextRows(b.features, lo, n, b.singles); err != nil {
			return nil, err
		}
		x.Features = NewSingles(b.singles, b.Width)
	} else if b.features != nil {
		if b.doubles, err = nextRows(b.features, lo, n, b.doubles); err != nil {
			return nil, err
		}
		x.Features = mat.NewDense(n, b.Width, b.doubles)
	}
	if b.logits != nil {
		if b.scores, err = nextRows(b.logits, lo, n, b.scores); err != nil {
			return nil, err
		}
		x.Logits = mat.NewDense(n, b.Classes, b.scores)
		if b.judge != nil {
			x.take(b.Scores, b.Floor, b.judge.resolution(b.Scores))
		}
	}
	if b.Labels != nil {
		x.Labels = b.Labels[lo : lo+n]
	}
	if b.judge == nil {
		return x, nil
	}
	return x, x.possible(b.a.path, b.part, lo)
}

// nextRows reads the next n rows of an array, lo being the number of the first, into values, or
// into a slice of its own where that is too short.
func nextRows[T float32 | float64](o *opened, lo, n int, values []T) ([]T, error) {
	columns := o.shape[1]
	values = slices.Grow(values[:0], n*columns)[:n*columns]
	err := decode(o.header, o.body, values)
	if err == nil {
		allowed := onlyFinite
		if strings.HasSuffix(o.key, "_logits") {
			allowed = Masked
		}
		err = finite(values, columns, lo, allowed)
	}
	if err != nil {
		return nil, o.fault("%w", err)
	}
	return values, nil
}
