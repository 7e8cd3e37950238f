package data

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/sourcegraph/conc"
)

// Source is one problem: what a classifier said of the rows a calibrator is
// fitted on and of the rows it is judged on. A part that is absent is nil.
type Source struct {
	Path    string // the file it came from, for messages
	Classes int    // C
	Cal     *Set   // calibration rows
	Val     *Set   // rows for early stopping
	Test    *Set   // rows to judge or to apply to
	Unread  string // arrays of the file that nothing reads, in words; "" if there are none
	Scores  Scores // what the logits were read as; "" where nobody asked
}

// Open reads an npz file of features. Its keys, for each part P of cal, val, test:
//
//	P_features  N×M  float16, float32, float64 or integers
//	P_logits    N×C  the same
//	P_labels    N    integers in 0…C−1, truth values, or text that names classes
//	            N×C  or the probabilities of the classes, rows that sum to 1
//	P_weights   N    as how many rows each counts, 0 or more
//
// and class_names (C) and feature_names (M) of text. Labels of text are numbered by class_names
// or, without it, in ascending order. provenance, cal_rows and test_rows, as calibra export-features
// writes them, are for whoever asks where the rows come from.
// Parts and arrays may be missing (see [Source.Require]); those that are there
// must agree in N, M and C. Without logits C is one more than the largest
// label. Whatever is wrong with the file is an *InputError.
func Open(path string) (*Source, error) { return OpenContext(context.Background(), path, Names{}) }

// OpenContext is [Open] of a file whose classes and features have the names that a model was fitted
// with: they number labels of text, and those of the file must be the same. It ends when ctx is
// cancelled, with an error that wraps its error.
func OpenContext(ctx context.Context, path string, names Names) (*Source, error) {
	return wanted(ctx, path, func(a *archive) (*Source, error) { return readSource(a, names) })
}

