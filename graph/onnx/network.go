package onnx

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

// domain is that of the functions which a file brings along.
const domain = "calibra"

// Value is a value of a network, known by its name.
type Value = string

// Network is a graph in the making. Its methods add operators, and give their values.
type Network struct {
	nodes     []message
	constants []message
	known     map[[sha256.Size]byte]string // constants by their content
	inputs    []message
	outputs   []message
	functions map[string]message
	values    int
	version   int64             // of ONNX's operators
	taken     map[string]Value  // inputs in float64, as far as they were asked for
	bound     map[string]string // inputs that a backbone computes, by the names of its outputs
}

// Version is that of ONNX's own operators which a network asks for by itself. It uses none that
// changed between LeastVersion and that.
const (
	Version      = 17
	LeastVersion = 13
)

// New is an empty network in a version of ONNX's operators. Bound are the inputs, features or
// logits, that are values of another network, which it is to stand behind.
func New(version int64, bound map[string]Value) *Network {
	return &Network{known: map[[sha256.Size]byte]string{}, taken: map[string]Value{}, functions: map[string]message{}, version: version, bound: bound}
}

// Calibrator is a fitted calibrator that says itself in ONNX.
type Calibrator interface {
	// ONNX adds what it says of all rows to g.
	ONNX(g *Network) (Outputs, error)
}

// Outputs are what a network says of each row.
type Outputs struct {
	// LogProbs (N×C, float64) are log-probabilities up to a constant of each row, and
	// Probabilities are normalized; one of the two is given.
	LogProbs, Probabilities Value
	Codes                   Value // N×Width, whole numbers; "" where the rows have none
	Width                   int
	Classes                 int // C
}

// Features and Logits are the inputs of those names (N×columns) in float64.
func (g *Network) Features(columns int) Value { return g.Input("features", columns) }

// Logits are those of each row (N×C).
func (g *Network) Logits(classes int) Value { return g.Input("logits", classes) }

// Lacks tells whether the network has inputs of its own, which no other network gives.
func (g *Network) Lacks() bool { return len(g.inputs) > 0 }

// Say declares the network's outputs.
func (g *Network) Say(o Outputs) {
	if o.LogProbs != "" {
		o.Probabilities = g.Exp(g.LogSoftmax(o.LogProbs))
	}
	g.Output("probabilities", g.Cast(o.Probabilities, Single), Single, o.Classes)
	if o.Codes != "" {
		g.Output("codes", o.Codes, Whole, o.Width)
	}
}

// File is the network as a file, which names the method, unless "".
func (g *Network) File(method string) []byte {
	m := message{}.number(1, 8).text(2, domain).bytes(7, g.graph()) // ir_version, producer_name, graph
	return g.Finish(m.bytes(8, opset("", g.version)), method)
}

// Behind is the head of a file of version ir whose graph, its outputs left out, is followed by
// this one.
func (g *Network) Behind(graph []byte, ir int64) []byte {
	whole := message(graph)
	for _, n := range g.nodes {
		whole = whole.bytes(1, n)
	}
	for _, t := range g.constants {
		whole = whole.bytes(5, t)
	}
	for _, o := range g.outputs {
		whole = whole.bytes(12, o)
	}
	return message{}.number(1, ir).text(2, domain).bytes(7, whole)
}

// Finish adds to a file, unless "" the method's name and what it needs besides its graph and ONNX's operators.
func (g *Network) Finish(file []byte, method string) []byte {
	m := message(file)
	if len(g.functions) > 0 {
		m = m.bytes(8, opset(domain, 1))
	}
	if method != "" {
		m = m.bytes(14, message{}.text(1, "method").text(2, method)) // metadata_props
	}
	for _, name := range slices.Sorted(maps.Keys(g.functions)) {
		m = m.bytes(25, g.functions[name])
	}
	return m
}

// name is a new name. All start with the domain, and those behind another network with more, so
// that they meet none of that network's.
func (g *Network) name(of string) string {
	g.values++
	if g.bound != nil {
		of = "behind/" + of
	}
	return fmt.Sprintf("%s/%s_%d", domain, of, g.values)
}

// Node adds an operator of one output.
func (g *Network) Node(op string, inputs []string, attributes ...Attribute) string {
	out := g.name(op)
	g.nodes = append(g.nodes, nodeOf("", op, inputs, []string{out}, attributes))
	return out
}

