package graph

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"calibra/graph/cuda"

	"gorgonia.org/tensor"
)

// Session is a fit on a device. Tables, weights and what the optimizer remembers are
// uploaded once and stay there; an epoch's steps are enqueued without the host waiting in
// between, and only the epoch's loss comes back, the weights at the end. Until Close the
// weights in memory are those of the start or of the last [Weights.Fetch], and a [Function]
// of them runs on the device, which the session holds: whoever else wants it waits.
type Session struct {
	*deviceArrays
	loss    *Objective
	rule    DeviceRule
	batch   int
	best    []cuda.Memory // a copy of each weight
	moved   bool          // the weights are no longer those in memory
	cursor  cuda.Cursor
	order   cuda.Memory
	steps   map[int]*sessionStep
	results map[*Function]map[int]*deviceProgram
	elapsed time.Duration // of the last epoch
}

type sessionStep struct {
	*deviceProgram
	learned, updated cuda.Parameters
	recording        cuda.Recording
}

// DeviceRule is how an optimizer moves weights on a device.
type DeviceRule interface {
	// Start allocates what the rule remembers of n numbers, for epochs of so many steps.
	Start(d *cuda.Device, n, steps int)
	// Epoch uploads what the next epoch's steps need.
	Epoch(d *cuda.Device)
	// Step enqueues the step of those n numbers. What it enqueues must not change from step
	// to step.
	Step(d *cuda.Device, p cuda.Parameters, at cuda.Cursor)
	// Free gives the memory back; Start may begin anew.
	Free(d *cuda.Device)
}

// sessions are the sessions that weights are in, by *tensor.Dense.
var sessions sync.Map

// sessionOf is the session that w is in, or nil.
func sessionOf(w *Weights) *Session {
	for _, name := range w.names {
		if s, in := sessions.Load(w.tensors[name]); in {
			return s.(*Session)
		}
	}
	return nil
}

// Fetch brings weights that a fit has on a device into memory, as they are now.
func (w *Weights) Fetch() error {
	if s := sessionOf(w); s != nil {
		return s.pull()
	}
	return nil
}

// NewSession moves a fit of rows 0…rows−1, in steps of batch, to the device that this
// process chose. It is nil where the CPU is to do the work: no device was chosen or is
// there, an op has no kernel, or Auto finds that the steps are too small to pay or the
// memory too small for them; what is not the user's own choice is told once (see
// [cuda.Notice]).
//
// The first step is computed on both, and must agree.
func NewSession(o *Objective, rule DeviceRule, rows, batch int) (*Session, error) {
	batch = min(batch, rows)
	d, err := o.device(batch)
	if d == nil {
		return nil, err
	}
	d.Lock()
	var s *Session
	defer func() {
		if s == nil {
			d.Unlock()
		}
	}()
	err = withRoom(d, func() error {
		try := &Session{
			deviceArrays: newDeviceArrays(d), loss: o, rule: rule, batch: batch,
			steps: map[int]*sessionStep{}, results: map[*Function]map[int]*deviceProgram{},
		}
		if err := try.start(rows); err != nil {
			try.moved = true // soon, by the CPU
			try.free()
			return err
		}
		s = try
		return nil
	})
	if err != nil {
		return nil, instead(d, err)
	}
	for _, name := range o.weights.names {
		sessions.Store(o.weights.tensors[name], s)
	}
	return s, nil
}

// device is the device for steps of batch rows of o, or nil if the CPU is to take them.
func (o *Objective) device(batch int) (*cuda.Device, error) {
	if cuda.Chosen() == cuda.CPU {
		return nil, nil
	}
	if o.weights.dtype != tensor.Float32 {
		if cuda.Chosen() == cuda.CUDA {
			cuda.Tell("fits in float64 run on the CPU: the CUDA kernels compute in float32")
		}
		return nil, nil
	}
	step, err := o.compile(batch)
	if err != nil {
		return nil, err
	}
	d := cuda.For(step.program.work(), float64(len(step.program.steps)))
	if d == nil {
		return nil, nil
	}
	if name := step.program.missing(); name != "" {
		cuda.Tell(fmt.Sprintf("a fit runs on the CPU: there is no CUDA kernel for %s", name))
		return nil, nil
	}
	return d, nil
}

// instead tells that the CPU takes over, or gives the error back where the device was asked
// for.
func instead(d *cuda.Device, err error) error {
	d.ClearError()
	if cuda.Chosen() != cuda.Auto {
		return err
	}
	cuda.Tell(fmt.Sprintf("a fit runs on the CPU: %v", err))
	return nil
}

