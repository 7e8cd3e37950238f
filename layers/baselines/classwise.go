package baselines

import (
	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gorgonia.org/tensor"
)

// classwise is a function of p̂_k for each class, whose values are divided by their sum:
// what Isotonic and Histogram learn.
type classwise struct {
	sizes   layers.Sizes
	classes []steps // C
}

// predict gives the normalized values, each as of reads it from the class's steps.
func (m *classwise) predict(x *data.Set, of func(s steps, p float64) float64) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		for k, v := range row {
			row[k] = of(m.classes[k], v)
		}
	}
	return predictions(p, x.Labels)
}

// onnx is predict in a network.
func (m *classwise) onnx(g *onnx.Network, of func(stepsONNX, onnx.Value) onnx.Value) (onnx.Outputs, error) {
	if m.classes == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	p := of(newStepsONNX(g, m.classes, 1), g.Exp(logProbsONNX(g, m.sizes)))
	return onnx.Outputs{Probabilities: sharesONNX(g, p, m.sizes.Classes), Classes: m.sizes.Classes}, nil
}

func (m *classwise) state(name string) (layers.State, error) {
	if m.classes == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	w := graph.NewWeights(tensor.Float64)
	addSteps(w, name, m.classes)
	return stateOf(m.sizes, w)
}

func (m *classwise) restore(s layers.State, name string) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	classes, err := readSteps(s.Weights, name, sizes.Classes)
	if err != nil {
		return err
	}
	m.sizes, m.classes = sizes, classes
	return nil
}
