package metrics

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/experiments/internal/checked"
	"calibra/experiments/internal/checked/checkedtest"

	"gonum.org/v1/gonum/mat"
)

// parts are rows 0…N−1 of a sample in pieces, each with its first row.
type part struct {
	logProbs *mat.Dense
	labels   []int
	first    int
}

func cut(logProbs *mat.Dense, labels []int, at ...int) (parts []part) {
	n, classes := logProbs.Dims()
	from := 0
	for _, to := range append(at, n) {
		parts = append(parts, part{logProbs.Slice(from, to, 0, classes).(*mat.Dense), labels[from:to], from})
		from = to
	}
	return parts
}

// miscalibrated are predictions of C classes that are too sharp, in two dimensions.
func miscalibrated(n, classes int, rng *rand.Rand) (logProbs *mat.Dense, labels []int, z *mat.Dense) {
	logProbs, labels, z = mat.NewDense(n, classes, nil), make([]int, n), mat.NewDense(n, 2, nil)
	for i := range n {
		z.SetRow(i, []float64{9 * rng.NormFloat64(), 9 * rng.NormFloat64()})
		truth, said := make([]float64, classes), logProbs.RawRowView(i)
		for c := range said {
			truth[c] = rng.NormFloat64()
			said[c] = 2 * truth[c]
		}
		draw, most := math.Inf(-1), 0
		for c, l := range truth { // the largest of l + Gumbel
			if g := l - math.Log(rng.ExpFloat64()); g > draw {
				draw, most = g, c
			}
		}
		labels[i] = most
		var sum float64
		for _, l := range said {
			sum += math.Exp(l)
		}
		for c := range said {
			said[c] -= math.Log(sum)
		}
	}
	return logProbs, labels, z
}

