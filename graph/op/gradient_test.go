package op_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// sample is a point at which an op is checked: named inputs, and the op of them.
type sample struct {
	inputs map[string][]int // shape of each differentiated input
	of     func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node
	shift  float64 // added to the standard normal inputs, for functions of x > 0
}

var (
	fixedCodes  = graph.Codes([]int32{0, 2, 1, 2, 2, 0, 3, 1, 0, 2, 3, 3}, 3) // 4 rows of 3 slots, 4 codewords
	fixedLabels = graph.Labels([]int{1, 0, 2, 1})
)

// fixedShares are of 4 rows of 2 slots with 3 codewords each of a table of 8, 4 of each slot.
var (
	fixedPlaces = graph.Codes([]int32{0, 1, 3, 4, 6, 5, 2, 1, 0, 7, 4, 5, 3, 2, 1, 6, 5, 7, 0, 2, 3, 4, 5, 6}, 6)
	fixedShares = []float64{.5, .5, 0, .7, .2, .1, 1, 0, 0, .3, .3, .4, .9, .1, 0, .6, .4, 0, .2, .3, .5, 1, 0, 0}
)

// shared is an op of x and the fixed shares.
func shared(o op.Op, x ...int) []sample {
	return []sample{{inputs: map[string][]int{"x": x}, of: func(b *graph.Builder, n map[string]*gorgonia.Node) *gorgonia.Node {
		places, e := b.Table("places", fixedPlaces), b.Table("shares", graph.Tensor(b.Dtype(), fixedShares, 4, 6))
		if _, sum := o.Kernel.(op.ShareSumOp); sum {
			return b.Apply(o, n["x"], places, e)
		}
		return b.Apply(o, places, e, n["x"])
	}}}
}

func unary(o op.Op, shift float64) sample {
	return sample{map[string][]int{"x": {4, 3}}, func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(o, x["x"])
	}, shift}
}

func binary(o op.Op, x, y []int) sample {
	return sample{inputs: map[string][]int{"x": x, "y": y}, of: func(b *graph.Builder, n map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(o, n["x"], n["y"])
	}}
}

// apply is an op of one input.
func apply(o op.Op) func(*graph.Builder, map[string]*gorgonia.Node) *gorgonia.Node {
	return func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node { return b.Apply(o, x["x"]) }
}

// batchNormOf normalizes x by its own moments, with γ = y and β = z.
func batchNormOf(dims int, shape ...int) sample {
	return sample{inputs: map[string][]int{"x": shape, "y": {shape[1]}, "z": {shape[1]}}, of: func(b *graph.Builder, n map[string]*gorgonia.Node) *gorgonia.Node {
		mean := b.Apply(op.ChannelMean(dims), n["x"])
		variance := b.Apply(op.ChannelVariance(dims), n["x"], mean)
		return b.Apply(op.BatchNorm(dims, 1e-5), n["x"], mean, variance, n["y"], n["z"])
	}}
}

func layerNormOf(b, m int) sample {
	return sample{inputs: map[string][]int{"x": {b, m}, "y": {m}, "z": {m}}, of: func(b *graph.Builder, n map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.LayerNorm(1e-5), n["x"], n["y"], n["z"])
	}}
}

var fixedKnots = []float64{-2, -0.5, 0.3, 1, 2.5}

// rampLogits lie in every piece.
func rampLogits(b *graph.Builder) *gorgonia.Node {
	return b.Table("z", graph.Tensor(b.Dtype(), []float64{-5, -2.5, -2, -1.5, -0.7, -0.5, -0.1, 0, 0.1, 0.3, 0.4, 0.9, 1, 1.7, 2.4, 2.5, 2.6, 9, 0.2, -0.2}, 4, 5))
}

// ramps is an op of given z and of x, of the given shape.
func ramps(of func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node, shape ...int) []sample {
	return []sample{{inputs: map[string][]int{"x": shape}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node { return of(b, x["x"]) }}}
}

