package onnx

import (
	"fmt"
	"sync"
)

// Engine runs a network in this process, without a graph: for serving. It may be used by many goroutines at once, and allocates
// next to nothing once it has run for as many rows.
type Engine struct {
	steps  []operator
	places map[string]int // of each value among those of a run
	known  []*array       // constants by place, nil of other values
	inputs map[string]int // columns of each
	memory sync.Pool      // of *running
}

// NewEngine reads a network that [Serve] began, as [Network.File] writes it. An operator or a constant of another network is an
// error.
func NewEngine(file []byte) (*Engine, error) {
	graph, err := graphOf(file)
	if err != nil {
		return nil, err
	}
	e := &Engine{places: map[string]int{}, inputs: map[string]int{}}
	constants := map[string]*array{}
	err = fields(graph, func(x field) error {
		switch x.at {
		case 1:
			o, err := operatorOf(x.bytes)
			if err == nil && kernels[o.name] == nil {
				err = fmt.Errorf("onnx: there is no code for the operator %s", o.name)
			}
			if err == nil && o.name == treesOp {
				o.trees = ensembleOf(&o.attributes)
			}
			e.steps = append(e.steps, o)
			return err
		case 5:
			a, name, err := arrayOf(x.bytes)
			constants[name] = a
			return err
		case 11:
			name, columns, err := inputOf(x.bytes)
			e.inputs[name] = columns
			return err
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for name := range e.inputs {
		e.place(name)
	}
	for _, s := range e.steps {
		for _, name := range append(s.inputs, s.outputs...) {
			e.place(name)
		}
	}
	e.known = make([]*array, len(e.places))
	for name, a := range constants {
		if at, used := e.places[name]; used {
			e.known[at] = a
		}
	}
	e.memory.New = func() any { return e.start() }
	return e, nil
}

func (e *Engine) place(name string) {
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
func (e *Engine) Reads(input string) bool { _, reads := e.inputs[input]; return reads }

// Run computes the output of that name of n rows (N×C, row by row) into dst. features and logits hold the rows, row by row, of an
// input that the network reads.
func (e *Engine) Run(dst []float64, output string, n int, features, logits []float64) error {
	at, there := e.places[output]
	if !there {
		return fmt.Errorf("onnx: the network has no output %s", output)
	}
	r := e.memory.Get().(*running)
	defer e.memory.Put(r)
	for name, columns := range e.inputs {
		rows := features
		if name == "logits" {
			rows = logits
		}
		if n <= 0 || len(rows) != n*columns {
			return fmt.Errorf("onnx: the network reads %d %s of each row, and %d numbers are no %d rows", columns, name, len(rows), n)
		}
		x := r.values[e.places[name]]
		x.kind, x.shape, x.doubles = Double, append(x.shape[:0], n, columns), rows
	}
	for k := range e.steps {
		kernels[e.steps[k].name](r.in[k], r.out[k], &e.steps[k].attributes)
	}
	if got := r.values[at].doubles; len(got) != len(dst) {
		return fmt.Errorf("onnx: the output %s has %d numbers, and there is room for %d", output, len(got), len(dst))
	}
	copy(dst, r.values[at].doubles)
	return nil
}
