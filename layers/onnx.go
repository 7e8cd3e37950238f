package layers

import (
	"errors"
	"fmt"
	"maps"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ONNXView is a [View] of all rows in a network, in float64.
type ONNXView struct {
	LogProbs      onnx.Value            // N×C
	Masks         onnx.Value            // N×C, whether a class cannot be; "" where all can
	Codes, Shares onnx.Value            // N×p, "" as in a View
	Inputs        map[string]onnx.Value // of N rows each
	Sizes         Sizes                 // of the base

	mass onnx.Value // N×K, "" before a map asked for it
}

// ONNX writes the map on its base.
func (t *Trained) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if t == nil || t.weights == nil {
		return onnx.Outputs{}, ErrUnfitted
	}
	v, err := BaseONNX(g, t.Base)
	if err != nil {
		return onnx.Outputs{}, err
	}
	logs, err := v.Posterior(g, t.Base, t.Map, t.weights)
	if err != nil {
		return onnx.Outputs{}, err
	}
	return v.Outputs(logs), nil
}

// BaseONNX holds the outputs of a fitted base for all rows.
func BaseONNX(g *onnx.Network, base Base) (*ONNXView, error) {
	says, ok := base.(ONNXBase)
	if !ok {
		return nil, fmt.Errorf("the base %s cannot be said in ONNX; give it a method ViewONNX(*onnx.Network) (*layers.ONNXView, error)", NameOf(base))
	}
	v, err := says.ViewONNX(g)
	if err != nil {
		return nil, err
	}
	v.Sizes = base.Sizes()
	return v, nil
}

// Outputs are log-probabilities with the codes of the view.
func (v *ONNXView) Outputs(logProbs onnx.Value) onnx.Outputs {
	return onnx.Outputs{LogProbs: logProbs, Codes: v.Codes, Width: v.Sizes.Slots * v.Sizes.CodesOf(), Classes: v.Sizes.Classes}
}

// Posterior adds the log-posterior (N×C) of a fitted map on the view of its base, from the graph
// that the map describes.
func (v *ONNXView) Posterior(g *onnx.Network, base Base, m Map, w *graph.Weights) (onnx.Value, error) {
	w = w.As(tensor.Float64)
	blank := &data.Set{Logits: mat.NewDense(onnx.Probe, v.Sizes.Classes, nil)}
	if v.Sizes.Features > 0 {
		blank.Features = mat.NewDense(onnx.Probe, v.Sizes.Features, nil)
	}
	probe, err := base.View(blank)
	if err != nil {
		return "", err
	}
	probe.Set = blank
	rows, err := probe.RowsFor(m, w, v.Sizes)
	if err != nil {
		return "", err
	}
	inputs, err := v.inputsOf(g, m, w)
	if err != nil {
		return "", err
	}
	given := map[*tensor.Dense]onnx.Value{rows.logProbs: v.unmasked(g, v.LogProbs)}
	if v.Codes != "" {
		v.giveCodes(g, rows, given)
	}
	unsaid := ""
	for name, x := range rows.inputs {
		if value, ok := inputs[name]; ok {
			if shape := x().Shape(); len(shape) == 2 && shape[1] == v.Sizes.Classes {
				value = v.unmasked(g, value)
			}
			given[x()] = value
		} else {
			rows.inputs[name] = func() *tensor.Dense { unsaid = name; return x() }
		}
	}
	out, err := g.Graph(w, given, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{LogProbsOf(m)(b, rows.Batch(b))}
	})
	switch {
	case unsaid != "":
		return "", fmt.Errorf("the input %q of the map %s cannot be said in ONNX; the ViewONNX of %s must give it", unsaid, NameOf(m), NameOf(base))
	case err != nil:
		return "", err
	}
	logs := out[0]
	if v.Masks != "" {
		logs = g.Unmasked(logs, math.Inf(-1))
	}
	return g.LogSoftmax(logs), nil // in float64, as calibra apply normalizes once more
}

