package layers

import (
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// moved is x with a number added to each column.
func moved(x *data.Set, by []float64) *data.Set {
	out, z := *x, mat.DenseCopyOf(x.Features)
	z.Apply(func(_, j int, v float64) float64 { return v + by[j] }, z)
	out.Features = z
	return &out
}

func fitted(t *testing.T, cal *data.Set) *Trained {
	t.Helper()
	s := optim.Settings{Epochs: 4}
	c := Train(&Divide{Slots: 4, Codebook: Codebook{Codewords: 6}, Optim: s}, Bilinear{}, s)
	if err := c.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	return c
}

func predicted(t *testing.T, c *Trained, x *data.Set) *mat.Dense {
	t.Helper()
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	return p.LogProbs
}

// TestOffsetsChangeNothing: features whose columns are moved by up to some 10⁴ standard deviations,
// each by another number, have the codes and, to rounding, the posteriors of those that are not.
func TestOffsetsChangeNothing(t *testing.T) {
	cal, rng := blobs(300, 1), rand.New(rand.NewPCG(1, 1))
	_, m := cal.Features.Dims()
	by := make([]float64, m)
	for j := range by {
		by[j] = 1e4 * rng.NormFloat64()
	}
	off := moved(cal, by)
	c, d := fitted(t, cal), fitted(t, off)
	want, got := predicted(t, c, cal), predicted(t, d, off)
	if !mat.EqualApprox(want, got, 1e-4) { // float32, in which differences of 1e-12 may round otherwise, for 4 epochs
		t.Error("the posteriors move with the features")
	}
	at, err := c.Base.View(cal)
	if err != nil {
		t.Fatal(err)
	}
	to, err := d.Base.View(off)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(at.Codes, to.Codes) {
		t.Error("the codes move with the features")
	}
}

// TestModelsWithoutCentre: a model from before keeps none, and reads features as they are.
func TestModelsWithoutCentre(t *testing.T) {
	cal := blobs(300, 1)
	c := fitted(t, cal)
	want := predicted(t, c, cal)
	state, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	centre, before := state.Weights.Split(func(name string) bool { return name == centreName })
	minus := centre.Float64s(centreName)
	for j := range minus {
		minus[j] = -minus[j]
	}
	d := Train(&Divide{Codebook: Codebook{}}, Bilinear{}, optim.Settings{})
	if err := d.Restore(State{state.Config, before}); err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(want, predicted(t, d, moved(cal, minus))) {
		t.Error("without a centre, features less their mean are read otherwise")
	}
}

// TestTheCentreIsKept in a file in float64, whatever the type of the other weights.
func TestTheCentreIsKept(t *testing.T) {
	cal := blobs(300, 1)
	_, m := cal.Features.Dims()
	off := moved(cal, slices.Repeat([]float64{1e4}, m))
	c, path := fitted(t, off), filepath.Join(t.TempDir(), "model.safetensors")
	if err := WriteModel(path, "vq", c); err != nil {
		t.Fatal(err)
	}
	model, err := ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	d := Train(&Divide{Codebook: Codebook{}}, Bilinear{}, optim.Settings{})
	if err := model.Restore(d); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(model.State.Weights.Float64s(centreName), data.FitStandardizer(off.Features).Mean) {
		t.Error("the centre is rounded")
	}
	if !mat.Equal(predicted(t, c, off), predicted(t, d, off)) {
		t.Error("the saved model predicts otherwise")
	}
}
