package main

import (
	"math/rand/v2"
	"testing"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/layers/baselines"
	"calibra/layers/encoders"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// labelled are features and logits that agree with the labels.
func labelled(n, m, classes int) *data.Set {
	rng := rand.New(rand.NewPCG(uint64(n), 0))
	s := &data.Set{Features: mat.NewDense(n, m, nil), Logits: mat.NewDense(n, classes, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(classes)
		s.Labels[i] = y
		for j := range m {
			data.Dense(s.Features).Set(i, j, max(0, rng.NormFloat64()+float64((j+y)%classes)))
		}
		for j := range classes {
			s.Logits.Set(i, j, rng.NormFloat64())
		}
		s.Logits.Set(i, y, s.Logits.At(i, y)+1)
	}
	return s
}

// cardFits fit on 1,000 rows and predict 200 others.
var cardFits = map[string]func(t *testing.T, s optim.Settings) *mat.Dense{
	"bilinear": calibrated(func(s optim.Settings) layers.Calibrator {
		return layers.Train(&layers.Divide{Slots: 8, Codebook: layers.Codebook{Codewords: 16}, Optim: s}, layers.Bilinear{}, s)
	}),
	"soft codes": calibrated(func(s optim.Settings) layers.Calibrator {
		return layers.Train(&layers.Divide{Slots: 8, Codebook: layers.Soft{Of: layers.Codebook{Codewords: 16}}, Optim: s}, layers.Bilinear{Scale: layers.LearnedScale{}}, s)
	}),
	"Local Nets": calibrated(func(s optim.Settings) layers.Calibrator { return &baselines.LocalNets{Method: s} }),
	"KCal":       calibrated(func(s optim.Settings) layers.Calibrator { return &baselines.KCal{Method: s} }),
	"resmlp":     encoded(&encoders.ResMLP{HiddenDropout: 0.2}, 64),
	"ftt":        encoded(&encoders.FTTransformer{Token: 32}, 12),
	"resnet":     encoded(&encoders.ResNet{Widths: []int{8, 16}, Blocks: 1, Dropout: 0.1, Shift: 2}, 3, 8, 8),
}

func calibrated(method func(optim.Settings) layers.Calibrator) func(*testing.T, optim.Settings) *mat.Dense {
	return func(t *testing.T, s optim.Settings) *mat.Dense {
		c := method(s)
		if err := c.Fit(t.Context(), labelled(1000, 64, 4), nil, rand.New(rand.NewPCG(1, 2))); err != nil {
			t.Fatal(err)
		}
		p, err := c.Predict(labelled(200, 64, 4))
		if err != nil {
			t.Fatal(err)
		}
		return p.LogProbs
	}
}

func encoded(n encoders.Network, shape ...int) func(*testing.T, optim.Settings) *mat.Dense {
	width := 1
	for _, v := range shape {
		width *= v
	}
	inputs := func(n int) *data.Inputs {
		s := labelled(n, width, 4)
		in := (&data.Table{Features: data.Dense(s.Features), Labels: s.Labels}).Inputs()
		in.Shape = shape
		return in
	}
	return func(t *testing.T, s optim.Settings) *mat.Dense {
		m, _, err := encoders.Train(t.Context(), n, inputs(1000), nil, encoders.Settings{Optim: s}, rand.New(rand.NewPCG(1, 2)))
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 200*width)
		inputs(200).Read(x, 0, 200)
		_, logits, err := m.Encode(x)
		if err != nil {
			t.Fatal(err)
		}
		out := mat.NewDense(200, 4, nil)
		for i, v := range logits {
			out.RawMatrix().Data[i] = float64(v)
		}
		return out
	}
}

// TestCardFits: each kind of fit, of default sizes, predicts after two epochs on a card what
// it does on the CPU, within 1e-3 of the largest logit after 16 steps in float32.
func TestCardFits(t *testing.T) {
	card := OnCard(t)
	for name, fit := range cardFits {
		t.Run(name, func(t *testing.T) {
			on := func(x graph.Executor) *mat.Dense {
				start := time.Now()
				out := fit(t, optim.Settings{Epochs: 2, Batch: 128, Rule: optim.SGD{Rate: 0.01, Momentum: 0.9}, Executor: x})
				t.Logf("%v in all", time.Since(start))
				return out
			}
			want, got := on(nil), on(card)
			if !mat.Equal(got, on(card)) {
				t.Error("a second fit gives other bytes")
			}
			if !mat.EqualApprox(want, got, 1e-3*max(1, mat.Max(want), -mat.Min(want))) {
				t.Error("the predictions differ")
			}
		})
	}
}
