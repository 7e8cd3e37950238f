package metrics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Anchors are a simple random sample of rows at which the local metrics are measured, where
// measuring at all would compare each row with every other. Anchors of different rows add up:
// those of the smallest hashes of all stay, so that each row is as likely as any other.
type Anchors struct{ wire[anchors] }

type anchors struct {
	Most int // of rows
	Seed uint64
	Rows []anchor // ascending by hash
}

type anchor struct {
	Hash uint64
	Bins []uint16 // C+1, as a binned sample has them
	Z    []float64
	W    float64 // its weight
}

// NewAnchors is a sample of at most so many rows.
func NewAnchors(most int, seed uint64) *Anchors {
	return &Anchors{wire[anchors]{anchors{Most: most, Seed: seed}}}
}

// Len is the number of rows in the sample.
func (a *Anchors) Len() int { return len(a.t.Rows) }

// Add offers rows to the sample; the arguments are those of [Totals.Add], and their embedding.
func (a *Anchors) Add(logProbs *mat.Dense, labels []int, embedding *mat.Dense, s Settings, first uint64) error {
	b, _, err := prepare(logProbs, labels, embedding, s)
	if err != nil {
		return err
	}
	weight, err := b.asGiven(s.Rows)
	if err != nil {
		return err
	}
	b.weight = weight
	limit := uint64(math.MaxUint64)
	for i := range b.rows {
		from := b.inputRow(i)
		hash := scattered(scattered(first+uint64(from)) ^ a.t.Seed)
		if hash > limit {
			continue
		}
		a.t.Rows = append(a.t.Rows, anchor{hash, slices.Clone(b.binsOf(i)), slices.Clone(embedding.RawRowView(from)), b.w(i)})
		if len(a.t.Rows) > 2*a.t.Most {
			a.t.cut()
			limit = a.t.Rows[a.t.Most-1].Hash
		}
	}
	a.t.cut()
	return nil
}

// cut keeps the smallest hashes.
func (a *anchors) cut() {
	slices.SortFunc(a.Rows, func(x, y anchor) int { return cmp.Compare(x.Hash, y.Hash) })
	a.Rows = a.Rows[:min(len(a.Rows), a.Most)]
}

// Merge adds the sample of other rows.
func (a *Anchors) Merge(other *Anchors) {
	a.t.Rows = append(a.t.Rows, other.t.Rows...)
	a.t.cut()
}

// LocalTotals are the kernel sums of the anchors over rows, which add up like [Totals].
type LocalTotals struct{ wire[localTotals] }

type localTotals struct {
	Anchors, Classes int
	R, S, Q          []exact // A×C: Σ_j w_j K_ij e_jc, Σ_j w_j K_ij, Σ_j (w_j K_ij)² over the rows j in the anchor's bin
}

// NewLocalTotals are those of no rows.
func NewLocalTotals(a *Anchors, classes int) *LocalTotals {
	size := a.Len() * classes
	sums := func() []exact { return make([]exact, size) }
	return &LocalTotals{wire[localTotals]{localTotals{Anchors: a.Len(), Classes: classes, R: sums(), S: sums(), Q: sums()}}}
}

// Add sums the kernel between the anchors and rows. The numbers of rows play no part, but
// rows that are added together are summed in float64 before, so that the same parts give the
// same bytes.
func (t *LocalTotals) Add(a *Anchors, logProbs *mat.Dense, labels []int, embedding *mat.Dense, s Settings) error {
	b, _, err := prepare(logProbs, labels, embedding, s)
	if err != nil {
		return err
	}
	if b.classes != t.t.Classes || a.Len() != t.t.Anchors {
		return fmt.Errorf("metrics: rows of %d classes do not belong to sums of %d", b.classes, t.t.Classes)
	}
	if b.weight, err = b.asGiven(s.Rows); err != nil {
		return err
	}
	_, dim := embedding.Dims()
	sums := kernelSums{binned: b, residual: b.misses(firstToLast(b.rows), b.classes), embedding: embedding}
	sums.r, sums.s, sums.q = make([]float64, b.classes), make([]float64, b.classes), make([]float64, b.classes)
	for i, at := range a.t.Rows {
		if len(at.Z) != dim {
			return fmt.Errorf("metrics: the embedding has %d dimensions, that of other rows has %d", dim, len(at.Z))
		}
		for from := 0; from < b.rows; from += batchRows {
			sums.over(from, min(from+batchRows, b.rows), at)
			for c := range b.classes {
				k := i*b.classes + c
				t.t.R[k].merge(exactly(sums.r[c]))
				t.t.S[k].merge(exactly(sums.s[c]))
				t.t.Q[k].merge(exactly(sums.q[c]))
			}
		}
	}
	return nil
}

