package anchored

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// perSlot are codes of 4 slots with 2, 5, 3 and 4 codewords of their own.
type perSlot struct{ layers.Fixed }

func (c perSlot) Over(cal *data.Set, _ int) (layers.Sizes, error) {
	s, err := c.Fixed.Over(cal, 4)
	s.Tables = []int{2, 5, 3, 4}
	return s, err
}

func (perSlot) Assign(b *graph.Builder, z *gorgonia.Node, s layers.Sizes) layers.Assignment {
	var codes gorgonia.Nodes
	d, lo := s.Features/s.Slots, 0
	for i, k := range s.Tables {
		slot := b.Apply(op.Columns(data.UpTo((i + 1) * d)[i*d:]...), z)
		codes = append(codes, b.Apply(op.NearestIn(lo, lo+k), slot, b.Weight("codebook/codewords")))
		lo += k
	}
	return layers.Assignment{Codes: b.Apply(op.Interleave(len(codes)), codes...)}
}

// fading are codes with the share exp(−‖z⁽ⁱ⁾ − c‖²) of each slot's codeword.
type fading struct{ layers.Fixed }

func (c fading) Over(cal *data.Set, slots int) (layers.Sizes, error) {
	s, err := c.Fixed.Over(cal, slots)
	s.Share = .5
	return s, err
}

func (c fading) Assign(b *graph.Builder, z *gorgonia.Node, s layers.Sizes) layers.Assignment {
	a := c.Fixed.Assign(b, z, s)
	left := b.Plus(z, b.Apply(op.Scale(2, -1), a.Quantized(b, s)))
	far := b.Apply(op.SumBlocks(s.Slots, s.Features/s.Slots), b.Times(left, left))
	a.Shares = b.Apply(op.Exp(2), b.Apply(op.Scale(2, -1), far))
	return a
}

// regional is one code of the whole row: the pair of the codes of its halves, of 3 codewords each.
type regional struct{ layers.Fixed }

func (c regional) Over(cal *data.Set, _ int) (layers.Sizes, error) {
	s, err := c.Fixed.Over(cal, 1)
	s.Codewords = 9
	return s, err
}

func (c regional) Init(w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) error {
	s.Slots, s.Codewords = 2, 3
	halves := graph.NewWeights(tensor.Float64)
	if err := c.Fixed.Init(halves, cal, s, rng); err != nil {
		return err
	}
	words, d := halves.Float64s("codebook/codewords"), s.Features/2
	var pairs []float64
	for k := range 9 {
		pairs = append(pairs, slices.Concat(words[k%3*d:][:d], words[k/3*d:][:d])...)
	}
	w.AddState("codebook/codewords", pairs, 9, 2*d)
	w.AddState("codebook/halves", words, 3, d)
	return nil
}

func (c regional) State(s layers.Sizes) map[string]tensor.Shape {
	shapes := c.Fixed.State(s)
	shapes["codebook/halves"] = tensor.Shape{3, s.Features / 2}
	return shapes
}

func (regional) Assign(b *graph.Builder, z *gorgonia.Node, s layers.Sizes) layers.Assignment {
	half := func(lo int) *gorgonia.Node {
		columns := data.UpTo(lo + s.Features/2)[lo:]
		return b.Apply(op.Nearest(), b.Apply(op.Columns(columns...), z), b.Weight("codebook/halves"))
	}
	return layers.Assignment{Codes: b.Apply(op.CodeSum(3), half(0), half(s.Features/2))}
}

// TestCodesOfEveryShape: a product of different K, shares that add up to no fixed number, one code of a row, and
// residual levels keep the laws of all calibrators on both bases, and compile to what Predict says.
func TestCodesOfEveryShape(t *testing.T) {
	short := optim.Settings{Epochs: 3}
	for name, codes := range map[string]layers.Codes{
		"per slot": perSlot{layers.Fixed{Codewords: 14}}, "fading": fading{layers.Fixed{Codewords: 5}},
		"regional": regional{layers.Fixed{Codewords: 3}}, "residual": layers.Residual{Of: layers.KMeans{Codewords: 4}},
	} {
		for on, build := range map[string]func() layers.Stateful{
			"divide": func() layers.Stateful {
				m := layers.Bilinear{Scale: layers.LearnedScale{}}
				return layers.Train(&layers.Divide{Slots: 4, Codebook: codes, Optim: short}, m, short)
			},
			"anchor": func() layers.Stateful {
				return layers.Train(&Anchor{Slots: 4, Codebook: codes}, Tables{On: Tempered{}}, optim.Settings{})
			},
		} {
			t.Run(name+" "+on, func(t *testing.T) {
				if err := layers.CheckCalibrator(build, newRand(1)); err != nil {
					t.Error(err)
				}
				compiles(t, build())
			})
		}
	}
}

// compiles fits c and compares its network with it.
func compiles(t *testing.T, c layers.Stateful) {
	cal, test := blobs(200, 1), blobs(50, 2)
	if err := c.Fit(t.Context(), cal, nil, newRand(3)); err != nil {
		t.Fatal(err)
	}
	p, err := c.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	compiled, err := layers.Compile(c)
	if err != nil {
		t.Fatal(err)
	}
	n, classes := p.LogProbs.Dims()
	got := mat.NewDense(n, classes, nil)
	features := data.Dense(test.Features).RawMatrix().Data
	if err := compiled.Predict(got.RawMatrix().Data, features, test.Logits.RawMatrix().Data); err != nil {
		t.Fatal(err)
	}
	var apart mat.Dense
	apart.Sub(got, p.LogProbs)
	if d := mat.Norm(&apart, 2); !(d <= 1e-4) { // the fit's float32, of log-probabilities as low as −10 in 50 rows
		t.Errorf("the network says something else, by %v", d)
	}
	bounded := c.(layers.Bounded)
	if err := bounded.Unbounded(); err != nil {
		t.Fatal(err)
	}
	lower, upper, err := bounded.Bounds(t.Context(), cal, test, .9)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range p.LogProbs.RawMatrix().Data {
		lo, hi, q := lower.RawMatrix().Data[i], upper.RawMatrix().Data[i], math.Exp(l)
		if !(lo <= q+1e-5 && q <= hi+1e-5) || !(lo < hi) { // predictions are of float32
			t.Fatalf("posterior %v lies in [%v, %v]", q, lo, hi)
		}
	}
}
