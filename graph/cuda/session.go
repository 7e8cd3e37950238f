package cuda

import (
	"context"
	"fmt"
	"math"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// session is a fit on a device. Tables, weights and what a [pass] remembers are uploaded once
// and stay there; an epoch's steps are enqueued without the host waiting in between, and only
// the epoch's loss comes back, the weights at the end. An optimizer without a pass moves the weights
// in memory instead: then gradients come back and weights go there at each step.
type session struct {
	*gradients
	optimizer graph.Optimizer
	pass      pass // nil: the optimizer moves the weights in memory
	batch     int
	best      []Memory // a copy of each weight
	cursor    cursor
	order     Memory
	steps     map[int]*sessionStep
}

type sessionStep struct {
	*program
	learned, updated pieces
	recording        *Recording // nil where this process takes part
}

// Fit moves a fit to the device, or leaves it to the CPU where the work is too little to pay or
// the memory too small. The first step is computed on both, and must agree.
func (e *Executor) Fit(o *graph.Objective, m graph.Optimizer, rows, batch int) (graph.Session, error) {
	if graph.ProberOf(m) != nil {
		e.notify("%v takes each gradient at another point than its step: the fit runs on the CPU", m)
		return graph.CPU.Fit(o, m, rows, batch)
	}
	batch = min(batch, rows)
	s := &session{gradients: newGradients(e, o), optimizer: m, pass: passOf(m), batch: batch, steps: map[int]*sessionStep{}}
	here, err := s.begins(batch, func(loss float64, grads []*tensor.Dense) error {
		err := s.start(rows, loss, grads)
		if err != nil {
			s.free()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if !here {
		return graph.CPU.Fit(o, m, rows, batch)
	}
	if s.pass == nil {
		e.notify("%v has no CUDA kernel: the CPU takes its steps inside fits on %s", m, e.device.Name())
	}
	return s, nil
}

func (s *session) start(rows int, loss float64, grads []*tensor.Dense) error {
	d := s.device
	sizes, err := compiled(s.loss.Program, rows, s.batch)
	if err != nil {
		return err
	}
	for _, t := range s.weights() {
		s.onDevice(t)
		s.best = append(s.best, d.Alloc(t.DataSize()))
	}
	s.cursor, s.order = d.newCursor(), d.Alloc(rows)
	if s.pass != nil {
		s.pass.start(d, s.loss.Weights().Size(), (rows+s.batch-1)/s.batch)
	}
	if err := s.check(s.batch, loss, grads); err != nil {
		return err
	}
	for _, n := range []int{s.batch, rows % s.batch} {
		if n > 0 {
			if err := s.prepare(n, sizes[n]); err != nil {
				return err
			}
		}
	}
	return s.copyBest()
}

// agreement is how far the first step on the device may be from the CPU's, relative to
// the largest entry: far above rounding, and a slot that lies between two codewords, far
// below a kernel that computes something else.
const agreement = 5e-2

// check compares the first step with the CPU's last, which was of rows 0…rows−1.
func (s *gradients) check(rows int, loss float64, grads []*tensor.Dense) error {
	d := s.device
	p, err := s.loss.Program(rows)
	if err != nil {
		return err
	}
	l, err := s.load(p)
	if err != nil {
		return err
	}
	l.runRows(d, graph.Rows(0, rows))
	var values, gradient, updates comparison
	values.add(d, l.outputs[0].Memory, []float32{float32(loss)})
	for i, g := range grads {
		gradient.add(d, l.outputs[i+1].Memory, g.Float32s())
	}
	for i, u := range p.Updates {
		updates.add(d, l.updates[i], p.Values[u.Source].(*tensor.Dense).Float32s())
	}
	if err := d.Err(); err != nil {
		return err
	}
	if worst := max(values.relative(), gradient.relative(), updates.relative()); !(worst <= agreement) {
		return fmt.Errorf("cuda: the first step on %s differs from the CPU's by %.2g of its size", d.Name(), worst)
	}
	return nil
}

// comparison is how far values on the device are from those in memory. The gradient is
// one vector: that by a single weight may be rounding alone.
type comparison struct{ most, size float64 } // max |x−y|, max |y|

func (c *comparison) add(d *Device, m Memory, y []float32) {
	x := make([]float32, len(y))
	Download(d, x, m)
	for i, v := range y {
		a, b := float64(x[i]), float64(v)
		if a != b && !(math.IsNaN(a) && math.IsNaN(b)) { // infinities and NaNs of both are alike
			c.most = max(c.most, math.Abs(a-b))
		}
		if !math.IsNaN(b) && !math.IsInf(b, 0) {
			c.size = max(c.size, math.Abs(b))
		}
	}
}

func (c *comparison) relative() float64 {
	if c.most == 0 {
		return 0
	}
	return c.most / c.size
}

// prepare makes, and records if it can, the step over n rows.
func (s *session) prepare(n int, p *graph.Program) error {
	d := s.device
	l, err := s.load(p)
	if err != nil {
		return err
	}
	st := &sessionStep{program: l}
	s.steps[n] = st
	var weights, grads []Memory
	for i, t := range s.learned() {
		weights, grads = append(weights, s.onDevice(t)), append(grads, l.outputs[i+1].Memory)
	}
	st.learned, st.updated = d.newParameters(weights, grads), d.newParameters(l.states, l.updates)
	if s.pass != nil && !l.waits {
		r := d.Record(func() { s.enqueue(st, n) })
		st.recording = &r
	}
	return d.Err()
}

// enqueue is a step over n rows by the pass.
func (s *session) enqueue(st *sessionStep, n int) {
	d := s.device
	st.runStep(d, s.order, s.cursor, s.batch)
	s.pass.step(d, st.learned, s.cursor)
	d.endStep(s.cursor, st.updated, st.outputs[0], n)
}

// move is a step over n rows by the optimizer, in memory.
func (s *session) move(st *sessionStep, n int) error {
	d := s.device
	st.runStep(d, s.order, s.cursor, s.batch)
	loss := s.result(st.program)
	if d.Err() != nil {
		return d.Err()
	}
	if name := s.loss.Trouble(loss, s.grads); name != "" {
		return fmt.Errorf("%s is not finite; --device cpu says where it starts", name)
	}
	s.optimizer.Step(s.learned(), s.grads)
	s.sendLearned()
	d.endStep(s.cursor, st.updated, st.outputs[0], n)
	return d.Err()
}

func (s *session) Epoch(ctx context.Context, order []int32) (loss float64, err error) {
	err = s.do(func() error {
		loss, err = s.epoch(ctx, order)
		return err
	})
	return loss, err
}

func (s *session) epoch(ctx context.Context, order []int32) (float64, error) {
	d := s.device
	Upload(d, s.order, order)
	if s.pass != nil {
		s.pass.epoch(d, s.optimizer.(graph.Planned).Plan((len(order)+s.batch-1)/s.batch))
	}
	s.cursor.Begin(d)
	for lo, batch := 0, 1; lo < len(order); lo, batch = lo+s.batch, batch+1 {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n := min(s.batch, len(order)-lo)
		switch st := s.steps[n]; {
		case st.recording != nil:
			d.Replay(*st.recording)
		case s.pass != nil:
			s.enqueue(st, n)
		default:
			if err := s.move(st, n); err != nil {
				return 0, fmt.Errorf("batch %d: on the device: %w", batch, err)
			}
		}
	}
	total, first := make([]float64, 1), make([]int32, 1)
	Download(d, total, s.cursor.Total)
	Download(d, first, s.cursor.Trouble)
	if err := d.Err(); err != nil {
		return 0, fmt.Errorf("on the device: %w", err)
	}
	if first[0] != untroubled {
		return 0, fmt.Errorf("batch %d: the loss or a gradient is not finite; --device cpu says which", first[0]+1)
	}
	return total[0] / float64(len(order)), nil
}

func (s *session) Keep() error { return s.do(s.copyBest) }

func (s *session) copyBest() error {
	for i, t := range s.weights() {
		s.device.Copy(s.best[i], s.onDevice(t))
	}
	return s.device.Err()
}

func (s *session) Restore() error {
	return s.do(func() error {
		for i, t := range s.weights() {
			s.device.Copy(s.onDevice(t), s.best[i])
		}
		return s.pull()
	})
}

func (s *session) Fetch() error {
	return s.do(func() error {
		if s.pass != nil {
			s.pass.fetch(s.device)
		}
		return s.pull()
	})
}

// pull brings the weights as they are into memory.
func (s *session) pull() error {
	for _, t := range s.weights() {
		download(s.device, t, s.onDevice(t))
	}
	return s.device.Err()
}

func (s *session) Send() error {
	return s.do(func() error {
		for _, t := range s.weights() {
			upload(s.device, s.onDevice(t), t)
		}
		return s.device.Err()
	})
}

// Mean runs f in batches of size, which a loss may depend on: a smaller one will not do where
// memory is short, and the CPU then may have to do it.
func (s *session) Mean(f *graph.Function, n, size int) (mean float64, err error) {
	if n == 0 {
		return f.Mean(n, size)
	}
	sizes, err := compiled(f.Program, n, size)
	if err != nil {
		return 0, err
	}
	err = s.do(func() error {
		mean, err = s.batches(sizes, n, size)
		return err
	})
	if !OutOfMemory(err) {
		return mean, err
	}
	s.do(func() error {
		for _, p := range sizes {
			s.unload(p)
		}
		return nil
	})
	if err = s.Instead("a validation loss is computed", err); err != nil {
		return 0, err
	}
	if err := s.Fetch(); err != nil {
		return 0, err
	}
	return f.Mean(n, size)
}

func (s *session) batches(sizes map[int]*graph.Program, n, size int) (mean float64, err error) {
	d, count := s.device, (n+size-1)/size
	losses := d.Alloc(count)
	if err := d.Err(); err != nil {
		return 0, err
	}
	defer d.Free(losses)
	for i := range count {
		lo, hi := i*size, min((i+1)*size, n)
		l, err := s.load(sizes[hi-lo])
		if err != nil {
			return 0, err
		}
		l.runRows(d, graph.Rows(lo, hi))
		d.Copy(losses.Slice(4*i, 4), l.outputs[0].Memory)
	}
	each := make([]float32, count)
	Download(d, each, losses)
	if err := d.Err(); err != nil {
		return 0, err
	}
	var sum float64
	for i, v := range each {
		sum += float64(v) * float64(min(size, n-i*size))
	}
	return sum / float64(n), nil
}

// compiled are the programs of n rows in batches of size, by their number of rows.
func compiled(of func(rows int) (*graph.Program, error), n, size int) (map[int]*graph.Program, error) {
	programs := map[int]*graph.Program{}
	for _, rows := range []int{min(size, n), n % size} {
		if rows == 0 || programs[rows] != nil {
			continue
		}
		p, err := of(rows)
		if err != nil {
			return nil, err
		}
		programs[rows] = p
	}
	return programs, nil
}

// Close gives the memory back. The weights in memory are those of the last Restore.
func (s *session) Close() { s.do(func() error { s.free(); return nil }) }

func (s *session) free() {
	d := s.device
	for _, st := range s.steps {
		if st.recording != nil {
			d.Forget(*st.recording)
		}
		st.learned.Free(d)
		st.updated.Free(d)
	}
	s.arrays.free()
	d.Free(s.best...)
	d.Free(s.order)
	s.cursor.Free(d)
	if s.pass != nil {
		s.pass.free(d)
	}
}
