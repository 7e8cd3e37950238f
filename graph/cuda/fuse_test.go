package cuda_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// together are steps of which kernels compute some together: each reads inputs, or what steps
// before it compute, by number.
type together struct {
	in       draw
	steps    []stepOf
	kept     []int // steps whose results are read
	launches int
}

type stepOf struct {
	op op.Op
	in []int
}

// fused has a row for each pattern and its variants.
var fused = map[string]together{
	"crossEntropy": {scored, []stepOf{
		{op.LogSoftmax(), []int{0}}, {op.NLL(), []int{4, 1}}, {op.New(op.NLLGradOp{}), []int{4, 1, 2}}, {op.New(op.LogSoftmaxGradOp{Of: op.Matrix}), []int{4, 6}},
	}, []int{0, 1, 3}, 2},
	"crossEntropy after AddRow": {scored, []stepOf{
		{op.AddRow(), []int{0, 3}}, {op.LogSoftmax(), []int{4}}, {op.NLL(), []int{5, 1}}, {op.New(op.NLLGradOp{}), []int{5, 1, 2}}, {op.New(op.LogSoftmaxGradOp{Of: op.Matrix}), []int{5, 7}},
	}, []int{1, 2, 4}, 2},
	"crossEntropy after AddRow that is read": {scored, []stepOf{
		{op.AddRow(), []int{0, 3}}, {op.LogSoftmax(), []int{4}}, {op.NLL(), []int{5, 1}}, {op.New(op.NLLGradOp{}), []int{5, 1, 2}}, {op.New(op.LogSoftmaxGradOp{Of: op.Matrix}), []int{5, 7}},
	}, []int{0, 2, 4}, 3},
	"no crossEntropy of a gradient that comes later": {scored, []stepOf{
		{op.LogSoftmax(), []int{0}}, {op.NLL(), []int{4, 1}}, {op.Scale(0, 2), []int{5}}, {op.New(op.NLLGradOp{}), []int{4, 1, 6}}, {op.New(op.LogSoftmaxGradOp{Of: op.Matrix}), []int{4, 7}},
	}, []int{0, 1, 4}, 5},
	"movingAverages": {averaged, []stepOf{
		{op.Count(), []int{0, 2}}, {op.Blend(1, 0.99), []int{2, 4}}, {op.ScatterAdd(7), []int{0, 1}}, {op.Blend(2, 0.99), []int{3, 6}}, {op.Normalize(1e-8), []int{7, 5}},
	}, []int{1, 3, 4}, 1},
	"movingAverages of rows": {func(rng *rand.Rand) []*tensor.Dense {
		in := averaged(rng)
		return append(in, integers(rng, in[1].Shape()[0], in[0].Shape()[0]))
	}, []stepOf{
		{op.Count(), []int{0, 2}}, {op.Blend(1, 0.9), []int{2, 5}}, {op.New(op.ScatterTakenOp{K: 7}), []int{0, 1, 4}}, {op.Blend(2, 0.9), []int{3, 7}}, {op.Normalize(1e-3), []int{8, 6}},
	}, []int{1, 3, 4}, 1},
	"no movingAverages of two decays": {averaged, []stepOf{
		{op.Count(), []int{0, 2}}, {op.Blend(1, 0.99), []int{2, 4}}, {op.ScatterAdd(7), []int{0, 1}}, {op.Blend(2, 0.9), []int{3, 6}}, {op.Normalize(1e-8), []int{7, 5}},
	}, []int{1, 3, 4}, 5},
}

// scored are scores, labels, the gradient by the loss, and a row.
func scored(rng *rand.Rand) []*tensor.Dense {
	b, c := 1+rng.IntN(90), 1+rng.IntN(140)
	return []*tensor.Dense{normalTensor(rng, 0, b, c), integers(rng, c, b), normalTensor(rng, 0), normalTensor(rng, 0, c)}
}

