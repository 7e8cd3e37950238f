package cuda

import (
	"fmt"
	"sync"

	"calibra/graph"

	"gorgonia.org/tensor"
)

// Executor runs fits and kernel sums on a device. It is one way to meet [graph.Executor].
type Executor struct {
	device *Device
	worth  float64 // of a launch; see WherePays
	falls  bool    // whether the CPU takes over what the device cannot do

	lock   sync.Mutex
	notice func(sentence string)
	told   map[string]bool // sentences that were given to notice
}

var _ graph.Executor = (*Executor)(nil)

// On runs all work of float32 on d; what fails there is an error. notice, which may be nil, is
// said in a sentence, once each, where work runs and why.
func On(d *Device, notice func(sentence string)) *Executor {
	return &Executor{device: d, notice: notice, told: map[string]bool{}}
}

// Worth is the work, in multiplications and additions between two launches, from which a device
// should be faster. TestCardCrossover of experiments/bench measures it: on an H200 beside 16 cores, an
// epoch of the calibrator took .53 ms on the card and .69 ms on the CPU at 190 thousand, .54 and
// .89 ms at 420 thousand. To start the card takes .3 s besides, once a process.
const Worth = 250e3

// WherePays runs work on d that is worth so much a launch, and leaves to the CPU the rest and
// what d is too small for.
func WherePays(d *Device, worth float64, notice func(sentence string)) *Executor {
	e := On(d, notice)
	e.worth, e.falls = worth, true
	return e
}

// notify gives a sentence to notice, once.
func (e *Executor) notify(format string, of ...any) {
	e.lock.Lock()
	defer e.lock.Unlock()
	if s := fmt.Sprintf(format, of...); e.notice != nil && !e.told[s] {
		e.told[s] = true
		e.notice(s)
	}
}

// Instead is nil where the CPU is to do what failed on the device, and that was told; else err.
func (e *Executor) Instead(what string, err error) error {
	if err == nil || !e.falls {
		return err
	}
	e.notify("%s on the CPU: %v", what, err)
	return nil
}

// pays reports whether work of so many multiplications and additions in so many launches is to
// run on the device.
func (e *Executor) pays(flops, launches float64) bool {
	if e.falls && flops < e.worth*launches {
		return false
	}
	e.notify("working on %s", e.device.Name())
	return true
}

// takes reports whether the device is to compute o, in steps of so many rows.
func (e *Executor) takes(o *graph.Objective, rows int) (bool, error) {
	if o.Weights().Dtype() != tensor.Float32 {
		if !e.falls {
			e.notify("fits in float64 run on the CPU: the CUDA kernels compute in float32")
		}
		return false, nil
	}
	p, err := o.Program(rows)
	if err == nil {
		p, err = p.Elsewhere()
	}
	if err != nil || !e.pays(workOf(p), float64(len(p.Steps))) {
		return false, err
	}
	for _, name := range without(p) {
		e.notify("%s has no CUDA kernel: the CPU runs it inside fits on %s", name, e.device.Name())
	}
	return true, nil
}

// do runs a piece of work on the device, which is then free again: nothing holds it while
// someone else's code runs. The error is work's or else the device's.
func (e *Executor) do(work func() error) error {
	d := e.device
	d.Lock()
	defer d.Unlock()
	err := work()
	if err == nil {
		err = d.Err()
	}
	d.clearError()
	return err
}

// OpenCard is a device of its own on the first card, whose kernels are loaded. Without a card the error wraps
// [ErrNoDevice].
func OpenCard() (*Device, error) {
	driver, err := openDriver()
	if err != nil {
		return nil, err
	}
	d, err := Open(driver)
	if err != nil {
		return nil, err
	}
	return d, d.preload(kernelImage)
}
