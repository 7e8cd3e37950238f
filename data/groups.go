package data

import (
	"fmt"
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
	groups, each, err := a.groups(rows)
	if err != nil {
		return nil, nil, err
	}
	if each != nil {
		names = slices.Compact(slices.Sorted(slices.Values(each)))
		groups = make([]int, rows)
		for i, name := range each {
			groups[i], _ = slices.BinarySearch(names, name)
		}
		return groups, names, nil
	}
	if a.has("group_names") {
		if names, err = a.textArray("group_names"); err != nil {
			return nil, nil, err
		}
	}
	most := len(names)
	if names == nil {
		most = rows // more groups than rows are a mistake
	}
	if i := InvalidLabel(groups, most); i >= 0 {
		return nil, nil, Inputf(path, "groups holds %d at row %d; groups must lie in 0…%d", groups[i], i, most-1)
	}
	return groups, names, nil
}

// groups reads the group of each of so many rows, its number or its name.
func (a *archive) groups(rows int) (numbers []int, names []string, err error) {
	err = a.read("groups", func(h *header, r io.Reader) (err error) {
		switch {
		case len(h.shape) != 1:
			return fmt.Errorf("has shape %s; it has one axis, one group a row", shapeString(h.shape))
		case h.shape[0] != rows:
			return fmt.Errorf("has %d rows and the predictions have %d; they must have the same", h.shape[0], rows)
		case h.text():
			names, err = h.texts(r)
			return err
		case h.kind == 'f':
			return fmt.Errorf("is of dtype float%d; groups must be integers 0…G−1 or names", 8*h.size)
		}
		numbers = make([]int, rows)
		return h.ints(r, numbers)
	})
	return numbers, names, err
}

// ReadLabels reads the N integers of the array key of the npz file at path.
func ReadLabels(path, key string) ([]int, error) {
	return within(path, func(a *archive) ([]int, error) { return a.labels(key) })
}