func readSource(a *archive, names Names) (*Source, error) {
	s := &Source{Path: a.path, Unread: a.unread()}
	if err := a.name(names); err != nil {
		return nil, err
	}
	if err := s.agree(a); err != nil { // of the headers, before the first row takes memory
		return nil, err
	}
	var (
		wait conc.WaitGroup
		errs [3]error
	)
	for i, p := range s.parts() { // inflating is what takes the time
		wait.Go(func() { *p.set, errs[i] = readPart(a, p.name) })
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	if err := s.checkLabels(a); err != nil {
		return nil, err
	}
	return s, s.name(a)
}

// name gives the parts the names of classes and features.
func (s *Source) name(a *archive) error {
	for name, set := range s.sets() {
		set.Names = a.names
		if set.Features == nil || a.names.Features == nil {
			continue
		}
		if _, m := set.Features.Dims(); m != len(a.names.Features) {
			return Inputf(s.Path, "feature_names has %d names and %s_features has %d columns; they must have the same", len(a.names.Features), name, m)
		}
	}
	return nil
}

// part is one of the three sets with the prefix of its keys.
type part struct {
	name string
	set  **Set
}

func (s *Source) parts() []part {
	return []part{{"cal", &s.Cal}, {"val", &s.Val}, {"test", &s.Test}}
}

// sets are the parts that are there, with their names.
func (s *Source) sets() iter.Seq2[string, *Set] {
	return func(yield func(name string, set *Set) bool) {
		for _, p := range s.parts() {
			if *p.set != nil && !yield(p.name, *p.set) {
				return
			}
		}
	}
}

// readPart reads the arrays of one part, nil if there are none.
func readPart(a *archive, name string) (*Set, error) {
	var (
		set Set
		err error
	)
	if key := name + "_features"; a.has(key) {
		if set.Features, err = a.features(key); err != nil {
			return nil, err
		}
	}
	if key := name + "_logits"; a.has(key) {
		if set.Logits, err = a.matrix(key, onlyFinite); err != nil {
			return nil, err
		}
	}
	if key := name + "_labels"; a.has(key) {
		if set.Labels, set.Soft, err = a.shares(key); err != nil {
			return nil, err
		}
	}
	if set.Len() == 0 {
		return nil, nil
	}
	set.Copies, set.Weights, err = a.weights(name+"_weights", set.Len())
	return &set, err
}

// agree holds the headers of all arrays against each other, and their size against the
// memory there is.
func (s *Source) agree(a *archive) error {
	rows, bytes, err := s.headers(a)
	if err != nil {
		return err
	}
	for _, p := range s.parts() {
		if key := p.name + "_features"; a.has(key) {
			if _, _, err := a.size(key, a.width(key)); err != nil {
				return err
			}
		}
		if key := p.name + "_logits"; a.has(key) {
			if _, _, err := a.size(key, 8); err != nil {
				return err
			}
		}
	}
	return CheckRoom(s.Path, "the file", rows, bytes/float64(rows), "rows")
}

// headers holds the headers of all arrays against each other, and sets Classes to the columns
// of the logits, 0 without logits. It counts the rows and the bytes that they take in memory.
func (s *Source) headers(a *archive) (rows int, bytes float64, err error) {
	width, classes := first{what: "columns"}, first{what: "columns"}
	for _, p := range s.parts() {
		part := first{what: "rows"}
		for _, suffix := range []string{"_features", "_logits", "_labels"} {
			key, n, taken := p.name+suffix, 0, 0.
			if !a.has(key) {
				continue
			}
			switch suffix {
			case "_features":
				n, taken, err = a.extent(key, &width, 1, a.width(key))
			case "_logits":
				n, taken, err = a.extent(key, &classes, 2, 8)
			default:
				n, err = a.count(key)
			}
			if err != nil {
				return 0, 0, err
			}
			if err := part.agree(a.path, key, n); err != nil {
				return 0, 0, err
			}
			bytes += taken
		}
		rows += part.n
	}
	s.Classes = classes.n
	if err := a.checkNames(s.Classes); err != nil {
		return 0, 0, err
	}
	if rows == 0 {
		return 0, 0, a.missing("cal_features")
	}
	return rows, bytes, nil
}

// first is an array that has n rows or columns; the next must have as many.
type first struct {
	what, key string
	n         int
}

func (f *first) agree(path, key string, n int) error {
	if f.n != 0 && f.n != n {
		return Inputf(path, "%s has %d %s and %s has %d; they must have the same", f.key, f.n, f.what, key, n)
	}
	f.n, f.key = n, key
	return nil
}

// extent is the rows of the array key by its header, and the bytes that they take in memory at so
// many each value. Its columns, at least so many, must be as many as those of the arrays before.
func (a *archive) extent(key string, columns *first, least, each int) (rows int, bytes float64, err error) {
	rows, n, err := a.size(key, 0) // whether there is room is asked of all arrays at once
	if err != nil {
		return 0, 0, err
	}
	if n < least {
		return 0, 0, Inputf(a.path, "%s has 1 column; there must be one for each of at least two classes", key)
	}
	return rows, float64(each) * float64(rows) * float64(n), columns.agree(a.path, key, n)
}

// fewClasses are no burden, however few the rows.
const fewClasses = 1000

// checkLabels holds the labels against the classes. Without logits there are as many as
// the largest label tells, but no more than rows, lest one stray label decide how much
// memory a calibrator takes.
func (s *Source) checkLabels(a *archive) error {
	if s.Classes == 0 {
		rows, largest := 0, 1
		for _, set := range s.sets() {
			if set.Labels == nil {
				continue
			}
			rows, largest = rows+len(set.Labels), max(largest, slices.Max(set.Labels))
			if set.Soft != nil {
				largest = max(largest, set.Soft.RawMatrix().Cols-1)
			}
		}
		most := max(rows, fewClasses)
		for name, set := range s.sets() {
			if i := slices.Index(set.Labels, largest); i >= 0 && largest >= most {
				return Inputf(s.Path, "%s_labels holds %d at row %d; without logits there can be no more classes than rows, so labels must lie in 0…%d", name, largest, i, most-1)
			}
		}
		s.Classes = max(largest+1, len(a.names.Classes))
		for _, set := range s.sets() {
			set.LabelClasses = s.Classes
		}
	}
	for name, set := range s.sets() {
		if err := a.checkShares(name+"_labels", set.Labels, set.Soft, s.Classes); err != nil {
			return err
		}
	}
	return nil
}

// Require returns an *InputError naming the first of the keys (such as
// "cal_logits") that the source does not have.
func (s *Source) Require(keys ...string) error {
	have := s.keys()
	for _, key := range keys {
		if s.Cal == nil && s.Test != nil && strings.HasPrefix(key, "cal_") && isTable(s.Path) {
			return Inputf(s.Path, "has no calibration rows: a column set says cal, val or test of each row, and without it all are test rows")
		}
		if err := require(s.Path, have, []string{key}); err != nil {
			return err
		}
	}
	return nil
}

// require returns an *InputError naming the first of the keys that the file does not have.
func require(path string, have, keys []string) error {
	for _, key := range keys {
		if !slices.Contains(have, key) {
			return Inputf(path, "has no %s; it holds %s", key, strings.Join(have, ", "))
		}
	}
	return nil
}

// keys lists the arrays the source holds.
func (s *Source) keys() []string {
	var keys []string
	for name, set := range s.sets() {
		if set.Features != nil {
			keys = append(keys, name+"_features")
		}
		if set.Logits != nil {
			keys = append(keys, name+"_logits")
		}
		if set.Labels != nil {
			keys = append(keys, name+"_labels")
		}
	}
	return keys
}

// EmptyClasses lists the classes, of Classes, that no calibration row has: a
// calibrator works without them but knows nothing of them, so callers warn.
func (s *Source) EmptyClasses() []int {
	if s.Cal == nil {
		return nil
	}
	seen := make([]bool, s.Classes)
	for _, y := range s.Cal.Labels {
		seen[y] = true
	}
	var empty []int
	for y, ok := range seen {
		if !ok {
			empty = append(empty, y)
		}
	}
	return empty
}
