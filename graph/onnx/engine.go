package onnx

import (
	"fmt"
	"slices"
	"sync"
)

// Engine runs a network in this process, without a graph: for serving. It may be used by many goroutines at once, and
// allocates next to nothing once it has run for as many rows.
type Engine struct {
	steps  []operator
	places map[Value]int // of each value among those of a run
	known  []*array      // constants by place, nil of other values
	inputs []table
	memory sync.Pool // of *running
}

// operator is a node with its attributes by name.
type operator struct {
	node
	settings attributes
}

// Engine runs the network as it is now, which [Serve] has begun. An operator or a constant of another network is an
// error.
func (g *Network) Engine() (*Engine, error) {
	nodes, constants := g.needed()
	e := &Engine{places: map[Value]int{}, inputs: g.inputs}
	for _, in := range e.inputs {
		e.place(in.name)
	}
	for _, n := range nodes {
		if kernels[n.op] == nil {
			return nil, fmt.Errorf("onnx: there is no code for the operator %s in graph/onnx/kernels.go", n.op)
		}
		o := operator{n, attributes{}}
		for _, a := range n.attributes {
			o.settings[a.name] = a.value
		}
		e.steps = append(e.steps, o)
		for _, name := range slices.Concat(n.inputs, n.outputs) {
			e.place(name)
		}
	}
	e.known = make([]*array, len(e.places))
	for _, c := range constants {
		if c.kind == Single {
			return nil, fmt.Errorf("onnx: the constant %q is of float32, and an Engine computes in float64", c.name)
		}
		e.known[e.places[c.name]] = c.array
	}
	e.memory.New = func() any { return e.start() }
	return e, nil
}

func (e *Engine) place(name Value) {
	if _, there := e.places[name]; !there {
		e.places[name] = len(e.places)
	}
}

// running is the memory of a run.
type running struct {
	values []*array
	in     [][]*array // of each step
	out    [][]*array
}

func (e *Engine) start() *running {
	r := &running{values: make([]*array, len(e.known))}
	for at, known := range e.known {
		if r.values[at] = known; known == nil {
			r.values[at] = &array{}
		}
	}
	of := func(names []string) (all []*array) {
		for _, name := range names {
			all = append(all, r.values[e.places[name]])
		}
		return all
	}
	for _, s := range e.steps {
		r.in, r.out = append(r.in, of(s.inputs)), append(r.out, of(s.outputs))
	}
	return r
}

// Reads reports whether the network has the input of that name.
func (e *Engine) Reads(input string) bool {
	return slices.ContainsFunc(e.inputs, func(in table) bool { return in.name == input })
}

// Run computes the output of that name of n rows (N×C, row by row) into dst. features and logits hold the rows, row by
// row, of an input that the network reads.
func (e *Engine) Run(dst []float64, output string, n int, features, logits []float64) error {
	at, there := e.places[output]
	if !there {
		return fmt.Errorf("onnx: the network has no output %s", output)
	}
	r := e.memory.Get().(*running)
	defer e.memory.Put(r)
	for _, in := range e.inputs {
		rows, columns := features, in.shape[1]
		if in.name == "logits" {
			rows = logits
		}
		if n <= 0 || len(rows) != n*columns {
			return fmt.Errorf("onnx: the network reads %d %s of each row, and %d numbers are no %d rows", columns, in.name, len(rows), n)
		}
		x := r.values[e.places[in.name]]
		x.kind, x.shape, x.doubles = Double, append(x.shape[:0], n, columns), rows
	}
	for k := range e.steps {
		kernels[e.steps[k].op](r.in[k], r.out[k], e.steps[k].settings)
	}
	if got := r.values[at].doubles; len(got) != len(dst) {
		return fmt.Errorf("onnx: the output %s has %d numbers, and there is room for %d", output, len(got), len(dst))
	}
	copy(dst, r.values[at].doubles)
	return nil
}
