package baselines

import (
	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// kept is what a method that is no Map learned: the sizes of its rows, and what it found in them.
type kept struct {
	sizes layers.Sizes
	w     *graph.Weights // nil before Fit
}

func (m *kept) State() (layers.State, error) { return layers.StateOf(m.sizes, m.w) }

// readKept reads what State wrote, whose weights must have these shapes.
func readKept(s layers.State, shapes func(layers.Sizes) map[string]tensor.Shape) (kept, error) {
	sizes, err := layers.ReadSizes(s.Config)
	if err == nil {
		err = s.Weights.Require(shapes(sizes))
	}
	return kept{sizes, s.Weights}, err
}

// number is a weight of one number.
func (m *kept) number(name string) float64 { return m.w.Float64s(name)[0] }

// matrix is a weight of two axes.
func (m *kept) matrix(name string) *mat.Dense {
	shape := m.w.Tensor(name).Shape()
	return mat.NewDense(shape[0], shape[1], m.w.Float64s(name))
}

// rows is ℓ of each row of x (N×C), which must have the features of the fit too.
func (m *kept) rows(x *data.Set) (*mat.Dense, error) {
	l, err := logProbsOf(x, m.sizes)
	if err == nil {
		err = requireFeatures(x, m.sizes.Features)
	}
	return l, err
}
