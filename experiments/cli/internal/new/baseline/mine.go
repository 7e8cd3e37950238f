package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Bias adds a number to each class's logit, so that the mean probability of a class is its share
// of the calibration rows: b ← b + log share − log mean p, Steps times.
type Bias struct {
	Steps int

	sizes layers.Sizes
	bias  []float64 // C, nil before Fit
}

var (
	_ layers.Stateful = (*Bias)(nil)
	_ onnx.Calibrator = (*Bias)(nil)
)

var mine = method.Method{
	Name: "mine", Title: "Bias", Line: "a number for each class, until mean probabilities are the classes' shares",
	Needs: []string{"logits"}, Cost: method.Moment,
	New: func(o *method.Options) layers.Stateful {
		return &Bias{Steps: o.Int("bias.steps", 20, 1, "", "steps of the iteration")}
	},
}

// Fit iterates; there is nothing to stop early.
func (m *Bias) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	if cal.Logits == nil || cal.Labels == nil {
		return errors.New("the calibration rows have no logits or no labels")
	}
	n, c := cal.Logits.Dims()
	counts := make([]float64, c)
	for i, y := range cal.Labels {
		counts[y] += cal.Weight(i)
	}
	b := make([]float64, c)
	for range m.Steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		logProbs := shifted(cal.Logits, b)
		for k := range b {
			sum := 0.
			for i := range n {
				sum += cal.Weight(i) * math.Exp(logProbs.At(i, k))
			}
			if counts[k] > 0 {
				b[k] += math.Log(counts[k]) - math.Log(sum)
			}
		}
	}
	m.sizes, m.bias = layers.Sizes{Classes: c, Counts: counts}, b
	return nil
}

// shifted are the log-probabilities of logits (N×C) plus b.
func shifted(logits *mat.Dense, b []float64) *mat.Dense {
	out := mat.DenseCopyOf(logits)
	out.Apply(func(_, k int, v float64) float64 { return v + b[k] }, out)
	return layers.LogSoftmax(out)
}

func (m *Bias) Predict(x *data.Set) (*data.Predictions, error) {
	switch {
	case m.bias == nil:
		return nil, layers.ErrUnfitted
	case x.Classes() != len(m.bias):
		return nil, fmt.Errorf("the rows have %d classes, the model was fitted on %d", x.Classes(), len(m.bias))
	}
	return data.NewPredictions(shifted(x.Logits, m.bias), x)
}

func (m *Bias) State() (layers.State, error) {
	if m.bias == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	w := graph.NewWeights(tensor.Float64)
	w.AddState("bias", m.bias, len(m.bias))
	config, err := json.Marshal(m.sizes)
	return layers.State{Config: config, Weights: w}, err
}

func (m *Bias) Restore(s layers.State) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	if err := s.Weights.Require(map[string]tensor.Shape{"bias": {sizes.Classes}}); err != nil {
		return err
	}
	m.sizes, m.bias = sizes, s.Weights.Float64s("bias")
	return nil
}

func (m *Bias) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.bias == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	c := len(m.bias)
	return onnx.Outputs{LogProbs: g.Add(g.Logits(c), onnx.Table(g, m.bias, c)), Classes: c}, nil
}
