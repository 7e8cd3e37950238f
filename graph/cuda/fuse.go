package cuda

import (
	"slices"

	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// step is an op on values of a device, each of which has memory of its own.
type step struct {
	Op  gorgonia.Op
	Out operand
	In  []operand
	own *ownStep // not nil where the device has no row for Op

	launch func(*Device) // by the row, once it is bound
}

// enqueuer is a step, or several that one kernel computes together.
type enqueuer interface{ enqueue(d *Device) }

func (s step) enqueue(d *Device) {
	switch {
	case s.own != nil:
		s.own.run(d, s)
	case s.launch != nil:
		s.launch(d)
	default:
		d.enqueue(s.Op, s.Out, s.In)
	}
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

// blendings parts the moving averages that no step reads from the others: one launch after all
// of them makes those (see [Device.blendAll]).
func blendings(steps []step) (averaged []blended, others []step) {
	for _, s := range steps {
		if k, is := s.kernel().(op.BlendOp); is && !slices.ContainsFunc(steps, func(o step) bool { return o.reads(s.Out) }) {
			averaged = append(averaged, blended{
				out: s.Out.Memory, old: s.In[0].Memory, fresh: s.In[1].Memory, gamma: float32(k.Decay), rest: float32(1 - k.Decay),
			})
		} else {
			others = append(others, s)
		}
	}
	return averaged, others
}

// launchesOf are what runs the steps on a device, whose kernels compute some of them together,
// each number as by itself. Of what steps compute, only what is kept or what other launches
// read is written.
func launchesOf(steps []step, kept []Memory) []enqueuer {
	f := fusion{steps, kept, make([]enqueuer, len(steps))}
	for i, s := range steps {
		if s.own == nil {
			s.launch = bind(s.Op, s.Out, s.In)
		}
		f.launches[i] = s
	}
	for i := range steps {
		f.crossEntropy(i)
		f.movingAverages(i)
		f.rectified(i)
		f.gradients(i)
	}
	return slices.DeleteFunc(f.launches, func(l enqueuer) bool { return l == nil })
}

// fusion is a choice of launches, one or none in the place of each step.
type fusion struct {
	steps    []step
	kept     []Memory
	launches []enqueuer
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

// ready reports whether all that step i reads is there before step k.
func (f *fusion) ready(i, k int) bool {
	return !slices.ContainsFunc(f.steps[i].In, func(x operand) bool { return f.maker(x) >= k })
}

// crossEntropy is log-softmax with the gradient by its scores of the loss that is taken of it.
type crossEntropy struct {
	logp, dx, x, row, labels, g operand // row may be none
}

func (e crossEntropy) enqueue(d *Device) {
	b := e.x.Shape[0]
	d.launch("cross_entropy", warps(b), e.logp, e.dx, e.x, e.row, e.labels, Memory{}, e.g, b, e.x.columns())
}

// crossEntropy puts one in the place of a log-softmax, after AddRow or not, if step i is the
// gradient of it by way of NLL alone.
func (f *fusion) crossEntropy(i int) {
	if _, is := f.steps[i].kernel().(op.LogSoftmaxGradOp); !is {
		return
	}
	by := f.steps[i].In // log p and the gradient by it
	forward, gradient := f.maker(by[0]), f.maker(by[1])
	if forward < 0 || gradient < 0 || !f.only(i, by[1]) {
		return
	}
	if _, is := f.steps[gradient].kernel().(op.NLLGradOp); !is {
		return
	}
	loss := f.steps[gradient].In
	e := crossEntropy{logp: by[0], dx: f.steps[i].Out, x: f.steps[forward].In[0], labels: loss[1], g: loss[2]}
	if _, is := f.steps[forward].kernel().(op.LogSoftmaxOp); !is || max(f.maker(e.labels), f.maker(e.g)) > forward {
		return
	}
	if k := f.maker(e.x); k >= 0 && f.only(forward, e.x) {
		if _, is := f.steps[k].kernel().(op.AddRowOp); is {
			e.x, e.row = f.steps[k].In[0], f.steps[k].In[1]
			f.launches[k] = nil
		}
	}
	f.launches[forward], f.launches[gradient], f.launches[i] = e, nil, nil
}

// movingAverages are a step of a codebook's averages: the counts m (K), the sums T (K×d) and the
// codewords c (K×d),
//
//	m ← γm + (1−γ)·Count, T ← γT + (1−γ)·ScatterAdd, c = T/(m + ε)
type movingAverages struct {
	counts, sums, words operand
	oldCounts, oldSums  operand
	codes, x, rows      operand // rows may be none
	blend               op.BlendOp
	normalize           op.NormalizeOp
}

func (a movingAverages) enqueue(d *Device) {
	k, wide, cut := a.words.Shape[0], a.words.Shape[1], scatterCut(a.codes)
	sums, counts := d.Alloc(cut*k*wide), d.Alloc(cut*k)
	d.scatter(sums, counts, a.codes, a.x, a.rows, a.words.Shape)
	d.launch("moving_averages", each(k*wide), a.counts, a.sums, a.words, a.oldCounts, a.oldSums, counts, sums,
		float32(a.blend.Decay), float32(1-a.blend.Decay), float32(a.normalize.Eps), k, wide, k*wide, cut)
	d.Free(sums, counts)
}

// movingAverages puts one in the place of step i if that is Normalize of what Blend makes of
// ScatterAdd and of Count of the same codes.
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
	ofSums, isBlend := f.steps[sums].kernel().(op.BlendOp)
	ofCounts, areBlends := f.steps[counts].kernel().(op.BlendOp)
	if !isBlend || !areBlends || ofSums.Decay != ofCounts.Decay {
		return
	}
	t, m := f.steps[sums].In, f.steps[counts].In // old and fresh
	scatter, counted := f.maker(t[1]), f.maker(m[1])
	if scatter < 0 || counted < 0 || !f.only(sums, t[1]) || !f.only(counts, m[1]) {
		return
	}
	from := f.steps[scatter].In
	a := movingAverages{
		counts: last.In[1], sums: last.In[0], words: last.Out, oldCounts: m[0], oldSums: t[0],
		codes: from[0], x: from[1], blend: ofSums, normalize: n,
	}
	switch f.steps[scatter].kernel().(type) {
	case op.ScatterAddOp:
	case op.ScatterTakenOp:
		a.rows = from[2]
	default:
		return
	}
	if _, is := f.steps[counted].kernel().(op.CountOp); !is || f.steps[counted].In[0].Memory != a.codes.Memory {
		return
	}
	for _, k := range []int{sums, counts, scatter, counted} {
		f.launches[k] = nil
	}
	f.launches[i] = a
}

// rectified is a sum or batch normalization with ReLU after it.
type rectified struct{ step }

func (r rectified) enqueue(d *Device) {
	if k, is := r.kernel().(op.BatchNormOp); is {
		d.batchNorm(k, 0, r.Out, r.In)
	} else {
		d.combine("plusReLU", r.Out, r.In[0], r.In[1])
	}
}

// rectified puts one in the place of step i if that is the ReLU.
func (f *fusion) rectified(i int) {
	last := f.steps[i]
	if _, is := last.kernel().(op.ReLUOp); !is {
		return
	}
	k := f.maker(last.In[0])
	if k < 0 || !f.only(i, last.In[0]) {
		return
	}
	switch f.steps[k].kernel().(type) {
	case op.PlusOp, op.AddRowOp, op.BatchNormOp:
		f.launches[k], f.launches[i] = nil, rectified{step{Op: f.steps[k].Op, Out: last.Out, In: f.steps[k].In}}
	}
}

// outerGradients are OuterLeft and OuterRight of the same matrices.
type outerGradients struct{ left, right step }

func (s outerGradients) enqueue(d *Device) {
	d.outerSides(s.left.Out, s.right.Out, s.left.In[0], s.right.In[1], s.left.In[1])
}

// batchNormGradients are the gradients of batch normalization by γ and β.
type batchNormGradients struct{ scale, shift step }

func (s batchNormGradients) enqueue(d *Device) {
	d.batchNormScale(s.scale.kernel().(op.BatchNormScaleOp), s.scale.Out, s.shift.Out, s.scale.In)
}

// gradients puts both gradients in the place of the first if step i is one of two.
func (f *fusion) gradients(i int) {
	s := f.steps[i]
	for k, other := range f.steps {
		var both enqueuer
		switch s.kernel().(type) {
		case op.OuterRightOp:
			if _, is := other.kernel().(op.OuterLeftOp); is && other.In[0].Memory == s.In[0].Memory {
				both = outerGradients{other, s}
			}
		case op.ChannelSumOp:
			if _, is := other.kernel().(op.BatchNormScaleOp); is && other.In[3].Memory == s.In[0].Memory {
				both = batchNormGradients{other, s}
			}
		}
		earlier, later := min(i, k), max(i, k)
		if _, alone := f.launches[k].(step); both != nil && alone && f.ready(later, earlier) {
			f.launches[earlier], f.launches[later] = both, nil
			return
		}
	}
}