// samples has a row for every kernel type with a derivative.
var samples = map[string][]sample{
	"GatherOp": {{inputs: map[string][]int{"x": {4, 2}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Gather(), x["x"], b.Table("codes", fixedCodes))
	}}},
	"ScatterAddOp": {{inputs: map[string][]int{"x": {4, 6}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.ScatterAdd(4), b.Table("codes", fixedCodes), x["x"])
	}}},
	"TableSumOp": {{inputs: map[string][]int{"x": {12, 2}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.TableSum(), x["x"], b.Table("codes", fixedCodes))
	}}},
	"TableScatterOp": {{inputs: map[string][]int{"x": {4, 2}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.TableScatter(4), b.Table("codes", fixedCodes), x["x"])
	}}},
	"MassOp": {{inputs: map[string][]int{"x": {3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Mass(4), b.Table("codes", fixedCodes), x["x"])
	}}},
	"SlotSumOp": {{inputs: map[string][]int{"x": {4, 4}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.SlotSum(), b.Table("codes", fixedCodes), x["x"])
	}}},
	"ShareSumOp":     shared(op.ShareSum(2), 8, 3),
	"ShareScatterOp": shared(op.ShareScatter(2, 8), 4, 3),
	"ShareMassOp":    shared(op.ShareMass(8), 2),
	"ShareSlotSumOp": shared(op.New(op.ShareSlotSumOp{Slots: 2}), 4, 8),
	"OuterOp":        {binary(op.Outer(), []int{4, 3}, []int{4, 2})},
	"OuterLeftOp":    {binary(op.OuterLeft(), []int{4, 6}, []int{4, 2})},
	"OuterRightOp":   {binary(op.OuterRight(), []int{4, 6}, []int{4, 3})},
	"MatMulOp":       {binary(op.MatMul(), []int{4, 3}, []int{3, 5}), binary(op.MatMulNT(), []int{4, 3}, []int{5, 3}), binary(op.MatMulTN(), []int{3, 4}, []int{3, 5})},
	"BlockMatMulOp":  {binary(op.BlockMatMul(2), []int{8, 3}, []int{6, 5})},
	"AddRowOp":       {binary(op.AddRow(), []int{4, 3}, []int{3})},
	"SumRowsOp":      {unary(op.SumRows(), 0)},
	"RepeatedRowOp": {{inputs: map[string][]int{"x": {3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.RepeatRow(4), x["x"])
	}}},
	"LogSoftmaxOp": {unary(op.LogSoftmax(), 0), {inputs: map[string][]int{"x": {5}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.LogSoftmaxVector(), x["x"])
	}}},
	"NLLOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.NLL(x["x"], b.Table("labels", fixedLabels))
	}}},
	"CrossEntropyOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.NLL(x["x"], b.Table("targets", graph.Tensor(b.Dtype(), []float64{.5, 0, 1.5, 0, 2, 0, .2, .3, .5, 0, 0, 0}, 4, 3)))
	}}},
	"ElementwiseOp": {unary(op.Softplus(2), 0), unary(op.Sigmoid(2), 0), unary(op.Exp(2), 0), unary(op.Lgamma(2), 4), unary(op.Digamma(2), 4)},
	"PlusOp":        {binary(op.Plus(2), []int{4, 3}, []int{4, 3})},
	"TimesOp":       {binary(op.Times(2), []int{4, 3}, []int{4, 3})},
	"ScaleOp":       {unary(op.Scale(2, -1.7), 0)},
	"TimesScalarOp": {binary(op.TimesScalar(), []int{4, 3}, []int{1})},
	"InnerOp":       {binary(op.Inner(), []int{4, 3}, []int{4, 3})},
	"SumOp":         {unary(op.Sum(2), 0)},
	"FillOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Fill(2), x["x"], b.Apply(op.Sum(2), b.Times(x["x"], x["x"])))
	}}},
	"TimesRowOp": {binary(op.TimesRow(), []int{4, 3}, []int{3})},
	"SpreadOp": {{inputs: map[string][]int{"x": {1}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Spread(4), x["x"])
	}}},
	"FlooredLogOp": {unary(op.FlooredLog(2, 0.5), 1)},
	"ReLUOp":       {unary(op.ReLU(2), 0)},
	"ELUOp":        {unary(op.ELU(2), 0)},
	"DropoutOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Dropout(0.3, 7), x["x"], b.Table("t", graph.Tensor(b.Dtype(), []float64{5}, 1)))
	}}},
	"GaussianOp": {binary(op.Gaussian(0.2), []int{4, 3}, []int{5, 3})},
	"OmitSelfOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.OmitSelf(), x["x"], b.Table("owners", graph.Labels([]int{7, 1, 9, 4})), b.Table("columns", graph.Labels([]int{4, 2, 7})))
	}}},
	"SharesOp": {{inputs: map[string][]int{"x": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Shares(), b.Apply(op.Exp(2), x["x"]))
	}}},
	"JensenShannonOp": {{inputs: map[string][]int{"x": {4, 3}, "y": {4, 3}}, of: func(b *graph.Builder, x map[string]*gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.JensenShannon(), b.Apply(op.Sigmoid(2), x["x"]), b.Apply(op.Sigmoid(2), x["y"]), b.Table("v", graph.Tensor(b.Dtype(), []float64{.5, 2, 1, .25}, 4)))
	}}},
	"ConvOp": {
		binary(op.Conv(1, 1), []int{2, 3, 4, 5}, []int{2, 3, 3, 3}), binary(op.Conv(2, 1), []int{2, 3, 5, 4}, []int{2, 3, 3, 3}),
		binary(op.Conv(2, 0), []int{2, 3, 4, 4}, []int{2, 3, 1, 1}), binary(op.Conv(1, 0), []int{2, 3, 2, 3}, []int{2, 3, 1, 1}),
		binary(op.Conv(1, 1), []int{2, 9, 3, 4}, []int{10, 9, 3, 3}), binary(op.Conv(1, 2), []int{2, 8, 3, 4}, []int{2, 8, 5, 5}),
		binary(op.Conv(3, 2), []int{1, 1, 4, 3}, []int{1, 1, 2, 5}),
	},
	"BatchNormOp": {batchNormOf(2, 6, 3), batchNormOf(4, 3, 2, 2, 3)},
	"PlaneMeanOp": {{inputs: map[string][]int{"x": {2, 3, 2, 4}}, of: apply(op.PlaneMean())}},
	"ReshapeOp":   {{inputs: map[string][]int{"x": {4, 6}}, of: apply(op.Reshape(2, -1, 3, 2, 2))}, {inputs: map[string][]int{"x": {2, 3}}, of: apply(op.Reshape(2, -1))}},
	"SumBlocksOp": {{inputs: map[string][]int{"x": {4, 12}}, of: apply(op.SumBlocks(2, 3))}},
	"RepeatBlocksOp": {{
		inputs: map[string][]int{"x": {4, 6}}, of: apply(op.New(op.RepeatBlocksOp{Groups: 3, Blocks: 2})),
	}},
	"PickColumnsOp": {{inputs: map[string][]int{"x": {4, 5}}, of: apply(op.Columns(3, 0))}},
	"JoinColumnsOp": {binary(op.JoinColumns(), []int{4, 3}, []int{4, 2})},
	"TokensOp":      {binary(op.Tokens(), []int{4, 3}, []int{3, 2})},
	"HeadScoresOp":  {binary(op.HeadScores(2, 3), []int{6, 4}, []int{9, 4})},
	"HeadMixOp":     {binary(op.HeadMix(2, 3), []int{12, 3}, []int{9, 4})},
	"HeadMixBackOp": {binary(op.HeadMixBack(2, 3), []int{12, 3}, []int{6, 4})},
	"LayerNormOp":   {layerNormOf(4, 5)},
	"SoftmaxOp":     {unary(op.Softmax(), 0)},
	"ReGLUOp":       {{inputs: map[string][]int{"x": {4, 6}}, of: apply(op.ReGLU())}},
	"RampsOp": ramps(func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.Ramps(fixedKnots), rampLogits(b), x)
	}, 6, 1),
	"RampSumsOp": ramps(func(b *graph.Builder, x *gorgonia.Node) *gorgonia.Node {
		return b.Apply(op.New(op.RampSumsOp{Knots: fixedKnots}), rampLogits(b), x)
	}, 4, 5),
	"DirichletOp": {binary(op.DirichletScores(1), []int{4, 9}, []int{4, 3}), binary(op.DirichletScores(0), []int{4, 9}, []int{4, 3})},
}

