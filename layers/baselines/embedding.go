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

// fitEmbedding is the embedding of cal's features: 50 principal components of the
// standardized features, or as many as there are.
func fitEmbedding(cal *data.Set) (*data.Embedding, error) {
	if cal.Features == nil {
		return nil, fmt.Errorf("the calibration rows have no features; bring them, or choose a method of the logits alone")
	}
	return data.FitWeightedEmbedding(cal.Features, cal.Weights, 0)
}

// toEmbed are the sizes of calibration rows and the embedding of their features.
func toEmbed(cal *data.Set) (layers.Sizes, *data.Embedding, error) {
	sizes, err := sizesOf(cal)
	if err != nil {
		return sizes, nil, err
	}
	e, err := fitEmbedding(cal)
	return sizes, e, err
}

// components is how many dimensions fitEmbedding has.
func components(s layers.Sizes) int { return min(50, s.Features, s.Rows()) }

// blankEmbedding has the shapes of fitEmbedding.
func blankEmbedding(s layers.Sizes) *data.Embedding {
	e := &data.Embedding{
		Scale: &data.Standardizer{Mean: make([]float64, s.Features), SD: make([]float64, s.Features)},
		Axes:  &mat.Dense{}, Variances: make([]float64, components(s)),
	}
	if s.Features > 0 {
		e.Axes = mat.NewDense(s.Features, components(s), nil)
	}
	return e
}

// requireLength refuses weights unless the first axis of one of them has n entries. Restore
// checks before it makes anything as large as a file claims.
func requireLength(w *graph.Weights, name string, n int) error {
	if !w.Has(name) || w.Tensor(name).Shape()[0] != n {
		return fmt.Errorf("baselines: the model's %s does not have the length %d that its sizes call for", name, n)
	}
	return nil
}

// addEmbedding adds an embedding as state.
func addEmbedding(w *graph.Weights, e *data.Embedding) {
	m, p := len(e.Scale.Mean), len(e.Variances)
	w.AddState("embedding/mean", e.Scale.Mean, m)
	w.AddState("embedding/sd", e.Scale.SD, m)
	w.AddState("embedding/axes", append([]float64(nil), mat.DenseCopyOf(e.Axes).RawMatrix().Data...), m, p)
	w.AddState("embedding/variances", e.Variances, p)
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
