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
	m.parts = m.all
	var begins []int
	for k, p := range m.parts {
		if _, probes := p.(Prober); probes {
			m.probers = append(m.probers, k)
		}
		begins = append(begins, len(m.states))
		m.states = append(m.states, p.State()...)
	}
	begins = append(begins, len(m.states))
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
	if m.fused = fuse(m.parts); m.fused != nil {
		m.parts = m.parts[:m.fused.from]
		begins = append(begins[:m.fused.from+1], len(m.states))
	}
	for k, begin := range begins[:len(begins)-1] {
		var own []Weight
		for _, w := range m.weights {
			w.State = w.State[begin:begins[k+1]]
			own = append(own, w)
		}
		m.of = append(m.of, own)
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
		both(m.start[i], w.Value, replace[float32], replace[float64])
	}
	m.updated(grads)
	for _, k := range m.probers {
		m.parts[k].(Prober).Probe(m.time, m.of[k])
	}
	for i, w := range m.weights {
		both(w.Value, grads[i], add[float32], add[float64])
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
		both(m.weights[i].Value, from, replace[float32], replace[float64])
	}
	m.updated(grads)
	for k, p := range m.parts {
		p.Apply(m.time, m.of[k])
	}
	for i, w := range m.weights {
		if m.fused != nil {
			m.fused.step(m.time, m.of[len(m.parts)][i])
		} else {
			both(w.Value, grads[i], subtract[float32], subtract[float64])
		}
		if m.average != nil {
			share := m.average.Share(m.time)
			both(m.mean[i], w.Value, blend[float32](share), blend[float64](share))
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
		both(w.Value, m.mean[i], exchange[float32], exchange[float64])
	}
}

// both calls, for the numbers of two tensors, the function of their type.
func both(x, y *tensor.Dense, single func(x, y []float32), double func(x, y []float64)) {
	if x.Dtype() == tensor.Float32 {
		single(x.Float32s(), y.Float32s())
	} else {
		double(x.Float64s(), y.Float64s())
	}
}

func exchange[F float32 | float64](x, y []F) {
	for i := range x {
		x[i], y[i] = y[i], x[i]
	}
}

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
	m.named(func(name string, t *tensor.Dense) { set(t, from.Float64s(name)) })
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

// set writes x to t.
func set(t *tensor.Dense, x []float64) {
	if t.Dtype() == tensor.Float64 {
		copy(t.Float64s(), x)
		return
	}
	single := t.Float32s()
	for i, v := range x {
		single[i] = float32(v)
	}
}

func replace[F float32 | float64](to, from []F) { copy(to, from) }

// add is θ ← θ + e.
func add[F float32 | float64](theta, e []F) {
	for i, x := range e {
		theta[i] += x
	}
}

// subtract is θ ← θ − u.
func subtract[F float32 | float64](theta, u []F) {
	for i, x := range u {
		theta[i] -= x
	}
}

// blend is ā ← ā + s(θ − ā).
func blend[F float32 | float64](share float64) func(mean, theta []F) {
	return func(mean, theta []F) {
		for i, x := range theta {
			mean[i] = F(float64(mean[i]) + share*(float64(x)-float64(mean[i])))
		}
	}
}
