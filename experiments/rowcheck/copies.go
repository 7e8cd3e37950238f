package rowcheck

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Copies are rows that repeat another row: scores, features, label and group are equal to the last digit. They are no
// observations of their own, and tests count a row and its copies as one, by the sum of their weights.
type Copies struct {
	Rows    int `json:"rows"` // beside the first of each
	Of      int `json:"of"`
	Counted int `json:"counted"`
}

// String is a sentence of a warning.
func (c *Copies) String() string {
	return fmt.Sprintf("%d of %d rows are copies; tests count %d rows", c.Rows, c.Of, c.Counted)
}

// CountCopies finds the copies among labelled rows; counts are the weights of the rows (N), where the first of equal
// rows has the weight of all and its copies have 0. Both are nil if there are no copies.
//
// Equal rows need not be copies: votes, leaves and tables of categories have few values, which rows share by chance. A
// cell is all rows of equal scores and features. Equal rows are copies in three cases:
//
//   - All are there k, 2k, 3k … times. Each k of them are then one row.
//   - Labels differ within far fewer cells than independent labels would. Whatever the reason is, such as a label that is a
//     function of the features, equal rows then say no more of the labels than one of them.
//   - Predictions are so sure that no labels differ, and a share of the rows is equal though values are continuous: of features,
//     or of scores whose cells have one row or k.
func CountCopies(x *data.Set) (counts []float64, c *Copies) {
	if x == nil || x.Labels == nil {
		return nil, nil
	}
	r := newRepeats(x)
	if r == nil {
		return nil, nil
	}
	times := r.multiple()
	if times == 1 && !r.byLabels() && !r.byValues() {
		return nil, nil
	}
	counts = make([]float64, x.Len())
	for _, u := range r.units {
		size := len(u.rows)
		if times > 1 {
			size = times
		}
		for lo := 0; lo < len(u.rows); lo += size {
			for _, i := range u.rows[lo : lo+size] {
				counts[u.rows[lo]] += x.Weight(i)
			}
		}
	}
	c = &Copies{Of: r.rows}
	for _, w := range counts {
		if w > 0 {
			c.Counted++
		}
	}
	c.Rows = c.Of - c.Counted
	return counts, c
}

// cell is rows of equal scores and features, and unit those of them with equal label and group.
type (
	cell struct {
		first, rows int
		label       int  // of its first row
		differ      bool // not all labels are equal
	}
	unit struct {
		cell  int
		label int
		rows  []int
	}
)

// repeats are the rows of positive weight in cells and units.
type repeats struct {
	of    *data.Set
	rows  int
	cells []cell
	units []unit
}

// newRepeats is nil where no two rows are equal.
func newRepeats(x *data.Set) *repeats {
	cellOf := (&data.Set{Features: x.Features, Logits: x.Logits}).Kinds()
	if cellOf == nil {
		return nil
	}
	type said struct{ cell, group, label, shares int }
	r, units, cells, shares := &repeats{of: x}, map[said]int{}, map[int]int{}, make([]int, x.Len())
	if x.Soft != nil {
		if shares = (&data.Set{Logits: x.Soft}).Kinds(); shares == nil {
			shares = data.UpTo(x.Len())
		}
	}
	for i, y := range x.Labels {
		if x.Weight(i) == 0 {
			continue
		}
		k, seen := cells[cellOf[i]]
		if !seen {
			k = len(r.cells)
			cells[cellOf[i]], r.cells = k, append(r.cells, cell{first: i, label: y})
		}
		c := &r.cells[k]
		c.differ = c.differ || y != c.label || shares[i] != shares[c.first]
		c.rows, r.rows = c.rows+1, r.rows+1
		s := said{cell: k, label: y, shares: shares[i]}
		if x.Groups.Of != nil {
			s.group = x.Groups.Of[i]
		}
		u, seen := units[s]
		if !seen {
			u = len(r.units)
			units[s], r.units = u, append(r.units, unit{cell: k, label: y})
		}
		r.units[u].rows = append(r.units[u].rows, i)
	}
	if len(r.units) == r.rows {
		return nil
	}
	return r
}

// chance is the probability below which what rows have in common is not chance.
const chance = 1e-6

// multiple is the largest k of which the sizes of all units are multiples; 1 where as many units have that by chance,
// each with probability 1/k.
func (r *repeats) multiple() int {
	k := 0
	for _, u := range r.units {
		k = gcd(k, len(u.rows))
	}
	if float64(len(r.units))*math.Log(float64(k)) < -math.Log(chance) {
		return 1
	}
	return k
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}

