package layers

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// shifts draws rows of four classes, as frequent as priors say, that lie around four points of six features; the logits
// are 1.8 times the log-posteriors of the priors .4, .3, .2, .1. Noise is added to the features.
type shifts struct {
	centres *mat.Dense
	rng     *rand.Rand
}

var usualPriors, newPriors = []float64{.4, .3, .2, .1}, []float64{.05, .15, .2, .6}

func newShifts() *shifts {
	s := &shifts{mat.NewDense(4, 6, nil), rand.New(rand.NewPCG(5, 1))}
	s.centres.Apply(func(_, _ int, _ float64) float64 { return 1.1 * s.rng.NormFloat64() }, s.centres)
	return s
}

func (s *shifts) draw(n int, priors []float64, noise float64) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, 4, nil), Labels: make([]int, n)}
	at := make([]float64, 6)
	for i := range n {
		u, y := s.rng.Float64(), 0
		for ; y < 3 && u > priors[y]; y++ {
			u -= priors[y]
		}
		x.Labels[i] = y
		for j := range at {
			at[j] = s.centres.At(y, j) + math.Hypot(1, noise)*s.rng.NormFloat64()
		}
		logits := x.Logits.RawRowView(i)
		for c := range logits {
			logits[c] = 1.8 * (math.Log(usualPriors[c]) - math.Pow(floats.Distance(at, s.centres.RawRowView(c), 2), 2)/2)
		}
	}
	data.Normalize(x.Logits)
	return x
}

// TestShiftTestTellsLabelsFromOthers: shifts in the labels are told as others in at most 5 of 100 draws at 1 % (of 100
// at that level more than 5 are had once in 1,800), noise on the features in most.
func TestShiftTestTellsLabelsFromOthers(t *testing.T) {
	if testing.Short() {
		t.Skip("100 draws take a second")
	}
	s, told := newShifts(), map[string]int{}
	for range 100 {
		table := byLabel(s.draw(2000, usualPriors, 0))
		none, labels, noise := s.draw(2000, usualPriors, 0), s.draw(2000, newPriors, 0), s.draw(2000, newPriors, 1.2)
		for name, test := range map[string]*ShiftTest{
			"none": table.Test(none, nil), "labels": table.Test(labels, nil), "these priors": table.Test(labels, newPriors),
			"other priors": table.Test(labels, usualPriors), "noise": table.Test(noise, nil),
		} {
			if test.Elsewhere() {
				told[name]++
			}
		}
	}
	if told["none"] > 5 || told["labels"] > 5 || told["these priors"] > 5 || told["other priors"] < 100 || told["noise"] < 80 {
		t.Errorf("of 100 draws it tells %v", told)
	}
}

