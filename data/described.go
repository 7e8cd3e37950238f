package data

import (
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"
)

// Described is a features file's description of rows that were predicted.
type Described struct {
	Features *mat.Dense // N×M
	Names    []string   // M, nil if none are known
	Groups   Groups
}

// Describe reads the file at path, of the rows of p, which were read from the file of: its features, test_features or
// embedding. An *InputError says so where it is of other rows, by their number or by their labels.
func (p *Predictions) Describe(path, of string) (*Described, error) {
	return within(path, func(a *archive) (*Described, error) {
		key := a.first("features", "test_features", "embedding")
		if key == "" {
			return nil, Inputf(path, "has no features, test_features or embedding")
		}
		x, err := a.matrix(key, onlyFinite)
		if err != nil {
			return nil, err
		}
		rows, _ := p.LogProbs.Dims()
		if n, _ := x.Dims(); n != rows {
			return nil, Inputf(path, "%s has %d rows and the predictions in %s have %d; they must be of the same rows", key, n, filepath.Base(of), rows)
		}
		labels := "labels"
		if strings.HasPrefix(key, "test_") || !a.has(labels) {
			labels = "test_labels"
		}
		if err := p.sameLabels(a, labels, of); err != nil {
			return nil, err
		}
		d := &Described{Features: x}
		if d.Names, err = a.texts("feature_names"); err != nil {
			return nil, err
		}
		d.Groups, err = a.groupsOf("test_", rows)
		return d, err
	})
}

// sameLabels returns an *InputError where labels of the file contradict those of the predictions, row by row. Classes
// are the same by their names where both have names, by their numbers where neither has, or else where the first row of
// one class tells which class of the other it is. Labels are not compared where one of both is certain and the other
// not.
func (p *Predictions) sameLabels(a *archive, key, of string) error {
	if p.Labels == nil {
		return nil
	}
	if err := a.name(Names{}); err != nil {
		return err
	}
	rows := lengths{what: "rows", n: len(p.Labels), key: "the predictions"}
	e, err := a.labelled(key, &rows)
	if e == nil || err != nil {
		return err
	}
	labels, soft, err := e.labels()
	if err != nil || (soft == nil) != (p.Soft == nil) {
		return err
	}
	same := func(y, said int) bool { return y == said }
	switch here, there := a.names.Classes, p.ClassNames; {
	case here != nil && there != nil:
		same = func(y, said int) bool { return ClassName(here, y) == ClassName(there, said) }
	case here != nil || there != nil:
		count, most := map[[2]int]int{}, map[int]int{} // of the pairs of classes, and the other class of most rows of each
		for i, said := range p.Labels {
			y := labels[i]
			if count[[2]int{y, said}]++; count[[2]int{y, said}] > count[[2]int{y, most[y]}] {
				most[y] = said
			}
		}
		same = func(y, said int) bool { return most[y] == said }
	}
	differ, row := 0, 0
	for i, said := range p.Labels {
		if !same(labels[i], said) {
			if differ++; differ == 1 {
				row = i
			}
		}
	}
	if differ == 0 {
		return nil
	}
	return Inputf(a.path, "is of other rows than %s: %d of %d labels contradict, the first at row %d, which is %s here and %s there; name the features of the same rows in the same order",
		filepath.Base(of), differ, len(labels), row,
		Printable(ClassName(a.names.Classes, labels[row])), Printable(ClassName(p.ClassNames, p.Labels[row])))
}
