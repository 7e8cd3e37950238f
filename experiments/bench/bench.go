// Command bench times the workloads that take most of a user's time: an epoch of each training stage, a local
// calibration error, and predictions in batches. Sizes and steps are those of a PyTorch script for the same work, so
// that the two can be compared.
//
//	go run ./experiments/bench --json
//	go run ./experiments/bench --memory memory.csv
//	go run ./experiments/bench --growth growth.csv
//	go run ./experiments/bench --peers jobs.csv --rows 1000000 --python venv/bin/python
//
// "Of the limit" compares a workload with the best that this machine could do: arithmetic as fast as a matrix product,
// or memory traffic as fast as a copy, both measured in the same run. --memory, --growth and --peers measure the
// command calibra, which is built from this repository.
package main

import (
	"context"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/optim"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"gonum.org/v1/gonum/mat"
)

// The sizes of all workloads.
const (
	Slots     = 64
	Codewords = 64
	Features  = 2048
	Batch     = 128
)

// size is what a workload is of.
type size struct{ Rows, Classes int }

// Workload is one thing to time.
type Workload struct {
	Key  string // field of the JSON report
	What string
	// PerSecond means that the figure is rows per second, not seconds.
	PerSecond bool
	// Work is the least cost of one epoch or evaluation, or of one row if PerSecond.
	Work Cost
	// Measure is the figure's best of reps repetitions, after one to warm up.
	Measure func(ctx context.Context, reps int) (float64, error)
}

// Workloads lists them in the order of the report; rows is the size of the training
// sets, 10,000 for the published comparison. e, which may be nil, is where they run, but for
// predictions, which need none.
func Workloads(rows int, e run.Executor) []Workload {
	n := float64(rows)
	text := message.NewPrinter(language.English) // 10,000 rows
	of := func(time timed, s size) func(context.Context, int) (float64, error) {
		return func(ctx context.Context, reps int) (float64, error) { return time(ctx, e, s, reps) }
	}
	return []Workload{
		{
			Key: "quantizer_epoch_s", What: text.Sprintf("one epoch of stage 1: %d rows, %d features", rows, Features),
			Work: quantizerCost(n, 10), Measure: of(quantizer, size{rows, 10}),
		},
		{
			Key: "calibrator_epoch_s_c10", What: text.Sprintf("one epoch of stage 2: %d rows, 10 classes", rows),
			Work: calibratorCost(n, 10), Measure: of(calibrator, size{rows, 10}),
		},
		{
			Key: "calibrator_epoch_s_c100_1000rows", What: "one epoch of stage 2: 1,000 rows, 100 classes",
			Work: calibratorCost(1000, 100), Measure: of(calibrator, size{1000, 100}),
		},
		{Key: "lce_s_c10", What: "LCE and ESS: 20,250 rows, 10 classes, 50 dimensions", Work: lceCost(20250, 50, 10), Measure: of(lce, size{20250, 10})},
		{Key: "lce_s_c100_5000rows", What: "LCE and ESS: 5,000 rows, 100 classes, 50 dimensions", Work: lceCost(5000, 50, 100), Measure: of(lce, size{5000, 100})},
		{Key: "inference_rows_per_s", What: "calibrated predictions in batches of 1,024", PerSecond: true, Work: inferenceCost(1, 10), Measure: of(inference, size{20000, 10})},
	}
}

// timed is the seconds of an epoch or an evaluation of this size, the best of so many, or the rows per second of
// predictions.
type timed func(ctx context.Context, e run.Executor, s size, reps int) (float64, error)

// fastest observes a fit and keeps the shortest epoch but the first, in seconds.
type fastest struct {
	last time.Time
	best float64
}

func (f *fastest) observe(optim.Epoch) {
	now := time.Now()
	if s := now.Sub(f.last).Seconds(); !f.last.IsZero() && (f.best == 0 || s < f.best) {
		f.best = s
	}
	f.last = now
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(0, 0)) }

// activations are N×M features as a ReLU leaves them, with random labels.
func activations(rng *rand.Rand, n, m, classes int) *data.Set {
	features := mat.NewDense(n, m, nil)
	s := &data.Set{Features: features, Labels: make([]int, n)}
	x := features.RawMatrix().Data
	for i := range x {
		x[i] = max(rng.NormFloat64(), 0)
	}
	for i := range s.Labels {
		s.Labels[i] = i % classes
	}
	return s
}

