package baselines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// EnsembleTemperature is ensemble temperature scaling (Zhang, Kailkhura and Han 2020):
//
//	posterior = w₁ softmax(z/T) + w₂ softmax(z) + w₃/C ,  w ≥ 0 ,  Σ w = 1
//
// T is the temperature of temperature scaling; w then minimizes the mean NLL, which is convex in w.
type EnsembleTemperature struct{ kept } // ensemble/temperature (1), ensemble/weight (3)

var _ layers.Stateful = (*EnsembleTemperature)(nil)

// Fit finds T, then w; there is nothing to stop early.
func (m *EnsembleTemperature) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	sizes, l, err := logProbsToFit(cal)
	if err != nil {
		return err
	}
	var t layers.Temperature
	if err := t.Fit(ctx, &data.Set{Logits: l, Labels: cal.Labels, Weights: cal.Weights, Soft: cal.Soft}, nil, nil); err != nil {
		return wrap("ensemble temperature scaling", err)
	}
	parts, err := ensembleParts(l, t.T())
	if err != nil {
		return err
	}
	p, rows := make([]float64, 0, 3*cal.Len()), []float64(nil)
	for i := range cal.Labels {
		for k, share := range cal.Shares(i) { // the row once for each of its classes
			if !cal.Certain() {
				rows = append(rows, cal.Weight(i)*share)
			}
			for _, part := range parts {
				p = append(p, part.At(i, k))
			}
		}
	}
	weights := []float64{1. / 3, 1. / 3, 1. / 3}
	if err := (optim.Mixture{Densities: p, Counts: rows}).Minimize(ctx, weights); err != nil {
		return err
	}
	w := graph.NewWeights(tensor.Float64)
	w.AddState("ensemble/temperature", []float64{t.T()}, 1)
	w.AddState("ensemble/weight", weights, 3)
	m.kept = kept{sizes, w}
	return nil
}

// ensembleParts are softmax(ℓ/T), softmax(ℓ) and 1/C (N×C each) of ℓ = log p̂, which is z
// up to a number for each row.
func ensembleParts(l *mat.Dense, t float64) ([]*mat.Dense, error) {
	var scaled mat.Dense
	scaled.Scale(1/t, l)
	if err := normalize(&scaled); err != nil {
		return nil, err
	}
	n, c := l.Dims()
	uniform := mat.NewDense(n, c, nil)
	uniform.Apply(func(_, _ int, _ float64) float64 { return 1 / float64(c) }, uniform)
	return []*mat.Dense{exponentials(&scaled), exponentials(l), uniform}, nil
}

// Predict is the logarithm of the mixture.
func (m *EnsembleTemperature) Predict(x *data.Set) (*data.Predictions, error) {
	l, err := logProbsOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	parts, err := ensembleParts(l, m.number("ensemble/temperature"))
	if err != nil {
		return nil, err
	}
	p := mat.NewDense(x.Len(), m.sizes.Classes, nil)
	for i, w := range m.w.Float64s("ensemble/weight") {
		floats.AddScaled(p.RawMatrix().Data, w, parts[i].RawMatrix().Data)
	}
	return predictions(p, x)
}

// ONNX is the logarithm of the mixture.
func (m *EnsembleTemperature) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.w == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	l, share := g.Logits(m.sizes.Classes), m.w.Float64s("ensemble/weight")
	scaled := g.Softmax(g.Div(l, g.Scalar(m.number("ensemble/temperature"))))
	p := g.Add(g.Mul(scaled, g.Scalar(share[0])), g.Mul(g.Exp(l), g.Scalar(share[1])))
	return onnx.Outputs{LogProbs: g.Log(g.Add(p, g.Scalar(share[2]/float64(m.sizes.Classes)))), Classes: m.sizes.Classes}, nil
}

// Restore sets T and w.
func (m *EnsembleTemperature) Restore(s layers.State) error {
	of, err := readKept(s, func(layers.Sizes) map[string]tensor.Shape {
		return map[string]tensor.Shape{"ensemble/temperature": {1}, "ensemble/weight": {3}}
	})
	if err != nil {
		return err
	}
	w := s.Weights.Float64s("ensemble/weight")
	if t := of.number("ensemble/temperature"); !(t > 0) || floats.Min(w) < 0 || math.Abs(floats.Sum(w)-1) > 1e-6 {
		return fmt.Errorf("baselines: T = %v and weights of %v make no ensemble", t, w)
	}
	m.kept = of
	return nil
}
