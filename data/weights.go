package data

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// A weight is the number of rows that a row counts as. Integers are copies: a weight of 3 is three
// copies of the row, and 0 none, so that whatever takes rows takes them. Others stay beside the
// rows as [Set.Weights], and whoever fits or measures multiplies by them:
//
// Rows to fit to stay as they are, weighed by w_i Σ_j max(1, w_j)/Σ_j w_j: together they count as
// as many rows as their weights, and as no fewer than there are. Rows to be judged on are cut into
// parts of at most one row, each with its weight: 2.5 is 1, 1 and 0.5. So an integer weight is that many
// copies, next to it or not, and weights of at most 1 may be multiplied by any number.

// weights reads the array key of n weights: the number of copies of each row or, where one is no
// whole number, the weights; nil where the file has none.
func (a *archive) weights(key string, n int) (copies []int, weights []float64, err error) {
	if !a.has(key) {
		return nil, nil, nil
	}
	e, err := a.entry(key)
	switch {
	case err != nil:
		return nil, nil, err
	case e.text():
		return nil, nil, e.unfit()
	case len(e.shape) != 1 || e.shape[0] != n:
		return nil, nil, e.fault("has shape %s and there are %d rows; it must have one weight for each", shapeString(e.shape), n)
	}
	each, err := values[float64](e, n, 1, func(float64) bool { return true })
	if err != nil {
		return nil, nil, err
	}
	total := 0.0
	for i, v := range each {
		if !(v >= 0 && v <= math.MaxInt32) {
			return nil, nil, e.fault("holds %v at row %d; a weight is 0 or more", v, i)
		}
		total += v
	}
	switch {
	case total == 0:
		return nil, nil, e.fault("is zero for every row; some row must count")
	case slices.ContainsFunc(each, func(v float64) bool { return v != math.Floor(v) }):
		return nil, each, nil
	case slices.Max(each) == 1 && slices.Min(each) == 1:
		return nil, nil, nil
	}
	copies = make([]int, n)
	for i, v := range each {
		copies[i] = int(v)
	}
	return copies, nil, CheckRoom(a.path, key, int(total), 16, "rows")
}

// Repeat puts as many copies of each row as its weight into the named parts (cal, val,
// test), and leaves rows of no weight out. Weights that are no integers stay, and rows of
// test become parts of at most one row and of one class.
func (s *Source) Repeat(parts ...string) error {
	for _, p := range s.parts() {
		set := *p.set
		judged := p.name == "test"
		if set == nil || set.Copies == nil && set.Weights == nil && !(judged && set.Soft != nil) || !slices.Contains(parts, p.name) {
			continue
		}
		rows, labels, weights := repeated(set.Copies, set.Weights), []int(nil), []float64(nil)
		if judged {
			rows, labels, weights = set.pieces()
		}
		if err := s.roomFor(set, len(rows), p.name); err != nil {
			return err
		}
		out := set.Rows(rows)
		switch {
		case judged:
			out.Weights, out.Soft = weights, nil
			if set.Soft != nil {
				out.Labels, out.Parts = labels, rows
			}
		case out.Weights != nil:
			var total float64 // together they count as Σ max(1, w)
			for _, w := range out.Weights {
				total += max(1, w)
			}
			floats.Scale(total/floats.Sum(out.Weights), out.Weights)
		}
		out.Numbers = at(set.Numbers, rows)
		*p.set = out
	}
	return nil
}

// roomFor holds the memory of so many rows of the set against what there is.
func (s *Source) roomFor(set *Set, rows int, part string) error {
	bytes := 8 * float64(set.Classes())
	if set.Soft != nil {
		bytes *= 2
	}
	if set.Features != nil {
		_, m := set.Features.Dims()
		bytes += 8 * float64(m)
	}
	return CheckRoom(s.Path, part+"_weights", rows, bytes, "rows")
}

// repeated are the rows, each as often as its copies, or those of some weight.
func repeated(copies []int, weights []float64) (rows []int) {
	for i, n := range copies {
		for range n {
			rows = append(rows, i)
		}
	}
	for i, w := range weights {
		if w > 0 {
			rows = append(rows, i)
		}
	}
	return rows
}