// kernelSums are those of an anchor over some rows, of each class.
type kernelSums struct {
	*binned
	residual, embedding *mat.Dense // N×C, N×d
	r, s, q             []float64  // C each: Σ K e, Σ K and Σ K²
}

// over sums over the rows from … to−1 that share a bin with the anchor.
func (x kernelSums) over(from, to int, at anchor) {
	clear(x.r)
	clear(x.s)
	clear(x.q)
	scale := -1 / (2 * x.settings.Bandwidth * x.settings.Bandwidth)
	for j := from; j < to; j++ {
		bins, e := x.binsOf(j), x.residual.RawRowView(j)
		if x.settings.Protocol == Formula && bins[x.classes] != at.Bins[x.classes] {
			continue
		}
		k := x.w(j) * math.Exp(scale*squared(at.Z, x.embedding.RawRowView(x.inputRow(j))))
		for c := range x.classes {
			if at.Bins[c] == bins[c] || x.settings.Protocol == Formula {
				x.r[c] += k * e[c]
				x.s[c] += k
				x.q[c] += k * k
			}
		}
	}
}

// Merge adds the sums over other rows, of the same anchors.
func (t *LocalTotals) Merge(other *LocalTotals) error {
	if t.t.Anchors != other.t.Anchors || t.t.Classes != other.t.Classes {
		return fmt.Errorf("metrics: kernel sums of %d and of %d anchors do not add up", t.t.Anchors, other.t.Anchors)
	}
	mergeExact(t.t.R, other.t.R)
	mergeExact(t.t.S, other.t.S)
	mergeExact(t.t.Q, other.t.Q)
	return nil
}

// AnchorSample records at how many rows LCE was measured, and its standard error over them.
type AnchorSample struct {
	Rows int     `json:"rows"`
	SE   float64 `json:"se"` // of LCE; 0 where every row was an anchor
}

// AddLocal fills in LCE with its interval over the anchors and the ESS profile of a report of
// the same rows' totals. MLCE, the largest of all rows, is known only where every row was an
// anchor.
func (r *Report) AddLocal(a *Anchors, l *LocalTotals, t *Totals) error {
	classes, v := l.t.Classes, &t.t
	if l.t.Anchors == 0 || l.t.Anchors != a.Len() || classes != v.Classes {
		return fmt.Errorf("metrics: the kernel sums are not of these %d anchors", a.Len())
	}
	local := &Local{Residual: mat.NewDense(a.Len(), classes, nil), ESS: mat.NewDense(a.Len(), classes, nil)}
	for i, at := range a.t.Rows {
		for c := range classes {
			k := i*classes + c
			if v.Settings.Protocol == Tables && v.Counts[c*v.Settings.Bins+int(at.Bins[c])] <= int64(v.Settings.SmallBin) {
				local.Residual.Set(i, c, math.NaN())
				local.ESS.Set(i, c, math.NaN())
				continue
			}
			local.Residual.Set(i, c, l.t.R[k].float()/l.t.S[k].float())
			if s, q := l.t.S[k].less(exactly(at.W)).float(), l.t.Q[k].less(exactly(at.W*at.W)).float(); q > 0 { // without the anchor
				local.ESS.Set(i, c, s*s/q)
			}
		}
	}
	s := v.Settings
	s.ClassWeights, s.Weighting = v.classWeights(&v.All.Labels), Uniform // of all rows
	b := &binned{sample: &sample{rows: a.Len(), classes: classes}, settings: s}
	for _, at := range a.t.Rows {
		b.weight = append(b.weight, at.W)
	}
	local.LCE = b.shares(local)
	r.Local = local
	b.summarize(&r.Values, local)
	r.Anchors = &AnchorSample{Rows: a.Len()}
	if a.Len() == t.Rows() || math.IsNaN(r.Values[LCE]) {
		return nil
	}
	if a.Len() == 1 {
		return fmt.Errorf("metrics: LCE at one anchor has no standard error: take two or more")
	}
	r.Values[MLCE] = math.NaN()
	n := float64(a.Len())
	r.Anchors.SE = math.Sqrt(stat.Variance(b.plain(slices.Clone(local.LCE)), nil) / n * (1 - n/float64(t.Rows())))
	half := distuv.UnitNormal.Quantile(.975) * r.Anchors.SE
	r.Intervals[LCE] = Interval{r.Values[LCE] - half, r.Values[LCE] + half}.possible(LCE, r.Values[LCE])
	return nil
}