// TestTotals: whatever the parts, their order and the machines between, totals have the same
// bytes and the values of MeasureWith.
func TestTotals(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	logProbs, labels, z := miscalibrated(1700, 5, rng)
	for _, s := range []Settings{{}, {Protocol: Formula, Bins: 10}, {Weighting: Frequency, SmallBin: NoSmallBin, Bandwidth: 3}} {
		want, err := MeasureWith(t.Context(), logProbs, labels, z, s, Uncertainty{Replicates: 400, Redraws: 200}, rand.New(rand.NewPCG(1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		var first []byte
		for _, parts := range [][]part{cut(logProbs, labels), cut(logProbs, labels, 1, 513, 1600)} {
			slices.Reverse(parts)
			got, err := totalsOf(t, parts, s).Report()
			if err != nil {
				t.Fatal(err)
			}
			for m := range Metrics {
				if m.Local() {
					continue
				}
				if !(math.Abs(got.Values[m]-want.Values[m]) <= 1e-12) { // the rounding of sums over 1,700 rows
					t.Errorf("%v is %v, MeasureWith has %v", m, got.Values[m], want.Values[m])
				}
				// Either bootstrap's width is off by 5 % of itself (1/√(2·400) for a normal
				// one), and so is that of the noise floor by 200 redraws.
				a, b := got.Intervals[m].High-got.Intervals[m].Low, want.Intervals[m].High-want.Intervals[m].Low
				if math.Abs(a-b) > .25*b {
					t.Errorf("the interval of %v is %v wide, MeasureWith's %v", m, a, b)
				}
				if n, o := got.Noise[m], want.Noise[m]; math.Abs(n.Mean-o.Mean) > 5*math.Sqrt(2./200)*o.SD || math.Abs(n.SD-o.SD) > .3*o.SD {
					t.Errorf("the noise of %v is %+v, MeasureWith's %+v", m, n, o)
				}
			}
			text, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = text
			}
			if !bytes.Equal(text, first) {
				t.Errorf("in parts:\n%s\nin one:\n%s", text, first)
			}
		}
	}
}

func totalsOf(t *testing.T, parts []part, s Settings) (all *Totals) {
	t.Helper()
	for _, p := range parts {
		totals, err := NewTotals(5, s, Uncertainty{Replicates: 400, Redraws: 200}, 7)
		if err != nil {
			t.Fatal(err)
		}
		if err := totals.Add(p.logProbs, p.labels, Settings{}, uint64(p.first)); err != nil {
			t.Fatal(err)
		}
		text, err := totals.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		back := &Totals{}
		if err := back.UnmarshalBinary(text); err != nil {
			t.Fatal(err)
		}
		if all == nil {
			all = back
		} else if err := all.Merge(back); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestTotalsOfWeights: totals of weighed rows and of soft labels, added up in two parts, have the values that MeasureWith has.
func TestTotalsOfWeights(t *testing.T) {
	l, labels, z, weights, soft := checkedtest.Weighed()
	s := Settings{Bandwidth: 1, SmallBin: NoSmallBin, Weighting: Frequency}
	u := Uncertainty{Replicates: 400, Redraws: 200}
	for _, q := range []*mat.Dense{nil, soft} {
		by := s
		by.Rows, by.Soft = weights, q
		want := measureRows(t, l, labels, z, by, u)
		var all *Totals
		halves := [][]int{checked.FirstToLast(110), checked.FirstToLast(len(labels))[110:]}
		for _, rows := range halves {
			p := s
			p.Rows, p.Soft = floatsAt(weights, rows), checked.RowsOf(q, rows)
			sums, err := NewTotals(3, s, u, 7)
			if err != nil {
				t.Fatal(err)
			}
			if err := sums.Add(checked.RowsOf(l, rows), checked.Pick(labels, rows), p, uint64(rows[0])); err != nil {
				t.Fatal(err)
			}
			if all == nil {
				all = sums
			} else if err := all.Merge(sums); err != nil {
				t.Fatal(err)
			}
		}
		got, err := all.Report()
		if err != nil {
			t.Fatal(err)
		}
		for m := range Metrics {
			if m.Local() {
				continue
			}
			if !near(got.Values[m], want.Values[m], 1e-9) { // weights are rounded to 2e-10 in one
				t.Errorf("%v is %v, want %v", m, got.Values[m], want.Values[m])
			}
			if got.Noise[m] != nil && math.Abs(got.Noise[m].Mean-want.Noise[m].Mean) > 5*want.Noise[m].SD/10 { // √200/√2 = 10
				t.Errorf("the floor of %v is %v, want %v", m, got.Noise[m].Mean, want.Noise[m].Mean)
			}
			width := func(i Interval) float64 { return i.High - i.Low }
			if r := width(got.Intervals[m]) / width(want.Intervals[m]); !(r > .75 && r < 1.33) { // of 400 replicates each
				t.Errorf("the interval of %v is %v times as wide", m, r)
			}
		}
		if got.Rows != want.Rows {
			t.Errorf("%d rows, want %d", got.Rows, want.Rows)
		}
	}
}

func TestExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s exact
	want := 0.0
	for range 1000 {
		x := 40 * rng.NormFloat64()
		s.add(exactly(x), 1)
		want += x
	}
	if got := s.float(); math.Abs(got-want) > 1e-10 { // of want's own rounding
		t.Errorf("the sum is %v, want %v", got, want)
	}
	for _, n := range []float64{0, 3, 1 << 40} {
		if got := s.less(exactly(n)).float(); math.Abs(got-(want-n)) > 1e-10+1e-4*n/(1<<40) {
			t.Errorf("less %v it is %v, want %v", n, got, want-n)
		}
	}
}

// TestTotalsRefuse: what does not add up is an error, never a number.
func TestTotalsRefuse(t *testing.T) {
	if _, err := NewTotals(3, Settings{Binning: Quantile}, Uncertainty{}, 0); err == nil {
		t.Error("quantile bins were accepted")
	}
	a, _ := NewTotals(3, Settings{}, Uncertainty{}, 0)
	b, _ := NewTotals(4, Settings{}, Uncertainty{}, 0)
	if a.Merge(b) == nil {
		t.Error("totals of 3 and of 4 classes were added")
	}
	if _, err := a.Report(); err == nil {
		t.Error("no rows have a report")
	}
	if a.Add(mat.NewDense(1, 3, []float64{0, 0, math.NaN()}), []int{0}, Settings{}, 0) == nil || a.Rows() != 0 {
		t.Error("a row that is no number was counted")
	}
}
