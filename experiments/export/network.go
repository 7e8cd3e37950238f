package export

import (
	"crypto/sha256"
	"fmt"
)

// operators is the version of ONNX's own operators that a network asks for by itself. It
// uses none that changed between leastOperators and that.
const (
	operators      = 17
	leastOperators = 13
)

// domain is that of the functions which a file brings along.
const domain = "calibra"

// network is a graph in the making. A value is known by its name.
type network struct {
	nodes     []message
	constants []message
	known     map[[sha256.Size]byte]string // constants by their content
	inputs    []message
	outputs   []message
	functions map[string]message
	values    int
	version   int64             // of ONNX's operators
	bound     map[string]string // inputs that a backbone computes, by the names of its outputs
}

func newNetwork(version int64) *network {
	return &network{known: map[[sha256.Size]byte]string{}, functions: map[string]message{}, version: version}
}

// name is a new name. All start with the domain, so that they meet none of a backbone's.
func (g *network) name(of string) string {
	g.values++
	return fmt.Sprintf("%s/%s_%d", domain, of, g.values)
}

// node adds an operator of one output.
func (g *network) node(op string, inputs []string, attributes ...attribute) string {
	out := g.name(op)
	g.nodes = append(g.nodes, nodeOf("", op, inputs, []string{out}, attributes))
	return out
}

// call adds a call of one of the file's functions.
func (g *network) call(function string, body message, inputs ...string) string {
	g.functions[function] = body
	out := g.name(function)
	g.nodes = append(g.nodes, nodeOf(domain, function, inputs, []string{out}, nil))
	return out
}

// table adds a constant, or finds it where it is there already.
func table[T float32 | float64 | int64](g *network, values []T, axes ...int) string {
	sum := sha256.Sum256(tensorOf("", values, axes...))
	if name, ok := g.known[sum]; ok {
		return name
	}
	name := g.name("constant")
	g.known[sum] = name
	g.constants = append(g.constants, tensorOf(name, values, axes...))
	return name
}

// scalar is a constant number in float64.
func (g *network) scalar(v float64) string { return table(g, []float64{v}) }

// indices is a constant vector of whole numbers: axes, or a shape.
func (g *network) indices(v ...int64) string { return table(g, v, len(v)) }

func (g *network) add(x, y string) string      { return g.node("Add", []string{x, y}) }
func (g *network) subtract(x, y string) string { return g.node("Sub", []string{x, y}) }
func (g *network) times(x, y string) string    { return g.node("Mul", []string{x, y}) }
func (g *network) over(x, y string) string     { return g.node("Div", []string{x, y}) }
func (g *network) matMul(x, y string) string   { return g.node("MatMul", []string{x, y}) }
func (g *network) exp(x string) string         { return g.node("Exp", []string{x}) }
func (g *network) log(x string) string         { return g.node("Log", []string{x}) }
func (g *network) negative(x string) string    { return g.node("Neg", []string{x}) }

// larger and smaller are the elementwise maximum and minimum.
func (g *network) larger(x, y string) string  { return g.node("Max", []string{x, y}) }
func (g *network) smaller(x, y string) string { return g.node("Min", []string{x, y}) }

// sum adds up along an axis, which stays with length 1 if keep is 1.
func (g *network) sum(x string, axis int64, keep int) string {
	return g.node("ReduceSum", []string{x, g.indices(axis)}, integer("keepdims", keep))
}

// reshape gives x another shape: 0 keeps an axis, −1 takes what is left.
func (g *network) reshape(x string, shape ...int64) string {
	return g.node("Reshape", []string{x, g.indices(shape...)})
}

// cast converts the elements of x.
func (g *network) cast(x string, to element) string {
	return g.node("Cast", []string{x}, integer("to", int(to)))
}

// gather takes the rows of x that index names.
func (g *network) gather(x, index string) string {
	return g.node("Gather", []string{x, index}, integer("axis", 0))
}

// logSoftmax normalizes each row.
func (g *network) logSoftmax(x string) string {
	return g.node("LogSoftmax", []string{x}, integer("axis", -1))
}

// softplus is max(x, 0) + log(1 + exp(−|x|)): the operator Softplus is not everywhere
// one of float64.
func (g *network) softplus(x string) string {
	tail := g.log(g.add(g.scalar(1), g.exp(g.negative(g.node("Abs", []string{x})))))
	return g.add(g.larger(x, g.scalar(0)), tail)
}

// input declares an input of rows, and gives it in float32. One that a backbone computes
// is none.
func (g *network) input(name string, columns int) string {
	if value, ok := g.bound[name]; ok {
		return g.cast(value, single)
	}
	g.inputs = append(g.inputs, valueInfo(name, single, columns))
	return name
}

// output declares value to be the output of that name.
func (g *network) output(name, value string, kind element, columns int) {
	g.nodes = append(g.nodes, nodeOf("", "Identity", []string{value}, []string{name}, nil))
	g.outputs = append(g.outputs, valueInfo(name, kind, columns))
}

// graph is the GraphProto.
func (g *network) graph() message {
	var m message
	for _, n := range g.nodes {
		m = m.bytes(1, n)
	}
	m = m.text(2, domain)
	for _, c := range g.constants {
		m = m.bytes(5, c)
	}
	for _, in := range g.inputs {
		m = m.bytes(11, in)
	}
	for _, out := range g.outputs {
		m = m.bytes(12, out)
	}
	return m
}