func quantizer(ctx context.Context, e run.Executor, s size, reps int) (float64, error) {
	var f fastest
	rng := newRand()
	d := layers.Divide{Slots: Slots, Codebook: layers.Codebook{Codewords: Codewords}, Optim: optim.Settings{Epochs: reps + 1, Batch: Batch, Observe: f.observe, Executor: e}}
	err := d.Fit(ctx, activations(rng, s.Rows, Features, s.Classes), nil, rng)
	return f.best, err
}

// assigned is a base of random predictions and codes.
type assigned struct {
	layers.Base
	view  layers.View
	sizes layers.Sizes
}

func (a *assigned) Fit(context.Context, *data.Set, *data.Set, *rand.Rand) error { return nil }
func (a *assigned) View(*data.Set) (*layers.View, error)                        { return &a.view, nil }
func (a *assigned) Sizes() layers.Sizes                                         { return a.sizes }
func (a *assigned) State() (layers.State, error)                                { return layers.State{}, nil }

// randomBase is a base of random predictions and codes, and labels for them.
func randomBase(rng *rand.Rand, s size) (*assigned, *data.Set) {
	a := &assigned{sizes: layers.Sizes{Classes: s.Classes, Slots: Slots, Codewords: Codewords, Counts: make([]float64, s.Classes)}}
	a.view = layers.View{LogProbs: logProbs(rng, s.Rows, s.Classes, 2), Codes: make([]int32, s.Rows*Slots)}
	for i := range a.view.Codes {
		a.view.Codes[i] = int32(rng.IntN(Codewords))
	}
	set := &data.Set{Labels: make([]int, s.Rows)}
	for i := range set.Labels {
		set.Labels[i] = rng.IntN(s.Classes)
	}
	return a, set
}

func calibrator(ctx context.Context, e run.Executor, s size, reps int) (float64, error) {
	rng := newRand()
	a, set := randomBase(rng, s)
	var f fastest
	err := layers.Train(a, layers.Bilinear{}, optim.Settings{
		Rule: optim.Adam{WeightDecay: 1e-3}, Epochs: reps + 1, Batch: Batch, Observe: f.observe, Executor: e,
	}).Fit(ctx, set, nil, rng)
	return f.best, err
}

// logProbs are the log-softmax of N×C normal numbers of the given spread.
func logProbs(rng *rand.Rand, n, c int, spread float64) *mat.Dense {
	logits := mat.NewDense(n, c, nil)
	x := logits.RawMatrix().Data
	for i := range x {
		x[i] = spread * rng.NormFloat64()
	}
	return layers.LogSoftmax(logits)
}

func lce(ctx context.Context, e run.Executor, s size, reps int) (float64, error) {
	const dims = 50
	rng := newRand()
	z := mat.NewDense(s.Rows, dims, nil)
	for i := range s.Rows {
		for j := range dims {
			z.Set(i, j, rng.NormFloat64()*(12-11*float64(j)/(dims-1)))
		}
	}
	p, labels := logProbs(rng, s.Rows, s.Classes, 3), make([]int, s.Rows)
	for i := range labels {
		labels[i] = rng.IntN(s.Classes)
	}
	return best(reps, func() error {
		_, err := metrics.Measure(ctx, p, labels, z, metrics.Settings{Executor: e})
		return err
	})
}

func inference(ctx context.Context, _ run.Executor, of size, reps int) (float64, error) {
	const batch = 1024
	rows, classes := of.Rows, of.Classes
	rng := newRand()
	c := layers.Train(&layers.Divide{Slots: Slots, Codebook: layers.Codebook{Codewords: Codewords}, Optim: optim.Settings{Epochs: 1}}, layers.Bilinear{}, optim.Settings{Epochs: 1})
	if err := c.Fit(ctx, activations(rng, 1000, Features, classes), nil, rng); err != nil {
		return 0, err
	}
	p, err := c.CompileBilinear()
	if err != nil {
		return 0, err
	}
	x, out := make([]float32, rows*Features), make([]float32, rows*classes)
	for i := range x {
		x[i] = max(float32(rng.NormFloat64()), 0)
	}
	s, err := best(reps, func() error {
		for lo := 0; lo < rows; lo += batch {
			hi := min(lo+batch, rows)
			p.Predict(out[lo*classes:hi*classes], x[lo*Features:hi*Features])
		}
		return nil
	})
	return float64(rows) / s, err
}

// best is the shortest of reps runs, after one to warm up, in seconds.
func best(reps int, run func() error) (float64, error) {
	var shortest float64
	for i := range reps + 1 {
		start := time.Now()
		if err := run(); err != nil {
			return 0, err
		}
		if s := time.Since(start).Seconds(); i > 0 && (shortest == 0 || s < shortest) {
			shortest = s
		}
	}
	return shortest, nil
}