// TestGradients checks each op in all its variants, and its two types against each other.
func TestGradients(t *testing.T) {
	for name, variants := range samples {
		for i, s := range variants {
			t.Run(name, func(t *testing.T) {
				rng := rand.New(rand.NewPCG(1, uint64(i)))
				w := graph.NewWeights(tensor.Float64)
				for _, input := range []string{"x", "y", "z"} {
					if shape, ok := s.inputs[input]; ok {
						w.Add(input, normals(rng, tensor.Shape(shape).TotalSize(), s.shift), shape...)
					}
				}
				loss := func(b *graph.Builder) *gorgonia.Node {
					x := map[string]*gorgonia.Node{}
					for _, input := range w.Names() {
						x[input] = b.Weight(input)
					}
					return graphtest.Contract(b, s.of(b, x))
				}
				if err := graphtest.Gradient(w, 4, loss); err != nil {
					t.Error(err)
				}
				if err := graphtest.Types(w, 4, loss); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

func normals(rng *rand.Rand, n int, shift float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64() + shift
	}
	return x
}

// eachFile parses the package's source, its tests left out.
func eachFile(t *testing.T, visit func(name string, file *ast.File)) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		visit(name, file)
	}
}

// TestEveryOpIsInTheTable: the package's documentation names each constructor of an op in the row of its file.
func TestEveryOpIsInTheTable(t *testing.T) {
	ops := map[string][]string{} // of each file
	rows := map[string]string{}
	eachFile(t, func(name string, file *ast.File) {
		for _, decl := range file.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && f.Type.Results != nil && f.Name.IsExported() && f.Name.Name != "New" {
				if of, ok := f.Type.Results.List[0].Type.(*ast.Ident); ok && of.Name == "Op" {
					ops[name] = append(ops[name], f.Name.Name)
				}
			}
		}
		if name == "doc.go" {
			last := ""
			for line := range strings.Lines(file.Doc.Text()) {
				if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(first, ".go") {
					last = first
				}
				rows[last] += strings.ReplaceAll(line, ",", " ")
			}
		}
	})
	for name, of := range ops {
		words := strings.Fields(rows[name])
		for _, constructor := range of {
			if !slices.Contains(words, constructor) {
				t.Errorf("graph/op/doc.go does not name %s in a row of %s under Families", constructor, name)
			}
		}
	}
}

// TestEveryDerivativeIsChecked reads the package's source: each type with a Grad
// method must have a row in samples.
func TestEveryDerivativeIsChecked(t *testing.T) {
	found := 0
	eachFile(t, func(_ string, file *ast.File) {
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "Grad" || f.Recv == nil {
				continue
			}
			found++
			kernel := f.Recv.List[0].Type.(*ast.Ident).Name
			if len(samples[kernel]) == 0 {
				t.Errorf("op %s has a derivative and no row in samples of graph/op/gradient_test.go", kernel)
			}
		}
	})
	if found != len(samples) {
		t.Errorf("%d kernels have a derivative, samples has %d rows", found, len(samples))
	}
}
