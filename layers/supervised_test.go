package layers

import (
	"context"
	"errors"
	"math"
	"testing"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// lopsided are rows of two classes in 8 normal features whose classifier says even odds. Labels
// follow the sign of feature 0 where feature 1 is positive; elsewhere they are what toss says.
func lopsided(n int, toss func(i int) float64) *data.Set {
	rng := newRand(11)
	x := &data.Set{Features: mat.NewDense(n, 8, graph.Normals(8*n, 0, 1, rng)), Logits: mat.NewDense(n, 2, nil), Labels: make([]int, n), Soft: mat.NewDense(n, 2, nil)}
	for i := range n {
		p := toss(i)
		if x.Features.At(i, 1) > 0 {
			p = 0
			if x.Features.At(i, 0) > 0 {
				p = 1
			}
		}
		x.Soft.SetRow(i, []float64{1 - p, p})
		x.Labels[i] = int(math.Round(p))
	}
	return x
}

// started is the state of codes on x in 4 slots.
func started(t *testing.T, c Codes, x *data.Set) (*graph.Weights, Sizes) {
	t.Helper()
	s, err := c.Over(x, 4)
	if err != nil {
		t.Fatal(err)
	}
	w := graph.NewWeights(tensor.Float64)
	if err := c.Init(t.Context(), w, x, s, newRand(12)); err != nil {
		t.Fatal(err)
	}
	return w, s
}

// TestMetricLooksWhereTheBaseErrs: labels that follow feature 0 alone leave a metric along it, in
// units of variance 1 in the mean, about the mean.
func TestMetricLooksWhereTheBaseErrs(t *testing.T) {
	cal := lopsided(2000, func(int) float64 { return 0.5 })
	w, _ := started(t, Metric{Of: Fixed{Codewords: 6}}, cal)
	var omega, mapped mat.Dense
	omega.Mul(mat.NewDense(8, 2, w.Float64s("codebook/metric/in")), mat.NewDense(2, 8, w.Float64s("codebook/metric/out")))
	mapped.Mul(cal.Features, &omega)
	scale, variance := data.FitStandardizer(&mapped), 0.0
	for j, from := range w.Float64s("codebook/metric/from") {
		variance += scale.SD[j] * scale.SD[j] / 8
		if math.Abs(scale.Mean[j]-from) > 1e-9 {
			t.Errorf("Ωz have the mean %v at %d, and %v is taken from them", scale.Mean[j], j, from)
		}
	}
	if math.Abs(variance-1) > 1e-9 {
		t.Errorf("a mean variance of %v", variance)
	}
	if along := mat.Norm(omega.RowView(0), 2) / mat.Norm(&omega, 2); along < 0.95 { // the rest is noise of 2,000 rows
		t.Errorf("a part of %v of Ω is along feature 0", along)
	}
}

// TestBoostedCodewordsGoWhereResidualsAre: rows that even odds are right of draw no codewords while
// stages go on; where labels are tossed everywhere no stage helps, and codewords lie on both sides.
func TestBoostedCodewordsGoWhereResidualsAre(t *testing.T) {
	wrong := func(x *data.Set) (share float64) { // of the codewords of slot 0, whose second feature tells the sides
		w, s := started(t, Boosted{Codewords: 24, Stages: 2}, x)
		words, of := w.Float64s("codebook/codewords"), 0.0
		for k := range s.Codewords {
			for i := range x.Len() {
				if x.Features.At(i, 0) == words[2*k] && x.Features.At(i, 1) == words[2*k+1] {
					of++
					if words[2*k+1] > 0 {
						share++
					}
				}
			}
		}
		return share / of
	}
	if share := wrong(lopsided(600, func(int) float64 { return 0.5 })); share != 1 {
		t.Errorf("%v of the codewords lie where the base errs", share)
	}
	rng := newRand(13)
	even := lopsided(600, func(int) float64 { return 0.5 })
	for i := range even.Labels {
		even.Labels[i] = rng.IntN(2)
	}
	even.Soft = nil
	if share := wrong(even); share < 0.1 || share > 0.9 {
		t.Errorf("%v of the codewords lie on one side where both are alike", share)
	}
}

// TestLearnedCodesMoveWhereTheLossFalls on held-out rows, and stay where the base is right.
func TestLearnedCodesMoveWhereTheLossFalls(t *testing.T) {
	cal := lopsided(1500, func(int) float64 { return 0.5 })
	c := Learned{Codewords: 6, Nearest: 3}
	moved := func(name string) (most float64) {
		before, _ := started(t, c.soft(), cal)
		after, _ := started(t, c, cal)
		for i, v := range before.Float64s(name) {
			most = max(most, math.Abs(after.Float64s(name)[i]-v))
		}
		return most
	}
	for _, name := range []string{"codebook/codewords", "codebook/temperature"} {
		if by := moved(name); by < 0.02 { // some hundred steps of 3e-3 at most
			t.Errorf("%s moved by %v where codes tell of the labels", name, by)
		}
	}
	for i := range cal.Labels {
		cal.Soft.SetRow(i, []float64{0.5, 0.5})
	}
	for _, name := range []string{"codebook/codewords", "codebook/temperature"} {
		if by := moved(name); by > 1e-6 { // float32, as they are while learned
			t.Errorf("%s moved by %v where the base is right", name, by)
		}
	}
}

// TestLearnedSharesAreThoseOfSoft: with all codewords near, what is learned by is what codes give.
func TestLearnedSharesAreThoseOfSoft(t *testing.T) {
	cal := lopsided(50, func(int) float64 { return 0.5 })
	c := Learned{Codewords: 3, Nearest: 3, Softness: 4}
	w, s := started(t, c.soft(), cal)
	w.Add("learned/codewords", w.Float64s("codebook/codewords"), 3, 2)
	w.Add("learned/temperature", []float64{math.Log(w.Float64s("codebook/temperature")[0])}, 1)
	l := &learning{c, s, cal, nil}
	features := graph.Matrix(tensor.Float64, data.Dense(cal.Features))
	tables, err := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		z := b.Take("features", features)
		a := c.Assign(b, z, s)
		return gorgonia.Nodes{l.shares(b, z), a.Codes, a.Shares}
	}).Tables(50, 50)
	if err != nil {
		t.Fatal(err)
	}
	all, shares := tables[0].Float64s(), tables[2].Float64s()
	for at, k := range tables[1].Int32s() {
		if want := all[at/3*3+int(k)]; shares[at] > 0 && math.Abs(shares[at]-want) > 0.041 { // two of three below the least share of 0.02 may be left out
			t.Fatalf("code %d has the share %v, learned by %v", at, shares[at], want)
		}
	}
}

