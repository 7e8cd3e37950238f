package cuda

import (
	"slices"

	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// step is an op on values of a device, each of which has memory of its own.
type step struct {
	Op     gorgonia.Op
	Out    operand
	In     []operand
	launch func(*Device)
}

// kernel is what the step's op computes, or nil where it is Gorgonia's.
func (s step) kernel() op.Kernel {
	o, _ := s.Op.(op.Op)
	return o.Kernel
}

func (s step) reads(x operand) bool {
	return slices.ContainsFunc(s.In, func(in operand) bool { return in.Memory == x.Memory })
}

// takings parts the steps that take rows of tables from the others: one launch before all of
// them takes the rows (see [Device.takeRows]), and their numbers too if others read them.
func takings(steps []step, rows operand) (rowsOf []taken, others []step) {
	f := fusion{steps: steps}
	for _, s := range steps {
		if _, takes := s.kernel().(op.TakeOp); takes && s.In[1].Memory == rows.Memory && f.maker(s.In[0]) < 0 {
			rowsOf = append(rowsOf, taken{out: s.Out.Memory, table: s.In[0].Memory, width: s.Out.Size() / rows.Size()})
		} else {
			others = append(others, s)
		}
	}
	if slices.ContainsFunc(others, func(s step) bool { return s.reads(rows) }) {
		rowsOf = append(rowsOf, taken{out: rows.Memory, width: 1})
	}
	return rowsOf, others
}

// launchesOf are what runs the steps on a device, whose kernels compute some of them together,
// each number as by itself. Of what steps compute, only what is kept or what other launches
// read is written.
func launchesOf(steps []step, kept []Memory) []func(*Device) {
	f := fusion{steps: steps, kept: kept}
	for _, s := range steps {
		f.launches = append(f.launches, s.launch)
	}
	for i := range steps {
		f.crossEntropy(i)
		f.movingAverages(i)
	}
	return slices.DeleteFunc(f.launches, func(l func(*Device)) bool { return l == nil })
}

// fusion is a choice of launches, one or none in the place of each step.
type fusion struct {
	steps    []step
	kept     []Memory
	launches []func(*Device)
}

// maker is the step whose result x is, or −1.
func (f *fusion) maker(x operand) int {
	return slices.IndexFunc(f.steps, func(s step) bool { return s.Out.Memory == x.Memory })
}

// onlyStep reports whether no other step than step i reads x.
func (f *fusion) onlyStep(i int, x operand) bool {
	for k, s := range f.steps {
		if k != i && s.reads(x) {
			return false
		}
	}
	return true
}

// only reports whether nobody but step i reads x.
func (f *fusion) only(i int, x operand) bool {
	return f.onlyStep(i, x) && !slices.Contains(f.kept, x.Memory)
}

// made is the step of a kernel K whose result x is, if nobody but step i reads that.
func made[K op.Kernel](f *fusion, i int, x operand) (at int, k K, ok bool) {
	at = f.maker(x)
	if at < 0 || !f.only(i, x) {
		return at, k, false
	}
	k, ok = f.steps[at].kernel().(K)
	return at, k, ok
}

// crossEntropy launches log-softmax, after AddRow or not, with the gradient by its scores of the loss that is
// taken of it, if step i is that gradient by way of NLL alone.
func (f *fusion) crossEntropy(i int) {
	last := f.steps[i]
	if _, is := last.kernel().(op.LogSoftmaxGradOp); !is {
		return
	}
	logp := last.In[0]
	gradient, _, ok := made[op.NLLGradOp](f, i, last.In[1])
	forward := f.maker(logp)
	if !ok || forward < 0 {
		return
	}
	labels, g := f.steps[gradient].In[1], f.steps[gradient].In[2]
	if _, is := f.steps[forward].kernel().(op.LogSoftmaxOp); !is || max(f.maker(labels), f.maker(g)) > forward {
		return
	}
	x, row := f.steps[forward].In[0], operand{}
	if k, _, is := made[op.AddRowOp](f, forward, x); is {
		x, row = f.steps[k].In[0], f.steps[k].In[1]
		f.launches[k] = nil
	}
	b := x.Shape[0]
	f.launches[gradient], f.launches[i] = nil, nil
	f.launches[forward] = func(d *Device) {
		d.launch("cross_entropy", warps(b), logp, last.Out, x, row, labels, g, b, x.columns())
	}
}

// movingAverages launches a step of a codebook's averages, the counts m (K), the sums T (K×d) and the
// codewords c (K×d),
//
//	m ← γm + (1−γ)·Count, T ← γT + (1−γ)·ScatterAdd, c = T/(m + ε)
//
// if step i is Normalize of what Blend makes of ScatterAdd and of Count of the same codes.
func (f *fusion) movingAverages(i int) {
	last := f.steps[i]
	n, is := last.kernel().(op.NormalizeOp)
	if !is {
		return
	}
	sums, counts := f.maker(last.In[0]), f.maker(last.In[1])
	if sums < 0 || counts < 0 || !f.onlyStep(i, last.In[0]) || !f.onlyStep(i, last.In[1]) {
		return
	}
	blend, isBlend := f.steps[sums].kernel().(op.BlendOp)
	ofCounts, areBlends := f.steps[counts].kernel().(op.BlendOp)
	if !isBlend || !areBlends || blend.Decay != ofCounts.Decay {
		return
	}
	t, m := f.steps[sums].In, f.steps[counts].In // old and fresh
	counted, _, isCount := made[op.CountOp](f, counts, m[1])
	scatter, _, isScatter := made[op.ScatterAddOp](f, sums, t[1])
	rows := operand{}
	if !isScatter {
		if scatter, _, isScatter = made[op.ScatterTakenOp](f, sums, t[1]); isScatter {
			rows = f.steps[scatter].In[2]
		}
	}
	if !isCount || !isScatter || f.steps[counted].In[0].Memory != f.steps[scatter].In[0].Memory {
		return
	}
	for _, k := range []int{sums, counts, scatter, counted} {
		f.launches[k] = nil
	}
	codes, x, words := f.steps[scatter].In[0], f.steps[scatter].In[1], last.Out
	f.launches[i] = func(d *Device) {
		k, wide, cut := words.Shape[0], words.Shape[1], scatterCut(codes)
		freshSums, freshCounts := d.Alloc(cut*k*wide), d.Alloc(cut*k)
		d.scatter(freshSums, freshCounts, codes, x, rows, words.Shape)
		d.launch("moving_averages", each(k*wide), last.In[1], last.In[0], words, m[0], t[0], freshCounts, freshSums,
			float32(blend.Decay), float32(1-blend.Decay), float32(n.Eps), k, wide, k*wide, cut)
		d.Free(freshSums, freshCounts)
	}
}