func (s *Session) start(rows int) error {
	for _, name := range s.loss.weights.names {
		t := s.loss.weights.tensors[name]
		s.resident(t)
		s.best = append(s.best, s.device.Alloc(t.DataSize()))
	}
	learned := 0
	for _, name := range s.loss.weights.Learned() {
		learned += s.loss.weights.tensors[name].DataSize()
	}
	s.cursor, s.order = s.device.NewCursor(), s.device.Alloc(rows)
	s.rule.Start(s.device, learned, (rows+s.batch-1)/s.batch)
	if err := s.check(s.loss, Rows(0, s.batch)); err != nil {
		return err
	}
	for _, n := range []int{s.batch, rows % s.batch} {
		if n > 0 {
			if _, err := s.step(n); err != nil {
				return err
			}
		}
	}
	return s.Keep()
}

// agreement is how far the first step on the device may be from the CPU's, relative to
// the largest entry: far above rounding, and a slot that lies between two codewords, far
// below a kernel that computes something else.
const agreement = 5e-2

// check computes the first step of o on both sides.
func (a *deviceArrays) check(o *Objective, rows []int32) error {
	loss, grads, err := o.Gradient(rows)
	if err != nil {
		return err
	}
	st, err := o.compile(len(rows))
	if err != nil {
		return err
	}
	l, err := a.load(st.program, st.rows)
	if err != nil {
		return err
	}
	defer l.free(a.device)
	cuda.Upload(a.device, l.rows.Memory, rows)
	l.run(a.device)
	var values, gradient, updates comparison
	values.add(a.device, l.outputs[0].Memory, []float32{float32(loss)})
	for i, g := range grads {
		gradient.add(a.device, l.outputs[i+1].Memory, g.Float32s())
	}
	for i, u := range st.program.updates {
		updates.add(a.device, l.updates[i], st.program.values[u.source].(*tensor.Dense).Float32s())
	}
	if err := a.device.Err(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	if worst := max(values.relative(), gradient.relative(), updates.relative()); !(worst <= agreement) {
		return fmt.Errorf("graph: the first step on %s differs from the CPU's by %.2g of its size", a.device.Name(), worst)
	}
	return nil
}

// comparison is how far values on the device are from those in memory. The gradient is
// one vector: that by a single weight may be rounding alone.
type comparison struct{ most, size float64 } // max |x−y|, max |y|

func (c *comparison) add(d *cuda.Device, m cuda.Memory, y []float32) {
	x := make([]float32, len(y))
	cuda.Download(d, x, m)
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

// step is the recorded step over n rows.
func (s *Session) step(n int) (*sessionStep, error) {
	if st, ok := s.steps[n]; ok {
		return st, nil
	}
	host, err := s.loss.compile(n)
	if err != nil {
		return nil, err
	}
	l, err := s.load(host.program, host.rows)
	if err != nil {
		return nil, err
	}
	var weights, grads []cuda.Memory
	for i, name := range s.loss.weights.Learned() {
		weights = append(weights, s.resident(s.loss.weights.tensors[name]))
		grads = append(grads, l.outputs[i+1].Memory)
	}
	st := &sessionStep{deviceProgram: l, learned: s.device.NewParameters(weights, grads), updated: s.device.NewParameters(l.states, l.updates)}
	s.steps[n] = st
	st.recording = s.device.Record(func() {
		l.runStep(s.device, s.order, s.cursor, s.batch)
		s.rule.Step(s.device, st.learned, s.cursor)
		s.device.EndStep(s.cursor, st.updated, l.outputs[0].Memory, n)
	})
	if err := s.device.Err(); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	return st, nil
}

// Epoch takes a step for each batch of rows in the given order. It gives the mean loss, and
// the first step at which loss or gradient was not finite, or −1. A cancelled ctx ends the
// epoch with its error.
func (s *Session) Epoch(ctx context.Context, order []int32) (loss float64, trouble int, err error) {
	watch := s.device.Stopwatch()
	watch.Start(s.device)
	cuda.Upload(s.device, s.order, order)
	s.rule.Epoch(s.device)
	s.cursor.Begin(s.device)
	s.moved = true
	for lo := 0; lo < len(order); lo += s.batch {
		if err := ctx.Err(); err != nil {
			return 0, -1, err
		}
		st, err := s.step(min(s.batch, len(order)-lo))
		if err != nil {
			return 0, -1, err
		}
		s.device.Replay(st.recording)
	}
	s.elapsed = watch.Stop(s.device)
	total, first := make([]float64, 1), make([]int32, 1)
	cuda.Download(s.device, total, s.cursor.Total)
	cuda.Download(s.device, first, s.cursor.Trouble)
	if err := s.device.Err(); err != nil {
		return 0, -1, fmt.Errorf("graph: %w", err)
	}
	trouble = int(first[0])
	if trouble == cuda.Untroubled {
		trouble = -1
	}
	return total[0] / float64(len(order)), trouble, nil
}

// Elapsed is how long the device took for the last epoch, by its own clock.
func (s *Session) Elapsed() time.Duration { return s.elapsed }

// Keep makes the weights as they are the best so far.
func (s *Session) Keep() error {
	for i, name := range s.loss.weights.names {
		s.device.Copy(s.best[i], s.resident(s.loss.weights.tensors[name]))
	}
	if err := s.device.Err(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// Restore brings the best weights back into memory.
func (s *Session) Restore() error {
	for i, name := range s.loss.weights.names {
		s.device.Copy(s.resident(s.loss.weights.tensors[name]), s.best[i])
	}
	return s.pull()
}

// pull brings the weights as they are into memory.
func (s *Session) pull() error {
	for _, name := range s.loss.weights.names {
		t := s.loss.weights.tensors[name]
		cuda.Download(s.device, t.Float32s(), s.resident(t))
	}
	if err := s.device.Err(); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	s.moved = false
	return nil
}

// mean is the mean of f over rows 0…n−1 in batches of size, which a loss may depend on: a
// smaller one will not do where memory is short. ran is false where Auto leaves it to the
// CPU or an op of f has no kernel, and the weights are then in memory.
func (s *Session) mean(f *Function, n, size int) (mean float64, ran bool, err error) {
	err = withRoom(s.device, func() error {
		mean, ran, err = s.batches(f, n, size)
		return err
	})
	if !cuda.OutOfMemory(err) {
		return mean, ran, err
	}
	s.device.ClearError()
	for _, l := range s.results[f] {
		l.free(s.device)
	}
	delete(s.results, f)
	if cuda.Chosen() != cuda.Auto {
		return 0, false, err
	}
	cuda.Tell(fmt.Sprintf("a validation loss is computed on the CPU: %v", err))
	return 0, false, s.pull()
}

func (s *Session) batches(f *Function, n, size int) (mean float64, ran bool, err error) {
	count := (n + size - 1) / size
	losses := s.device.Alloc(count)
	if err := s.device.Err(); err != nil {
		return 0, false, fmt.Errorf("graph: %w", err)
	}
	defer s.device.Free(losses)
	for i := range count {
		lo, hi := i*size, min((i+1)*size, n)
		host, err := f.compile(hi - lo)
		if err != nil {
			return 0, false, err
		}
		if host.program.missing() != "" {
			return 0, false, s.pull()
		}
		l, ok := s.results[f][hi-lo]
		if !ok {
			if l, err = s.load(host.program, host.rows); err != nil {
				return 0, false, err
			}
			if s.results[f] == nil {
				s.results[f] = map[int]*deviceProgram{}
			}
			s.results[f][hi-lo] = l
		}
		cuda.Upload(s.device, l.rows.Memory, Rows(lo, hi))
		l.run(s.device)
		s.device.Copy(losses.Slice(4*i, 4), l.outputs[0].Memory)
	}
	each := make([]float32, count)
	cuda.Download(s.device, each, losses)
	if err := s.device.Err(); err != nil {
		return 0, false, fmt.Errorf("graph: %w", err)
	}
	var sum float64
	for i, v := range each {
		sum += float64(v) * float64(min(size, n-i*size))
	}
	return sum / float64(n), true, nil
}

// Close gives the device back. The weights in memory are those of the last Restore.
func (s *Session) Close() {
	for _, name := range s.loss.weights.names {
		sessions.CompareAndDelete(s.loss.weights.tensors[name], s)
	}
	s.free()
	s.device.Unlock()
}

func (s *Session) free() {
	d := s.device
	for _, st := range s.steps {
		d.Forget(st.recording)
		st.learned.Free(d)
		st.updated.Free(d)
		st.free(d)
	}
	for _, bySize := range s.results {
		for _, l := range bySize {
			l.free(d)
		}
	}
	if s.moved {
		for _, t := range s.loss.weights.tensors {
			s.drop(t)
		}
	}
	s.deviceArrays.free()
	d.Free(s.best...)
	d.Free(s.order)
	s.cursor.Free(d)
	s.rule.Free(d)
}
