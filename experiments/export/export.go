package export

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/layers/baselines"

	"gorgonia.org/tensor"
)

// Write writes a fitted calibrator as a network in ONNX. method is the name it goes by in
// error messages and in the file. One that cannot be written is a *data.InputError.
func Write(out io.Writer, method string, c layers.Stateful) error {
	g := newNetwork(operators)
	if err := g.calibrate(method, c); err != nil {
		return err
	}
	m := message{}.number(1, 8).text(2, domain).bytes(7, g.graph()) // ir_version, producer_name, graph
	_, err := out.Write(g.finish(m.bytes(8, opset("", operators)), method))
	return err
}

// finish adds to a ModelProto what it needs besides its graph and ONNX's operators.
func (g *network) finish(m message, method string) message {
	if len(g.functions) > 0 {
		m = m.bytes(8, opset(domain, 1))
	}
	m = m.bytes(14, message{}.text(1, "method").text(2, method)) // metadata_props
	for _, name := range sorted(g.functions) {
		m = m.bytes(25, g.functions[name])
	}
	return m
}

func sorted(functions map[string]message) []string {
	var names []string
	for name := range functions {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// calibrate adds a fitted calibrator with its outputs.
func (g *network) calibrate(method string, c layers.Stateful) error {
	state, err := c.State()
	if err != nil {
		return err
	}
	w := state.Weights.As(tensor.Float64)
	var s layers.Sizes
	if err := json.Unmarshal(state.Config, &s); err != nil {
		return fmt.Errorf("export: %w", err)
	}
	if tuned, ok := c.(*layers.Tuned); ok {
		c = tuned.Trained
	}
	var logs, probabilities, codes string
	switch m := c.(type) {
	case *layers.Trained:
		logs, codes, err = g.trained(m.Base, m.Map, w)
	case *anchored.Auto:
		i := slices.IndexFunc(m.Candidates, func(c anchored.Candidate) bool { return c.Name == m.Choice() })
		logs, codes, err = g.trained(m.Base, m.Candidates[i].Map, w)
	case *anchored.Stack:
		logs, codes, err = g.stack(m, w)
	case *layers.Temperature:
		logs = g.tempered(s, math.Exp(w.Float64s("temperature/log")[0]))
	case *baselines.PublishedTemperature:
		logs = g.tempered(s, w.Float64s("temperature")[0])
	case *baselines.Vector:
		logs = g.vectorScaling(w, s)
	case *baselines.Dirichlet, *baselines.DirichletODIR, *baselines.PublishedDirichlet:
		logs = g.dirichletMap(w, s)
	case *baselines.Structured:
		logs = g.structured(w, s)
	case *baselines.Platt:
		logs = g.platt(w, s)
	case *baselines.Beta:
		logs = g.beta(w, s)
	case *baselines.LocalTemperature:
		logs = g.localTemperature(w, s)
	case *baselines.LastLayer:
		logs = g.lastLayer(w, s)
	case *baselines.EnsembleTemperature:
		logs = g.ensemble(w, s)
	case *baselines.LocalNets:
		logs = g.localNets(w, s)
	case *baselines.Isotonic:
		probabilities = g.classwise(w, s, "isotonic", g.line)
	case *baselines.Spline:
		probabilities = g.classwise(w, s, "spline", g.line)
	case *baselines.Histogram:
		probabilities = g.classwise(w, s, "histogram", g.bin)
	case *baselines.VennAbers:
		probabilities = g.vennAbers(w, s)
	case *baselines.TopLabel:
		probabilities = g.topLabel(w, s)
	default:
		return data.Inputf("", "%s cannot be written as ONNX: it predicts a row with the help of other rows, or the exporter does not know it; use calibra apply, or fit another method", method)
	}
	if err != nil {
		return fmt.Errorf("export %s: %w", method, err)
	}
	if logs != "" {
		probabilities = g.exp(g.logSoftmax(logs))
	}
	g.output("probabilities", g.cast(probabilities, single), single, s.Classes)
	if codes != "" {
		g.output("codes", codes, whole, s.Slots)
	}
	return nil
}

// trained is a map on its base.
func (g *network) trained(base layers.Base, m layers.Map, w *graph.Weights) (logs, codes string, err error) {
	v, err := g.view(base, w)
	if err != nil {
		return "", "", err
	}
	logs, err = g.posterior(m, w, v)
	return logs, v.codes, err
}

// stack is the logarithm of (N q + 1/C)/(N + 1) ,  q ∝ (Σ_m w_m p_m)^(1/T).
func (g *network) stack(m *anchored.Stack, w *graph.Weights) (logs, codes string, err error) {
	v, err := g.view(m.Base, w)
	if err != nil {
		return "", "", err
	}
	mixed := ""
	for i, share := range m.Shares() {
		if share == 0 {
			continue
		}
		candidate := m.Candidates[i]
		prefix := "parts/" + candidate.Name + "/"
		own, _ := w.Split(func(name string) bool { return strings.HasPrefix(name, prefix) })
		said, err := g.posterior(candidate.Map, unprefixed(own, prefix), v)
		if err != nil {
			return "", "", fmt.Errorf("%s: %w", candidate.Name, err)
		}
		term := g.times(g.exp(said), g.scalar(share))
		if mixed == "" {
			mixed = term
		} else {
			mixed = g.add(mixed, term)
		}
	}
	n := v.sizes.Rows()
	q := g.exp(g.logSoftmax(g.over(g.log(mixed), g.scalar(m.T()))))
	keep, floor := float64(n)/float64(n+1), 1/float64((n+1)*v.sizes.Classes)
	return g.log(g.add(g.times(q, g.scalar(keep)), g.scalar(floor))), v.codes, nil
}

// unprefixed is w with the prefix taken off each name.
func unprefixed(w *graph.Weights, prefix string) *graph.Weights {
	out := graph.NewWeights(tensor.Float64)
	for _, name := range w.Names() {
		out.Add(strings.TrimPrefix(name, prefix), w.Float64s(name), w.Tensor(name).Shape()...)
	}
	return out
}