// averaged are codes, features, and the counts and sums of 7 codewords.
func averaged(rng *rand.Rand) []*tensor.Dense {
	b, w, d := 1+rng.IntN(400), 1+rng.IntN(5), 1+rng.IntN(40)
	return []*tensor.Dense{integers(rng, 7, b, w), normalTensor(rng, 0, b, w*d), normalTensor(rng, 9, 7), normalTensor(rng, 0, 7, d)}
}

// Steps that are launched together compute what the CPU's ops do, and the bytes that each
// would by itself, whatever the order of threads; what is kept is written, all of it if all
// of it is kept.
func TestHostLaunchesAgreeWithTheirSteps(t *testing.T) {
	launchesAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card, where the second run is another order by itself.
func TestCardLaunchesAgreeWithTheirSteps(t *testing.T) {
	d := cudatest.Card(t)
	launchesAgree(t, d, d)
}

func launchesAgree(t *testing.T, first, second *cuda.Device) {
	for name, c := range fused {
		for trial := range 4 {
			t.Run(fmt.Sprint(name, trial), func(t *testing.T) {
				inputs := c.in(rand.New(rand.NewPCG(5, uint64(trial))))
				wide, narrow := c.onCPU(t, inputs, true), c.onCPU(t, inputs, false)
				all := make([]int, len(c.steps))
				for i := range all {
					all[i] = i
				}
				alone, _ := c.onDevice(t, first, inputs, wide, all, func(steps []cuda.Step, _ []cuda.Memory) (l []cuda.Launch) {
					for _, s := range steps {
						l = append(l, s.Launch())
					}
					return l
				})
				for i, s := range c.steps {
					compareWith(t, s.op, alone[i], wide[i], narrow[i])
				}
				got, launches := c.onDevice(t, first, inputs, wide, c.kept, cuda.LaunchesOf)
				if launches != c.launches {
					t.Errorf("%d steps are %d launches, not %d", len(c.steps), launches, c.launches)
				}
				again, _ := c.onDevice(t, second, inputs, wide, c.kept, cuda.LaunchesOf)
				every, _ := c.onDevice(t, first, inputs, wide, all, cuda.LaunchesOf)
				for i, s := range c.steps {
					if !bytes.Equal(every[i], alone[i]) {
						t.Errorf("%v is other bytes than by itself, where all is kept", s.op)
					}
					if slices.Contains(c.kept, i) && (!bytes.Equal(got[i], alone[i]) || !bytes.Equal(again[i], alone[i])) {
						t.Errorf("%v is other bytes than by itself", s.op)
					}
				}
			})
		}
	}
}

// onCPU are the results of the steps.
func (c together) onCPU(t *testing.T, inputs []*tensor.Dense, wide bool) []gorgonia.Value {
	t.Helper()
	var all []gorgonia.Value
	for _, x := range inputs {
		all = append(all, in(x, wide))
	}
	for _, s := range c.steps {
		var args []gorgonia.Value
		for _, k := range s.in {
			args = append(args, all[k])
		}
		v, err := s.op.Do(args...)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	return all[len(inputs):]
}

// onDevice are the results of the steps, full of NaNs before, by as many launches as launch
// makes of them.
func (c together) onDevice(t *testing.T, d *cuda.Device, inputs []*tensor.Dense, like []gorgonia.Value, kept []int, launch func([]cuda.Step, []cuda.Memory) []cuda.Launch) (results [][]byte, launches int) {
	t.Helper()
	var all []cuda.Operand
	for _, x := range inputs {
		all = append(all, uploaded(d, x))
	}
	var steps []cuda.Step
	for i, s := range c.steps {
		out := cuda.Operand{d.Alloc(like[i].Shape().TotalSize()), like[i].Shape()}
		d.FillInt(out.Memory, 0x7fc00000)
		var operands []cuda.Operand
		for _, k := range s.in {
			operands = append(operands, all[k])
		}
		all, steps = append(all, out), append(steps, cuda.NewStep(s.op, out, operands))
	}
	var keep []cuda.Memory
	for _, i := range kept {
		keep = append(keep, steps[i].Out.Memory)
	}
	list := launch(steps, keep)
	for _, l := range list {
		l(d)
	}
	for _, s := range steps {
		results = append(results, downloaded(t, d, s.Out))
	}
	for _, x := range all {
		d.Free(x.Memory)
	}
	return results, len(list)
}

// Rows of all tables are those of Take, from the current step of an order on; their numbers
// are written where a step reads them.
func TestHostRowsAreTakenAtOnce(t *testing.T) { rowsAreTaken(t, cudatest.Device(t, 1)) }

func TestCardRowsAreTakenAtOnce(t *testing.T) { rowsAreTaken(t, cudatest.Card(t)) }

func rowsAreTaken(t *testing.T, d *cuda.Device) {
	rng := rand.New(rand.NewPCG(3, 0))
	for _, batch := range []int{1, 7, 300} {
		const n, step = 60, 2
		order := integers(rng, n, (step+1)*batch)
		rows := tensor.New(tensor.WithShape(batch), tensor.WithBacking(order.Int32s()[step*batch:]))
		tables := []*tensor.Dense{normalTensor(rng, 0, n, 1+rng.IntN(40)), integers(rng, 9, n, 1+rng.IntN(9)), integers(rng, 9, n), normalTensor(rng, 0, n)}
		codewords := uploaded(d, normalTensor(rng, 0, 3, tables[0].Shape()[1]))
		at := d.NewCursor()
		d.FillInt(at.Step, step)
		numbers := cuda.Operand{d.Alloc(batch), rows.Shape()}
		var steps []cuda.Step
		for i, o := range []op.Op{op.Take(op.Matrix), op.Take(op.Codes), op.Take(op.Indices), op.Take(op.Vector)} {
			shape := tables[i].Shape().Clone()
			shape[0] = batch
			steps = append(steps, cuda.NewStep(o, cuda.Operand{d.Alloc(shape.TotalSize()), shape}, []cuda.Operand{uploaded(d, tables[i]), numbers}))
		}
		code := cuda.Operand{d.Alloc(batch), tensor.Shape{batch, 1}}
		nearest := cuda.NewStep(op.New(op.NearestTakenOp{}), code, []cuda.Operand{steps[0].In[0], numbers, codewords})
		twice := cuda.NewStep(op.Take(op.Matrix), cuda.Operand{d.Alloc(steps[0].Out.Size()), steps[0].Out.Shape}, []cuda.Operand{steps[0].Out, numbers}) // of no table
		for _, others := range [][]cuda.Step{nil, {nearest, twice}} {
			taken, rest := cuda.Takings(append(slices.Clone(steps), others...), numbers)
			if len(rest) != len(others) || len(taken) != len(steps)+min(1, len(others)) {
				t.Fatalf("%d tables and %d other steps", len(taken), len(rest))
			}
			for _, s := range append(slices.Clone(steps), cuda.Step{Out: numbers}) {
				d.FillInt(s.Out.Memory, -1)
			}
			taking := d.NewTaking(batch, taken)
			d.TakeRows(taking, uploaded(d, order).Memory, at, batch)
			taking.Free(d)
			for i, s := range steps {
				if want := runOn(t, d, s.Op.(op.Op), []*tensor.Dense{tables[i], rows}, s.Out.Shape); !bytes.Equal(downloaded(t, d, s.Out), want) {
					t.Errorf("batches of %d: other rows of table %d", batch, i)
				}
			}
			got := make([]int32, batch)
			cuda.Download(d, got, numbers.Memory)
			if written := slices.Equal(got, rows.Int32s()); written != (others != nil) {
				t.Errorf("the row numbers are %v, read by %d steps", got, len(others))
			}
		}
	}
}
