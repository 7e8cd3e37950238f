package cuda_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// draw makes the inputs of one op, float64 or int32, of random size.
type draw func(rng *rand.Rand) []*tensor.Dense

func normalTensor(rng *rand.Rand, shift float64, shape ...int) *tensor.Dense {
	x := randoms(rng, tensor.Shape(shape).TotalSize(), 1)
	for i := range x {
		x[i] = float64(float32(x[i] + shift))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

func integers(rng *rand.Rand, below int, shape ...int) *tensor.Dense {
	x := make([]int32, tensor.Shape(shape).TotalSize())
	for i := range x {
		x[i] = int32(rng.IntN(below))
	}
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(x))
}

// logs are log-probabilities of random rows.
func logs(rng *rand.Rand, b, c int) *tensor.Dense {
	v, err := op.LogSoftmax().Do(normalTensor(rng, 0, b, c))
	if err != nil {
		panic(err)
	}
	x := v.(*tensor.Dense)
	for i, v := range x.Float64s() {
		x.Float64s()[i] = float64(float32(v))
	}
	return x
}

// checked are the variants of a kind of op, and inputs whose sizes divide no block.
type checked struct {
	ops func(in []*tensor.Dense) []op.Op
	in  draw
}

// twoCodes are codes of one shape.
func twoCodes(rng *rand.Rand) []*tensor.Dense {
	b, w := 1+rng.IntN(90), 1+rng.IntN(9)
	return []*tensor.Dense{integers(rng, 7, b, w), integers(rng, 7, b, w)}
}

// onDevice has a row for each kind of op.
var onDevice = map[string]checked{
	"NearestOp": {always(op.Nearest()), func(rng *rand.Rand) []*tensor.Dense {
		w, d, off := 1+rng.IntN(9), 1+rng.IntN(40), float64(rng.IntN(2)*1000) // where products of float32 tell nothing
		return []*tensor.Dense{normalTensor(rng, off, 1+rng.IntN(40), w*d), normalTensor(rng, off, 1+rng.IntN(130), d)}
	}},
	"NearestTakenOp": {always(op.New(op.NearestTakenOp{})), func(rng *rand.Rand) []*tensor.Dense {
		n, w, d := 1+rng.IntN(40), 1+rng.IntN(9), 1+rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, n, w*d), integers(rng, n, 1+rng.IntN(50)), normalTensor(rng, 0, 1+rng.IntN(130), d)}
	}},
	"NearestInOp": {always(op.NearestIn(0, 3), op.NearestIn(2, 7)), func(rng *rand.Rand) []*tensor.Dense {
		w, d := 1+rng.IntN(9), 1+rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(40), w*d), normalTensor(rng, 0, 7+rng.IntN(9), d)}
	}},
	"CodeSumOp":      {always(op.CodeSum(5)), twoCodes},
	"CompareCodesOp": {always(op.CompareCodes()), twoCodes},
	"InterleaveOp":   {always(op.Interleave(2)), twoCodes},
	"SumBlocksOp": {always(op.SumBlocks(2, 3)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 6*(1+rng.IntN(9)))}
	}},
	"RepeatBlocksOp": {always(op.New(op.RepeatBlocksOp{Groups: 2, Blocks: 3})), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 2*(1+rng.IntN(9)))}
	}},
	"ScatterAddOp": {always(op.ScatterAdd(7)), func(rng *rand.Rand) []*tensor.Dense {
		b, w := 1+rng.IntN(400), 1+rng.IntN(5)
		return []*tensor.Dense{integers(rng, 7, b, w), normalTensor(rng, 0, b, w*(1+rng.IntN(40)))}
	}},
	"ScatterTakenOp": {always(op.New(op.ScatterTakenOp{K: 7})), func(rng *rand.Rand) []*tensor.Dense {
		n, b, w := 1+rng.IntN(40), 1+rng.IntN(400), 1+rng.IntN(5)
		return []*tensor.Dense{integers(rng, 7, b, w), normalTensor(rng, 0, n, w*(1+rng.IntN(40))), integers(rng, n, b)}
	}},
	"CountOp": {always(op.Count()), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(70)
		return []*tensor.Dense{integers(rng, k, 1+rng.IntN(90), 1+rng.IntN(9)), normalTensor(rng, 0, k)}
	}},
	"BlendOp": {always(op.Blend(2, 0.99)), two},
	"NormalizeOp": {always(op.Normalize(1e-8)), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(70)
		return []*tensor.Dense{normalTensor(rng, 0, k, 1+rng.IntN(40)), normalTensor(rng, 9, k)}
	}},
	"TakeOp": {always(op.Take(op.Matrix)), func(rng *rand.Rand) []*tensor.Dense {
		n := 1 + rng.IntN(60)
		return []*tensor.Dense{normalTensor(rng, 0, n, 1+rng.IntN(60)), integers(rng, n, 1+rng.IntN(90))}
	}},
	"GatherOp": {always(op.Gather()), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(70)
		return []*tensor.Dense{normalTensor(rng, 0, k, 1+rng.IntN(40)), integers(rng, k, 1+rng.IntN(30), 1+rng.IntN(9))}
	}},
	"MassOp": {always(op.Mass(300)), func(rng *rand.Rand) []*tensor.Dense {
		w := 1 + rng.IntN(300)
		return []*tensor.Dense{integers(rng, 300, 1+rng.IntN(9), w), normalTensor(rng, 0, w)}
	}},
	"SlotSumOp": {always(op.New(op.SlotSumOp{})), func(rng *rand.Rand) []*tensor.Dense {
		b := 1 + rng.IntN(50)
		return []*tensor.Dense{integers(rng, 11, b, 1+rng.IntN(70)), normalTensor(rng, 0, b, 11)}
	}},
	"RampsOp": {always(op.Ramps(knots)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{one(rng)[0], normalTensor(rng, 0, len(knots)+1, 1)}
	}},
	"RampSumsOp": {always(op.New(op.RampSumsOp{Knots: knots})), two},
	"ShareMassOp": {always(op.ShareMass(300)), func(rng *rand.Rand) []*tensor.Dense {
		w, each := 1+rng.IntN(90), 1+rng.IntN(5)
		b := 1 + rng.IntN(9)
		return []*tensor.Dense{integers(rng, 300, b, w*each), normalTensor(rng, 0, b, w*each), normalTensor(rng, 0, w)}
	}},
	"ShareSlotSumOp": {always(op.New(op.ShareSlotSumOp{Slots: 33})), func(rng *rand.Rand) []*tensor.Dense {
		b, p := 1+rng.IntN(50), 33*(1+rng.IntN(4))
		return []*tensor.Dense{integers(rng, 11, b, p), normalTensor(rng, 0, b, p), normalTensor(rng, 0, b, 11)}
	}},
	"NearbyOp": {always(op.Nearby(1), op.Nearby(4)), func(rng *rand.Rand) []*tensor.Dense {
		w, d := 1+rng.IntN(9), 1+rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(40), w*d), normalTensor(rng, 0, 4+rng.IntN(130), d)}
	}},
	"NearSharesOp": {always(op.NearShares(3)), func(rng *rand.Rand) []*tensor.Dense {
		b, w, d := 1+rng.IntN(40), 1+rng.IntN(9), 1+rng.IntN(40)
		z, words := normalTensor(rng, 0, b, w*d), normalTensor(rng, 0, 3+rng.IntN(60), d)
		codes, err := op.Nearby(3).Do(z, words)
		if err != nil {
			panic(err)
		}
		tau := float64(rng.IntN(3)) // 0: the nearest alone
		return []*tensor.Dense{z, words, codes.(*tensor.Dense), tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{tau}))}
	}},
	"ShareSumOp": {always(op.ShareSum(3)), func(rng *rand.Rand) []*tensor.Dense {
		b, k := 1+rng.IntN(300), 1+rng.IntN(150)
		places := slotPlaces(rng, b, 3, 1+rng.IntN(5), k)
		return []*tensor.Dense{normalTensor(rng, 0, 3*k, 1+rng.IntN(40)), places, normalTensor(rng, 0, places.Shape()...)}
	}},
	"ShareScatterOp": {always(op.ShareScatter(3, 3*130)), func(rng *rand.Rand) []*tensor.Dense {
		b := 1 + rng.IntN(300)
		places := slotPlaces(rng, b, 3, 1+rng.IntN(5), 130)
		return []*tensor.Dense{places, normalTensor(rng, 0, places.Shape()...), normalTensor(rng, 0, b, 1+rng.IntN(70))}
	}},
	"WordSumOp": {always(op.WordSum(3)), func(rng *rand.Rand) []*tensor.Dense {
		b, p, k := 1+rng.IntN(40), 3*(1+rng.IntN(5)), 1+rng.IntN(70)
		return []*tensor.Dense{normalTensor(rng, 0, k, 1+rng.IntN(40)), integers(rng, k, b, p), normalTensor(rng, 0, b, p)}
	}},
	// The CPU adds short rows four at a time and those of 16 and more by a vector kernel; the
	// device adds all in the order of the slots.
	"TableSumOp": {always(op.TableSum()), func(rng *rand.Rand) []*tensor.Dense {
		w := 1 + rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, 7*w, 1+rng.IntN(40)), integers(rng, 7, 1+rng.IntN(50), w)}
	}},
	"TableScatterOp": {always(op.TableScatter(7)), func(rng *rand.Rand) []*tensor.Dense {
		b := 1 + rng.IntN(50)
		return []*tensor.Dense{integers(rng, 7, b, 1+rng.IntN(9)), normalTensor(rng, 0, b, 1+rng.IntN(40))}
	}},
	"MatMulOp": {func(in []*tensor.Dense) []op.Op {
		m, k, n := in[0].Shape()[0], in[0].Shape()[1], in[1].Shape()[1]
		all := []op.Op{op.MatMul()}
		if n == k {
			all = append(all, op.MatMulNT())
		}
		if m == k {
			all = append(all, op.MatMulTN())
		}
		return all
	}, func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(700)
		if k < 250 { // square, so that all orientations fit
			return []*tensor.Dense{normalTensor(rng, 0, k, k), normalTensor(rng, 0, k, k)}
		}
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(140), k), normalTensor(rng, 0, k, 1+rng.IntN(140))}
	}},
	"OuterOp": {always(op.Outer()), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(20)
		return []*tensor.Dense{normalTensor(rng, 0, k, 1+rng.IntN(40)), normalTensor(rng, 0, k, 1+rng.IntN(40))}
	}},
	"OuterLeftOp":  {always(op.OuterLeft()), contraction},
	"OuterRightOp": {always(op.OuterRight()), contraction},
	"DirichletOp": {always(op.DirichletScores(1), op.DirichletScores(0)), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(9), 2+rng.IntN(45)
		return []*tensor.Dense{normalTensor(rng, 0.5, b, c*c), logs(rng, b, c)}
	}},
	"DirichletByFormOp": {always(op.New(op.DirichletByFormOp{})), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(9), 2+rng.IntN(45)
		return []*tensor.Dense{normalTensor(rng, 0.5, b, c*c), logs(rng, b, c), normalTensor(rng, 0, b, c)}
	}},
	"DirichletByInputOp": {always(op.New(op.DirichletByInputOp{Delta: 1})), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(9), 2+rng.IntN(45)
		return []*tensor.Dense{normalTensor(rng, 0.5, b, c*c), normalTensor(rng, 0, b, c)}
	}},
	"LogSoftmaxOp": {always(op.LogSoftmax()), one},
	"LogSoftmaxGradOp": {always(op.New(op.LogSoftmaxGradOp{Of: op.Matrix})), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(40), 1+rng.IntN(140)
		return []*tensor.Dense{logs(rng, b, c), normalTensor(rng, 0, b, c)}
	}},
	"NLLOp": {always(op.NLL()), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(600), 1+rng.IntN(12)
		return []*tensor.Dense{logs(rng, b, c), integers(rng, c, b)}
	}},
	"NLLGradOp": {always(op.New(op.NLLGradOp{})), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(90), 1+rng.IntN(12)
		return []*tensor.Dense{logs(rng, b, c), integers(rng, c, b), normalTensor(rng, 0)}
	}},
	"CrossEntropyOp": {always(op.CrossEntropy()), func(rng *rand.Rand) []*tensor.Dense {
		b, c := 1+rng.IntN(90), 1+rng.IntN(12)
		logp, targets := logs(rng, b, c), normalTensor(rng, 0, b, c)
		logp.Float64s()[0], targets.Float64s()[0] = math.Inf(-1), 0 // has no part in it
		return []*tensor.Dense{logp, targets}
	}},
	"CrossEntropyGradOp": {always(op.New(op.CrossEntropyGradOp{})), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 1+rng.IntN(12)), normalTensor(rng, 0)}
	}},
	"ElementwiseOp": {always(op.Softplus(2), op.Sigmoid(2), op.Exp(2), op.New(op.ElementwiseOp{Of: op.Matrix, F: "y(1-y)"})), one}, // ln Γ and its derivatives: gammaFunctions
	"ReLUOp":        {always(op.ReLU(2)), one},
	"ReLUGradOp": {always(op.New(op.ReLUGradOp{Of: op.Matrix})), func(rng *rand.Rand) []*tensor.Dense { // y is not negative
		in := two(rng)
		for i, v := range in[0].Float64s() {
			in[0].Float64s()[i] = max(v, 0)
		}
		return in
	}},
	"PlusOp":           {always(op.Plus(2)), two},
	"TimesOp":          {always(op.Times(2)), two},
	"ScaleOp":          {always(op.Scale(2, -1.7)), one},
	"TimesScalarOp":    {always(op.TimesScalar()), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{one(rng)[0], normalTensor(rng, 0, 1)} }},
	"InnerOp":          {always(op.Inner()), two},
	"FlooredLogOp":     {always(op.FlooredLog(2, 0.5)), one},
	"FlooredLogGradOp": {always(op.New(op.FlooredLogGradOp{Of: op.Matrix, Floor: 0.5})), two},
	"AddRowOp":         {always(op.AddRow()), row},
	"TimesRowOp":       {always(op.TimesRow()), row},
	"SumRowsOp":        {always(op.SumRows()), one},
	"RepeatedRowOp":    {always(op.RepeatRow(13)), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(140))} }},
	"SpreadOp":         {always(op.Spread(77)), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{normalTensor(rng, 0, 1)} }},
	"SumOp":            {always(op.Sum(2)), one},
	"FillOp":           {always(op.New(op.FillOp{Of: op.Matrix})), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{one(rng)[0], normalTensor(rng, 0)} }},
}

