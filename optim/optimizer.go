package optim

import (
	"fmt"
	"slices"
	"strings"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// optimizer is a rule at work on the weights of a fit, with its state.
type optimizer struct {
	all     []Part
	parts   []Part          // those before fused
	fused   *fused          // the last parts, taken in one pass, or nil
	states  []string        // the names of what all parts remember
	average Average         // may be nil
	weights []Weight        // with the state of all parts
	of      [][]Weight      // the same with that of each part, and lastly of fused
	mean    []*tensor.Dense // their average
	time    Time
	norms   *norms // nil: not measured

	probers []int           // which of the parts have the gradient taken elsewhere
	start   []*tensor.Dense // θ of a step whose gradient is
}

var (
	_ graph.Planned = (*optimizer)(nil)
	_ graph.Probing = (*optimizer)(nil)
)

// newOptimizer begins, all remembered being zero, a fit of so many steps.
func newOptimizer(r Rule, average Average, w *graph.Weights, steps int) *optimizer {
	m := &optimizer{all: r.Parts(), average: average, time: Time{Steps: steps}}
	sees := func(p Part) bool { _, whole := p.(outermost); return whole }
	after := slices.DeleteFunc(slices.Clone(m.all), func(p Part) bool { return !sees(p) })
	m.all = append(slices.DeleteFunc(slices.Clone(m.all), sees), after...)
	for k, p := range m.all {
		if _, probes := p.(Prober); probes {
			m.probers = append(m.probers, k)
		}
		m.states = append(m.states, p.State()...)
	}
	like := func(t *tensor.Dense) *tensor.Dense {
		return tensor.New(tensor.Of(t.Dtype()), tensor.WithShape(t.Shape()...))
	}
	for _, name := range w.Learned() {
		of := Weight{Name: name, Value: w.Tensor(name)}
		for range m.states {
			of.State = append(of.State, like(of.Value))
		}
		m.weights = append(m.weights, of)
		if average != nil {
			m.mean = append(m.mean, like(of.Value))
		}
		if m.probers != nil {
			m.start = append(m.start, like(of.Value))
		}
	}
	begin := 0
	remember := func(n int) { // the next part has the next n states
		own := slices.Clone(m.weights)
		for i := range own {
			own[i].State = own[i].State[begin:][:n]
		}
		m.of, begin = append(m.of, own), begin+n
	}
	if m.parts, m.fused = m.all, fuse(m.all); m.fused != nil {
		m.parts = m.all[:m.fused.from]
	}
	for _, p := range m.parts {
		remember(len(p.State()))
	}
	if m.fused != nil {
		remember(len(m.states) - begin)
	}
	return m
}

func (m *optimizer) String() string {
	var names []string
	for _, p := range m.all {
		names = append(names, fmt.Sprintf("%T", p))
	}
	return strings.Join(names, ", ")
}

// Probes reports whether a part of the rule does.
func (m *optimizer) Probes() bool { return m.probers != nil }

// Probe moves the weights to where the parts want the gradient.
func (m *optimizer) Probe(_, grads []*tensor.Dense) {
	for i, w := range m.weights {
		assign(m.start[i], w.Value, second)
	}
	m.updated(grads)
	for _, k := range m.probers {
		m.parts[k].(Prober).Probe(m.time, m.of[k])
	}
	for i, w := range m.weights {
		assign(w.Value, grads[i], func(theta, e float64) float64 { return theta + e })
	}
}

// updated makes the gradients the updates of all parts.
func (m *optimizer) updated(grads []*tensor.Dense) {
	for _, own := range m.of {
		for i := range own {
			own[i].Update = grads[i]
		}
	}
}

func (m *optimizer) Step(_, grads []*tensor.Dense) {
	m.time.Step++
	m.norms.add(grads)
	for i, from := range m.start {
		assign(m.weights[i].Value, from, second)
	}
	m.updated(grads)
	for k, p := range m.parts {
		p.Apply(m.time, m.of[k])
	}
	for i, w := range m.weights {
		if m.fused != nil {
			m.fused.step(m.time, m.of[len(m.parts)][i])
		} else {
			assign(w.Value, grads[i], func(theta, u float64) float64 { return theta - u })
		}
		if m.average != nil {
			share := m.average.Share(m.time)
			assign(m.mean[i], w.Value, func(mean, theta float64) float64 { return mean + share*(theta-mean) })
		}
	}
}

// Plan is the next n steps where a fused pass is all there is to them.
func (m *optimizer) Plan(n int) graph.Plan {
	if m.fused == nil || len(m.parts) > 0 || m.average != nil {
		return nil
	}
	state := func(k int) (of []*tensor.Dense) {
		for _, w := range m.weights {
			of = append(of, w.State[k])
		}
		return of
	}
	pass := m.fused.pass(m.time, n, state)
	if pass != nil {
		m.time.Step += n
	}
	return pass
}

// swap exchanges the weights and their average.
func (m *optimizer) swap() {
	for i, w := range m.weights {
		before := w.Value.Clone().(*tensor.Dense)
		assign(w.Value, m.mean[i], second)
		assign(m.mean[i], before, second)
	}
}

// assign is x ← f(x, y), number by number: computed in float64 and rounded once.
func assign(x, y *tensor.Dense, f func(x, y float64) float64) {
	if x.Dtype() == tensor.Float32 {
		assignAll(x.Float32s(), y.Float32s(), f)
	} else {
		assignAll(x.Float64s(), y.Float64s(), f)
	}
}

func assignAll[F float32 | float64](x, y []F, f func(x, y float64) float64) {
	for i := range x {
		x[i] = F(f(float64(x[i]), float64(y[i])))
	}
}

func second(_, y float64) float64 { return y }

// state is what the rule remembers after the steps taken: "steps", and for each weight, such
// as "head/weight", "mean/head/weight" and the like.
func (m *optimizer) state() *graph.Weights {
	dt := tensor.Float64
	if len(m.weights) > 0 {
		dt = m.weights[0].Value.Dtype()
	}
	s := graph.NewWeights(dt)
	s.AddState("steps", []float64{float64(m.time.Step)}, 1)
	m.named(func(name string, t *tensor.Dense) { s.AddState(name, graph.Float64s(t), t.Shape()...) })
	return s
}

// resume goes on from such a state, of a fit of these weights; nil is the beginning.
func (m *optimizer) resume(from *graph.Weights) error {
	if from == nil {
		return nil
	}
	if err := from.Require(m.state().Shapes()); err != nil {
		return fmt.Errorf("optim: this is not the state of the rule: %w", err)
	}
	m.time.Step = int(from.Float64s("steps")[0])
	m.time.Steps += m.time.Step
	m.named(func(name string, t *tensor.Dense) {
		assign(t, graph.Tensor(t.Dtype(), from.Float64s(name), t.Shape()...), second)
	})
	if m.average != nil {
		m.swap() // it was taken of a fit whose average was in place of the weights
	}
	return nil
}

// named lists all that is remembered; of two states of one name the second has a number.
func (m *optimizer) named(f func(name string, t *tensor.Dense)) {
	seen := map[string]int{}
	for k, state := range m.states {
		seen[state]++
		if n := seen[state]; n > 1 {
			state = fmt.Sprintf("%s-%d", state, n)
		}
		for _, w := range m.weights {
			f(state+"/"+w.Name, w.State[k])
		}
	}
	for i, t := range m.mean {
		f("average/"+m.weights[i].Name, t)
	}
}
