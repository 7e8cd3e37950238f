package op

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"

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
	op Op
	in []int
}

// fused has a row for each pattern and its variants.
var fused = map[string]together{
	"crossEntropy": {scored, []stepOf{
		{LogSoftmax(), []int{0}}, {NLL(), []int{4, 1}}, {Op{nllGrad{}}, []int{4, 1, 2}}, {Op{logSoftmaxGrad{matrix}}, []int{4, 6}},
	}, []int{0, 1, 3}, 2},
	"crossEntropy after AddRow": {scored, []stepOf{
		{AddRow(), []int{0, 3}}, {LogSoftmax(), []int{4}}, {NLL(), []int{5, 1}}, {Op{nllGrad{}}, []int{5, 1, 2}}, {Op{logSoftmaxGrad{matrix}}, []int{5, 7}},
	}, []int{1, 2, 4}, 2},
	"crossEntropy after AddRow that is read": {scored, []stepOf{
		{AddRow(), []int{0, 3}}, {LogSoftmax(), []int{4}}, {NLL(), []int{5, 1}}, {Op{nllGrad{}}, []int{5, 1, 2}}, {Op{logSoftmaxGrad{matrix}}, []int{5, 7}},
	}, []int{0, 2, 4}, 3},
	"crossEntropy of weights": {weighed, []stepOf{
		{LogSoftmax(), []int{0}}, {WeightedNLL(), []int{5, 1, 4}}, {Op{weightedNLLGrad{}}, []int{5, 1, 4, 2}}, {Op{logSoftmaxGrad{matrix}}, []int{5, 7}},
	}, []int{0, 1, 3}, 2},
	"no crossEntropy of a slope that comes later": {scored, []stepOf{
		{LogSoftmax(), []int{0}}, {NLL(), []int{4, 1}}, {Scale(0, 2), []int{5}}, {Op{nllGrad{}}, []int{4, 1, 6}}, {Op{logSoftmaxGrad{matrix}}, []int{4, 7}},
	}, []int{0, 1, 4}, 5},
	"movingAverages": {averaged, []stepOf{
		{Count(), []int{0, 2}}, {Blend(1, 0.99), []int{2, 4}}, {ScatterAdd(7), []int{0, 1}}, {Blend(2, 0.99), []int{3, 6}}, {Normalize(1e-8), []int{7, 5}},
	}, []int{1, 3, 4}, 1},
	"movingAverages of rows": {func(rng *rand.Rand) []*tensor.Dense {
		in := averaged(rng)
		return append(in, integers(rng, in[1].Shape()[0], in[0].Shape()[0]))
	}, []stepOf{
		{Count(), []int{0, 2}}, {Blend(1, 0.9), []int{2, 5}}, {Op{scatterTaken{7}}, []int{0, 1, 4}}, {Blend(2, 0.9), []int{3, 7}}, {Normalize(1e-3), []int{8, 6}},
	}, []int{1, 3, 4}, 1},
	"no movingAverages of two decays": {averaged, []stepOf{
		{Count(), []int{0, 2}}, {Blend(1, 0.99), []int{2, 4}}, {ScatterAdd(7), []int{0, 1}}, {Blend(2, 0.9), []int{3, 6}}, {Normalize(1e-8), []int{7, 5}},
	}, []int{1, 3, 4}, 5},
	"rectified sum":              {two, []stepOf{{Plus(2), []int{0, 1}}, {ReLU(2), []int{2}}, {Op{reluGrad{matrix}}, []int{3, 0}}}, []int{1, 2}, 2},
	"rectified sum of rows":      {row, []stepOf{{AddRow(), []int{0, 1}}, {ReLU(2), []int{2}}}, []int{1}, 1},
	"rectified sum that is read": {two, []stepOf{{Plus(2), []int{0, 1}}, {ReLU(2), []int{2}}, {Times(2), []int{2, 3}}}, []int{2}, 3},
	"rectified normalization":    {planar("channel", "positive", "channel", "channel"), []stepOf{{BatchNorm(4, 1e-5), []int{0, 1, 2, 3, 4}}, {ReLU(4), []int{5}}}, []int{1}, 1},
	"slopes of outer products": {func(rng *rand.Rand) []*tensor.Dense {
		k, c, d := 1+rng.IntN(20), 1+rng.IntN(40), 1+rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, k, c), normalTensor(rng, 0, k, d), normalTensor(rng, 0, k, c*d)}
	}, []stepOf{{OuterLeft(), []int{2, 1}}, {OuterRight(), []int{2, 0}}}, []int{0, 1}, 1},
	"slopes of batch normalization": {planar("channel", "positive", "same"), []stepOf{
		{Op{channelSum{images}}, []int{3}}, {Op{batchNormScale{images, 1e-5}}, []int{0, 1, 2, 3}},
	}, []int{0, 1}, 1},
	"slopes, one of the other": {func(rng *rand.Rand) []*tensor.Dense {
		k, c := 1+rng.IntN(20), 1+rng.IntN(40)
		return []*tensor.Dense{normalTensor(rng, 0, k, c), normalTensor(rng, 0, k, c*c)}
	}, []stepOf{{OuterLeft(), []int{1, 0}}, {OuterRight(), []int{1, 2}}}, []int{0, 1}, 2},
}

// scored are scores, labels, the gradient by the loss, and a row.
func scored(rng *rand.Rand) []*tensor.Dense {
	b, c := 1+rng.IntN(90), 1+rng.IntN(140)
	return []*tensor.Dense{normalTensor(rng, 0, b, c), integers(rng, c, b), normalTensor(rng, 0), normalTensor(rng, 0, c)}
}

