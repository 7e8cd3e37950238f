package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// lone is the identity, whose Run takes its input for one type and its output for one, whichever
// they are.
type lone struct {
	Dims    int
	In, Out string
}

func (k lone) Signature() []op.Kind { return []op.Kind{{Dims: k.Dims}, {Dims: k.Dims}} }

func (lone) Shape(in []tensor.Shape) (tensor.Shape, error) { return op.SameShape(in) }

func (lone) WRT() []bool { return []bool{true} }

func (lone) Grad(_ gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	return gorgonia.Nodes{g}, nil
}

func (k lone) Run(out gorgonia.Value, in []gorgonia.Value) {
	switch k.In {
	case "float32":
		put(k.Out, out, op.Values[float32](in[0]))
	case "float64":
		put(k.Out, out, op.Values[float64](in[0]))
	default:
		put(k.Out, out, op.Values[int32](in[0]))
	}
}

func put[F op.Float | int32](to string, out gorgonia.Value, from []F) {
	switch to {
	case "float32":
		convert(op.Values[float32](out), from)
	case "float64":
		convert(op.Values[float64](out), from)
	default:
		convert(op.Values[int32](out), from)
	}
}

func convert[T, F op.Float | int32](to []T, from []F) {
	for i, v := range from {
		to[i] = T(v)
	}
}

// doors are the ways by which a kernel's Run is called on n values of a type.
var doors = []struct {
	name string
	call func(k lone, dt tensor.Dtype, n int) error
}{
	{"Do", func(k lone, dt tensor.Dtype, n int) error {
		in, kept := guarded(dt, k.Dims, n)
		_, err := op.New(k).Do(in)
		return kept(err)
	}},
	{"UsePreallocDo", func(k lone, dt tensor.Dtype, n int) error {
		in, kept := guarded(dt, k.Dims, n)
		out, around := guarded(dt, k.Dims, n)
		_, err := op.New(k).UsePreallocDo(out, in)
		return around(kept(err))
	}},
	{"Program", func(k lone, dt tensor.Dtype, n int) error {
		b := graph.NewBuilder(ones(k, dt, n), 1)
		p, err := b.Compile(b.Apply(op.New(k), b.Weight("x")))
		if err != nil {
			return fmt.Errorf("not compiled: %v", err)
		}
		return p.Run()
	}},
	{"Objective", func(k lone, dt tensor.Dtype, n int) error {
		loss := func(b *graph.Builder) *gorgonia.Node {
			return b.Apply(op.Sum(k.Dims), b.Apply(op.New(k), b.Weight("x")))
		}
		_, _, err := graph.NewObjective(ones(k, dt, n), loss).Gradient([]int32{0})
		return err
	}},
	{"graphtest.Op", func(k lone, dt tensor.Dtype, n int) error {
		return graphtest.Op(op.New(k), ones(k, dt, n).Tensor("x"))
	}},
}

// ones are weights x for k.
func ones(k lone, dt tensor.Dtype, n int) *graph.Weights {
	w, values := graph.NewWeights(dt), make([]float64, n)
	for i := range values {
		values[i] = 1
	}
	w.Add("x", values, shape(k.Dims, n)...)
	return w
}

func shape(dims, n int) []int { return append([]int{n}, []int{1, 1, 1}[:dims-1]...) }

// guard is how many numbers on each side of a value belong to somebody else.
const guard = 64

// guarded are n ones in the midst of numbers that are not the value's. The function gives its
// argument back, or what became of those numbers.
func guarded(dt tensor.Dtype, dims, n int) (gorgonia.Value, func(error) error) {
	if dt == tensor.Float32 {
		return within[float32](dims, n)
	}
	return within[float64](dims, n)
}

func within[F op.Float](dims, n int) (gorgonia.Value, func(error) error) {
	memory := make([]F, guard+n+guard)
	for i := range memory {
		memory[i] = math.Pi
		if i >= guard && i < guard+n {
			memory[i] = 1
		}
	}
	v := tensor.New(tensor.WithShape(shape(dims, n)...), tensor.WithBacking(memory[guard:guard+n:guard+n]))
	return v, func(err error) error {
		for i, m := range memory {
			if inside := i >= guard && i < guard+n; inside && m != 1 || !inside && m != math.Pi {
				return corrupt{fmt.Sprintf("number %d of %d has become %v", i-guard, n, m)}
			}
		}
		return err
	}
}

// corrupt is the error of memory that an op wrote to and had not to.
type corrupt struct{ what string }

func (c corrupt) Error() string { return c.what }

// ops is the part in which ops that handle one type are called by every door on another. All of
// them must stop with an error that names the op, before they read or write anything.
func ops(c *campaign, n *count, rng *rand.Rand) {
	var attacks []func()
	types := []string{"float32", "float64", "int32"}
	for _, door := range doors {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			for i := range types {
				for j := range types {
					if types[i] == dt.String() && types[j] == dt.String() && door.name != "graphtest.Op" { // this one tries both types
						continue
					}
					for dims := 1; dims <= 4; dims++ {
						k, size := lone{dims, types[i], types[j]}, 1+rng.IntN(1<<(1+rng.IntN(10)))
						attacks = append(attacks, func() {
							stops(n, fmt.Sprintf("%s of %d %v values by %v", door.name, size, dt, op.New(k)), op.New(k).String(), func() error { return door.call(k, dt, size) })
						})
					}
				}
			}
		}
	}
	each(c, n, attacks, func(_ int, attack func()) { attack() })
	n.note = fmt.Sprintf("%d doors × types × dimensions", len(doors))
}

// stops counts a call that does not end in an error with the op's name.
func stops(n *count, what, name string, call func() error) {
	defer func() {
		if p := recover(); p != nil {
			n.failed("traces", "%s: %v", what, p)
		}
	}()
	err := call()
	if c, wrote := err.(corrupt); wrote {
		n.failed("destroyed inputs", "%s: %v", what, c)
	} else if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "both float types") {
		n.failed("wrong exits", "%s: %v", what, err)
	}
}
