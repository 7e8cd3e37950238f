package optim

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// pairs is the history of L-BFGS: steps s, changes of the gradient y, 1/(s·y), and
// the scale s·y/y·y of the last.
type pairs struct {
	most    int     // pairs kept
	least   float64 // s·y of a pair that is kept is larger
	s, y    [][]float64
	inverse []float64
	scale   float64
	spare   [2][]float64 // memory of a pair that is not kept any more
}

// memory is for the next pair, which has n numbers each.
func (h *pairs) memory(n int) (s, y []float64) {
	s, y = h.spare[0], h.spare[1]
	h.spare = [2][]float64{}
	if s == nil {
		s, y = make([]float64, n), make([]float64, n)
	}
	return s, y
}

// add keeps a pair, in its memory, and forgets the oldest where there are too many.
func (h *pairs) add(s, y []float64) {
	product := floats.Dot(s, y)
	if product <= h.least {
		h.spare = [2][]float64{s, y}
		return
	}
	if len(h.s) == h.most {
		h.spare = [2][]float64{h.s[0], h.y[0]}
		h.s, h.y, h.inverse = slices.Delete(h.s, 0, 1), slices.Delete(h.y, 0, 1), slices.Delete(h.inverse, 0, 1)
	}
	h.s, h.y, h.inverse = append(h.s, s), append(h.y, y), append(h.inverse, 1/product)
	h.scale = product / floats.Dot(y, y)
}

// direction is −H·grad by the two-loop recursion (Nocedal and Wright 2006,
// algorithm 7.4).
func (h *pairs) direction(d, grad []float64) {
	floats.ScaleTo(d, -1, grad)
	if len(h.s) == 0 {
		return
	}
	a := make([]float64, len(h.s))
	for i := len(h.s) - 1; i >= 0; i-- {
		a[i] = h.inverse[i] * floats.Dot(h.s[i], d)
		floats.AddScaled(d, -a[i], h.y[i])
	}
	floats.Scale(h.scale, d)
	for i := range h.s {
		floats.AddScaled(d, a[i]-h.inverse[i]*floats.Dot(h.y[i], d), h.s[i])
	}
}

// limitedMemory is the method of gonum's LBFGS, to the bit, in gonum's frame for line searches. Gonum's own
// goes through as many pairs as it may ever keep, from the first iteration on: of fits that start near
// their minimum that is half of its time.
type limitedMemory struct {
	history pairs
	search  optimize.Linesearcher
	x, grad []float64 // where the last search began
	err     error
}

var (
	_ optimize.Method          = (*limitedMemory)(nil)
	_ optimize.Statuser        = (*limitedMemory)(nil)
	_ optimize.NextDirectioner = (*limitedMemory)(nil)
)

// InitDirection is that of the steepest descent.
func (m *limitedMemory) InitDirection(at *optimize.Location, d []float64) (step float64) {
	m.x, m.grad = slices.Clone(at.X), slices.Clone(at.Gradient)
	floats.ScaleTo(d, -1, at.Gradient)
	return 1 / floats.Norm(d, 2)
}

// NextDirection is −H·grad.
func (m *limitedMemory) NextDirection(at *optimize.Location, d []float64) (step float64) {
	s, y := m.history.memory(len(d))
	floats.SubTo(s, at.X, m.x)
	floats.SubTo(y, at.Gradient, m.grad)
	m.history.add(s, y)
	copy(m.x, at.X)
	copy(m.grad, at.Gradient)
	m.history.direction(d, at.Gradient)
	return 1
}

// Init takes one task.
func (*limitedMemory) Init(_, _ int) int { return 1 }

// Uses the gradient, which every loss has.
func (*limitedMemory) Uses(optimize.Available) (optimize.Available, error) {
	return optimize.Available{Grad: true}, nil
}

// Run searches line after line until gonum or a search ends it.
func (m *limitedMemory) Run(operation chan<- optimize.Task, result <-chan optimize.Task, tasks []optimize.Task) {
	defer close(operation)
	task := tasks[0]
	ask := func(op optimize.Operation) (goOn bool) {
		task.Op = op
		operation <- task
		task = <-result
		return task.Op != optimize.PostIteration
	}
	lines := &optimize.LinesearchMethod{NextDirectioner: m, Linesearcher: m.search}
	goOn := ask(optimize.FuncEvaluation|optimize.GradEvaluation) && ask(optimize.MajorIteration)
	for next := lines.Init; goOn; next = lines.Iterate {
		var op optimize.Operation
		if op, m.err = next(task.Location); m.err != nil {
			op = optimize.MethodDone
		}
		goOn = ask(op)
	}
	for range result { // nothing follows, and gonum closes it
	}
}

// Status is why a search ended the run.
func (m *limitedMemory) Status() (optimize.Status, error) { return optimize.Failure, m.err }