// knots of ramps lie on one side of 0, on the other, and on it.
var knots = []float64{-1.5, -0.25, 0, 0.5, 1}

// slotPlaces are each places of w slots in tables of k rows.
func slotPlaces(rng *rand.Rand, b, w, each, k int) *tensor.Dense {
	places := integers(rng, k, b, w*each)
	for at := range places.Int32s() {
		places.Int32s()[at] += int32(at % (w * each) / each * k)
	}
	return places
}

func always(ops ...op.Op) func([]*tensor.Dense) []op.Op {
	return func([]*tensor.Dense) []op.Op { return ops }
}

func one(rng *rand.Rand) []*tensor.Dense {
	return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(60), 1+rng.IntN(140))}
}

func two(rng *rand.Rand) []*tensor.Dense {
	b, c := 1+rng.IntN(60), 1+rng.IntN(140)
	return []*tensor.Dense{normalTensor(rng, 0, b, c), normalTensor(rng, 0, b, c)}
}

func row(rng *rand.Rand) []*tensor.Dense {
	x := one(rng)[0]
	return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1])}
}

func contraction(rng *rand.Rand) []*tensor.Dense {
	k, c, d := 1+rng.IntN(20), 1+rng.IntN(40), 1+rng.IntN(40)
	if rng.IntN(2) == 0 {
		c, d = d, c
	}
	e := max(c, d) // OuterLeft and OuterRight then fit the same shapes
	return []*tensor.Dense{normalTensor(rng, 0, k, e*e), normalTensor(rng, 0, k, e)}
}

