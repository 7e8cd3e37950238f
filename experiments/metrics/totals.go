package metrics

import (
	"bytes"
	"encoding/gob"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Totals are the sums over rows that give the global metrics, their intervals, noise floors and
// debiased checks. Totals of different rows add up to the totals of all: the parts
// may be counted on many machines, in any order, and give the same bytes.
//
// Evaluate has the same values, up to the rounding of its own sums (1e-12). The bootstrap gives
// each row a Poisson weight of mean 1 in each replicate, where the bootstrap of Evaluate draws
// exactly as many rows as there are; with many rows these are the same (Chamandy, Muralidharan,
// Najmi and Naidu 2012). The intervals of NLL and Brier score are the bootstrap's here, and miss the skewness of few rows. The weights and the redrawn labels depend on the seed and on the row's number. Weights of rows are
// added as they are, so all parts must have them on one scale.
type Totals struct{ t totals }

// totals has the fields that travel between machines.
type totals struct {
	Classes     int
	Settings    Settings
	Uncertainty Uncertainty
	Seed        uint64
	Rows        int64   // that count
	Counts      []int64 // (C+1)×bins, of rows
	Squares     exact   // Σ w²
	Floored     int64   // rows (see Floored), and what they lose
	FlooredLoss exact
	All         rowTotals
	Replicates  []rowTotals // of the bootstrap
	Drawn       []labelled  // redraws of the labels
}

// rowTotals is what weighed rows add up to.
type rowTotals struct {
	Rows   weighed
	Labels labelled
}

// weighed is what the bins of weighed rows hold, whatever the labels. Class C is the top class of each row.
type weighed struct {
	Total  exact   // Σ w
	Weight []exact // (C+1)×bins: Σ w
	Prob   []exact // (C+1)×bins: Σ w p_ic
}

// labelled is what labels add.
type labelled struct {
	Hits   []exact // (C+1)×bins: Σ w 1[y_i = c]
	Labels []exact // C: Σ w 1[y_i = c]
	NLL    exact
	Brier  exact
}

// NewTotals are the totals of no rows. Bins must have equal width, since quantiles of all rows are
// known only at the end. The numbers of u mean the same as in Evaluate.
func NewTotals(classes int, s Settings, u Uncertainty, seed uint64) (*Totals, error) {
	s.Executor, s.Strata = nil, nil
	s, err := s.filled(classes)
	if err != nil {
		return nil, err
	}
	if u, err = u.filled(); err != nil {
		return nil, err
	}
	switch {
	case classes < 2:
		return nil, fmt.Errorf("metrics: predictions have %d class: want two or more", classes)
	case s.Rows != nil || s.Soft != nil:
		return nil, fmt.Errorf("metrics: totals are of no rows yet: give the weights and soft labels to Add")
	case s.Binning != EqualWidth:
		return nil, fmt.Errorf("metrics: totals need bins of equal width, as quantiles of all rows are not known part by part")
	}
	size := (classes + 1) * s.Bins
	t := totals{Classes: classes, Settings: s, Uncertainty: u, Seed: seed, All: newRowTotals(classes, s.Bins), Counts: make([]int64, size)}
	for range u.Replicates {
		t.Replicates = append(t.Replicates, newRowTotals(classes, s.Bins))
	}
	for range u.Redraws {
		t.Drawn = append(t.Drawn, newLabelled(classes, s.Bins))
	}
	return &Totals{t}, nil
}

func newRowTotals(classes, bins int) rowTotals {
	size := (classes + 1) * bins
	return rowTotals{weighed{Weight: make([]exact, size), Prob: make([]exact, size)}, newLabelled(classes, bins)}
}

func newLabelled(classes, bins int) labelled {
	return labelled{Hits: make([]exact, (classes+1)*bins), Labels: make([]exact, classes)}
}

// Rows is how many rows were counted.
func (t *Totals) Rows() int { return int(t.t.Rows) }

// batchRows are counted at a time, so that the sums of a replicate stay in the cache.
const batchRows = 512

// The weights of totals are added in units of 2⁻⁵², of which these have enough and not too many.
const (
	leastTotalsWeight = 1e-6
	mostTotalsWeight  = 1e9
)

// Add counts rows, whose numbers are first, first + 1, …. The arguments before first are as for
// Measure; it uses Rows and Soft of by. No two rows may have the same number.
func (t *Totals) Add(logProbs *mat.Dense, labels []int, by Settings, first uint64) error {
	s, err := checked.NewSample(logProbs, labels, by.Rows, by.Soft)
	if err != nil {
		return err
	}
	if s.Weight, err = asGiven(s, by.Rows); err != nil {
		return err
	}
	if s.Classes != t.t.Classes {
		return fmt.Errorf("metrics: predictions have %d classes, those before had %d", s.Classes, t.t.Classes)
	}
	b := bin(s, t.t.Settings)
	prob := make([]exact, len(b.bins))
	for at := range prob {
		i := at / (s.Classes + 1)
		prob[at] = exactly(s.W(i) * s.Probability(i, at%(s.Classes+1)))
	}
	for from := 0; from < s.N; from += batchRows {
		t.t.addBatch(b, prob, from, min(from+batchRows, s.N), first)
	}
	return nil
}

// asGiven are the weights of the rows that count as they were given.
func asGiven(s *checked.Sample, weights []float64) ([]float64, error) {
	if weights == nil {
		return nil, nil
	}
	out := make([]float64, s.N)
	for i := range out {
		out[i] = weights[s.InputRow(i)]
		if !(out[i] >= leastTotalsWeight && out[i] <= mostTotalsWeight) {
			return nil, fmt.Errorf("metrics: row %d has the weight %v, and totals add weights from %g to %g: multiply those of all rows by one number", s.InputRow(i), out[i], leastTotalsWeight, mostTotalsWeight)
		}
	}
	return out, nil
}

func (t *totals) addBatch(b *binned, prob []exact, from, to int, first uint64) {
	n := to - from
	weights, drawn := t.draw(b, from, to, first)
	squares := make([]float64, n) // Σ_c p_ic²
	for i := range squares {
		for _, p := range b.Prob[(from+i)*b.Classes : (from+i+1)*b.Classes] {
			squares[i] += p * p
		}
	}
	for i := from; i < to; i++ {
		t.count(b, i)
		t.All.add(b, prob, i, squares[i-from], 1)
	}
	for k := range t.Replicates {
		for i := from; i < to; i++ {
			if times := int(weights[k*n+i-from]); times > 0 {
				t.Replicates[k].add(b, prob, i, squares[i-from], times)
			}
		}
	}
	for k := range t.Drawn {
		for i := from; i < to; i++ {
			t.Drawn[k].add(b, i, drawn[k*n+i-from], b.W(i), squares[i-from], 1)
		}
	}
}

// count counts row i where its number and not its weight matters.
func (t *totals) count(b *binned, i int) {
	w := b.W(i)
	t.Rows++
	t.Squares.merge(exactly(w * w))
	for c, k := range b.binsOf(i) {
		at := c*b.settings.Bins + int(k)
		t.Counts[at]++
	}
	if loss := b.Loss(i, b.Truth); b.below(i) {
		t.Floored++
		t.FlooredLoss.merge(exactly(w * loss))
	}
}

// draw draws the weights of rows from … to−1 in each replicate, and their labels in each redraw.
func (t *totals) draw(b *binned, from, to int, first uint64) (weights []uint8, drawn []int) {
	n := to - from
	weights, drawn = make([]uint8, len(t.Replicates)*n), make([]int, len(t.Drawn)*n)
	cumulative := make([]float64, b.Classes)
	for i := from; i < to; i++ {
		rng := rowRNG(t.Seed, first+uint64(b.InputRow(i)))
		for k := range t.Replicates {
			weights[k*n+i-from] = poisson(rng)
		}
		b.Cumulate(cumulative, i)
		for k := range t.Drawn {
			drawn[k*n+i-from] = drawClass(cumulative, rng)
		}
	}
	return weights, drawn
}

// add counts row i with its label; prob (N×(C+1)) is w_i p_ic, squares is Σ_c p_ic².
func (t *rowTotals) add(b *binned, prob []exact, i int, squares float64, times int) {
	w := exactly(b.W(i))
	t.Rows.Total.add(w, times)
	for c, k := range b.binsOf(i) {
		at := c*b.settings.Bins + int(k)
		t.Rows.Weight[at].add(w, times)
		t.Rows.Prob[at].add(prob[i*(b.Classes+1)+c], times)
	}
	b.EachShare(i, func(y int, q float64) { t.Labels.add(b, i, y, q*b.W(i), squares, times) })
}

// add counts row i with the label y, of weight w. Its Brier score is
// Σ_c (p_ic − 1[y = c])² = squares − 2 p_iy + 1.
func (l *labelled) add(b *binned, i, y int, w, squares float64, times int) {
	hit := exactly(w)
	l.Hits[y*b.settings.Bins+int(b.binsOf(i)[y])].add(hit, times)
	l.Labels[y].add(hit, times)
	if int(b.Top[i]) == y {
		l.Hits[b.Classes*b.settings.Bins+b.topBin(i)].add(hit, times)
	}
	l.NLL.add(exactly(w*-b.LogProb(i, y)), times)
	l.Brier.add(exactly(w*(squares-2*b.Prob[i*b.Classes+y]+1)), times)
}

// rowRNG is the generator of one row, wherever it is counted.
func rowRNG(seed, row uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, scattered(row))) }

