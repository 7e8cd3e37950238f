package run

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// shiftCase draws rows whose logits are the truth, as shared/cases/chance/make.py does, and rows of other priors.
type shiftCase struct {
	w        *mat.Dense // M×C
	old, new []float64  // priors
	tilt     []float64  // how much rarer each class is, nil: as it was
}

const shiftFeatures = 4

func newShiftCase(classes int, scale float64) *shiftCase {
	rng := rand.New(rand.NewPCG(9, 9))
	s := &shiftCase{w: mat.NewDense(shiftFeatures, classes, nil)}
	s.w.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() * scale / math.Sqrt(shiftFeatures) }, s.w)
	s.old = s.draw(100_000, rng).Counts(classes)
	floats.Scale(1/floats.Sum(s.old), s.old)
	return s
}

// shift makes some classes from 2 to 5 times rarer beside the others.
func (s *shiftCase) shift(rng *rand.Rand) {
	s.tilt, s.new = make([]float64, len(s.old)), make([]float64, len(s.old))
	factor := 2 + 3*rng.Float64()
	for rarer := 0; rarer == 0 || rarer == len(s.old); {
		rarer = 0
		for y := range s.tilt {
			if s.tilt[y] = 1; rng.IntN(2) == 0 {
				s.tilt[y] = 1 / factor
				rarer++
			}
		}
	}
	floats.MulTo(s.new, s.old, s.tilt)
	floats.Scale(1/floats.Sum(s.new), s.new)
}

func (s *shiftCase) draw(n int, rng *rand.Rand) *data.Set {
	_, classes := s.w.Dims()
	x := &data.Set{Logits: mat.NewDense(n, classes, nil), Labels: make([]int, n)}
	x.Features = mat.NewDense(n, shiftFeatures, nil)
	for i := 0; i < n; {
		features := data.Dense(x.Features).RawRowView(i)
		for j := range features {
			features[j] = rng.NormFloat64()
		}
		logits := x.Logits.RawRowView(i)
		mat.NewVecDense(classes, logits).MulVec(s.w.T(), mat.NewVecDense(shiftFeatures, features))
		floats.AddConst(-floats.LogSumExp(logits), logits)
		u, y := rng.Float64()-math.Exp(logits[0]), 0
		for ; y < classes-1 && u > 0; u -= math.Exp(logits[y]) {
			y++
		}
		if s.tilt == nil || rng.Float64() < s.tilt[y] {
			x.Labels[i] = y
			i++
		}
	}
	return x
}

// shiftOutcome is what an estimate did in a draw.
type shiftOutcome struct {
	shifted    bool
	gain, most float64 // in NLL on the new rows, by the estimate and by the true priors
	covered    int     // of the classes
}