// call adds a call of one of the file's functions.
func (g *Network) call(function string, body message, inputs ...string) string {
	g.functions[function] = body
	out := g.name(function)
	g.nodes = append(g.nodes, nodeOf(domain, function, inputs, []string{out}, nil))
	return out
}

// Table adds a constant, or finds it where it is there already.
func Table[T float32 | float64 | int64](g *Network, values []T, axes ...int) string {
	sum := sha256.Sum256(tensorOf("", values, axes...))
	if name, ok := g.known[sum]; ok {
		return name
	}
	name := g.name("constant")
	g.known[sum] = name
	g.constants = append(g.constants, tensorOf(name, values, axes...))
	return name
}

// Scalar is a constant number in float64.
func (g *Network) Scalar(v float64) string { return Table(g, []float64{v}) }

// Indices is a constant vector of whole numbers: axes, or a shape.
func (g *Network) Indices(v ...int64) string { return Table(g, v, len(v)) }

// Concat joins values along an axis.
func (g *Network) Concat(axis int, values ...Value) Value {
	if len(values) == 1 {
		return values[0]
	}
	return g.Node("Concat", values, Int("axis", axis))
}

// Where is x where the condition holds, else y.
func (g *Network) Where(condition, x, y Value) Value {
	return g.Node("Where", []Value{condition, x, y})
}

// Arithmetic, element by element with broadcasting, but for MatMul.

func (g *Network) Add(x, y string) string    { return g.Node("Add", []string{x, y}) }
func (g *Network) Sub(x, y string) string    { return g.Node("Sub", []string{x, y}) }
func (g *Network) Mul(x, y string) string    { return g.Node("Mul", []string{x, y}) }
func (g *Network) Div(x, y string) string    { return g.Node("Div", []string{x, y}) }
func (g *Network) MatMul(x, y string) string { return g.Node("MatMul", []string{x, y}) }
func (g *Network) Exp(x string) string       { return g.Node("Exp", []string{x}) }
func (g *Network) Log(x string) string       { return g.Node("Log", []string{x}) }
func (g *Network) Neg(x string) string       { return g.Node("Neg", []string{x}) }

// Max and Min are the elementwise maximum and minimum.
func (g *Network) Max(x, y string) string { return g.Node("Max", []string{x, y}) }
func (g *Network) Min(x, y string) string { return g.Node("Min", []string{x, y}) }

// Sum adds up along an axis, which stays with length 1 if keep is 1.
func (g *Network) Sum(x string, axis int64, keep int) string {
	return g.Node("ReduceSum", []string{x, g.Indices(axis)}, Int("keepdims", keep))
}

// Reshape gives x another shape: 0 keeps an axis, −1 takes what is left.
func (g *Network) Reshape(x string, shape ...int64) string {
	return g.Node("Reshape", []string{x, g.Indices(shape...)})
}

// Cast converts the elements of x.
func (g *Network) Cast(x string, to Element) string {
	return g.Node("Cast", []string{x}, Int("to", int(to)))
}

// Gather takes the rows of x that index names.
func (g *Network) Gather(x, index string) string {
	return g.Node("Gather", []string{x, index}, Int("axis", 0))
}

// LogSoftmax normalizes each row.
func (g *Network) LogSoftmax(x string) string {
	return g.Node("LogSoftmax", []string{x}, Int("axis", -1))
}

// Softplus is max(x, 0) + log(1 + exp(−|x|)): the operator Softplus is not everywhere
// one of float64.
func (g *Network) Softplus(x string) string {
	tail := g.Log(g.Add(g.Scalar(1), g.Exp(g.Neg(g.Node("Abs", []string{x})))))
	return g.Add(g.Max(x, g.Scalar(0)), tail)
}

// Input is an input of rows (N×columns) in float64, which is declared once. One that another network
// computes is none; like every input it has the precision of float32.
func (g *Network) Input(name string, columns int) Value {
	if value, ok := g.taken[name]; ok {
		return value
	}
	value, ok := g.bound[name]
	if ok {
		value = g.Cast(value, Single)
	} else {
		g.inputs = append(g.inputs, valueInfo(name, Single, columns))
		value = name
	}
	g.taken[name] = g.Cast(value, Double)
	return g.taken[name]
}

// Output declares value to be the output of that name.
func (g *Network) Output(name, value string, kind Element, columns int) {
	g.nodes = append(g.nodes, nodeOf("", "Identity", []string{value}, []string{name}, nil))
	g.outputs = append(g.outputs, valueInfo(name, kind, columns))
}

// graph is the GraphProto.
func (g *Network) graph() message {
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
