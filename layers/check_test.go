package layers

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// unmoved learns a weight that its posterior does not depend on.
type unmoved struct{ Dirichlet }

func (unmoved) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node { return b.LogSoftmax(in.LogProbs) }

// TestCheckMapFindsFaults: the maps of this package pass, a map whose loss does not depend on its
// weights and one without the input that it reads do not.
func TestCheckMapFindsFaults(t *testing.T) {
	for name, variants := range allMaps {
		for _, m := range variants {
			if name == "Centred" { // is far from its start at a spread of 0.3, see away
				continue
			}
			if err := CheckMap(m, newRand(1)); err != nil {
				t.Error(err)
			}
		}
	}
	if err := CheckMap(unmoved{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "does not depend") {
		t.Errorf("weights without use: %v", err)
	}
	if err := CheckMap(reader{}, newRand(1)); err == nil || !strings.Contains(err.Error(), "needs a base that gives") {
		t.Errorf("an input that is not there: %v", err)
	}
}

// broken is Dirichlet with a fault that CheckMap is to find.
type broken struct {
	Dirichlet
	fault string
	calls *int
}

func (m broken) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	if m.fault == "its own draws" {
		rng = newRand(uint64(*m.calls))
		*m.calls++
	}
	w, err := m.Dirichlet.Init(s, rng)
	if m.fault == "a weight twice" {
		w.Add("dirichlet/bias", nil)
	}
	return w, err
}

func (m broken) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	p := in.LogProbs
	switch m.fault {
	case "no number":
		p = b.Apply(op.Scale(2, math.Inf(1)), p)
	case "a wrong gradient":
		p = b.Apply(op.New(crooked{}), p, b.Weight("dirichlet/bias"))
	case "draws in LogProbs":
		*m.calls++
		p = b.Apply(op.Scale(2, float64(*m.calls)), p)
	case "the logits":
		p = in.Input(b, "logits")
	case "a node that is not there":
		p = b.AddRow(p, b.Weight("none"))
		b.Dim(b.Weight("dirichlet/weight"), p.Shape()[1]) // p is nil
	case "a table too short":
		p = b.AddRow(p, b.Table("short", graph.Tensor(b.Dtype(), []float64{1}, 3)))
	}
	return m.Dirichlet.LogProbs(b, Batch{LogProbs: p})
}

func (m broken) Inputs(v *View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	return map[string]mat.Matrix{"logits": v.Set.Logits}, nil
}

// crooked is x + v for each row, with half the gradient in v.
type crooked struct{}

func (crooked) Form() string { return "N C, C -> N C" }

func (crooked) Run(out op.Value, in []op.Value) {
	op.Dispatch(crooked{}, out, in, crookedly[float32], crookedly[float64])
}

func crookedly[F op.Float](_ crooked, v op.Args[F]) {
	for i, x := range v.In(0) {
		v.Out()[i] = x + v.In(1)[i%len(v.In(1))]
	}
}

func (crooked) Grad(_ op.Nodes, _, g *op.Node) op.Nodes {
	return op.Nodes{g, op.Scale(1, .5).Of(op.SumRows().Of(g))}
}

// Each fault is told in a sentence with the map's name and, where one op is at fault, the op's; a calibrator's laws
// likewise.
func TestCheckMapNamesFaults(t *testing.T) {
	for fault, says := range map[string]string{
		"its own draws": "two Inits of one seed", "no number": "has the log-probability NaN, from op.ScaleOp",
		"a wrong gradient": "the gradient of layers.crooked{} is wrong by itself", "draws in LogProbs": "two calls of LogProbs",
		"the logits":               "a number added to all logits of a row moves a probability",
		"a weight twice":           `graph: weight "dirichlet/bias" is added twice`,
		"a node that is not there": `graph: there is no weight "none"`,
		"a table too short":        "graph: a tensor of shape [3] is given 1 values",
	} {
		err := CheckMap(broken{fault: fault, calls: new(int)}, newRand(1))
		if err == nil || !strings.Contains(err.Error(), says) || !strings.HasPrefix(err.Error(), "layers: the map broken: ") {
			t.Errorf("a map with %s is told as %v", fault, err)
		}
	}
	if CheckMap(nil, newRand(1)) == nil || CheckMap(Dirichlet{}, nil) == nil {
		t.Error("no map, or no random numbers, are accepted")
	}
	for name := range calibrators() {
		if err := CheckCalibrator(func() Stateful { return calibrators()[name] }, newRand(2)); err != nil {
			t.Error(err)
		}
	}
	seed := uint64(0)
	drifting := func() Stateful { seed++; return forgetful{&Temperature{}, seed} }
	if err := CheckCalibrator(drifting, newRand(2)); err == nil || !strings.Contains(err.Error(), "the calibrator forgetful: two fits of one seed") {
		t.Errorf("a fit that draws by itself is told as %v", err)
	}
}

