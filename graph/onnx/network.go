package onnx

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"math"
	"slices"
)

// domain is the name of the graph and of who produced it, and begins that of each value.
const domain = "calibra"

// Value is a value of a network, known by its name.
type Value = string

// Network is a graph in the making. Its methods add operators, and give their values.
type Network struct {
	nodes     []node
	constants []table
	known     map[[sha256.Size]byte]Value // constants by their content
	inputs    []table                     // without numbers, N×columns
	outputs   []table
	values    int
	numbers   Element          // of inputs and probabilities
	served    bool             // to an [Engine] alone
	taken     map[string]Value // inputs in float64, as far as they were asked for
	given     map[Value]Value  // and of those in float32
	below     Value            // the input logits less the largest of its row, "" where it is not read
	masks     Value            // N×C, whether a class cannot be
	scores    Value            // below, −∞ of such a class
	logits    Value            // log-softmax of scores
}

// version is that of ONNX's own operators which a network requires.
const version = 17

// New is an empty network whose inputs and probabilities are numbers of a type, Single or Double.
func New(numbers Element) *Network {
	return &Network{numbers: numbers, known: map[[sha256.Size]byte]Value{}, taken: map[string]Value{}, given: map[Value]Value{}}
}

// Serve is an empty network for an [Engine], of float64, with what no other engine has: log Γ, to the last digits.
func Serve() *Network {
	g := New(Double)
	g.served = true
	return g
}

// node is an operator, and what it reads and gives.
type node struct {
	op              string
	inputs, outputs []Value
	attributes      []Attribute
}

// table is a constant, or the type and shape of an input or an output.
type table struct {
	name Value
	*array
}

// Calibrator is a fitted calibrator that has a form in ONNX of its own.
type Calibrator interface {
	// ONNX adds what it computes of all rows to g.
	ONNX(g *Network) (Outputs, error)
}

// CalibratorOf is c, or an error where it has no form in ONNX.
func CalibratorOf(c any) (Calibrator, error) {
	says, ok := c.(Calibrator)
	if !ok {
		return nil, fmt.Errorf("%T has no method ONNX(*onnx.Network) (onnx.Outputs, error)", c)
	}
	return says, nil
}

// Outputs are a network's outputs for each row.
type Outputs struct {
	// LogProbs (N×C, float64) are log-probabilities up to a constant of each row, and
	// Probabilities are normalized; one of the two is given.
	LogProbs, Probabilities Value
	Codes                   Value // N×Width, whole numbers; "" where the rows have none
	Width                   int
	Classes                 int // C
}

// Logs are the normalized log-probabilities (N×C).
func (o Outputs) Logs(g *Network) Value {
	if o.LogProbs == "" {
		return g.Log(o.Probabilities)
	}
	return g.LogSoftmax(o.LogProbs)
}

// Features and Logits are the inputs of those names (N×columns) in float64.
func (g *Network) Features(columns int) Value { return g.Input("features", columns) }

// Scores are the logits of each row (N×C) less its largest, −∞ of a class that is masked: log-probabilities up to a
// constant of the row. A row that holds NaN or +∞, or −∞ alone, has NaN.
func (g *Network) Scores(classes int) Value {
	if g.scores == "" {
		logits := g.Input("logits", classes)
		g.below = g.Sub(logits, g.most(logits))
		g.masks = g.less(g.below, -maskDepth)
		g.scores = g.Where(g.masks, g.Scalar(math.Inf(-1)), g.below)
	}
	return g.scores
}

// Logits are the log-softmax of each row's logits (N×C), −∞ for a masked class, as in data.LogProbs.
func (g *Network) Logits(classes int) Value {
	if g.logits == "" {
		g.logits = g.LogSoftmax(g.Scores(classes))
	}
	return g.logits
}

// maskDepth is data.MaskDepth, which this package stands below.
const maskDepth = 745

// Masks are the classes of each row (N×C, truth values) that cannot be, "" where no logits are read.
func (g *Network) Masks() Value { return g.masks }

// Unmasked is x (N×C) with a number in place of what it is of a class that cannot be.
func (g *Network) Unmasked(x Value, number float64) Value {
	if g.masks == "" {
		return x
	}
	return g.Where(g.masks, g.Scalar(number), x)
}

// SetOutputs declares the network's outputs. The probabilities of a row that calibra apply would refuse are NaN.
func (g *Network) SetOutputs(o Outputs) {
	if o.LogProbs != "" {
		o.Probabilities = g.Softmax(g.Unmasked(o.LogProbs, math.Inf(-1)))
	}
	for _, name := range slices.Sorted(maps.Keys(g.taken)) {
		o.Probabilities = g.Add(o.Probabilities, g.refused(name))
	}
	if g.numbers == Single {
		o.Probabilities = g.Cast(o.Probabilities, Single)
	}
	g.Output("probabilities", o.Probabilities, g.numbers, o.Classes)
	if o.Codes != "" {
		g.Output("codes", o.Codes, Int64, o.Width)
	}
}