// single32 is x in float32, scalars as Gorgonia has them.
func in(x *tensor.Dense, wide bool) gorgonia.Value {
	switch {
	case x.Dtype() == tensor.Int32:
		return x
	case x.Dims() == 0 && wide:
		return gorgonia.NewF64(x.ScalarValue().(float64))
	case x.Dims() == 0:
		return gorgonia.NewF32(float32(x.ScalarValue().(float64)))
	case wide:
		return x
	}
	return tensor.New(tensor.WithShape(x.Shape()...), tensor.WithBacking(single(x.Float64s())))
}

// runOn runs o on d, its output full of NaNs before.
func runOn(t *testing.T, d *cuda.Device, o op.Op, inputs []*tensor.Dense, shape tensor.Shape) []byte {
	t.Helper()
	out := cuda.Operand{d.Alloc(shape.TotalSize()), shape}
	d.FillInt(out.Memory, 0x7fc00000)
	var operands []cuda.Operand
	for _, x := range inputs {
		operands = append(operands, uploaded(d, x))
	}
	d.Enqueue(o, out, operands)
	got := downloaded(t, d, out)
	for _, x := range operands {
		d.Free(x.Memory)
	}
	d.Free(out.Memory)
	return got
}

// uploaded is x on d, in float32 or int32.
func uploaded(d *cuda.Device, x *tensor.Dense) cuda.Operand {
	if x.Dtype() == tensor.Int32 {
		return cuda.Operand{cuda.Uploaded(d, x.Int32s()), x.Shape()}
	}
	return cuda.Operand{cuda.Uploaded(d, op.Values[float32](in(x, false))), x.Shape()}
}