func weighed(rng *rand.Rand) []*tensor.Dense {
	in := scored(rng)
	return append(in, normalTensor(rng, 0, in[1].Shape()[0]))
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
				alone, _ := c.onDevice(t, first, inputs, wide, all, func(steps []Step, _ []cuda.Memory) (l []Launch) {
					for _, s := range steps {
						l = append(l, s)
					}
					return l
				})
				for i, s := range c.steps {
					compareWith(t, s.op, alone[i], wide[i], narrow[i])
				}
				got, launches := c.onDevice(t, first, inputs, wide, c.kept, Launches)
				if launches != c.launches {
					t.Errorf("%d steps are %d launches, not %d", len(c.steps), launches, c.launches)
				}
				again, _ := c.onDevice(t, second, inputs, wide, c.kept, Launches)
				every, _ := c.onDevice(t, first, inputs, wide, all, Launches)
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
func (c together) onDevice(t *testing.T, d *cuda.Device, inputs []*tensor.Dense, like []gorgonia.Value, kept []int, launch func([]Step, []cuda.Memory) []Launch) (results [][]byte, launches int) {
	t.Helper()
	var all []Operand
	for _, x := range inputs {
		all = append(all, uploaded(d, x))
	}
	var steps []Step
	for i, s := range c.steps {
		out := Operand{d.Alloc(like[i].Shape().TotalSize()), like[i].Shape()}
		d.FillInt(out.Memory, 0x7fc00000)
		var operands []Operand
		for _, k := range s.in {
			operands = append(operands, all[k])
		}
		all, steps = append(all, out), append(steps, Step{s.op, out, operands})
	}
	var keep []cuda.Memory
	for _, i := range kept {
		keep = append(keep, steps[i].Out.Memory)
	}
	list := launch(steps, keep)
	for _, l := range list {
		l.Enqueue(d)
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
		numbers := Operand{d.Alloc(batch), rows.Shape()}
		var steps []Step
		for i, o := range []Op{Take(), TakeCodes(), TakeLabels(), TakeWeights()} {
			shape := tables[i].Shape().Clone()
			shape[0] = batch
			steps = append(steps, Step{o, Operand{d.Alloc(shape.TotalSize()), shape}, []Operand{uploaded(d, tables[i]), numbers}})
		}
		code := Operand{d.Alloc(batch), tensor.Shape{batch, 1}}
		nearest := Step{Op{nearestTaken{}}, code, []Operand{steps[0].In[0], numbers, codewords}}
		twice := Step{Take(), Operand{d.Alloc(steps[0].Out.Size()), steps[0].Out.Shape}, []Operand{steps[0].Out, numbers}} // of no table
		for _, others := range [][]Step{nil, {nearest, twice}} {
			taken, rest := Taken(append(slices.Clone(steps), others...), numbers)
			if len(rest) != len(others) || len(taken) != len(steps)+min(1, len(others)) {
				t.Fatalf("%d tables and %d other steps", len(taken), len(rest))
			}
			for _, s := range append(slices.Clone(steps), Step{Out: numbers}) {
				d.FillInt(s.Out.Memory, -1)
			}
			taking := d.NewTaking(batch, taken)
			d.TakeRows(taking, uploaded(d, order).Memory, at, batch)
			taking.Free(d)
			for i, s := range steps {
				if want := runOn(t, d, s.Op.(Op), []*tensor.Dense{tables[i], rows}, s.Out.Shape); !bytes.Equal(downloaded(t, d, s.Out), want) {
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

// Moving averages that no step reads are those of Blend, whatever their number and decays.
func TestHostAveragesAreMadeAtOnce(t *testing.T) { averagesAreMade(t, cudatest.Device(t, 1)) }

func TestCardAveragesAreMadeAtOnce(t *testing.T) { averagesAreMade(t, cudatest.Card(t)) }

func averagesAreMade(t *testing.T, d *cuda.Device) {
	rng := rand.New(rand.NewPCG(4, 0))
	var steps []Step
	var alone [][]byte
	for i, n := range []int{1, 255, 256, 700} {
		o, old, fresh := Blend(1, 1-0.1/float64(i+1)), normalTensor(rng, 0, n), normalTensor(rng, 0, n)
		alone = append(alone, runOn(t, d, o, []*tensor.Dense{old, fresh}, tensor.Shape{n}))
		steps = append(steps, Step{o, Operand{d.Alloc(n), tensor.Shape{n}}, []Operand{uploaded(d, old), uploaded(d, fresh)}})
	}
	read := Step{Blend(1, 0.5), Operand{d.Alloc(1), tensor.Shape{1}}, steps[0].In}
	reader := Step{Scale(1, 2), Operand{d.Alloc(1), tensor.Shape{1}}, []Operand{read.Out}}
	averaged, others := Averaged(append([]Step{read, reader}, steps...))
	if len(averaged) != len(steps) || len(others) != 2 {
		t.Fatalf("%d averages and %d other steps", len(averaged), len(others))
	}
	blending := d.NewBlending(averaged)
	d.BlendAll(blending)
	blending.Free(d)
	for i, s := range steps {
		if !bytes.Equal(downloaded(t, d, s.Out), alone[i]) {
			t.Errorf("an average of %d numbers is other bytes than by itself", s.Out.Size())
		}
	}
}
