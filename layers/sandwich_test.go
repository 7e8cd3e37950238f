package layers

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// fittedBilinear is a small fitted calibrator, its calibration view and weights.
func fittedBilinear(t *testing.T) (*Trained, Observed) {
	t.Helper()
	short := optim.Settings{Epochs: 10}
	c := Train(&Divide{Slots: 4, Codebook: Codebook{Codewords: 5}, Optim: short}, Bilinear{}, short)
	cal := blobs(600, 1)
	if err := c.Fit(t.Context(), cal, blobs(100, 2), newRand(3)); err != nil {
		t.Fatal(err)
	}
	view, err := c.Base.View(cal)
	if err != nil {
		t.Fatal(err)
	}
	return c, Observed{View: view, Labels: cal.Labels}
}

// Intervals hold the prediction and widen with the level; a row counted twice is two
// rows; the gauge has no variance.
func TestIntervalLaws(t *testing.T) {
	c, rows := fittedBilinear(t)
	sizes := c.Base.Sizes()
	x := blobs(50, 4)
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Sandwich(t.Context(), blobs(600, 1), 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	low, high, err := c.Intervals(t.Context(), s, x, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	low50, high50, err := c.Intervals(t.Context(), s, x, 0.5)
	if err != nil {
		t.Fatal(err)
	}
	for i := range x.Len() {
		for j := range sizes.Classes {
			q := math.Exp(p.LogProbs.At(i, j))
			const rounding = 1e-5 // Predict works in float32
			if !(low.At(i, j) <= low50.At(i, j) && low50.At(i, j) <= q+rounding && q <= high50.At(i, j)+rounding && high50.At(i, j) <= high.At(i, j)) {
				t.Fatalf("row %d, class %d: %g … %g … %g … %g … %g", i, j, low.At(i, j), low50.At(i, j), q, high50.At(i, j), high.At(i, j))
			}
		}
	}
	twice := Observed{Labels: append(slices.Clone(rows.Labels), rows.Labels...), View: &View{
		Codes: append(slices.Clone(rows.View.Codes), rows.View.Codes...), LogProbs: new(mat.Dense),
	}}
	twice.View.LogProbs.Stack(rows.View.LogProbs, rows.View.LogProbs)
	listed, err := NewSandwich(t.Context(), Bilinear{}, c.weights, twice, sizes, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	rows.Counts = slices.Repeat([]float64{2}, len(rows.Labels))
	counted, err := NewSandwich(t.Context(), Bilinear{}, c.weights, rows, sizes, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(listed.covariance, counted.covariance, 1e-9) { // sums of 1200 rows, condition about 1e4
		t.Error("rows listed twice and rows counted twice differ")
	}
	// A rescaling of each codeword's factors, and a shift of the prior's logits.
	if free := sizes.Codewords + 1; len(s.Free) != free {
		t.Errorf("%d directions are free, not %d: %v", len(s.Free), free, s.Free)
	}
	for _, v := range s.Free {
		var cv mat.VecDense
		cv.MulVec(s.Covariance(), mat.NewVecDense(len(v), v))
		if norm := mat.Norm(&cv, 2); norm > 1e-12 {
			t.Errorf("the covariance along the gauge is %g", norm)
		}
	}
}

// TestSavedModelHasTheSameIntervals: a prior that is fixed stays so in a model file,
// which does not tell what was learned.
func TestSavedModelHasTheSameIntervals(t *testing.T) {
	cal, short := blobs(300, 1), optim.Settings{Epochs: 2}
	for _, prior := range []Prior{LearnedPrior{}, CountPrior{}} {
		var lower [2]*mat.Dense
		divide := &Divide{Slots: 4, Codebook: Codebook{Codewords: 4}, Optim: short}
		fitted := Train(divide, Bilinear{Prior: prior}, short)
		if err := fitted.Fit(t.Context(), cal, nil, newRand(2)); err != nil {
			t.Fatal(err)
		}
		read := Train(&Divide{}, Bilinear{Prior: prior}, short)
		reread(t, "vq", fitted, read)
		if x, y := fitted.weights.Learned(), read.weights.Learned(); !slices.Equal(x, y) {
			t.Errorf("%T: %v were learned, of the file %v", prior, x, y)
		}
		for i, c := range []*Trained{fitted, read} {
			s, err := c.Sandwich(t.Context(), cal, 1e-3)
			if err != nil {
				t.Fatal(err)
			}
			if lower[i], _, err = c.Intervals(t.Context(), s, cal, 0.9); err != nil {
				t.Fatal(err)
			}
		}
		if !mat.Equal(lower[0], lower[1]) {
			t.Errorf("%T: the intervals of the file are others", prior)
		}
	}
}

// BenchmarkIntervals has the paper's sizes but fewer rows: 64 codewords, 10 classes.
func BenchmarkIntervals(b *testing.B) {
	const rows = 1000
	sizes := Sizes{Slots: 64, Codewords: 64, Classes: 10}
	rng := newRand(1)
	w, err := Bilinear{}.Init(sizes, rng)
	if err != nil {
		b.Fatal(err)
	}
	v := &View{Codes: make([]int32, rows*sizes.Slots), LogProbs: mat.NewDense(rows, sizes.Classes, nil)}
	labels := make([]int, rows)
	for i := range v.Codes {
		v.Codes[i] = int32(rng.IntN(sizes.Codewords))
	}
	for row := range rows {
		labels[row] = rng.IntN(sizes.Classes)
		p := v.LogProbs.RawRowView(row)
		for j := range p {
			p[j] = rng.NormFloat64()
		}
		floats.AddConst(-floats.LogSumExp(p), p)
	}
	for b.Loop() {
		s, err := NewSandwich(b.Context(), Bilinear{}, w, Observed{View: v, Labels: labels}, sizes, 1e-3)
		if err != nil {
			b.Fatal(err)
		}
		if _, _, err := s.Intervals(b.Context(), v, 0.9); err != nil {
			b.Fatal(err)
		}
	}
}

// Rows that are not those of the fit stand for as many as were fitted: all of them listed twice
// say what the fitted ones say, where taken as new rows they would promise half the variance.
func TestSandwichCountsTheFittedRows(t *testing.T) {
	c, rows := fittedBilinear(t)
	cal := blobs(600, 1)
	twice := cal.Rows(slices.Concat(data.UpTo(600), data.UpTo(600)))
	once, err := c.Sandwich(t.Context(), cal, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	other, err := c.Sandwich(t.Context(), twice, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(once.covariance, other.covariance, 1e-8*mat.Max(once.covariance)) { // sums in another order
		t.Error("rows that are listed twice change the covariance of a map that was fitted to them once")
	}
	both, err := c.TwoStage(t.Context(), twice, 1e-3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := c.TwoStage(t.Context(), cal, 1e-3, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(both.joint, alone.joint, 1e-8*mat.Max(alone.joint)) {
		t.Error("rows that are listed twice change the covariance of both stages")
	}
	if floats.Sum(other.Occurrences) != float64(len(rows.View.Codes)) {
		t.Errorf("codewords occur %g times in %d slots", floats.Sum(other.Occurrences), len(rows.View.Codes))
	}
}

// keptBase is a base that is not fitted again.
type keptBase struct{ *Divide }

func (keptBase) Fit(context.Context, *data.Set, *data.Set, *rand.Rand) error { return nil }

// A map that is fitted to other rows than its base has the covariance of its own rows.
func TestSandwichCountsTheRowsOfTheMap(t *testing.T) {
	c, _ := fittedBilinear(t)
	few := blobs(200, 1)
	again := Train(keptBase{c.Base.(*Divide)}, Bilinear{}, optim.Settings{Epochs: 5})
	if err := again.Fit(t.Context(), few, blobs(100, 2), newRand(3)); err != nil {
		t.Fatal(err)
	}
	got, err := again.Sandwich(t.Context(), few, 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	view, err := c.Base.View(few)
	if err != nil {
		t.Fatal(err)
	}
	want, err := NewSandwich(t.Context(), Bilinear{}, again.weights, Observed{View: view, Labels: few.Labels}, c.Base.Sizes(), 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(got.covariance, want.covariance, 1e-8*mat.Max(want.covariance)) {
		t.Error("the covariance counts the rows of the base, not those of the map")
	}
	if _, err := again.TwoStage(t.Context(), few, 1e-3, 1e-3); err == nil || !strings.Contains(err.Error(), "this head was fitted to 600 and its map to 200") {
		t.Errorf("two stages with rows of their own: %v", err)
	}
}

func TestSandwichRefuses(t *testing.T) {
	c, rows := fittedBilinear(t)
	sizes := c.Base.Sizes()
	if _, err := NewSandwich(t.Context(), Bilinear{}, c.weights, Observed{View: rows.View}, sizes, 0); err == nil {
		t.Error("rows without labels pass")
	}
	stray := slices.Clone(rows.Labels)
	stray[3] = sizes.Classes
	if _, err := NewSandwich(t.Context(), Bilinear{}, c.weights, Observed{View: rows.View, Labels: stray}, sizes, 0); err == nil {
		t.Error("a row of a class that the map has not passes")
	}
	many := sizes
	many.Codewords = 1001 // of 3 classes: more weights than have matrices of their square
	huge, err := Bilinear{}.Init(many, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	_, err = NewSandwich(t.Context(), Bilinear{}, huge, rows, many, 0)
	if err == nil || !strings.Contains(err.Error(), "6009 parameters") {
		t.Errorf("many weights without a ridge end with %v", err)
	}
	s, err := c.Sandwich(t.Context(), blobs(600, 1), 1e-3)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Intervals(t.Context(), s, blobs(5, 1), 1); err == nil {
		t.Error("level 1 passes")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Sandwich(ctx, blobs(600, 1), 1e-3); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled covariance ends with %v", err)
	}
	if _, err := Fitted(c.Base, Identity{}, graph.NewWeights(tensor.Float64)).Sandwich(t.Context(), blobs(5, 1), 0); err == nil {
		t.Error("a map without weights passes")
	}
	// A codeword that no row has: without a ridge nothing is known of it, and a row that has it has no interval.
	unseen := blobs(600, 1)
	view, err := c.Base.View(unseen)
	if err != nil {
		t.Fatal(err)
	}
	few := Observed{View: &View{LogProbs: view.LogProbs, Codes: slices.Repeat([]int32{0, 1, 2, 3}, 600)}, Labels: unseen.Labels}
	if s, err = NewSandwich(t.Context(), Bilinear{}, c.weights, few, sizes, 0); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Intervals(t.Context(), view, .9); err == nil || !strings.Contains(err.Error(), "row 0 has no interval") {
		t.Errorf("codeword 4 has no row, and intervals end with %v", err)
	}
	if _, _, err := s.Intervals(t.Context(), few.View, .9); err != nil {
		t.Error(err)
	}
}

// TestUnitsOfWeights: the inverse information of weights in other units is that of the weights, in these units, off the
// direction that is free (here (1, −1, 0, 0) in the first units).
func TestUnitsOfWeights(t *testing.T) {
	information := func(units []float64) *mat.SymDense {
		F := mat.NewSymDense(4, []float64{
			2, 2, .5, .1,
			2, 2, .5, .1,
			.5, .5, 3, .2,
			.1, .1, .2, 1,
		})
		for i, u := range units {
			for j := i; j < len(units); j++ {
				F.SetSym(i, j, F.At(i, j)/(u*units[j]))
			}
		}
		return F
	}
	row := []float64{.3, .3, -1, 2} // a gradient that the free direction does not change
	variance := func(units []float64) float64 {
		x := Sandwich{m: Bilinear{}, weights: graph.NewWeights(tensor.Float64)}
		x.weights.Add("w", make([]float64, 4), 4)
		if err := x.invert(information(units), 100); err != nil {
			t.Fatalf("units %g: %v", units, err)
		}
		if len(x.Free) != 1 {
			t.Fatalf("units %g: %d directions are free", units, len(x.Free))
		}
		g := mat.NewVecDense(4, floats.DivTo(make([]float64, 4), row, units))
		if along := mat.Dot(g, mat.NewVecDense(4, x.Free[0])); math.Abs(along) > 1e-12*mat.Norm(g, 2) {
			t.Errorf("units %g: the gradient has %g along the free direction", units, along)
		}
		return mat.Inner(g, x.bread, g)
	}
	want := variance([]float64{1, 1, 1, 1})
	if got := variance([]float64{1e9, 1e-6, 1e-9, 1e6}); math.Abs(got-want) > 1e-12*want { // rounding of four weights
		t.Errorf("the variance is %v, in other units %v", want, got)
	}
}