// outcome fits a method to so many calibration rows and estimates the shift of new rows from its predictions.
func (s *shiftCase) outcome(
	t *testing.T, name string, calRows, rows int, shifts bool, rng *rand.Rand,
) (o shiftOutcome) {
	t.Helper()
	s.tilt, s.new = nil, s.old
	cal := s.draw(calRows, rng)
	if shifts {
		s.shift(rng)
	}
	test := s.draw(rows, rng)
	m, err := method.NewCatalog().Find(name)
	if err != nil {
		t.Fatal(err)
	}
	options, err := Spec{Method: name}.options(cal, nil)
	if err != nil {
		t.Fatal(err)
	}
	model, _, err := m.Build(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := model.Fit(t.Context(), cal, nil, rng); err != nil {
		t.Fatal(err)
	}
	predict := func(x *data.Set) *mat.Dense {
		p, err := Predict(model, x)
		if err != nil {
			t.Fatal(err)
		}
		return p.LogProbs
	}
	before := predict(test)
	found, err := layers.PredictedOf(predict(cal), nil).Estimate(t.Context(), before, nil, rng)
	if err != nil {
		t.Fatal(err)
	}
	gain := func(shift layers.LabelShift) float64 {
		after := mat.DenseCopyOf(before)
		if err := shift.Apply("", after); err != nil {
			t.Fatal(err)
		}
		return test.MeanNLL(before, -30) - test.MeanNLL(after, -30)
	}
	if o.shifted = found.Shifted; o.shifted {
		o.gain = gain(found.LabelShift)
	}
	o.most = gain(layers.LabelShift{Old: s.old, New: s.new})
	for y, p := range s.new {
		if found.Lower[y] <= p && p <= found.Upper[y] {
			o.covered++
		}
	}
	return o
}

// shiftLaws are settings of TestLabelShiftLaws. Scores of 10 classes whose scale is 1.5 (the NLL is 1.61) are not among
// those with a shift: they hardly tell classes apart, and 1,000 rows of them give about .45 of the gain of the true
// priors.
var shiftLaws = []struct {
	classes       int
	scale         float64
	calRows, rows int
	shifts        bool
	covers        float64 // least share of the intervals: .95 less what scales of a fit add
	gain          float64 // least share of the gain of the true priors
	slow          bool    // sm and pool too
}{
	{classes: 3, scale: 1.5, calRows: 200, rows: 2000, covers: .92, slow: true},
	{classes: 10, scale: 1.5, calRows: 1000, rows: 1000, covers: .92, slow: true},
	{classes: 10, scale: 8, calRows: 1000, rows: 200, covers: .92, slow: true},
	{classes: 3, scale: 1.5, calRows: 1000, rows: 1000, shifts: true, covers: .9, gain: .8},
	{classes: 3, scale: 8, calRows: 1000, rows: 1000, shifts: true, covers: .9, gain: .8},
	{classes: 10, scale: 8, calRows: 1000, rows: 1000, shifts: true, covers: .9, gain: .8},
	{classes: 3, scale: 1.5, calRows: 1000, rows: 200, shifts: true, covers: .9},
	{classes: 10, scale: 1.5, calRows: 1000, rows: 200, shifts: true, covers: .9},
	{classes: 10, scale: 8, calRows: 1000, rows: 200, shifts: true, covers: .9},
}

// TestLabelShiftLaws: without a shift, predictions stay in 95 of 100 draws; with one, 1,000 rows give most of the gain
// of the true priors; and few rows do not raise the NLL by more than .01 on average. With CALIBRA_CHECK=all there are
// 100 draws of each setting, of sm and pool 40, else 4 of ts.
func TestLabelShiftLaws(t *testing.T) {
	methods, all := []string{"ts"}, os.Getenv("CALIBRA_CHECK") == "all"
	if all {
		methods = []string{"ts", "vector", "sm", "pool"}
	}
	for _, method := range methods {
		slow := method == "sm" || method == "pool"
		draws := 4
		if all {
			if draws = 100; slow {
				draws = 40
			}
		}
		for _, law := range shiftLaws {
			if slow && !law.slow {
				continue
			}
			s, covered, moved, above := newShiftCase(law.classes, law.scale), 0, 0, 0
			gain, most, worst, beyond := 0., 0., 0., []float64(nil)
			for k := range draws {
				o := s.outcome(t, method, law.calRows, law.rows, law.shifts, rand.New(rand.NewPCG(uint64(k), 66)))
				gain, most, worst, covered = gain+o.gain, most+o.most, min(worst, o.gain), covered+o.covered
				beyond = append(beyond, o.gain-law.gain*o.most)
				if o.shifted {
					moved++
				}
				if o.gain < -.01 {
					above++
				}
			}
			n := float64(draws)
			covers := float64(covered) / n / float64(law.classes)
			t.Logf("%s, %d classes, scale %g, %d + %d rows, shift %v: moved in %d of %d draws, gain %.4f of %.4f",
				method, law.classes, law.scale, law.calRows, law.rows, law.shifts, moved, draws, gain/n, most/n)
			t.Logf("worst %.4f, above .01 in %d, intervals cover %.3f", worst, above, covers)
			if !law.shifts && 20*moved > max(draws, 20) {
				t.Errorf("without a shift the predictions move in %d of %d draws", moved, draws)
			}
			mean, sd := stat.MeanStdDev(beyond, nil)
			if gain/n < -.01 || law.gain > 0 && mean < -2*sd/math.Sqrt(n) { // two standard errors of so many draws
				t.Errorf("the gain is %.4f of %.4f", gain/n, most/n)
			}
			// Intervals of one draw are not independent.
			if covers < law.covers-2*math.Sqrt(law.covers*(1-law.covers)/n) {
				t.Errorf("the intervals cover %.3f", covers)
			}
		}
	}
}
