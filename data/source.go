package data

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"calibra/graph/work"
)

// Source is one problem: what a classifier said of the rows a calibrator is
// fitted on and of the rows it is judged on. A part that is absent is nil.
type Source struct {
	Path    string  // the file it came from, for messages
	Classes int     // C
	Cal     *Set    // calibration rows
	Val     *Set    // rows for early stopping
	Test    *Set    // rows to judge or to apply to
	Order   string  // which order of classes was taken for labels that name them, in words; "" where the file says it
	Unread  string  // arrays of the file that nothing reads, in words; "" if there are none
	Scores  Scores  // what the logits were read as; "" where nobody asked
	ReadAs  string  // the same in words, with what was rounded
	Floor   float64 // what all probabilities below it were read as; 0 of logits
	Pooled  bool    // whether OpenWhole made one set of several parts
	named   Scores  // what the arrays that stand for logits say by their name; "" of logits
}

// Open reads an npz file of features. Its keys, for each part P of cal, val, test:
//
//	P_features  N×M  float16, float32, float64 or integers
//	P_logits    N×C  the same
//	P_labels    N    integers in 0…C−1, truth values, or text that names classes
//	            N×C  or the probabilities of the classes, rows that sum to 1
//	P_weights   N    by what the loss of each row is multiplied, 0 or more
//
// and test_groups (N), integers or texts, or groups, where test rows are of groups that are to be told apart, with
// group_names (G) where integers have names; and class_names (C) and feature_names (M) of text. Labels of text are
// numbered by class_names or, without it, in ascending order. provenance, cal_rows and test_rows, as calibra encode
// writes them, say where the rows come from. Parts and arrays may be missing (see [Source.Require]); the present ones
// must agree in N, M and C. Without logits C is one more than the largest label. Whatever is wrong with the file is an
// *InputError.
func Open(path string) (*Source, error) { return OpenContext(context.Background(), path, Names{}) }

// OpenContext is [Open] of a file whose classes and features have the names that a model was fitted
// with: they number labels of text, and the names in the file must be the same. It ends when ctx is
// cancelled, with an error that wraps its error.
func OpenContext(ctx context.Context, path string, names Names) (*Source, error) {
	return wanted(ctx, path, func(a *archive) (*Source, error) { return readSource(a, names) })
}