// TestLastingCodesStopWhenToldTo, however they are wrapped.
func TestLastingCodesStopWhenToldTo(t *testing.T) {
	cal := lopsided(300, func(int) float64 { return 0.5 })
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for _, c := range []Codes{Learned{Codewords: 6}, Boosted{Codewords: 6}, Scaled{Of: Learned{Codewords: 6}}, Metric{Soft{Of: Boosted{Codewords: 6}}}} {
		s, err := c.Over(cal, 4)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := StartCodes(ctx, c, cal, s, newRand(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%#v: %v", c, err)
		}
	}
}

// TestFewRowsStartCodes that look at labels or take a bandwidth, down to one row of each class.
func TestFewRowsStartCodes(t *testing.T) {
	for _, c := range []Codes{Leaf{Codewords: 2}, Learned{Codewords: 2, Nearest: 2}, Metric{Of: Fixed{Codewords: 2}}, Boosted{Codewords: 2}, Inducing{Codewords: 2}} {
		for n := 2; n < 8; n++ {
			cal := lopsided(n, func(int) float64 { return 0.5 })
			cal.Soft = nil
			for i := range cal.Labels {
				cal.Labels[i] = i % 2
			}
			s, err := c.Over(cal, 4)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := StartCodes(t.Context(), c, cal, s, newRand(1)); err != nil {
				t.Errorf("%T of %d rows: %v", c, n, err)
			}
		}
	}
}
