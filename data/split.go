package data

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Holdout is where the validation rows of a [Source] come from.
type Holdout string

const (
	// PaperText takes 10 % of the calibration rows, as the paper's text says.
	PaperText Holdout = "paper"
	// PaperTables takes 10 % of the test rows and removes them from the test part,
	// as the code behind the paper's tables does: of CIFAR-10's 22,500 held-out
	// rows 20,250 remain, of TissueMNIST's 82,733 remain 74,459.
	PaperTables Holdout = "tables"
	// NoValidation fits on all calibration rows and has no validation part.
	NoValidation Holdout = "none"
)

// Split returns the source with its validation part made by p, stratified
// by label. A source that brings validation rows of its own keeps them, and its
// other parts whole, under PaperText and PaperTables; NoValidation drops them.
//
// The published results drew their rows with torch's generator: sizes are the
// same here, the rows are not.
func (s *Source) Split(p Holdout, rng *rand.Rand) (*Source, error) {
	out := *s
	out.Cal, out.Val = s.Cal.ForFit(), s.Val.ForFit()
	switch p {
	case NoValidation:
		out.Val = nil
		return &out, nil
	case PaperText, PaperTables:
	default:
		return nil, Inputf("", "there is no split %q; choose paper, tables or none", string(p))
	}
	if s.Val != nil {
		return &out, nil
	}
	from, key, rest := out.Cal, "cal_labels", &out.Cal
	if p == PaperTables {
		from, key, rest = out.Test, "test_labels", &out.Test
	}
	if from == nil || from.Labels == nil {
		return nil, Inputf(s.Path, "has no %s, from which the split %q takes its validation rows; choose another split", key, string(p))
	}
	if from.Len() < 2 {
		return nil, Inputf(s.Path, "has a single row of %s, too few for the split %q", key, string(p))
	}
	parts := from.Stratify([]float64{0.9, 0.1}, rng)
	*rest, out.Val = from.Rows(parts[0]), from.Rows(parts[1]).ForFit()
	out.Cal = out.Cal.ForFit()
	return &out, nil
}

// Stratify divides the rows 0…N−1 into parts of the given fractions, which are
// positive and sum to 1, so that every class is divided alike: a part holds of
// each class its share to within one or two rows. Part p has ⌊fraction·N⌋ rows,
// the last what remains. Every class has a row in the first part, the fitting
// one, as long as there are no more classes than rows in it. Rows within a part
// ascend. It panics if the fractions are not as said.
func Stratify(labels []int, fractions []float64, rng *rand.Rand) [][]int {
	return stratify(labels, slices.Repeat([]int{1}, len(labels)), quotas(len(labels), fractions), rng)
}

// Stratify is the function of that name for labelled rows, and keeps equal rows (see [Set.Distinct]) in one part,
// so that no part is judged by rows that another was fitted to. The sizes of the parts are then exact up to the equal
// rows of one kind. Equal rows are separated only if there are fewer kinds than parts, or no class has two kinds.
func (s *Set) Stratify(fractions []float64, rng *rand.Rand) [][]int {
	kinds, quota := s.Distinct(), quotas(s.Len(), fractions)
	labels, sizes, classes := make([]int, len(kinds)), make([]int, len(kinds)), map[int]bool{}
	for k, rows := range kinds {
		labels[k], sizes[k] = s.Labels[rows[0]], len(rows)
		classes[labels[k]] = true
	}
	if len(kinds) < len(fractions) || len(kinds) == len(classes) {
		return Stratify(s.Labels, fractions, rng)
	}
	parts := stratify(labels, sizes, quota, rng)
	for p, part := range parts {
		parts[p] = slices.Concat(at(kinds, part)...)
		slices.Sort(parts[p])
	}
	return parts
}

// stratify divides kinds of rows with these labels, of so many rows each, into parts of about quota rows.
func stratify(labels, sizes, quota []int, rng *rand.Rand) [][]int {
	order := byClass(labels, rng)
	partOf := make([]int, len(labels))
	total := 0
	for _, n := range sizes {
		total += n
	}

	// Walk the rows class by class and give each to the part that lags furthest
	// behind its share of the rows seen: totals come out exact, and since every
	// stretch of rows is divided in proportion, so is every class.
	given, seen := make([]int, len(quota)), 0
	for _, kind := range order {
		seen += sizes[kind]
		best, lag := -1, math.Inf(-1)
		for p := range quota {
			behind := float64(quota[p])*float64(seen)/float64(total) - float64(given[p])
			if given[p] < quota[p] && behind > lag {
				best, lag = p, behind
			}
		}
		partOf[kind] = best
		given[best] += sizes[kind]
	}
	keepEveryClass(order, labels, partOf)
	keepEveryPart(order, quota, partOf)

	parts := make([][]int, len(quota))
	for kind, p := range partOf {
		parts[p] = append(parts[p], kind)
	}
	return parts
}

// quotas is the number of rows of each part.
func quotas(n int, fractions []float64) []int {
	quota := make([]int, len(fractions))
	sum, rest := 0.0, n
	for p, f := range fractions {
		if !(f > 0) {
			panic(fmt.Sprintf("data: Stratify: fraction %v is not positive", f))
		}
		sum += f
		quota[p] = int(f*float64(n) + 1e-9) // 0.29·100 is 28.999…
		rest -= quota[p]
	}
	if math.Abs(sum-1) > 1e-9 {
		panic(fmt.Sprintf("data: Stratify: the fractions %v do not sum to 1", fractions))
	}
	quota[len(quota)-1] += rest
	return quota
}

// byClass lists the rows, class after class in ascending order, shuffled within
// each class.
func byClass(labels []int, rng *rand.Rand) []int {
	order := rng.Perm(len(labels))
	classes := make(map[int][]int)
	for _, row := range order {
		y := labels[row]
		classes[y] = append(classes[y], row)
	}
	order = order[:0]
	for _, y := range slices.Sorted(maps.Keys(classes)) {
		order = append(order, classes[y]...)
	}
	return order
}

// keepEveryClass moves one row of each class that part 0 lacks into part 0, in
// exchange for a row of the class that has most rows there.
func keepEveryClass(order, labels, partOf []int) {
	inFirst := make(map[int]int)
	for row, p := range partOf {
		if p == 0 {
			inFirst[labels[row]]++
		}
	}
	for _, row := range order {
		y := labels[row]
		if inFirst[y] > 0 {
			continue
		}
		spare := -1
		for _, other := range order {
			if partOf[other] != 0 || inFirst[labels[other]] < 2 {
				continue
			}
			if spare < 0 || inFirst[labels[other]] > inFirst[labels[spare]] {
				spare = other
			}
		}
		if spare < 0 {
			return // more classes than rows in part 0
		}
		partOf[row], partOf[spare] = 0, partOf[row]
		inFirst[y]++
		inFirst[labels[spare]]--
	}
}

// keepEveryPart gives each part that is to have rows and got none the last kind of the part that has most kinds.
func keepEveryPart(order, quota, partOf []int) {
	kinds := make([]int, len(quota))
	for _, p := range partOf {
		kinds[p]++
	}
	for p := range quota {
		if quota[p] == 0 || kinds[p] > 0 {
			continue
		}
		most := slices.Index(kinds, slices.Max(kinds))
		for _, kind := range slices.Backward(order) {
			if partOf[kind] == most {
				partOf[kind] = p
				kinds[most], kinds[p] = kinds[most]-1, 1
				break
			}
		}
	}
}
