package trees

import (
	"cmp"
	"slices"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Sample is labelled rows that a [Forest] is grown on. It has them in the order of their numbers, so that a forest does
// not depend on the order in which they come.
type Sample struct {
	rows, columns, classes int

	x     []float32 // row by row, P each
	order []int     // the place that each row came from
	kind  []int32   // of each row: rows of one kind have equal columns
	group []int32   // of each row: rows of one kind are in one group; −1 of a group whose rows count nothing

	groups [][]entry  // what a bag draws
	mixed  []int32    // of each kind of several classes its row of shares; −1 of one class
	shares *mat.Dense // of the classes in such kinds, by weight, in single precision; nil: there are none
}

// Groups is how many groups there are: what is drawn independently.
func (s *Sample) Groups() int { return len(s.groups) }

// entry is a row as far as it is of a class.
type entry struct {
	row, class int32
	weight     float64
}

// Rows writes row i, P numbers of single precision, to dst. It may be called for several rows at once.
type Rows func(dst []float32, i int)

// NewSample takes n rows of P numbers with the labels, weights and groups of aims. Rows of weight 0 count nothing.
func NewSample(n, p int, x Rows, aims *data.Set, classes int) *Sample {
	s := &Sample{rows: n, columns: p, classes: classes, order: data.UpTo(n)}
	given := make([]float32, n*p)
	row := func(i int) []float32 { return given[i*p : (i+1)*p] }
	work.Each(n, walked, func(i int) { x(row(i), i) })
	slices.SortStableFunc(s.order, func(a, b int) int {
		return cmp.Or(slices.Compare(row(a), row(b)), cmp.Compare(aims.Labels[a], aims.Labels[b]), cmp.Compare(aims.Weight(a), aims.Weight(b)))
	})
	s.x = make([]float32, n*p)
	for place, i := range s.order {
		copy(s.row(place), row(i))
	}
	s.kind = make([]int32, n)
	for place := 1; place < n; place++ {
		s.kind[place] = s.kind[place-1]
		if !slices.Equal(s.row(place-1), s.row(place)) {
			s.kind[place]++
		}
	}
	s.part(aims)
	s.share(aims)
	return s
}

// row is a row of P numbers.
func (s *Sample) row(place int) []float32 { return s.x[place*s.columns : (place+1)*s.columns] }

// part finds the groups: rows of one kind, or of one group of aims, are in one.
func (s *Sample) part(aims *data.Set) {
	first := data.UpTo(int(s.kind[s.rows-1]) + 1) // of each kind one that it is joined to
	root := func(k int) int {
		for first[k] != k {
			k = first[k]
		}
		return k
	}
	if aims.Groups.Of != nil {
		of := map[int]int{}
		for place, i := range s.order {
			g, k := aims.Groups.Of[i], root(int(s.kind[place]))
			if other, known := of[g]; known {
				a, b := root(other), k
				first[max(a, b)] = min(a, b)
			} else {
				of[g] = k
			}
		}
	}
	number := map[int]int32{}
	s.group = make([]int32, s.rows)
	for place, i := range s.order {
		s.group[place] = -1
		k := root(int(s.kind[place]))
		for y, q := range aims.Shares(i) {
			w := aims.Weight(i) * q
			if !(w > 0) {
				continue
			}
			g, known := number[k]
			if !known {
				g = int32(len(s.groups))
				number[k], s.groups = g, append(s.groups, nil)
			}
			s.groups[g] = append(s.groups[g], entry{int32(place), int32(y), w})
		}
	}
	for place := range s.group {
		if g, known := number[root(int(s.kind[place]))]; known {
			s.group[place] = g
		}
	}
}

// share finds the shares of the classes in kinds of several.
func (s *Sample) share(aims *data.Set) {
	s.mixed = make([]int32, s.kind[s.rows-1]+1)
	var all []float64
	for lo, hi := 0, 0; lo < s.rows; lo = hi {
		sums := make([]float64, s.classes)
		for hi = lo; hi < s.rows && s.kind[hi] == s.kind[lo]; hi++ {
			for y, q := range aims.Shares(s.order[hi]) {
				sums[y] += aims.Weight(s.order[hi]) * q
			}
		}
		s.mixed[s.kind[lo]] = -1
		if floats.Count(func(v float64) bool { return v > 0 }, sums) > 1 {
			s.mixed[s.kind[lo]] = int32(len(all) / s.classes)
			total := floats.Sum(sums)
			for _, v := range sums {
				all = append(all, float64(float32(v/total)))
			}
		}
	}
	if all != nil {
		s.shares = mat.NewDense(len(all)/s.classes, s.classes, all)
	}
}