// pieces cuts the rows into parts of at most one row and of one class each, of so many weights; nil: 1 each.
func (s *Set) pieces() (rows, labels []int, weights []float64) {
	whole, scale := true, 1.0
	if s.Weights != nil { // weights below 1 are parts of the largest
		scale = max(1, 1/slices.Max(s.Weights))
	}
	for i := range s.Len() {
		weight := scale * s.Weight(i)
		if s.Copies != nil {
			weight = float64(s.Copies[i])
		}
		for k, share := range s.Shares(i) {
			for left := weight * share; left > 0; left-- {
				part := min(1, left)
				whole = whole && part == 1
				rows, labels, weights = append(rows, i), append(labels, k), append(weights, part)
			}
		}
	}
	if whole {
		weights = nil
	}
	return rows, labels, weights
}

// Weigh cuts rows of predictions, their labels (nil: none) and whatever belongs to them, by the array
// weights and the soft labels of the file at path: rows are those that the pieces are of. It is nil
// where the file has neither.
func (p *Predictions) Weigh(path string) (rows []int, err error) {
	a, err := openArchive(path)
	if err != nil {
		return nil, err
	}
	defer a.close()
	n, _ := p.LogProbs.Dims()
	s := &Set{Labels: p.Labels, Soft: p.soft, Logits: p.LogProbs}
	if s.Labels == nil {
		s.Labels = make([]int, n)
	}
	if s.Copies, s.Weights, err = a.weights("weights", n); err != nil || s.Copies == nil && s.Certain() {
		return nil, err
	}
	rows, labels, weights := s.pieces()
	if err := CheckRoom(path, "weights", len(rows), 8*float64(s.Classes()), "rows"); err != nil {
		return nil, err
	}
	if s.Soft != nil {
		p.Parts = rows
	}
	p.LogProbs, p.Weights, p.soft = RowsOf(p.LogProbs, rows), weights, nil
	if p.Labels != nil {
		p.Labels = labels
	}
	return rows, nil
}

// Counted is how many rows they are of: parts of one are one.
func (p *Predictions) Counted() int { return counted(p.Parts, len(p.Labels)) }

func counted(parts []int, rows int) int {
	if parts == nil {
		return rows
	}
	return len(firsts(parts))
}

// firsts are the places of the first part of each row.
func firsts(parts []int) (places []int) {
	for i, row := range parts {
		if i == 0 || row != parts[i-1] {
			places = append(places, i)
		}
	}
	return places
}

// Whole puts parts of rows together again: the predictions of the rows, whose labels are the
// probabilities of the classes, and the places of their first parts. places is nil of rows that are whole.
func (p *Predictions) Whole() (whole *Predictions, places []int) {
	if p.Parts == nil {
		return p, nil
	}
	places = firsts(p.Parts)
	_, classes := p.LogProbs.Dims()
	whole = &Predictions{LogProbs: RowsOf(p.LogProbs, places), ClassNames: p.ClassNames, Weights: make([]float64, len(places)), soft: mat.NewDense(len(places), classes, nil)}
	row := -1
	for i, part := range p.Parts {
		if i == 0 || part != p.Parts[i-1] {
			row++
		}
		weight := 1.0
		if p.Weights != nil {
			weight = p.Weights[i]
		}
		whole.Weights[row] += weight
		whole.soft.Set(row, p.Labels[i], whole.soft.At(row, p.Labels[i])+weight)
	}
	one := true
	for i, weight := range whole.Weights {
		floats.Scale(1/weight, whole.soft.RawRowView(i))
		one = one && math.Abs(weight-1) < 1e-9 // the parts of a row sum to 1 but for rounding
	}
	if one {
		whole.Weights = nil
	}
	return whole, places
}

// Take takes the weights and the soft labels of the rows that the predictions are of.
func (p *Predictions) Take(x *Set) {
	p.Weights, p.soft = x.Written(), x.Soft
}

// Written are the weights of the rows as a file has them; nil where each counts once.
func (s *Set) Written() []float64 {
	if s.Copies == nil {
		return s.Weights
	}
	weights := make([]float64, len(s.Copies))
	for i, n := range s.Copies {
		weights[i] = float64(n)
	}
	return weights
}

// at is x at the given places, nil of nil.
func at[T any](x []T, index []int) []T {
	if x == nil {
		return nil
	}
	out := make([]T, len(index))
	for i, r := range index {
		out[i] = x[r]
	}
	return out
}

// Copied is the rows, each as often as its copies.
func (s *Set) Copied() *Set {
	if s.Copies == nil {
		return s
	}
	return s.Rows(repeated(s.Copies, nil))
}

// Weight is as how many rows row i counts.
func (s *Set) Weight(i int) float64 {
	if s.Weights == nil {
		return 1
	}
	return s.Weights[i]
}