// scattered is a bijection of the 64-bit numbers that takes neighbours far apart (splitmix64,
// Steele, Lea and Flood 2014).
func scattered(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// poisson draws from the Poisson distribution of mean 1 by inversion.
func poisson(rng *rand.Rand) uint8 {
	u, k, p := rng.Float64(), uint8(0), 1/math.E
	for u >= p && k < 20 { // 1e-19 are above
		u -= p
		k++
		p /= float64(k)
	}
	return k
}

// Merge adds the totals of other rows, of the same settings and seed.
func (t *Totals) Merge(other *Totals) error {
	a, b := &t.t, &other.t
	if a.Classes != b.Classes || a.Seed != b.Seed || a.Uncertainty != b.Uncertainty || a.Settings.Bins != b.Settings.Bins || a.Settings.Protocol != b.Settings.Protocol || a.Settings.Weighting != b.Settings.Weighting {
		return fmt.Errorf("metrics: totals of %d and of %d classes, or of different settings, do not add up", a.Classes, b.Classes)
	}
	a.Rows, a.Floored = a.Rows+b.Rows, a.Floored+b.Floored
	a.FlooredLoss.merge(b.FlooredLoss)
	a.Squares.merge(b.Squares)
	for at, n := range b.Counts {
		a.Counts[at] += n
	}
	a.All.merge(&b.All)
	for k := range a.Replicates {
		a.Replicates[k].merge(&b.Replicates[k])
	}
	for k := range a.Drawn {
		a.Drawn[k].merge(&b.Drawn[k])
	}
	return nil
}

func (t *rowTotals) merge(other *rowTotals) {
	t.Rows.Total.merge(other.Rows.Total)
	mergeExact(t.Rows.Weight, other.Rows.Weight)
	mergeExact(t.Rows.Prob, other.Rows.Prob)
	t.Labels.merge(&other.Labels)
}

func (l *labelled) merge(other *labelled) {
	mergeExact(l.Hits, other.Hits)
	mergeExact(l.Labels, other.Labels)
	l.NLL.merge(other.NLL)
	l.Brier.merge(other.Brier)
}

// check returns an error unless all sums are those of the classes and bins that the totals have.
func (t *totals) check() error {
	size, bins := (t.Classes+1)*t.Settings.Bins, t.Settings.Bins
	whole := t.Classes >= 2 && bins >= 1 && bins <= math.MaxUint16 && t.Classes <= math.MaxInt32 &&
		len(t.Counts) == size && len(t.Replicates) == t.Uncertainty.Replicates && len(t.Drawn) == t.Uncertainty.Redraws
	labels := slices.Clone(t.Drawn)
	for _, c := range append([]rowTotals{t.All}, t.Replicates...) {
		whole = whole && len(c.Rows.Weight) == size && len(c.Rows.Prob) == size
		labels = append(labels, c.Labels)
	}
	for _, l := range labels {
		whole = whole && len(l.Hits) == size && len(l.Labels) == t.Classes
	}
	if !whole {
		return fmt.Errorf("metrics: read totals: their sums are not those of %d classes in %d bins", t.Classes, bins)
	}
	return nil
}

// MarshalBinary writes them for another machine.
func (t *Totals) MarshalBinary() ([]byte, error) {
	var out bytes.Buffer
	if err := gob.NewEncoder(&out).Encode(t.t); err != nil {
		return nil, fmt.Errorf("metrics: write totals: %w", err)
	}
	return out.Bytes(), nil
}

// UnmarshalBinary reads what MarshalBinary wrote.
func (t *Totals) UnmarshalBinary(text []byte) error {
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&t.t); err != nil {
		return fmt.Errorf("metrics: read totals: %w", err)
	}
	return t.t.check()
}