// refused is NaN for each row (N×1) of an input with a number that is not finite, else 0. Of logits −∞ is that of a
// class that cannot be, and a row of nothing else is refused.
func (g *Network) refused(name string) Value {
	if name == "logits" && g.below != "" {
		return g.Where(g.Node("IsNaN", []Value{g.Sum(g.below, 1, 1)}), g.Scalar(math.NaN()), g.Scalar(0))
	}
	if g.numbers == Single { // 0·∞ and 0·NaN are NaN, in the numbers that were given as in float64
		return g.Cast(g.Sum(g.Mul(name, Table(g, []float32{0})), 1, 1), Double)
	}
	return g.Sum(g.Mul(name, g.Scalar(0)), 1, 1)
}

// File is the network as a file, which names the method, unless "".
func (g *Network) File(method string) []byte {
	nodes, constants := g.needed()
	m := message{}.Number(1, 8).Text(2, domain).Bytes(7, g.graph(nodes, constants)) // ir_version, producer_name, graph
	m = m.Bytes(8, opset("", version))                                              // opset_import
	if slices.ContainsFunc(nodes, func(n node) bool { return n.op == treesOp }) {
		m = m.Bytes(8, opset(machineLearning, machineLearningVersion))
	}
	if method != "" {
		m = m.Bytes(14, message{}.Text(1, "method").Text(2, method)) // metadata_props
	}
	return m
}

// name is a new name. All start with the domain.
func (g *Network) name(of string) string {
	g.values++
	return fmt.Sprintf("%s/%s_%d", domain, of, g.values)
}

// Node adds an operator of one output.
func (g *Network) Node(op string, inputs []string, attributes ...Attribute) string {
	out := g.name(op)
	g.add(op, inputs, []Value{out}, attributes...)
	return out
}

func (g *Network) add(op string, inputs, outputs []Value, attributes ...Attribute) {
	g.nodes = append(g.nodes, node{op, inputs, outputs, attributes})
}

// Table adds a constant, or finds it where it is there already.
func Table[T float32 | float64 | int64](g *Network, values []T, axes ...int) string {
	a := arrayOf(values, axes...)
	sum := sha256.Sum256(tensorOf("", a))
	if name, ok := g.known[sum]; ok {
		return name
	}
	name := g.name("constant")
	g.known[sum] = name
	g.constants = append(g.constants, table{name, a})
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

// most is the largest along the last axis, which stays with length 1.
func (g *Network) most(x Value) Value {
	return g.Node("ReduceMax", []Value{x}, Ints("axes", 1), Int("keepdims", 1))
}

// less is whether x is less than a number.
func (g *Network) less(x Value, than float64) Value {
	return g.Node("Less", []Value{x, g.Scalar(than)})
}

// product multiplies along an axis, which goes.
func (g *Network) product(x Value, axis int64) Value {
	return g.Node("ReduceProd", []Value{x}, Ints("axes", int(axis)), Int("keepdims", 0))
}

// Reshape gives x another shape: 0 keeps an axis, −1 takes what is left.
func (g *Network) Reshape(x string, shape ...int64) string {
	return g.Node("Reshape", []string{x, g.Indices(shape...)})
}

// Cast converts the elements of x. For a float32 input it returns the input itself.
func (g *Network) Cast(x string, to Element) string {
	if given, ok := g.given[x]; ok && to == Single {
		return given
	}
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

// Softmax normalizes what each row is the logarithms of.
func (g *Network) Softmax(x string) string { return g.Node("Softmax", []string{x}, Int("axis", -1)) }

// Softplus is log(1 + exp(x)), which is x where the 1 is lost: the operator Softplus is not
// everywhere one of float64.
func (g *Network) Softplus(x string) string {
	return g.Max(x, g.Log(g.Add(g.Exp(g.Min(x, g.Scalar(40))), g.Scalar(1))))
}

// Input is an input of rows (N×columns) in float64, which is declared once.
func (g *Network) Input(name string, columns int) Value {
	if value, ok := g.taken[name]; ok {
		return value
	}
	g.inputs = append(g.inputs, rowsOf(name, g.numbers, columns))
	if g.taken[name] = name; g.numbers == Single {
		g.taken[name] = g.Cast(name, Double)
		g.given[g.taken[name]] = name
	}
	return g.taken[name]
}

// Output declares value to be the output of that name.
func (g *Network) Output(name, value string, kind Element, columns int) {
	g.add("Identity", []Value{value}, []Value{name})
	g.outputs = append(g.outputs, rowsOf(name, kind, columns))
}

// rowsOf is an input or an output of rows.
func rowsOf(name Value, kind Element, columns int) table {
	return table{name, &array{kind: kind, shape: []int{0, columns}}}
}

// needed are the operators and constants that the outputs need: an engine may compute what nothing reads.
func (g *Network) needed() (nodes []node, constants []table) {
	read := map[Value]bool{}
	for _, out := range g.outputs {
		read[out.name] = true
	}
	for _, n := range slices.Backward(g.nodes) {
		if slices.ContainsFunc(n.outputs, func(v Value) bool { return read[v] }) {
			nodes = append(nodes, n)
			for _, v := range n.inputs {
				read[v] = true
			}
		}
	}
	slices.Reverse(nodes)
	for _, c := range g.constants {
		if read[c.name] {
			constants = append(constants, c)
		}
	}
	return nodes, constants
}