// downloaded is the bytes of x.
func downloaded(t *testing.T, d *cuda.Device, x cuda.Operand) (bytes []byte) {
	t.Helper()
	got := make([]int32, x.Size())
	cuda.Download(d, got, x.Memory)
	if err := d.Err(); err != nil {
		t.Fatal(err)
	}
	for _, v := range got {
		bytes = append(bytes, byte(v), byte(v>>8), byte(v>>16), byte(v>>24))
	}
	return bytes
}

// Each kernel agrees with the CPU's op in float64 and in float32, leaves no entry of a
// poisoned output unwritten, and gives the same bytes whatever the order of threads. Sums
// of up to 700 terms in float32 keep some 700·2⁻²⁴ of the largest partial sum, and ln Γ and
// ψ 5e-7 of their size.
func TestHostKernelsAgreeWithTheCPU(t *testing.T) {
	kernelsAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card, where the second run is another order by itself.
func TestCardKernelsAgreeWithTheCPU(t *testing.T) {
	d := cudatest.Card(t)
	kernelsAgree(t, d, d)
}

func kernelsAgree(t *testing.T, first, second *cuda.Device) {
	for name, c := range onDevice {
		for trial := range 6 {
			t.Run(fmt.Sprint(name, trial), func(t *testing.T) {
				inputs := c.in(rand.New(rand.NewPCG(7, uint64(trial))))
				for _, o := range c.ops(inputs) {
					var wide, narrow []gorgonia.Value
					for _, x := range inputs {
						wide, narrow = append(wide, in(x, true)), append(narrow, in(x, false))
					}
					want, err := o.Do(wide...)
					if err != nil {
						t.Fatal(err)
					}
					want32, err := o.Do(narrow...)
					if err != nil {
						t.Fatal(err)
					}
					shape := want.Shape()
					got := runOn(t, first, o, inputs, shape)
					if !slices.Equal(got, runOn(t, second, o, inputs, shape)) {
						t.Fatalf("%v: another order of threads gives other bytes", o)
					}
					compareWith(t, o, got, want, want32)
				}
			})
		}
	}
}

func compareWith(t *testing.T, o op.Op, got []byte, want, want32 gorgonia.Value) {
	t.Helper()
	at := func(i int) uint32 {
		return uint32(got[4*i]) | uint32(got[4*i+1])<<8 | uint32(got[4*i+2])<<16 | uint32(got[4*i+3])<<24
	}
	if want.Dtype() == tensor.Int32 {
		for i, v := range op.Values[int32](want) {
			if int32(at(i)) != v {
				t.Fatalf("%v: entry %d is %d, not %d", o, i, int32(at(i)), v)
			}
		}
		return
	}
	x64, x32 := op.Values[float64](want), op.Values[float32](want32)
	size := 1.0
	for _, v := range x64 {
		size = math.Max(size, math.Abs(v))
	}
	for i, v := range x64 {
		x := float64(math.Float32frombits(at(i)))
		if !(math.Abs(x-v) <= 1e-5*size) || !(math.Abs(x-float64(x32[i])) <= 1e-5*size) {
			t.Fatalf("%v: entry %d of %d is %v; the CPU says %v in float64, %v in float32", o, i, len(x64), x, v, x32[i])
		}
	}
}

// A number that is none is one of the output wherever the CPU's op has one, in whichever input
// it stands, so that a fit on a device fails where it would on the CPU.
func TestHostKernelsKeepNaNs(t *testing.T) { keepNaNs(t, cudatest.Device(t, 1)) }

func TestCardKernelsKeepNaNs(t *testing.T) { keepNaNs(t, cudatest.Card(t)) }

func keepNaNs(t *testing.T, d *cuda.Device) {
	kept := 0
	for name, c := range onDevice {
		for trial := range 3 {
			rng := rand.New(rand.NewPCG(8, uint64(trial)))
			inputs := c.in(rng)
			for j, x := range inputs {
				if x.Dtype() != tensor.Float64 {
					continue
				}
				spoilt := slices.Clone(inputs)
				if x.Dims() == 0 {
					spoilt[j] = tensor.New(tensor.FromScalar(math.NaN()))
				} else {
					spoilt[j] = x.Clone().(*tensor.Dense)
					spoilt[j].Float64s()[rng.IntN(x.Size())] = math.NaN()
				}
				var narrow []gorgonia.Value
				for _, x := range spoilt {
					narrow = append(narrow, in(x, false))
				}
				for _, o := range c.ops(inputs) {
					want, err := o.Do(narrow...)
					if err != nil {
						t.Fatal(err)
					}
					if want.Dtype() == tensor.Int32 {
						continue
					}
					got := runOn(t, d, o, spoilt, want.Shape())
					for i, v := range op.Values[float32](want) {
						if v == v {
							continue
						}
						kept++
						if x := math.Float32frombits(binary.LittleEndian.Uint32(got[4*i:])); x == x {
							t.Fatalf("%s: %v of a NaN in input %d has %v at entry %d, the CPU a NaN", name, o, j, x, i)
						}
					}
				}
			}
		}
	}
	if kept == 0 {
		t.Error("no op of the CPU gave a NaN")
	}
}

// Of codewords that are equal the first is taken, wherever in the tiles they lie.
func TestHostNearestTakesTheFirstOfTies(t *testing.T) {
	d := cudatest.Device(t, 4)
	const k, different, wide = 130, 7, 5
	rng := rand.New(rand.NewPCG(1, 1))
	words := normalTensor(rng, 0, k, wide)
	for i := different; i < k; i++ {
		copy(words.Float64s()[i*wide:(i+1)*wide], words.Float64s()[i%different*wide:])
	}
	z := normalTensor(rng, 0, 40, 3*wide)
	got := runOn(t, d, op.Nearest(), []*tensor.Dense{z, words}, tensor.Shape{40, 3})
	for i := 0; i < len(got); i += 4 {
		if got[i] >= different || got[i+1] != 0 {
			t.Fatalf("slot %d is assigned to codeword %d of %d that differ", i/4, got[i], different)
		}
	}
}

// ln Γ, ψ and ψ′ over their whole range, beside their zeros too.
func TestHostGammaFunctions(t *testing.T) { gammaFunctions(t, cudatest.Device(t, 3)) }

func TestCardGammaFunctions(t *testing.T) { gammaFunctions(t, cudatest.Card(t)) }

func gammaFunctions(t *testing.T, d *cuda.Device) {
	var x []float64
	for e := -18.0; e < 12; e += 0.01 {
		x = append(x, float64(float32(math.Exp(e))))
	}
	for i := range 200 {
		x = append(x, float64(float32(0.9+0.01*float64(i))))
	}
	in := tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(x))
	for _, o := range []op.Op{op.Lgamma(1), op.Digamma(1), op.Trigamma(1)} {
		want, err := o.Do(in)
		if err != nil {
			t.Fatal(err)
		}
		got := runOn(t, d, o, []*tensor.Dense{in}, want.Shape())
		for i, v := range want.(*tensor.Dense).Float64s() {
			y := float64(math.Float32frombits(uint32(got[4*i]) | uint32(got[4*i+1])<<8 | uint32(got[4*i+2])<<16 | uint32(got[4*i+3])<<24))
			// 2e-6 relative, and beside a zero of ψ or ln Γ what an ulp of x changes
			if !(math.Abs(y-v) <= 2e-6*math.Abs(v)+1e-7*math.Max(1, math.Abs(x[i]))) {
				t.Fatalf("%v(%v) is %v, not %v", o, x[i], y, v)
			}
		}
	}
}

