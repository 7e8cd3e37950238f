package graph

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// building serializes what Gorgonia does on shared state: node hashing, type
// inference, differentiation.
var building sync.Mutex

// Builder describes one graph. Its first error sticks: later calls return nil
// nodes and do nothing, and Err returns what went wrong. So a model is written
// without an error check per line.
type Builder struct {
	g       *gorgonia.ExprGraph
	weights *Weights
	rows    *gorgonia.Node
	batch   *tensor.Dense // the row numbers of the current step
	leaves  map[string]*gorgonia.Node
	tables  map[string]*tensor.Dense
	updates []update
	holds   bool // this builder holds building
	err     error
}

// lock takes building, unless this builder holds it already, and returns what
// gives it back.
func (b *Builder) lock() func() {
	if b.holds {
		return func() {}
	}
	building.Lock()
	b.holds = true
	return func() { b.holds = false; building.Unlock() }
}

// update is a new value for a weight, computed by the graph.
type update struct {
	weight *tensor.Dense
	node   *gorgonia.Node
}

// NewBuilder starts the graph of one step over b rows, with weights w.
func NewBuilder(w *Weights, b int) *Builder {
	bd := &Builder{
		g:       gorgonia.NewGraph(),
		weights: w,
		batch:   tensor.New(tensor.Of(tensor.Int32), tensor.WithShape(b)),
		leaves:  map[string]*gorgonia.Node{},
		tables:  map[string]*tensor.Dense{},
	}
	bd.rows = bd.Table("rows", bd.batch)
	return bd
}

// errNoBuilder is what a nil builder has failed with.
var errNoBuilder = errors.New("graph: there is no builder; make one by NewBuilder")

// Err is the first error, naming the call that failed. A nil builder is one that failed.
func (b *Builder) Err() error {
	if b == nil {
		return errNoBuilder
	}
	return b.err
}

// Fail records an error, unless one is recorded already, and returns a nil node.
func (b *Builder) Fail(err error) *gorgonia.Node {
	if b.Err() == nil {
		b.err = err
	}
	return nil
}

// Recover, deferred by who calls a researcher's code, makes an error of a panic of this package, whose text begins with
// its name. Others go on.
func Recover(err *error) {
	switch p := recover().(type) {
	case nil:
	case misuse:
		*err = errors.New(string(p))
	default:
		panic(p)
	}
}

// misuse is a panic of this package: what its caller did wrong.
type misuse string

// misused panics with a sentence.
func misused(format string, args ...any) { panic(misuse(fmt.Sprintf("graph: "+format, args...))) }

// Dtype is the float type of the graph and of its weights.
func (b *Builder) Dtype() tensor.Dtype {
	if b == nil {
		return tensor.Float64
	}
	return b.weights.Dtype()
}

// Weight is the node of a weight. Asking twice gives the same node.
func (b *Builder) Weight(name string) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	if !b.weights.Has(name) {
		return b.Fail(fmt.Errorf("graph: there is no weight %q", name))
	}
	return b.Table(name, b.weights.Tensor(name))
}

// Table is the node of a tensor that the graph reads but does not own. The same
// name for another tensor is an error.
func (b *Builder) Table(name string, t *tensor.Dense) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	if t == nil {
		return b.Fail(fmt.Errorf("graph: there is no tensor for the name %q", name))
	}
	if n, ok := b.leaves[name]; ok {
		if b.tables[name] != t {
			return b.Fail(fmt.Errorf("graph: the name %q stands for two tensors", name))
		}
		return n
	}
	defer b.lock()()
	n := gorgonia.NewTensor(b.g, t.Dtype(), t.Dims(), gorgonia.WithName(name), gorgonia.WithShape(t.Shape()...), gorgonia.WithValue(t))
	b.leaves[name], b.tables[name] = n, t
	return n
}

// Take is the rows of a table that this step works on: a B×M matrix of features,
// B×w codes, B labels or B numbers, by the table's type and dimensions.
func (b *Builder) Take(name string, t *tensor.Dense) *gorgonia.Node { return b.TakeAt(name, t, b.rows) }

// TakeAt is [Builder.Take] of the rows that a node names (B whole numbers).
func (b *Builder) TakeAt(name string, t *tensor.Dense, rows *gorgonia.Node) *gorgonia.Node {
	table := b.Table(name, t)
	if b.Err() != nil {
		return nil
	}
	return b.Apply(op.Take(op.Kind{Dims: t.Dims(), Int: t.Dtype() == tensor.Int32}), table, rows)
}

// Rows is the node of the row numbers that this step works on (B).
func (b *Builder) Rows() *gorgonia.Node { return b.rows }

// Apply adds an operation to the graph.
func (b *Builder) Apply(o gorgonia.Op, inputs ...*gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	if i := slices.Index(inputs, nil); i >= 0 {
		return b.Fail(fmt.Errorf("graph: input %d of %v is no node", i, o))
	}
	return b.Call(func() (*gorgonia.Node, error) { return op.Apply(o, inputs...) })
}

