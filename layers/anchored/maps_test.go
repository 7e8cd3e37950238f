package anchored

import (
	"math"
	"testing"

	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

func anchor() *Anchor { return &Anchor{Slots: 4, Codebook: layers.Codebook{Codewords: 8}, Passes: 4} }

// TestTemperedAnchorIsTemperatureScaling: on an Anchor nothing is left to one more temperature.
func TestTemperedAnchorIsTemperatureScaling(t *testing.T) {
	base := anchor()
	_, rows, err := fitBase(t.Context(), base, blobs(400, 1), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	p, err := newPosterior(Tempered{}, base.Sizes(), rows, newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	p.weights.SetValues("tempered/inverse_temperature", []float64{0.5})
	if _, err := p.fit(t.Context(), optim.LBFGS{}, nil); err != nil {
		t.Fatal(err)
	}
	if got := p.weights.Float64s("tempered/inverse_temperature")[0]; !(math.Abs(got-1) <= 1e-5) { // both to a gradient of 1e-6, this one in float32
		t.Errorf("1/T is %v", got)
	}
}

// TestOrderPreservingKeepsTheOrder at slopes drawn at random.
func TestOrderPreservingKeepsTheOrder(t *testing.T) {
	view, _, sizes := region(11)
	rng := newRand(12)
	w, err := OrderPreserving{}.Init(sizes, rng)
	if err != nil {
		t.Fatal(err)
	}
	w.SetValues("order_preserving/slope", graph.Normals(len(knots)+1, 0, 2, rng))
	tab := view.Rows(tensor.Float64, sizes)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{OrderPreserving{}.Scores(b, tab.Batch(b))}
	})
	out, err := f.Of(graph.Rows(0, tab.Len()))
	if err != nil {
		t.Fatal(err)
	}
	scores := mat.NewDense(tab.Len(), sizes.Classes, graph.Float64s(out[0]))
	for i := range tab.Len() {
		logit := view.Inputs[logitsInput].(*mat.Dense).RawRowView(i)
		for j := range sizes.Classes {
			for k := range sizes.Classes {
				z, y := logit[j], logit[k]
				if z < y && !(scores.At(i, j) < scores.At(i, k)) {
					t.Errorf("row %d: logits %v < %v have scores %v, %v", i, z, y, scores.At(i, j), scores.At(i, k))
				}
			}
		}
	}
}

// TestCorrectionIsThePosteriorMode: with one slot and nothing known beforehand, the
// slope of the penalized likelihood by u_k is zero where
//
//	σ (n_kc − N_k p_c(k)) = u_kc
//
// so of two codewords with the same shares of labels the rarer is corrected less.
func TestCorrectionIsThePosteriorMode(t *testing.T) {
	const often, seldom, sigma = 400, 8, 0.5
	v := &layers.View{LogProbs: mat.NewDense(often+seldom, 2, nil)}
	var labels []int
	for i := range often + seldom {
		k := int32(0)
		if i >= often {
			k = 1
		}
		v.Codes = append(v.Codes, k)
		v.LogProbs.SetRow(i, []float64{-math.Ln2, -math.Ln2})
		labels = append(labels, min(1, i%4)) // class 1 in three of four rows
	}
	sizes := layers.Sizes{Classes: 2, Slots: 1, Codewords: 2}
	p, err := newPosterior(Tables{}, sizes, v.Rows(tensor.Float64, sizes).Labelled(graph.Labels(labels)), nil)
	if err != nil {
		t.Fatal(err)
	}
	p.spread(Tables{}.Spread(), sigma)
	if _, err := p.fit(t.Context(), optim.LBFGS{Gradient: 1e-10}, nil); err != nil {
		t.Fatal(err)
	}
	u := p.weights.Float64s("anchored/correction")
	for k, n := range []float64{often, seldom} {
		odds := math.Exp(sigma * (u[2*k+1] - u[2*k]))
		if want := sigma * n * (0.75 - odds/(1+odds)); !scalar.EqualWithinAbs(u[2*k+1], want, 1e-6) { // N times the gradient
			t.Errorf("codeword %d: u = %v, the slope is zero at %v", k, u[2*k+1], want)
		}
	}
	if !(u[3] < u[1]/2) || !(u[3] > 0) {
		t.Errorf("%d rows are corrected by %v, %d rows by %v", often, u[1], seldom, u[3])
	}
}

// TestSpreadKeepsCorrections: another spread leaves σ·u where it was, and 0 removes it.
func TestSpreadKeepsCorrections(t *testing.T) {
	view, labels, sizes := region(1)
	p, err := newPosterior(Tables{On: Linear{}}, sizes, view.Rows(tensor.Float64, sizes).Labelled(graph.Labels(labels)), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spreadsOf(p.m) {
		u := p.weights.Tensor(s.Of[0]).Float64s()
		u[0] = 3
		p.spread(s, 0.5)
		if u[0] != 6 {
			t.Errorf("%s: u is %v, not 6, at half the spread", s.Name, u[0])
		}
		p.spread(s, 0)
		if u[0] != 0 {
			t.Errorf("%s: u is %v without a spread", s.Name, u[0])
		}
		p.spread(s, 1)
		if u[0] != 0 || p.weights.Float64s(s.Name)[0] != 1 {
			t.Errorf("%s: u is %v after a spread of 0", s.Name, u[0])
		}
	}
}

func TestTablesNeedRegions(t *testing.T) {
	if _, err := (Tables{}).Init(layers.Sizes{Classes: 3}, newRand(1)); err == nil {
		t.Error("tables start without regions")
	}
}
