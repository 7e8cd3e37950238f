package data

import (
	"io"
	"math"
	"slices"
)

// Weights are whole numbers: a weight of 3 is three copies of the row, and 0 none. So every method,
// metric and interval takes them, and means by them what it means by rows.

// weights reads the array key of n weights as the number of copies of each row; nil where the
// file has none.
func (a *archive) weights(key string, n int) ([]int, error) {
	if !a.has(key) {
		return nil, nil
	}
	h, err := a.header(key)
	if err != nil {
		return nil, err
	}
	if len(h.shape) != 1 || h.shape[0] != n {
		return nil, Inputf(a.path, "%s has shape %s and there are %d rows; it must have one weight for each", key, shapeString(h.shape), n)
	}
	values := make([]float64, n)
	if err := a.read(key, func(h *header, r io.Reader) error { return decode(h, r, values) }); err != nil {
		return nil, err
	}
	copies, total := make([]int, n), 0.0
	for i, v := range values {
		switch {
		case !(v >= 0 && v <= math.MaxInt32):
			return nil, Inputf(a.path, "%s holds %v at row %d; a weight is 0 or more", key, v, i)
		case v != math.Floor(v):
			return nil, Inputf(a.path, "%s holds %v at row %d; a weight is a whole number of copies of its row: multiply all of them by one number and round", key, v, i)
		}
		copies[i] = int(v)
		total += v
	}
	if total == 0 {
		return nil, Inputf(a.path, "%s is zero for every row; some row must count", key)
	}
	if slices.Max(copies) == 1 && slices.Min(copies) == 1 {
		return nil, nil
	}
	return copies, CheckRoom(a.path, key, int(total), 16, "rows")
}

// Repeat puts as many copies of each row as its weight says into the named parts (cal, val,
// test), whose rows then have no weights.
func (s *Source) Repeat(parts ...string) error {
	for _, p := range s.parts() {
		if set := *p.set; set != nil && set.Copies != nil && slices.Contains(parts, p.name) {
			rows := repeated(set.Copies)
			if err := s.roomFor(set, len(rows), p.name); err != nil {
				return err
			}
			out := set.Rows(rows)
			out.Numbers = set.Numbers
			if set.Numbers != nil {
				out.Numbers = make([]int, len(rows))
				for i, r := range rows {
					out.Numbers[i] = set.Numbers[r]
				}
			}
			*p.set = out
		}
	}
	return nil
}

// roomFor holds the memory of so many rows of the set against what there is.
func (s *Source) roomFor(set *Set, rows int, part string) error {
	bytes := 8 * float64(set.Classes())
	if set.Features != nil {
		_, m := set.Features.Dims()
		bytes += 8 * float64(m)
	}
	return CheckRoom(s.Path, part+"_weights", rows, bytes, "rows")
}

func repeated(copies []int) (rows []int) {
	for i, n := range copies {
		for range n {
			rows = append(rows, i)
		}
	}
	return rows
}

// ReadCopies reads the array weights of the file at path, which is of n rows: the rows with
// each as often as its weight says; nil where the file has no weights.
func ReadCopies(path string, n int) ([]int, error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.close()
	copies, err := a.weights("weights", n)
	if copies == nil || err != nil {
		return nil, err
	}
	return repeated(copies), nil
}

// oneHot reads labels (N×C) that are 1 in the column of the row's class and 0 in the others.
func (a *archive) oneHot(key string) ([]int, error) {
	m, err := a.matrix(key, onlyFinite)
	if err != nil {
		return nil, err
	}
	n, _ := m.Dims()
	labels := make([]int, n)
	for i := range n {
		ones := 0
		for j, v := range m.RawRowView(i) {
			switch v {
			case 0:
			case 1:
				ones++
				labels[i] = j
			default:
				return nil, Inputf(a.path, "%s holds %v at row %d, column %d; no method learns from soft labels: hand over one class for each row, as a number or as a 1 in its column", key, v, i, j)
			}
		}
		if ones != 1 {
			return nil, Inputf(a.path, "row %d of %s has %d ones; it must have one, in the column of its class", i, key, ones)
		}
	}
	return labels, nil
}
