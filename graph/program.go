package graph

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Program executes the part of a graph that its outputs need, in memory that is
// allocated once. It is not safe for concurrent use. Its fields are for an [Executor] that
// runs it elsewhere, and must not be changed.
type Program struct {
	Steps   []Step           // in an order in which they can be taken
	Values  []gorgonia.Value // of leaves and steps
	Outputs []int            // places in Values
	Updates []Update
	Rows    *tensor.Dense // the row numbers of a run, a leaf

	nodes     []*gorgonia.Node         // what Values[i] is the value of
	updating  int                      // Steps from here on serve Updates alone,
	fork      int                      // and need none from here on but themselves
	apart     *abreast                 // those behind the fork: of the outputs, and of updates alone
	elsewhere func() (*Program, error) // nil: this one
}

// Step is an operation on values of a program.
type Step struct {
	Op     gorgonia.Op
	Inputs []int // places in Program.Values
	Output int

	args    []gorgonia.Value // scratch for the values of Inputs, or rows of them
	out     *op.Rows         // rows of Output; nil: all
	fixed   bool             // Output depends on tables and rows alone
	section *abreast         // that begins here, see join; nil: none
}

// Update: Program.Values[Source] replaces a weight when a run is committed.
type Update struct {
	Weight *tensor.Dense
	Source int
}

// Compile turns what b describes into a program for the given outputs and for
// b's updates.
func (b *Builder) Compile(outputs ...*gorgonia.Node) (*Program, error) {
	defer b.lock()() // fusing applies ops
	alone := false   // whether a step is one that only this process has code for
	p, err := b.compile(outputs, func(o gorgonia.Op, inputs []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node) {
		if o, inputs, ok := op.FuseHere(o, inputs); ok {
			alone = true
			return o, inputs
		}
		return op.Fuse(o, inputs)
	})
	if alone && err == nil {
		p.elsewhere = sync.OnceValues(func() (*Program, error) { return b.compile(outputs, op.Fuse) })
	}
	return p, err
}

// Elsewhere is the program for an [Executor] that is not this process: p itself, unless p has
// steps that only this process has code for. Its outputs and updates are p's, in p's order, and
// so is Rows.
func (p *Program) Elsewhere() (*Program, error) {
	if p.elsewhere == nil {
		return p, nil
	}
	return p.elsewhere()
}

func (b *Builder) compile(outputs []*gorgonia.Node, fuse func(gorgonia.Op, []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node)) (*Program, error) {
	if b.err != nil {
		return nil, b.err
	}
	if i := slices.Index(outputs, nil); i >= 0 {
		return nil, fmt.Errorf("graph: output %d of the graph is no node", i)
	}
	p := &Program{Rows: b.batch}
	c := &compiler{Builder: b, Program: p, fuse: fuse, place: map[int64]int{}}
	for _, n := range outputs {
		i, err := c.visit(n)
		if err != nil {
			return nil, err
		}
		p.Outputs = append(p.Outputs, i)
	}
	p.updating = len(p.Steps)
	for _, u := range b.updates {
		i, err := c.visit(u.node)
		if err != nil {
			return nil, err
		}
		p.Updates = append(p.Updates, Update{u.weight, i})
	}
	p.pair(p.Steps[:p.updating])
	p.findFork()
	p.join(p.Steps[:p.fork])
	p.join(p.Steps[p.fork:p.updating])
	p.join(p.Steps[p.updating:])
	p.apart = p.abreast(p.Steps[p.fork:p.updating], p.Steps[p.updating:])
	return p, nil
}

// compiler is a program in the making.
type compiler struct {
	*Builder
	*Program
	fuse  func(gorgonia.Op, []*gorgonia.Node) (gorgonia.Op, []*gorgonia.Node)
	place map[int64]int // of nodes, in Values
	fixed []bool        // of Values
}

// visit adds a node after those that it depends on, once, and returns its place in Values.
func (c *compiler) visit(n *gorgonia.Node) (int, error) {
	if i, done := c.place[n.ID()]; done {
		return i, nil
	}
	o, children := c.fuse(n.Op(), op.InputsOf(n))
	var inputs []int
	same := !c.weights.owns(n.Value())
	for _, child := range children {
		i, err := c.visit(child)
		if err != nil {
			return 0, err
		}
		inputs, same = append(inputs, i), same && c.fixed[i]
	}
	v, err := initial(n, len(inputs))
	if err != nil {
		return 0, err
	}
	i := len(c.Values)
	c.place[n.ID()] = i
	c.Values, c.nodes, c.fixed = append(c.Values, v), append(c.nodes, n), append(c.fixed, same)
	if len(inputs) > 0 {
		_, ours := o.(op.Op) // Gorgonia's own make memory of their own
		c.Steps = append(c.Steps, Step{Op: o, Inputs: inputs, Output: i, args: make([]gorgonia.Value, len(inputs)), fixed: same && ours})
	}
	return i, nil
}