// forgetful does not fit as its seed says.
type forgetful struct {
	*Temperature
	seed uint64
}

func (c forgetful) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := c.Temperature.Predict(x)
	if err == nil {
		p.LogProbs.Scale(float64(c.seed), p.LogProbs)
		Renormalize(p.LogProbs)
	}
	return p, err
}

// reader reads an input that no base has.
type reader struct{ Dirichlet }

func (reader) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Linear("dirichlet", in.Input(b, "nothing")))
}

// scorer gives scores where log-probabilities are asked for.
type scorer struct{ Dirichlet }

func (scorer) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	return b.Linear("dirichlet", in.LogProbs)
}

// A map whose log-probabilities are not normalized is named before it is fitted, and so is one
// that is read from elsewhere.
func TestUnnormalizedMap(t *testing.T) {
	c := Train(&Original{}, scorer{}, optim.Settings{Epochs: 1})
	if err := c.Fit(t.Context(), blobs(100, 1), blobs(50, 2), newRand(1)); err == nil || !strings.Contains(err.Error(), "the map scorer gives row 0 probabilities that sum to") {
		t.Errorf("a fit of scores ends with %v", err)
	}
	base := &Original{}
	if err := base.Fit(t.Context(), blobs(100, 1), nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	w, err := scorer{}.Init(base.Sizes(), newRand(1))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Fitted(base, scorer{}, w).Predict(blobs(10, 3)); err == nil || !strings.Contains(err.Error(), "the map scorer gives row") {
		t.Errorf("a prediction of scores ends with %v", err)
	}
}

// faulty is a map, and codes, with a fault to be found.
type faulty struct{ fault string }

func (m faulty) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	switch m.fault {
	case "no weights":
		return nil, nil
	case "the base's name":
		w := graph.NewWeights(tensor.Float64)
		w.Add("codebook/codewords", []float64{1}, 1)
		return w, nil
	}
	w, err := Dirichlet{}.Init(s, rng)
	switch m.fault {
	case "no rows":
		w.Add("faulty/left", nil, 0, s.Classes)
	case "not a number":
		w.AddState("faulty", []float64{1, math.NaN()}, 2)
	case "codes alone":
		w.Add("faulty/table", make([]float64, s.Slots*s.Codewords*s.Classes), s.Slots*s.Codewords, s.Classes)
	}
	return w, err
}

func (m faulty) LogProbs(b *graph.Builder, in Batch) *gorgonia.Node {
	switch m.fault {
	case "no node":
		return nil
	case "unread":
		b.Weight("dirichlet/bias")
		return b.LogSoftmax(b.MatMul(in.LogProbs, b.Weight("dirichlet/weight")))
	case "other columns":
		return b.LogSoftmax(in.Mass)
	case "codes alone":
		read := b.Apply(op.TableSum(), b.Weight("faulty/table"), in.Codes)
		return b.LogSoftmax(b.Plus(Dirichlet{}.LogProbs(b, in), read))
	}
	return Dirichlet{}.LogProbs(b, in)
}

// faultyCodes are codes with a fault to be found.
type faultyCodes struct {
	Codebook
	fault string
}

func (c faultyCodes) State(s Sizes) map[string]tensor.Shape {
	if c.fault == "no state" {
		return nil
	}
	return c.Codebook.State(s)
}

func (c faultyCodes) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	switch c.fault {
	case "no codes":
		return Assignment{}
	case "features":
		return Assignment{Codes: z}
	case "beyond":
		return Assignment{Codes: b.Apply(op.New(beyond{}), c.Codebook.Assign(b, z, s).Codes)}
	}
	return c.Codebook.Assign(b, z, s)
}

// beyond are codes that no book has.
type beyond struct{}

func (beyond) Form() string { return "int B w -> int B w" }

func (beyond) Run(out op.Value, in []op.Value) {
	for i, k := range op.Values[int32](in[0]) {
		op.Values[int32](out)[i] = k + 100
	}
}