// probabilities are p of the cell: of rows without scores the shares of the labels.
func (r *repeats) probabilities() func(c cell) []float64 {
	if r.of.Logits == nil {
		shares := make([]float64, slices.Max(r.of.Labels)+1)
		for _, u := range r.units {
			shares[u.label] += 1 / float64(len(r.units))
		}
		return func(cell) []float64 { return shares }
	}
	p := make([]float64, r.of.Classes())
	return func(c cell) []float64 {
		row := r.of.Logits.RawRowView(c.first)
		sum := floats.LogSumExp(row)
		for k, l := range row {
			p[k] = math.Exp(l - sum)
		}
		return p
	}
}

// differing are in how many cells labels differ, D, and in how many they would if each row's were drawn by itself,
//
//	E = Σ_cells 1 − Σ_c p_c^m ,
//
// m rows a cell. Where the top class is right more often than predicted, what is predicted of the others is lowered by
// the ratio, so that E does not take underconfident predictions for copies.
func (r *repeats) differing() (observed, expected float64) {
	if r.of.Soft != nil { // which are not drawn
		return 0, 0
	}
	probabilities := r.probabilities()
	var wrong, predicted float64
	for _, u := range r.units {
		p := probabilities(r.cells[u.cell])
		if top := floats.MaxIdx(p); u.label != top {
			wrong++
		}
		predicted += 1 - floats.Max(p)
	}
	lower := 1.0
	if wrong < predicted {
		lower = wrong / predicted
	}
	for _, c := range r.cells {
		if c.rows == 1 {
			continue
		}
		if c.differ {
			observed++
		}
		p, same := probabilities(c), 0.0
		top := floats.MaxIdx(p)
		for k, v := range p {
			if v *= lower; k == top {
				v = 1 - lower*(1-p[top])
			}
			same += math.Pow(v, float64(c.rows))
		}
		expected += 1 - same
	}
	return observed, expected
}

// enough are expected of something, by which its absence has a probability of e^−7 < .001.
const enough = 7

// byLabels reports whether labels differ in far fewer cells than they would by chance: in none though enough are
// expected, or in a tenth though that has a probability below 1e-6.
func (r *repeats) byLabels() bool {
	const few = .1
	observed, expected := r.differing()
	if observed == 0 {
		return expected >= enough
	}
	return observed <= few*expected && distuv.Poisson{Lambda: expected}.CDF(observed) < chance
}

// byValues reports whether rows are copies by their values alone.
func (r *repeats) byValues() bool {
	const fewest = 20 // cells
	if len(r.cells) < fewest || float64(r.rows-len(r.cells)) < repeatedShare*float64(r.rows) {
		return false
	}
	if slices.ContainsFunc(r.cells, func(c cell) bool { return c.differ }) {
		return false
	}
	return r.continuous() && (r.of.Features != nil || r.stepped())
}

// continuous reports whether one of the first features or, without features, scores has different values in more than
// half of the cells.
func (r *repeats) continuous() bool {
	const looked = 16
	x := r.of.Features
	if x == nil {
		x = r.of.Logits
	}
	_, m := x.Dims()
	return slices.ContainsFunc(data.UpTo(min(m, looked)), func(j int) bool {
		values := data.Each(r.cells, func(c cell) float64 { return x.At(c.first, j) })
		slices.Sort(values)
		return 2*len(slices.Compact(values)) > len(r.cells)
	})
}

// stepped reports whether cells have one row or k rows, and nothing between: k ≥ 3 of at least ten, or k = 2 of so many
// that chance would give seven cells three rows. Of cells with any chances, the expected numbers F_m of those with m
// rows, sums of e^−λ λ^m/m!, obey (2 F_2)² ≤ F_1 · 6 F_3 (Cauchy and Schwarz).
func (r *repeats) stepped() bool {
	const least = 10
	times := map[int]int{}
	for _, c := range r.cells {
		times[c.rows]++
	}
	single := max(times[1], 1)
	delete(times, 1)
	for k, cells := range times {
		thirds := 2 * float64(cells) * float64(cells) / (3 * float64(single))
		return len(times) == 1 && (k > 2 && cells >= least || k == 2 && thirds >= enough)
	}
	return false
}
