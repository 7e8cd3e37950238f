package data

import (
	"slices"
	"strings"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// Source is one problem: what a classifier said of the rows a calibrator is
// fitted on and of the rows it is judged on. A part that is absent is nil.
type Source struct {
	Path    string // the file it came from, for messages
	Classes int    // C
	Cal     *Set   // calibration rows
	Val     *Set   // rows for early stopping
	Test    *Set   // rows to judge or to apply to
}

// Open reads an npz file of features. Its keys, for each part P of cal, val, test:
//
//	P_features  N×M  float16, float32, float64 or integers
//	P_logits    N×C  the same
//	P_labels    N    integers in 0…C−1
//
// Parts and arrays may be missing (see [Source.Require]); those that are there
// must agree in N, M and C. Without logits C is one more than the largest
// label. Whatever is wrong with the file is an *InputError.
func Open(path string) (*Source, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.close()
	return readSource(a)
}

func readSource(a *archive) (*Source, error) {
	s := &Source{Path: a.path}
	var (
		wait sync.WaitGroup
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
	if s.Cal == nil && s.Val == nil && s.Test == nil {
		return nil, a.missing("cal_features")
	}
	if err := s.check(a); err != nil {
		return nil, err
	}
	return s, nil
}

// part is one of the three sets with the prefix of its keys.
type part struct {
	name string
	set  **Set
}

func (s *Source) parts() []part {
	return []part{{"cal", &s.Cal}, {"val", &s.Val}, {"test", &s.Test}}
}

// readPart reads the arrays of one part, nil if there are none.
func readPart(a *archive, name string) (*Set, error) {
	var (
		set Set
		err error
	)
	for _, m := range []struct {
		key string
		dst **mat.Dense
	}{{name + "_features", &set.Features}, {name + "_logits", &set.Logits}} {
		if !a.has(m.key) {
			continue
		}
		if *m.dst, err = a.matrix(m.key, onlyFinite); err != nil {
			return nil, err
		}
	}
	if key := name + "_labels"; a.has(key) {
		if set.Labels, err = a.labels(key); err != nil {
			return nil, err
		}
	}
	if set.Len() == 0 {
		return nil, nil
	}
	return &set, nil
}

// check sets Classes and holds the parts against each other.
func (s *Source) check(a *archive) error {
	var width, classes struct {
		n   int
		key string
	}
	largest := 0
	for _, p := range s.parts() {
		set := *p.set
		if set == nil {
			continue
		}
		var rows struct {
			n   int
			key string
		}
		agree := func(key string, n int) error {
			if rows.n != 0 && rows.n != n {
				return Inputf(s.Path, "%s has %d rows and %s has %d; they must have the same", rows.key, rows.n, key, n)
			}
			rows.n, rows.key = n, key
			return nil
		}
		if set.Features != nil {
			key := p.name + "_features"
			n, m := set.Features.Dims()
			if width.n != 0 && width.n != m {
				return Inputf(s.Path, "%s has %d columns and %s has %d; they must have the same", width.key, width.n, key, m)
			}
			width.n, width.key = m, key
			if err := agree(key, n); err != nil {
				return err
			}
		}
		if set.Logits != nil {
			key := p.name + "_logits"
			n, c := set.Logits.Dims()
			if c < 2 {
				return Inputf(s.Path, "%s has 1 column; there must be one for each of at least two classes", key)
			}
			if classes.n != 0 && classes.n != c {
				return Inputf(s.Path, "%s has %d columns and %s has %d; they must have the same", classes.key, classes.n, key, c)
			}
			classes.n, classes.key = c, key
			if err := agree(key, n); err != nil {
				return err
			}
		}
		if set.Labels != nil {
			if err := agree(p.name+"_labels", len(set.Labels)); err != nil {
				return err
			}
			largest = max(largest, slices.Max(set.Labels))
		}
	}
	s.Classes = classes.n
	if s.Classes == 0 {
		if largest >= maxClasses {
			largest = maxClasses - 1
		}
		s.Classes = max(largest+1, 2)
	}
	for _, p := range s.parts() {
		if set := *p.set; set != nil {
			if err := a.checkLabels(p.name+"_labels", set.Labels, s.Classes); err != nil {
				return err
			}
		}
	}
	return nil
}

// maxClasses bounds C where no logits say what it is, lest one stray label
// decide how much memory a calibrator takes.
const maxClasses = 1 << 16

// Require returns an *InputError naming the first of the keys (such as
// "cal_logits") that the source does not have.
func (s *Source) Require(keys ...string) error {
	have := s.keys()
	for _, key := range keys {
		if !slices.Contains(have, key) {
			return Inputf(s.Path, "has no %s; it holds %s", key, strings.Join(have, ", "))
		}
	}
	return nil
}

// keys lists the arrays the source holds.
func (s *Source) keys() []string {
	var keys []string
	for _, p := range s.parts() {
		set := *p.set
		if set == nil {
			continue
		}
		if set.Features != nil {
			keys = append(keys, p.name+"_features")
		}
		if set.Logits != nil {
			keys = append(keys, p.name+"_logits")
		}
		if set.Labels != nil {
			keys = append(keys, p.name+"_labels")
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