// A fault of a map or of codes from elsewhere is told with its type before anything is fitted to
// it, or written that cannot be read.
func TestFaultsOfParts(t *testing.T) {
	fit := func(c Codes, m Map) error {
		return Train(&Divide{Slots: 4, Codebook: c, Optim: optim.Settings{Epochs: 1}}, m, optim.Settings{Epochs: 1}).Fit(t.Context(), blobs(100, 1), blobs(50, 2), newRand(1))
	}
	for fault, says := range map[string]string{
		"no weights": "the Init of faulty gives no weights", "not a number": `the Init of faulty gives weight "faulty" NaN at position 1`,
		"the base's name": `the map faulty and its base both have a weight "codebook/codewords"`,
		"no rows":         `the map faulty: graph: weight "faulty/left" has no rows`,
		"unread":          `the map faulty: graph: the loss does not depend on weight "dirichlet/bias"`,
		"no node":         "the LogProbs of faulty gives no node", "other columns": "the LogProbs of faulty is of shape",
	} {
		if err := fit(Codebook{Codewords: 6}, faulty{fault}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("a map with %s is told as %v", fault, err)
		}
		if err := CheckMap(faulty{fault}, newRand(1)); fault != "the base's name" && (err == nil || !strings.Contains(err.Error(), says)) {
			t.Errorf("to CheckMap a map with %s is told as %v", fault, err)
		}
	}
	if err := fit(Codebook{Codewords: 6}, faulty{"codes alone"}); err != nil {
		t.Error(err)
	}
	err := fit(Soft{Of: Codebook{Codewords: 6}, Nearest: 3, Softness: 1}, faulty{"codes alone"})
	if err == nil || !strings.Contains(err.Error(), "the LogProbs of faulty reads codes and not their shares") {
		t.Errorf("a map that reads soft codes alone is told as %v", err)
	}
	for fault, says := range map[string]string{
		"no state": "the State of faultyCodes is not what its Init adds", "no codes": "the Assign of faultyCodes gives no codes of int32",
		"features": "the Assign of faultyCodes gives no codes of int32", "beyond": "the Assign of faultyCodes gives slot 0 of row 0 the code 1",
	} {
		if err := fit(faultyCodes{Codebook{Codewords: 6}, fault}, Identity{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("codes with %s are told as %v", fault, err)
		}
	}
}

// asked notes for how many rows its loss is described.
type asked struct {
	Dirichlet
	rows map[int]bool
}

func (m asked) Loss(b *graph.Builder, in Batch, rows int) *gorgonia.Node {
	m.rows[rows] = true
	return b.Plus(b.NLL(m.LogProbs(b, in), in.Labels(b)), Penalty(b, "dirichlet/weight", 1/float64(rows)))
}

// A penalty weighs the same on validation rows as in the fit: as a share of the rows fitted.
func TestPenaltyOnValidationRows(t *testing.T) {
	m := asked{rows: map[int]bool{}}
	if err := Train(&Original{}, m, optim.Settings{Epochs: 2}).Fit(t.Context(), blobs(90, 1), blobs(10, 2), newRand(1)); err != nil {
		t.Fatal(err)
	}
	if len(m.rows) != 1 || !m.rows[90] {
		t.Errorf("the loss is asked for %v rows, not for the 90 that are fitted", m.rows)
	}
}

// capped has min(C, 100) weights beside those of Dirichlet: no polynomial in C.
type capped struct{ Dirichlet }

func (m capped) Init(s Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.Dirichlet.Init(s, rng)
	w.Add("capped/extra", make([]float64, min(s.Classes, 100)), min(s.Classes, 100))
	return w, err
}

// A model is read back whatever its map makes of many classes, and a number of classes that the
// saved values do not go with is refused before the map is made that large.
func TestRestoreOfManyClasses(t *testing.T) {
	sizes := func(c int) Sizes { return Sizes{Classes: c, Counts: make([]float64, c)} }
	for _, c := range []int{2, 64, 65, 200, 300} {
		saved, err := capped{}.Init(sizes(c), newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		got, err := RestoreWeights(capped{}, sizes(c), saved)
		if err != nil {
			t.Errorf("%d classes: %v", c, err)
			continue
		}
		for _, name := range saved.Names() {
			near(t, name, got.Float64s(name), saved.Float64s(name), 0)
		}
		if _, err := RestoreWeights(capped{}, sizes(100_000), saved); err == nil || !strings.Contains(err.Error(), "of 100000 classes has more than") {
			t.Errorf("a claim of 100,000 classes ends with %v", err)
		}
	}
}
