package data

import (
	"io"
	"slices"
)

// ReadGroups reads groups (N) of the npz file at path, a group for each of so many rows, and
// the names of the groups: either integers 0…G−1, with group_names (G texts) where they
// have names, or texts, which are names themselves and are numbered in their order. Without groups all are nil.
// Whatever is wrong with them is an *InputError.
func ReadGroups(path string, rows int) (groups []int, names []string, err error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, nil, err
	}
	defer a.close()
	if !a.has("groups") {
		return nil, nil, nil
	}
	e, err := a.entry("groups")
	switch {
	case err != nil:
		return nil, nil, err
	case len(e.shape) != 1:
		return nil, nil, e.fault("has shape %s; it has one axis, one group a row", shapeString(e.shape))
	case e.shape[0] != rows:
		return nil, nil, e.fault("has %d rows and the predictions have %d; they must have the same", e.shape[0], rows)
	case e.kind == 'f':
		return nil, nil, e.fault("is of dtype float%d; groups must be integers 0…G−1 or names", 8*e.size)
	}
	groups = make([]int, rows)
	if e.text() {
		each, err := e.texts()
		if err != nil {
			return nil, nil, err
		}
		names = slices.Compact(slices.Sorted(slices.Values(each)))
		for i, name := range each {
			groups[i], _ = slices.BinarySearch(names, name)
		}
		return groups, names, nil
	}
	if err := e.read(func(r io.Reader) error { return e.ints(r, groups) }); err != nil {
		return nil, nil, err
	}
	if names, err = a.texts("group_names"); err != nil {
		return nil, nil, err
	}
	most := len(names)
	if names == nil {
		most = rows // more groups than rows are a mistake
	}
	if i := InvalidLabel(groups, most); i >= 0 {
		return nil, nil, e.fault("holds %d at row %d; groups must lie in 0…%d", groups[i], i, most-1)
	}
	return groups, names, nil
}

// ReadLabels reads the N integers of the array key of the npz file at path.
func ReadLabels(path, key string) ([]int, error) {
	return within(path, func(a *archive) ([]int, error) { return a.labels(key) })
}