// Every row of the table is checked, but for those of steps that the CPU takes in pairs and a
// device one by one, and every elementwise function has a kernel.
func TestHostEveryDeviceKernelIsChecked(t *testing.T) {
	pairs := map[string]bool{"DirichletWithGradientOp": true, "DirichletTimesGOp": true}
	for _, kind := range cuda.Rows() {
		if onDevice[kind.Name()].in == nil && !pairs[kind.Name()] {
			t.Errorf("%s runs on a device and has no row in onDevice of graph/cuda/table_test.go", kind.Name())
		}
	}
	if n := len(cuda.Rows()); n != len(onDevice)+len(pairs) {
		t.Errorf("%d kinds run on a device, onDevice has %d rows", n, len(onDevice))
	}
	for _, o := range []op.Op{op.Softplus(1), op.Sigmoid(1), op.Exp(1), op.Lgamma(1), op.Digamma(1), op.Trigamma(1)} {
		if f := o.Kernel.(op.ElementwiseOp).F; !cuda.HasMap(f) {
			t.Errorf("%s runs on no device", f)
		}
	}
}

func randoms(rng *rand.Rand, n int, sd float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(float32(sd * rng.NormFloat64()))
	}
	return x
}

func single(x []float64) []float32 {
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	return y
}

// later are the kinds of ops that no device has code for yet, and why: each step of a fit then goes back and forth.
var later = map[string]string{}

// Every kind of op that a graph can hold runs on a device, so that no fit goes back and forth at each step, or is among
// later. An op of your own may be without a row.
func TestHostEveryOpHasARow(t *testing.T) {
	files, err := filepath.Glob("../op/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of ops: %v", len(files), err)
	}
	kind := regexp.MustCompile(`(?m)^func \([a-z]* ?([A-Z][A-Za-z]*Op)\) Run\(`)
	rows, found := map[string]bool{}, 0
	for _, r := range cuda.Rows() {
		rows[r.Name()] = true
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range kind.FindAllStringSubmatch(string(source), -1) {
			if found++; rows[m[1]] == (later[m[1]] != "") {
				t.Errorf("%s of %s has a row: %v; give it one in graph/cuda/table.go, or a reason in later of "+
					"graph/cuda/table_test.go, not both", m[1], file, rows[m[1]])
			}
		}
	}
	if found < len(rows)/2 {
		t.Errorf("%d kinds of ops in ../op, %d rows", found, len(rows))
	}
}
