package baselines

import (
	"context"
	"fmt"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// classwise is a function of p̂_k for each class, whose values are divided by their sum:
// what Isotonic and Histogram learn.
type classwise struct {
	kept
	classes []steps // C
}

// learned are the functions of all classes, kept by a name.
func learned(s layers.Sizes, name string, classes []steps) classwise {
	w := graph.NewWeights(tensor.Float64)
	addSteps(w, name, classes)
	return classwise{kept{s, w}, classes}
}

// fit finds the function of each class from the classes' probabilities (N×C) and labels, and keeps them
// by name. Interrupted it keeps nothing.
func (m *classwise) fit(ctx context.Context, cal *data.Set, name string, class func(k int, p, hit []float64) (steps, error)) error {
	sizes, l, err := logProbsToFit(cal)
	if err != nil {
		return err
	}
	p, classes := exponentials(l), make([]steps, sizes.Classes)
	err = eachClass(ctx, sizes, func(k int) (err error) {
		classes[k], err = class(k, mat.Col(nil, k, p), indicator(cal, k))
		return err
	})
	if err == nil {
		*m = learned(sizes, name, classes)
	}
	return err
}

// eachClass calls do for each class in turn, until it fails or is interrupted.
func eachClass(ctx context.Context, s layers.Sizes, do func(k int) error) error {
	for k := range s.Classes {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("interrupted before class %d: %w", k, err)
		}
		if err := do(k); err != nil {
			return err
		}
	}
	return nil
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

func (m *classwise) restore(s layers.State, name string) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	classes, err := readSteps(s.Weights, name, sizes.Classes)
	if err != nil {
		return err
	}
	*m = classwise{kept{sizes, s.Weights}, classes}
	return nil
}
