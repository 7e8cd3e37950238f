package baselines

import (
	"fmt"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// toEmbed needs features that have an embedding.
func toEmbed(cal *data.Set, _ layers.Sizes) error {
	if cal.Features == nil {
		return fmt.Errorf("the calibration rows have no features; bring them, or choose a method of the logits alone")
	}
	return nil
}

// components is how many dimensions an embedding has: 50, or as many as there are.
func components(s layers.Sizes) int { return min(50, s.Features, s.Rows()) }

// addEmbedding adds an embedding of no rows as state.
func addEmbedding(w *graph.Weights, s layers.Sizes) {
	m, p := s.Features, components(s)
	w.AddState("embedding/mean", make([]float64, m), m)
	w.AddState("embedding/sd", make([]float64, m), m)
	w.AddState("embedding/axes", make([]float64, m*p), m, p)
	w.AddState("embedding/variances", make([]float64, p), p)
}

// fitEmbedding makes it that of cal's features: the principal components of the standardized features.
func fitEmbedding(w *graph.Weights, cal *data.Set) error {
	e, err := data.FitWeightedEmbedding(cal.Features, cal.Weights, 0)
	if err == nil {
		setEmbedding(w, e)
	}
	return err
}

func setEmbedding(w *graph.Weights, e *data.Embedding) {
	w.SetValues("embedding/mean", e.Scale.Mean)
	w.SetValues("embedding/sd", e.Scale.SD)
	w.SetValues("embedding/axes", mat.DenseCopyOf(e.Axes).RawMatrix().Data)
	w.SetValues("embedding/variances", e.Variances)
}

// embed is the embedding, kept in w, of x's features (N×P).
func embed(w *graph.Weights, x *data.Set) (*mat.Dense, error) {
	mean := w.Float64s("embedding/mean")
	if err := requireFeatures(x, len(mean)); err != nil {
		return nil, err
	}
	e := data.Embedding{
		Scale: &data.Standardizer{Mean: mean, SD: w.Float64s("embedding/sd")},
		Axes:  mat.NewDense(len(mean), w.Tensor("embedding/variances").DataSize(), w.Float64s("embedding/axes")),
	}
	return e.Apply(x.Features), nil
}

// embedONNX is the principal components of the standardized features (N×P). A feature that did
// not vary is 0.
func embedONNX(g *onnx.Network, s layers.Sizes, w *graph.Weights) onnx.Value {
	axes, mean := w.Tensor("embedding/axes").Shape(), w.Float64s("embedding/mean")
	scaled := mat.NewDense(axes[0], axes[1], slices.Clone(w.Float64s("embedding/axes")))
	for j, sd := range w.Float64s("embedding/sd") {
		for k := range axes[1] {
			if sd > 0 {
				scaled.Set(j, k, scaled.At(j, k)/sd)
			} else {
				scaled.Set(j, k, 0)
			}
		}
	}
	centred := g.Sub(g.Features(s.Features), onnx.Table(g, mean, len(mean)))
	return g.MatMul(centred, onnx.Table(g, scaled.RawMatrix().Data, axes...))
}

// requireFeatures refuses rows without the m features a model was fitted on.
func requireFeatures(x *data.Set, m int) error {
	if x.Features == nil {
		return fmt.Errorf("baselines: the rows have no features, which this method needs")
	}
	if _, cols := x.Features.Dims(); cols != m {
		return fmt.Errorf("baselines: the rows have %d features, the model was fitted on %d", cols, m)
	}
	return nil
}