// Total is as how many rows all count: N without weights.
func (s *Set) Total() float64 {
	if s.Weights == nil {
		return float64(s.Len())
	}
	return floats.Sum(s.Weights)
}

// Counted is how many rows they are: of parts of rows, those that they are parts of.
func (s *Set) Counted() int { return counted(s.Parts, s.Len()) }

// Certain reports whether the rows count alike and have one class each, as most have.
func (s *Set) Certain() bool { return s.Weights == nil && s.Soft == nil }

// Share is the probability that row i is of class k.
func (s *Set) Share(i, k int) float64 {
	switch {
	case s.Soft != nil:
		return s.Soft.At(i, k)
	case s.Labels[i] == k:
		return 1
	}
	return 0
}

// Shares are the classes that row i may be of, with the probability of each: its label with 1, or
// those that a soft label names.
func (s *Set) Shares(i int) iter.Seq2[int, float64] {
	return func(yield func(k int, share float64) bool) {
		if s.Soft == nil {
			yield(s.Labels[i], 1)
			return
		}
		for k, q := range s.Soft.RawRowView(i) {
			if q > 0 && !yield(k, q) {
				return
			}
		}
	}
}

// Targets are w_i q_ic (N×C): of each row its weight times the shares of its classes.
func (s *Set) Targets(classes int) *mat.Dense {
	out := mat.NewDense(len(s.Labels), classes, nil)
	for i := range s.Labels {
		for k, q := range s.Shares(i) {
			out.Set(i, k, s.Weight(i)*q)
		}
	}
	return out
}

// CrossEntropy is −Σ_c q_ic log p_ic of row i: of a certain label −log p of it.
func (s *Set) CrossEntropy(i int, logProbs []float64) float64 {
	var sum float64
	for k, q := range s.Shares(i) {
		sum -= q * logProbs[k]
	}
	return sum
}

// MeanNLL is the mean of CrossEntropy by weight, of log-probabilities that are at least least.
func (s *Set) MeanNLL(logProbs *mat.Dense, least float64) float64 {
	var sum float64
	row := make([]float64, logProbs.RawMatrix().Cols)
	for i := range s.Labels {
		for k, l := range logProbs.RawRowView(i) {
			row[k] = max(l, least)
		}
		sum += s.Weight(i) * s.CrossEntropy(i, row)
	}
	return sum / s.Total()
}

// Counts are as how many rows those of each class count, 0…classes−1 or as far as the labels
// reach: whole numbers, at least 1 of a class that some row has.
func (s *Set) Counts(classes int) []int {
	counts := make([]int, classes)
	for _, y := range s.Labels {
		for y >= len(counts) {
			counts = append(counts, 0)
		}
		counts[y]++
	}
	if s.Certain() {
		return counts
	}
	sums := make([]float64, len(counts))
	for i := range s.Labels {
		for k, q := range s.Shares(i) {
			sums[k] += s.Weight(i) * q
		}
	}
	for k, sum := range sums {
		if counts[k] = int(math.Round(sum)); sum > 0 {
			counts[k] = max(1, counts[k])
		}
	}
	return counts
}

// soft reads labels (N×C): the probability of each class, as soft, or 1 in the column of the row's
// class and 0 in the others, as labels alone. The label of a soft row is its most probable class.
func (e *entry) soft() (labels []int, soft *mat.Dense, err error) {
	m, err := e.matrix(onlyFinite)
	if err != nil {
		return nil, nil, err
	}
	n, _ := m.Dims()
	labels = make([]int, n)
	certain := true
	for i := range n {
		row := m.RawRowView(i)
		sum := floats.Sum(row)
		if k := slices.IndexFunc(row, func(v float64) bool { return v < 0 }); k >= 0 || math.Abs(sum-1) > sumTolerance {
			return nil, nil, Inputf(e.a.path, "row %d of %s sums to %.6g%s; hand over one class for each row, or the probabilities of all classes, which sum to 1", i, e.key, sum, negative(k))
		}
		labels[i] = floats.MaxIdx(row)
		if row[labels[i]] != 1 || sum != 1 {
			certain = false
			floats.Scale(1/sum, row)
		}
	}
	if certain {
		return labels, nil, nil
	}
	return labels, m, nil
}

// negative describes column k if it is one.
func negative(k int) string {
	if k < 0 {
		return ""
	}
	return " and has a negative number in column " + strconv.Itoa(k)
}