// unmasked is x (N×C) with 0 of a class that cannot be.
func (v *ONNXView) unmasked(g *onnx.Network, x onnx.Value) onnx.Value {
	if v.Masks == "" {
		return x
	}
	return g.Unmasked(x, 0)
}

// inputsOf are those of the view and those of the map itself.
func (v *ONNXView) inputsOf(g *onnx.Network, m Map, w *graph.Weights) (map[string]onnx.Value, error) {
	inputs := map[string]onnx.Value{}
	maps.Copy(inputs, v.Inputs)
	if _, informed := m.(Informed); !informed {
		return inputs, nil
	}
	says, ok := m.(ONNXInformed)
	if !ok {
		return nil, fmt.Errorf("the inputs of the map %s cannot be said in ONNX; give it a method InputsONNX(*onnx.Network, *layers.ONNXView, *graph.Weights) (map[string]onnx.Value, error)", NameOf(m))
	}
	own, err := says.InputsONNX(g, v, w)
	maps.Copy(inputs, own)
	return inputs, err
}

// giveCodes gives the tables of rows that are made of codes.
func (v *ONNXView) giveCodes(g *onnx.Network, rows *Rows, given map[*tensor.Dense]onnx.Value) {
	s := v.Sizes
	p := s.Slots * s.CodesOf()
	if v.mass == "" {
		weight := v.Shares
		if weight == "" {
			weight = g.Scalar(1)
		}
		v.mass = g.Mass(v.Codes, weight, p, s.Codewords)
	}
	given[rows.codes], given[rows.mass] = v.Codes, v.mass
	if v.Shares != "" {
		given[rows.places], given[rows.shares] = v.Places(g, s), v.Shares
	}
}

// Places are the table rows (N×p) of the codes of a base of these sizes, as [Sizes.Place].
func (v *ONNXView) Places(g *onnx.Network, s Sizes) onnx.Value {
	first := make([]int64, s.Slots*s.CodesOf())
	for at := range first {
		first[at] = int64(s.Place(at, 0))
	}
	return g.Add(v.Codes, onnx.Table(g, first, 1, len(first)))
}

// CodesONNX is the codes of all rows, and what else is made of them.
func CodesONNX(g *onnx.Network, c Codes, w *graph.Weights, s Sizes, also ...func(*graph.Builder, Assignment) *gorgonia.Node) (*ONNXView, []onnx.Value, error) {
	if g == nil || c == nil || s.Features < 1 {
		return nil, nil, errors.New("layers: there are no codes, no network or no features to say in it")
	}
	features := graph.Matrix(tensor.Float64, mat.NewDense(onnx.Probe, s.Features, nil))
	out, err := g.Graph(w.As(tensor.Float64), map[*tensor.Dense]onnx.Value{features: lessCentreONNX(g, w, s.Features)}, func(b *graph.Builder) gorgonia.Nodes {
		return codesOf(b, c, b.Table("features", features), s, also...)
	})
	if err != nil {
		return nil, nil, err
	}
	v, made := &ONNXView{Codes: out[0]}, out[1:1+len(also)]
	if len(out) > 1+len(also) {
		v.Shares = out[1+len(also)]
	}
	return v, made, nil
}

// ViewONNX is the log-softmax of the logits.
func (o *Original) ViewONNX(g *onnx.Network) (*ONNXView, error) {
	return &ONNXView{LogProbs: g.Logits(o.sizes.Classes), Masks: g.Masks()}, nil
}

// ONNX is softmax(logits / T).
func (m *Temperature) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.weights == nil {
		return onnx.Outputs{}, ErrUnfitted
	}
	c := m.sizes.Classes
	return onnx.Outputs{Probabilities: g.Softmax(g.Div(g.Scores(c), g.Scalar(m.T()))), Classes: c}, nil
}

// ViewONNX is the codes and the head.
func (d *Divide) ViewONNX(g *onnx.Network) (*ONNXView, error) {
	v, head, err := CodesONNX(g, d.codes(), d.weights, d.sizes, d.head)
	if err != nil {
		return nil, err
	}
	v.LogProbs = g.Max(head[0], g.Scalar(d.floor()))
	return v, nil
}
