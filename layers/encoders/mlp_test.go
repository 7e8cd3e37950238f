package encoders

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// TestMLPLearnsDigits: a linear classifier gets some 95 % of these rows right.
func TestMLPLearnsDigits(t *testing.T) {
	parts := data.Digits().Split([]float64{0.6, 0.1, 0.3}, newRand(1))
	m := MLP{Hidden: []int{64, 16}, Optim: optim.Settings{Batch: 32, Epochs: 40}}
	if err := m.Fit(t.Context(), parts[0], parts[1], newRand(2)); err != nil {
		t.Fatal(err)
	}
	out, err := m.Encode(parts[2])
	if err != nil {
		t.Fatal(err)
	}
	if n, width := out.Features.Dims(); n != parts[2].Len() || width != 16 {
		t.Errorf("the features are %d×%d", n, width)
	}
	if mat.Min(out.Features) < 0 {
		t.Error("a penultimate feature is negative behind a ReLU")
	}
	right := 0
	for i, y := range out.Labels {
		row := out.Logits.RawRowView(i)
		best := 0
		for c := range row {
			if row[c] > row[best] {
				best = c
			}
		}
		if best == y {
			right++
		}
	}
	if share := float64(right) / float64(len(out.Labels)); share < 0.95 {
		t.Errorf("%.3f of the test rows are right", share)
	}
}

// TestMLPForward computes the network by hand, from its own weights.
func TestMLPForward(t *testing.T) {
	parts := data.Digits().Split([]float64{0.5, 0.5}, newRand(1))
	m := MLP{Hidden: []int{7}, Optim: optim.Settings{Epochs: 1}}
	if err := m.Fit(t.Context(), parts[0], nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	out, err := m.Encode(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	x := data.FitStandardizer(parts[0].Features).Apply(parts[1].Features)
	linear := func(name string, x *mat.Dense, width int) *mat.Dense {
		_, in := x.Dims()
		var y mat.Dense
		y.Mul(x, mat.NewDense(width, in, m.model.weights.Float64s(name+".weight")).T())
		bias := m.model.weights.Float64s(name + ".bias")
		y.Apply(func(_, j int, v float64) float64 { return v + bias[j] }, &y)
		return &y
	}
	h := linear("blocks.0.linear", x, 7)
	h.Apply(func(_, _ int, v float64) float64 { return math.Max(v, 0) }, h)
	if want := linear("output", h, 10); !mat.EqualApprox(out.Features, h, 1e-4) || !mat.EqualApprox(out.Logits, want, 1e-4) { // float32 sums of 64 terms
		t.Error("features or logits are not those of the formula")
	}
}

// TestNetworkMasksNoClass: of a row far outside the training rows the logits lie thousands apart, and each class still
// can be.
func TestNetworkMasksNoClass(t *testing.T) {
	digits := data.Digits().Split([]float64{0.5, 0.5}, newRand(1))[0]
	m := MLP{Hidden: []int{7}, Optim: optim.Settings{Epochs: 1}}
	if err := m.Fit(t.Context(), digits, nil, newRand(2)); err != nil {
		t.Fatal(err)
	}
	far := mat.DenseCopyOf(digits.Features)
	far.Scale(1e5, far)
	for k := range 10 {
		out, err := m.Encode(&data.Set{Features: far, Labels: slices.Repeat([]int{k}, digits.Len())})
		if err != nil {
			t.Fatal(err)
		}
		if row, _ := out.MaskedLabel(); row >= 0 {
			t.Fatalf("class %d cannot be in row %d", k, row)
		}
	}
}

func TestMLPErrors(t *testing.T) {
	var m MLP
	if _, err := m.Encode(&data.Set{Features: mat.NewDense(1, 1, nil)}); err == nil {
		t.Error("it encodes before it is trained")
	}
	if err := m.Fit(t.Context(), &data.Set{}, nil, newRand(1)); err == nil {
		t.Error("it trains on nothing")
	}
}