func readSource(a *archive, names Names) (*Source, error) {
	s := &Source{Path: a.path, Unread: a.unread()}
	if err := a.name(names); err != nil {
		return nil, err
	}
	parts, classes, err := a.parts()
	if err == nil {
		err = a.room(parts) // before the first row takes memory
	}
	if err != nil {
		return nil, err
	}
	if s.Classes = classes; a.taken != nil {
		s.named = namedScores[a.taken[0]]
	}
	sets := []**Set{&s.Cal, &s.Val, &s.Test}
	err = work.Parts{N: len(sets)}.Do(context.Background(), func(_ context.Context, i int) (err error) {
		*sets[i], err = parts[i].read() // inflating takes the time
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(s.checkLabels(a), a.judgeOrder(s.Cal, s.Val, s.Test)); err != nil {
		return nil, err
	}
	s.Order = a.order
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

// sets are the parts that are there, with their names.
func (s *Source) sets() iter.Seq2[string, *Set] {
	return func(yield func(name string, set *Set) bool) {
		for k, set := range []*Set{s.Cal, s.Val, s.Test} {
			if set != nil && !yield(strings.TrimSuffix(partPrefixes[k], "_"), set) {
				return
			}
		}
	}
}

// block are the arrays of one part of a file by their headers, nil where it has none.
type block struct {
	a                        *archive
	prefix                   string // cal_, val_ or test_; "" of predictions
	rows                     int
	features, logits, labels *entry
}

// parts are the arrays of cal, val and test. Those of a part agree in rows, and all in columns; the
// columns of logits are the classes, 0 without.
func (a *archive) parts() (parts []block, classes int, err error) {
	width, columns, total := lengths{what: "columns"}, lengths{what: "columns", least: 2}, 0
	for _, prefix := range partPrefixes {
		p, rows := block{a: a, prefix: prefix}, lengths{what: "rows"}
		if p.features, err = a.among(prefix+"features", &rows, &width); err == nil {
			p.logits, err = a.among(prefix+"logits", &rows, &columns)
		}
		if err == nil {
			p.labels, err = a.labelled(prefix+"labels", &rows)
		}
		if err != nil {
			return nil, 0, err
		}
		p.rows = rows.n
		total += rows.n
		parts = append(parts, p)
	}
	if err := a.checkNames(columns.n); err != nil {
		return nil, 0, err
	}
	if total == 0 {
		of := []string{"probs", "log_probs", "logits"}
		if k := slices.IndexFunc(a.keys, func(key string) bool { return slices.Contains(of, key) }); k >= 0 {
			return nil, 0, Inputf(a.path, "holds predictions of one set and no rows to fit to or apply a model to; "+
				"name the arrays of those cal_%[1]s and test_%[1]s, "+
				"or let calibra evaluate or compare --folds 5 take the file as it is", a.keys[k])
		}
		return nil, 0, a.missing("cal_features")
	}
	return parts, columns.n, nil
}

// among is the array key, nil if it is not there, which has as many rows as those before and as
// many columns, or is of labels where columns is nil. Whether there is room is not asked of its numbers.
func (a *archive) among(key string, rows, columns *lengths) (e *entry, err error) {
	if !a.has(key) {
		return nil, nil
	}
	if e, err = a.entry(key); err != nil {
		return nil, err
	}
	var n, m int
	if columns == nil {
		n, err = e.count()
	} else if n, m, err = e.shaped(0); err == nil {
		err = columns.agree(a.path, key, m)
	}
	if err != nil {
		return nil, err
	}
	return e, rows.agree(a.path, key, n)
}

// lengths are the rows or columns of arrays that must have as many, n of the array key.
type lengths struct {
	what, key string
	n, least  int
}

func (l *lengths) agree(path, key string, n int) error {
	switch {
	case n < l.least:
		return Inputf(path, "%s has 1 column; there must be one for each of at least two classes", key)
	case l.n != 0 && l.n != n:
		return Inputf(path, "%s has %d %s and %s has %d; they must have the same", l.key, l.n, l.what, key, n)
	}
	l.n, l.key = n, key
	return nil
}

// room returns an *InputError unless there is memory for each array and for all of them.
func (a *archive) room(parts []block) error {
	rows, bytes := 0, 0.
	for _, p := range parts {
		rows += p.rows
		for _, e := range []*entry{p.features, p.logits} {
			if e == nil {
				continue
			}
			each := 8
			if e == p.features {
				each = e.width()
			}
			n, m, err := e.shaped(each)
			if err != nil {
				return err
			}
			bytes += float64(each) * float64(n) * float64(m)
		}
	}
	return CheckRoom(a.path, "the file", rows, bytes/float64(rows), "rows")
}

// read reads the arrays of the part, nil if there are none.
func (p block) read() (set *Set, err error) {
	if p.rows == 0 {
		return nil, nil
	}
	set = &Set{}
	if p.features != nil {
		set.Features, err = p.features.features()
	}
	if p.logits != nil && err == nil {
		set.Logits, err = p.logits.matrix(Masked)
	}
	if p.labels != nil && err == nil {
		set.Labels, set.Soft, err = p.labels.labels()
	}
	if err == nil {
		set.Weights, err = p.a.weights(p.prefix+"weights", p.rows)
	}
	if err == nil && (p.prefix == "test_" || p.prefix == "") {
		set.Groups, err = p.a.groupsOf(p.prefix, p.rows)
	}
	return set, err
}

// fewClasses are no burden, however few the rows.
const fewClasses = 1000

// checkLabels holds the labels against the classes. Without logits there are as many as
// the largest label implies, but no more than rows, lest one stray label decide how much
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
	} else {
		var all [][]int
		for _, set := range s.sets() {
			if set.Soft == nil {
				all = append(all, set.Labels)
			}
		}
		if err := a.byNumber(s.Classes, all...); err != nil {
			return err
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
	cal := slices.IndexFunc(keys, func(key string) bool { return strings.HasPrefix(key, "cal_") })
	if s.Cal != nil || s.Test == nil || cal < 0 || !isTable(s.Path) {
		return require(s.Path, s.keys(), keys)
	}
	if err := require(s.Path, s.keys(), keys[:cal]); err != nil {
		return err
	}
	return Inputf(s.Path, "has no calibration rows: a column set says cal, val or test of each row, and without it all are test rows; add it, or let calibra compare --folds 5 part them")
}

// require returns an *InputError naming the first of the keys that the file does not have.
func require(path string, have, keys []string) error {
	if k := slices.IndexFunc(keys, func(key string) bool { return !slices.Contains(have, key) }); k >= 0 {
		return Inputf(path, "has no %s%s; it holds %s", keys[k], columnOf(path, keys[k]), strings.Join(have, ", "))
	}
	return nil
}

// keys lists the arrays the source holds.
func (s *Source) keys() []string {
	var keys []string
	for name, set := range s.sets() {
		for k, has := range []bool{set.Features != nil, set.Logits != nil, set.Labels != nil} {
			if has {
				keys = append(keys, name+"_"+partArrays[k])
			}
		}
	}
	return keys
}

// RareClasses lists the classes, of Classes, that from least to most calibration rows have. A calibrator knows nothing
// of a class without rows, and little of one with few.
func (s *Source) RareClasses(least, most int) []int {
	if s.Cal == nil {
		return nil
	}
	counts := make([]int, s.Classes)
	for _, y := range s.Cal.Labels {
		if 0 <= y && y < s.Classes {
			counts[y]++
		}
	}
	return slices.DeleteFunc(UpTo(s.Classes), func(y int) bool { return counts[y] < least || counts[y] > most })
}

// OpenWhole reads one labelled set: the labelled rows of all parts of a features file, or predictions (see
// [ReadPredictions]), whose probabilities stand for logits, with the array features or else embedding. They are the
// calibration rows of the source. Those of one part, and predictions, have their groups.
func OpenWhole(ctx context.Context, path string) (*Source, error) {
	return wanted(ctx, path, func(a *archive) (*Source, error) {
		plain := a.joined()
		s, err := readSource(a, Names{})
		if err != nil {
			return nil, err
		}
		var labelled []*Set
		for _, set := range s.sets() {
			if set.Labels != nil {
				labelled = append(labelled, set)
			}
		}
		if labelled == nil {
			return nil, Inputf(path, "has no labels for its rows, by which folds are fitted and judged")
		}
		if s.Cal, s.Val, s.Test = labelled[0], nil, nil; len(labelled) > 1 {
			s.Cal, s.Pooled = Together(labelled...), true
		}
		if plain {
			s.Unread = a.unreadBeside("")
		}
		return s, nil
	})
}

// joined lets the rows of a file of one part be test rows, and reports whether they were of none of the parts.
func (a *archive) joined() (plain bool) {
	var parts []string
	for _, prefix := range partPrefixes {
		if a.has(prefix+"logits") || a.has(prefix+"features") {
			parts = append(parts, prefix)
		}
	}
	if len(parts) > 1 {
		return false
	}
	for _, key := range partArrays {
		name := key
		switch {
		case len(parts) == 1:
			name = parts[0] + key
		case key == "logits":
			name = a.predicted()
		case key == "features" && !a.has(key):
			name = "embedding"
		}
		if member := a.members[name]; member != nil {
			delete(a.members, name)
			a.members["test_"+key] = member
		}
	}
	return parts == nil
}