// Call adds nodes by any function of Gorgonia's:
//
//	b.Call(func() (*gorgonia.Node, error) { return gorgonia.Square(x) })
//
// f is not called once the builder has failed, so it needs no nil check.
func (b *Builder) Call(f func() (*gorgonia.Node, error)) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	defer b.lock()()
	n, err := f()
	if err != nil {
		return b.Fail(fmt.Errorf("graph: %w", err))
	}
	return n
}

// Update lets node, once a step has run and is committed, replace the value of a
// weight that has no gradient.
func (b *Builder) Update(name string, node *gorgonia.Node) {
	if b.Err() != nil {
		return
	}
	if !b.weights.state[name] {
		b.Fail(fmt.Errorf("graph: %q is no state and cannot be updated", name))
		return
	}
	t := b.weights.Tensor(name)
	if !node.Shape().Eq(t.Shape()) {
		b.Fail(fmt.Errorf("graph: %q of shape %v is updated by shape %v", name, t.Shape(), node.Shape()))
		return
	}
	b.updates = append(b.updates, update{t, node})
}

// NoGradient is the error of a learned weight by which a loss has no gradient.
type NoGradient struct {
	Weight string
	Read   bool // by ops that have none; false: by nothing
}

func (e *NoGradient) Error() string {
	if e.Read {
		return fmt.Sprintf("graph: the loss reads weight %q by ops alone that have no gradient; read it by others, or add it by AddState", e.Weight)
	}
	return fmt.Sprintf("graph: the loss does not depend on weight %q; read it in the output or the loss, or leave it out", e.Weight)
}

// Gradient is ∂loss/∂weight for every learned weight, in order, then ∂loss/∂x for the other nodes. A weight that
// the loss does not depend on is a [NoGradient].
// By the nodes that come after it is differentiated too.
func (b *Builder) Gradient(loss *gorgonia.Node, also ...*gorgonia.Node) gorgonia.Nodes {
	if b.Err() != nil {
		return nil
	}
	var learned gorgonia.Nodes
	for _, name := range b.weights.Learned() {
		n, used := b.leaves[name]
		if !used || !b.Reads(loss, n) {
			b.Fail(&NoGradient{Weight: name})
		}
		learned = append(learned, n)
	}
	if b.Err() != nil {
		return nil
	}
	defer b.lock()()
	grads, err := gorgonia.Grad(loss, append(learned, also...)...)
	if none := new(gorgonia.SymDiffError); errors.As(err, none) && none.Node() == nil { // of the weights, not of an op
		if at := slices.IndexFunc(learned, func(n *gorgonia.Node) bool { return slices.Contains(none.Nodes(), n) }); at >= 0 {
			b.Fail(&NoGradient{b.weights.Learned()[at], true})
		}
	}
	if err != nil {
		b.Fail(fmt.Errorf("graph: gradient: %w", err))
		return nil
	}
	return grads
}

// Dim is the length of an axis of a node, and 1 where there is no node since the builder failed: what is
// made of it needs no check then.
func (b *Builder) Dim(x *gorgonia.Node, axis int) int {
	if x == nil {
		return 1
	}
	return x.Shape()[axis]
}

func (b *Builder) MatMul(x, y *gorgonia.Node) *gorgonia.Node { return b.Apply(op.MatMul(), x, y) }

// AddRow adds the row vector v to each row of x.
func (b *Builder) AddRow(x, v *gorgonia.Node) *gorgonia.Node { return b.Apply(op.AddRow(), x, v) }

// Linear is x·W + v for weights named name/weight (in×out) and name/bias (out).
func (b *Builder) Linear(name string, x *gorgonia.Node) *gorgonia.Node {
	return b.AddRow(b.MatMul(x, b.Weight(name+"/weight")), b.Weight(name+"/bias"))
}

// LogSoftmax normalizes each row of scores to log-probabilities.
func (b *Builder) LogSoftmax(scores *gorgonia.Node) *gorgonia.Node {
	return b.Apply(op.LogSoftmax(), scores)
}

// NLL is the mean negative log-likelihood of labels (B) under log-probabilities, or the mean
// cross-entropy of targets (B×C).
func (b *Builder) NLL(logProbs, labels *gorgonia.Node) *gorgonia.Node {
	if b.Err() == nil && labels.Dims() == 2 {
		return b.Apply(op.CrossEntropy(), logProbs, labels)
	}
	return b.Apply(op.NLL(), logProbs, labels)
}

// Plus is x + y for two nodes of one shape.
func (b *Builder) Plus(x, y *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Apply(op.Plus(x.Dims()), x, y)
}

// Times is the elementwise product of two nodes of one shape.
func (b *Builder) Times(x, y *gorgonia.Node) *gorgonia.Node {
	if b.Err() != nil {
		return nil
	}
	return b.Apply(op.Times(x.Dims()), x, y)
}

// RowNumbers are the rows that the program of this builder works on; fill them
// before each run. [Objective] and [Function] do.
func (b *Builder) RowNumbers() []int32 { return b.batch.Int32s() }