// pair lets steps that start from the same inputs share what they compute.
func (p *Program) pair(steps []Step) {
	for i := range steps {
		first := &steps[i]
		for j := range steps[i+1:] {
			later := &steps[i+1+j]
			if n := len(first.Inputs); n > len(later.Inputs) || !slices.Equal(first.Inputs, later.Inputs[:n]) {
				continue
			}
			if a, b, ok := op.Pair(first.Op, later.Op, p.Values[later.Output]); ok {
				first.Op, later.Op = a, b
				first.fixed, later.fixed = false, false // they share memory
			}
		}
	}
}

// findFork finds the last step whose result one of those that serve updates alone starts from.
func (p *Program) findFork() {
	for _, s := range p.Steps[p.updating:] {
		for i, earlier := range p.Steps[:p.updating] {
			if slices.Contains(s.Inputs, earlier.Output) {
				p.fork = max(p.fork, i+1)
			}
		}
	}
}

// Reads reports whether n is computed from input, or is input itself.
func (b *Builder) Reads(n, input *gorgonia.Node) bool {
	seen := map[*gorgonia.Node]bool{}
	var reads func(n *gorgonia.Node) bool
	reads = func(n *gorgonia.Node) bool {
		if n == input || seen[n] {
			return n == input
		}
		seen[n] = true
		return slices.ContainsFunc(op.InputsOf(n), reads)
	}
	return reads(n)
}

// initial is the value of a leaf, or the memory for the result of an operation.
func initial(n *gorgonia.Node, inputs int) (gorgonia.Value, error) {
	switch o := n.Op(); {
	case o == nil && n.Value() == nil:
		return nil, fmt.Errorf("graph: input %q has no value", n.Name())
	case o == nil:
		return n.Value(), nil
	case keepsState(o):
		return nil, fmt.Errorf("graph: %v draws from the clock or keeps state: pass masks and statistics as inputs", o)
	case inputs > 0:
		return op.Zero(n.Dtype(), n.Shape()), nil
	case strings.HasPrefix(o.String(), "const"):
		return o.Do()
	default:
		return nil, fmt.Errorf("graph: %v draws from the clock: pass the random values as an input", o)
	}
}

// keepsState reports whether an op is one of Gorgonia's (Dropout, BatchNorm) whose result depends
// on more than their inputs.
func keepsState(o gorgonia.Op) bool {
	_, moded := o.(gorgonia.TrainModeOp)
	return moded
}

// Run computes all outputs and updates; the updates wait for Commit.
func (p *Program) Run() error { return p.run(false) }

// run is Run, without the steps that depend on tables and rows alone if again is true, that is, neither
// has changed since the last run.
func (p *Program) run(again bool) error {
	if p.updating == len(p.Steps) {
		return p.take(p.Steps, again)
	}
	if err := p.take(p.Steps[:p.fork], again); err != nil {
		return err
	}
	return p.apart.take(again)
}

// take takes some of the steps.
func (p *Program) take(steps []Step, again bool) error {
	for i := 0; i < len(steps); i++ {
		s := &steps[i]
		if s.section != nil {
			if err := s.section.take(again); err != nil {
				return err
			}
			i += len(s.section.lists[0]) - 1
			continue
		}
		if again && s.fixed {
			continue
		}
		for j, k := range s.Inputs {
			if r, rows := s.args[j].(*op.Rows); rows {
				r.Value = p.Values[k]
			} else {
				s.args[j] = p.Values[k]
			}
		}
		if o, ours := s.Op.(op.Op); ours {
			out := p.Values[s.Output]
			if s.out != nil {
				s.out.Value, out = out, s.out
			}
			if _, err := o.UsePreallocDo(out, s.args...); err != nil {
				return err
			}
			continue
		}
		v, err := s.Op.Do(s.args...)
		if err != nil {
			return fmt.Errorf("graph: %v: %w", s.Op, err)
		}
		p.Values[s.Output] = v
	}
	return nil
}

// room is memory for the results of the fixed steps.
func (p *Program) room() (values []gorgonia.Value) {
	for _, s := range p.Steps {
		if n := p.nodes[s.Output]; s.fixed {
			values = append(values, op.Zero(n.Dtype(), n.Shape()))
		}
	}
	return values
}

// fix lets the fixed steps have their results there.
func (p *Program) fix(values []gorgonia.Value) {
	for _, s := range p.Steps {
		if s.fixed {
			p.Values[s.Output], values = values[0], values[1:]
		}
	}
}

// Output is the value of the i-th output after Run. The next Run overwrites it.
func (p *Program) Output(i int) gorgonia.Value { return p.Values[p.Outputs[i]] }

// Commit writes the updates of the last Run into their weights.
func (p *Program) Commit() error {
	for _, u := range p.Updates {
		if err := tensor.Copy(u.Weight, p.Values[u.Source].(*tensor.Dense)); err != nil {
			return fmt.Errorf("graph: commit: %w", err)
		}
	}
	return nil
}

// NonFinite names the first value of the last Run that holds a NaN or an
// infinity, or is empty.
func (p *Program) NonFinite() string {
	for i, v := range p.Values {
		if v.Dtype() == tensor.Int32 || allFinite(Float64s(v)) {
			continue
		}
		if n := p.nodes[i]; n.Op() != nil {
			return n.Op().String()
		}
		return p.nodes[i].Name()
	}
	return ""
}
