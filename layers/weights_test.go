package layers

import (
	"math"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// thrice are labelled rows with weights 1, 2 and 3, and the rows as often.
func thrice(seed uint64) (weighted, copies *data.Set) {
	weighted = blobs(90, seed)
	weighted.Weights = make([]float64, 90)
	var rows []int
	for i := range weighted.Weights {
		weighted.Weights[i] = float64(1 + i%3)
		for range 1 + i%3 {
			rows = append(rows, i)
		}
	}
	copies = weighted.Rows(rows)
	copies.Weights = nil
	return weighted, copies
}

// TestAWeightIsThatManyCopies in the loss of every map and its gradient.
func TestAWeightIsThatManyCopies(t *testing.T) {
	weighted, copies := thrice(3)
	for name, m := range map[string]Map{"identity and a prior": Dirichlet{}} {
		var losses [2]float64
		var gradients [2][]float64
		for k, x := range []*data.Set{weighted, copies} {
			c := Train(&Original{}, m, optim.Settings{Epochs: 1})
			if err := c.Fit(t.Context(), x, nil, newRand(1)); err != nil {
				t.Fatal(err)
			}
			w, err := m.Init(c.Base.Sizes(), newRand(2))
			if err != nil {
				t.Fatal(err)
			}
			w = w.As(tensor.Float64)
			rows, err := c.labelled(x, w)
			if err != nil {
				t.Fatal(err)
			}
			loss, grads, err := Objective(m, w, rows).Gradient(graph.Rows(0, x.Len()))
			if err != nil {
				t.Fatal(err)
			}
			losses[k] = loss
			for _, g := range grads {
				gradients[k] = append(gradients[k], g.Float64s()...)
			}
		}
		// of float64 sums in another order
		if !scalar.EqualWithinAbs(losses[0], losses[1], 1e-12) || floats.Distance(gradients[0], gradients[1], math.Inf(1)) > 1e-12 {
			t.Errorf("%s: loss %v of weights and %v of copies, gradients %v apart", name, losses[0], losses[1], floats.Distance(gradients[0], gradients[1], math.Inf(1)))
		}
	}
}

// TestCodesOfWeights: a step over rows with weights moves the codewords where one over copies does.
func TestCodesOfWeights(t *testing.T) {
	weighted, copies := thrice(4)
	var words [2][]float32
	var losses [2]float64
	for k, x := range []*data.Set{weighted, copies} {
		d := &Divide{Slots: 2, Codebook: Codebook{Codewords: 4, Start: ZeroStart{}}, Optim: optim.Settings{Epochs: 1}}
		if err := d.Fit(t.Context(), blobs(90, 4), nil, newRand(5)); err != nil { // the same for both
			t.Fatal(err)
		}
		for _, name := range []string{"codebook/counts", "codebook/sums"} {
			clear(d.weights.Tensor(name).Float32s())
		}
		aims, err := targetOf(x, d.sizes.Classes, tensor.Float32)
		if err != nil {
			t.Fatal(err)
		}
		o := d.objective(x, aims)
		if losses[k], _, err = o.Gradient(graph.Rows(0, x.Len())); err != nil {
			t.Fatal(err)
		}
		if err := o.Commit(x.Len()); err != nil {
			t.Fatal(err)
		}
		words[k] = d.weights.Tensor("codebook/codewords").Float32s()
	}
	if !scalar.EqualWithinAbs(losses[0], losses[1], 1e-5) { // of float32 probabilities
		t.Errorf("loss %v of weights and %v of copies", losses[0], losses[1])
	}
	for i, v := range words[0] {
		if !scalar.EqualWithinAbs(float64(v), float64(words[1][i]), 1e-4) { // of float32 sums of 180 rows, and ε
			t.Errorf("codeword entry %d is %v of weights and %v of copies", i, v, words[1][i])
		}
	}
}

// TestWeightsTimesANumber change no fit, in minibatches and with early stopping too.
func TestWeightsTimesANumber(t *testing.T) {
	a, _ := thrice(6)
	val, _ := thrice(7)
	less := func(x *data.Set) *data.Set {
		out := *x
		out.Weights = make([]float64, len(x.Weights))
		floats.ScaleTo(out.Weights, 0.5, x.Weights) // to the bit
		return &out
	}
	fitted := func(cal, val *data.Set) *mat.Dense {
		c := Train(&Divide{Slots: 2, Codebook: Codebook{Codewords: 4}, Optim: optim.Settings{Epochs: 3}}, Bilinear{}, optim.Settings{Epochs: 3})
		if err := c.Fit(t.Context(), cal, val, newRand(1)); err != nil {
			t.Fatal(err)
		}
		p, err := c.Predict(val)
		if err != nil {
			t.Fatal(err)
		}
		return p.LogProbs
	}
	want := fitted(a, val)
	if got := fitted(less(a), less(val)); !mat.EqualApprox(want, got, 1e-6) {
		t.Error("half of all weights is another fit")
	}
	plain := *a
	plain.Weights = nil
	if got := fitted(&plain, val); mat.EqualApprox(want, got, 1e-6) {
		t.Error("weights change nothing")
	}
}