// Report is computed from the totals: the metrics that need no neighbours.
func (t *Totals) Report() (*Report, error) {
	if t.Rows() == 0 {
		return nil, fmt.Errorf("metrics: there are no predictions to measure: give at least one row")
	}
	v := &t.t
	r := &Report{
		Measurement: Measurement{Protocol: v.Settings.Protocol, Rows: t.Rows(), Classes: v.Classes, Values: v.values(&v.All.Rows, &v.All.Labels)},
		Settings:    v.Settings, Uncertainty: v.Uncertainty, SmoothECE: math.NaN(), SmoothInterval: noInterval, // of all rows at once
	}
	var replicates, redraws []Values
	for _, c := range v.Replicates {
		replicates = append(replicates, v.values(&c.Rows, &c.Labels))
	}
	for _, labels := range v.Drawn {
		redraws = append(redraws, v.values(&v.All.Rows, &labels))
	}
	for m := range Metrics {
		if m.Local() {
			r.spread(m, nil, nil, 1)
		} else {
			r.spread(m, replicates, redraws, 1)
		}
	}
	const rounding = 1e-9 // of weights that are equal
	rows, total := float64(v.Rows), v.All.Rows.Total.float()
	n := min(rows, max(1, total*total/v.Squares.float()))
	if n < rows*(1-rounding) {
		r.Effective = n
	}
	if len(replicates) > 0 {
		r.Intervals[Accuracy] = ShareInterval(r.Values[Accuracy]*n, n)
	}
	r.Floored = newFloored(int(v.Floored), v.FlooredLoss.float(), v.All.Labels.NLL.float())
	return r, nil
}

func (t *totals) classWeights(l *labelled) []float64 {
	counts := make([]float64, t.Classes)
	for c, n := range l.Labels {
		counts[c] = n.float()
	}
	return t.Settings.classWeights(counts)
}

// values are the global metrics; see [binned.global].
func (t *totals) values(w *weighed, l *labelled) Values {
	v, n := unmeasured(), w.Total.float()
	g := newGaps(len(w.Weight))
	for at, weight := range w.Weight {
		g.weight[at], g.residual[at] = weight.float(), w.Prob[at].less(l.Hits[at]).float()
	}
	var hits exact
	for _, top := range l.Hits[t.Classes*t.Settings.Bins:] {
		hits.merge(top)
	}
	v[Accuracy], v[NLL], v[Brier] = hits.float()/n, l.NLL.float()/n, l.Brier.float()/n
	g.summarize(&v, n, t.classWeights(l), t.Settings)
	return v
}