// TestLabelShiftIsFound of the true posteriors: new priors within four standard errors of multinomial shares and in
// their intervals, and the posteriors are those of Bayes' rule. Without a shift the old priors stay.
func TestLabelShiftIsFound(t *testing.T) {
	s := newShifts()
	posteriors := func(priors []float64) (*data.Set, *mat.Dense) {
		x := s.draw(4000, priors, 0)
		x.Logits.Scale(1/1.8, x.Logits)
		return x, data.Normalize(x.Logits)
	}
	_, calibration := posteriors(usualPriors)
	x, p := posteriors(newPriors)
	predicted := PredictedOf(calibration, nil)
	shift, err := predicted.Estimate(t.Context(), p, nil, rand.New(rand.NewPCG(1, 1)))
	if err != nil || !shift.Shifted {
		t.Fatal(shift, err)
	}
	for y, want := range newPriors {
		if got := shift.New[y]; math.Abs(got-want) > 4*math.Sqrt(want*(1-want)/4000)+.01 { // .01 of classes that overlap
			t.Errorf("class %d has the prior %v, and %v was drawn", y, got, want)
		}
		if !(shift.Lower[y] <= want && want <= shift.Upper[y] && shift.Upper[y]-shift.Lower[y] < .08) { // some ±2 standard errors
			t.Errorf("class %d has the interval %v to %v, and %v was drawn", y, shift.Lower[y], shift.Upper[y], want)
		}
	}
	_, same := posteriors(usualPriors)
	kept, err := predicted.Estimate(t.Context(), same, nil, rand.New(rand.NewPCG(1, 1)))
	if err != nil || kept.Shifted || !floats.Equal(kept.New, kept.Old) {
		t.Errorf("rows of the same priors: %v, %v", kept, err)
	}
	before := mat.DenseCopyOf(p)
	if err := shift.Apply("", p); err != nil {
		t.Fatal(err)
	}
	for c := range 4 {
		odds := math.Exp(p.At(7, c)-p.At(7, 0)) / math.Exp(before.At(7, c)-before.At(7, 0))
		if want := shift.New[c] / shift.Old[c] / (shift.New[0] / shift.Old[0]); math.Abs(odds/want-1) > 1e-9 { // a few roundings
			t.Errorf("class %d: odds change by %v, want %v", c, odds, want)
		}
	}
	one := &LabelShift{Old: usualPriors, New: []float64{0, 0, 0, 1}}
	x.Logits.Set(3, 3, math.Inf(-1))
	if err := one.Apply("f", x.Logits); err == nil {
		t.Error("a row of classes whose prior is 0 has probabilities")
	}
}

// TestByLabelThroughAFile: the table is that of a model file too, weights count, and a damaged one is none.
func TestByLabelThroughAFile(t *testing.T) {
	cal := blobs(300, 1)
	_, read := throughAFile(t, cal, filepath.Join(t.TempDir(), "model.safetensors"))
	table := byLabel(cal)
	if got := read.Profile.ByLabel; got == nil || !mat.Equal(got.Counts, table.Counts) || !mat.Equal(got.Cuts, table.Cuts) {
		t.Errorf("%v is not the table that was written", got)
	}
	if sum := mat.Sum(table.Counts); math.Abs(sum-300) > 1e-9 {
		t.Errorf("%v rows", sum)
	}
	cal.Weights = make([]float64, cal.Len())
	for i, y := range cal.Labels {
		cal.Weights[i] = float64(1 + 2*y)
	}
	want := cal.Counts(cal.Classes())
	floats.Scale(1/floats.Sum(want), want)
	if got := byLabel(cal).Priors(); !floats.EqualApprox(got, want, 1e-12) {
		t.Errorf("priors %v, want %v", got, want)
	}
}

// TestPredictedThroughAFile: means are by weight, the rows that stand for all are drawn by weight too, and a file keeps
// both.
func TestPredictedThroughAFile(t *testing.T) {
	logProbs, weights := mat.NewDense(4, 2, nil), []float64{2, 0, 3, 3}
	for i, p := range []float64{.1, .9, .5, .7} {
		logProbs.SetRow(i, []float64{math.Log(p), math.Log(1 - p)})
	}
	p := PredictedOf(logProbs, weights)
	if want := (2*.1 + 3*.5 + 3*.7) / 8; math.Abs(p.Mean[0]-want) > 1e-12 || math.Abs(p.Rows-64./22) > 1e-12 { // Kish
		t.Errorf("the mean %v of %v rows, want %v of 2.91", p.Mean, p.Rows, want)
	}
	if got := mat.Col(nil, 0, p.Some); !floats.EqualApprox(got, []float64{.1, .5, .7}, 1e-12) {
		t.Errorf("%v stand for all", got)
	}
	w := profileFile{graph.NewWeights(tensor.Float64)}
	p.add(w)
	if read := readPredicted(w); read == nil || !floats.Equal(read.Mean, p.Mean) || read.Rows != p.Rows || !mat.Equal(read.Some, p.Some) {
		t.Errorf("%v was written and %v read", p, read)
	}
	p.Mean[0] = math.NaN()
	w = profileFile{graph.NewWeights(tensor.Float64)}
	if p.add(w); readPredicted(w) != nil {
		t.Error("a mean of NaN is read")
	}
}
