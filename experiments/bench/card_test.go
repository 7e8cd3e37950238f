package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"calibra/experiments/run"
	"calibra/graph/cuda"
	"calibra/graph/cuda/cudatest"
	"calibra/graph/kernelsum"
	"calibra/layers"
	"calibra/optim"
)

// The benchmarks of a card report medians, warm, beside what bounds them from below: traffic over the rate
// of a copy measured here.
//
//	go test -run xxx -bench Card -benchtime 20x ./experiments/bench

// OnCard is the executor of this machine's card; without one the test is skipped. It is from
// here that the tests of this package have one.
func OnCard(t testing.TB) run.Executor { return cudatest.On(cudatest.Card(t)) }

func BenchmarkCardQuantizer(b *testing.B) {
	for _, classes := range []int{10, 100} {
		b.Run(name(10000, classes), func(b *testing.B) {
			d := cudatest.Card(b)
			set, times := activations(newRand(), 10000, Features, classes), clock{}
			fit := layers.Divide{Slots: Slots, Codebook: layers.Codebook{Codewords: Codewords}, Optim: optim.Settings{Epochs: b.N + 2, Patience: b.N + 2, Batch: Batch, Executor: cudatest.On(d), Observe: times.observe}}
			if err := fit.Fit(b.Context(), set, nil, newRand()); err != nil {
				b.Fatal(err)
			}
			times.report(b, d, 10000*4*2*Features)
		})
	}
}

func BenchmarkCardCalibrator(b *testing.B) {
	for _, classes := range []int{10, 100} {
		b.Run(name(10000, classes), func(b *testing.B) {
			d := cudatest.Card(b)
			base, set := randomBase(newRand(), size{10000, classes})
			var times clock
			err := layers.Train(base, layers.Bilinear{}, optim.Settings{
				Rule: optim.Adam{WeightDecay: 1e-3}, Epochs: b.N + 2, Patience: b.N + 2, Batch: Batch, Executor: cudatest.On(d), Observe: times.observe,
			}).Fit(b.Context(), set, nil, newRand())
			if err != nil {
				b.Fatal(err)
			}
			// A and ∂A of a step are written and read, in the card's cache where it holds them
			times.report(b, d, 10000*4*4*float64(classes*classes))
		})
	}
}

func BenchmarkCardLCE(b *testing.B) {
	for _, size := range []struct{ rows, classes int }{{20250, 10}, {75000, 8}, {20250, 100}} {
		b.Run(name(size.rows, size.classes), func(b *testing.B) {
			d := cudatest.Card(b)
			l := localRows(newRand(), size.rows, size.classes)
			cells := size.rows * size.classes
			residual, ess := make([]float64, cells), make([]float64, cells)
			var times clock
			d.Lock()
			defer d.Unlock()
			for range b.N + 2 {
				times.begin()
				if err := l.Sum(b.Context(), d); err != nil {
					b.Fatal(err)
				}
				if err := l.Residuals(residual, ess); err != nil {
					b.Fatal(err)
				}
				times.lap()
				l.Free()
			}
			times.report(b, d, float64(4*len(l.Z)+8*cells+16*cells))
		})
	}
}

// localRows are rows of 50 dimensions with residuals in 15 bins.
func localRows(rng *rand.Rand, rows, classes int) *cuda.Local {
	const dims = 50
	l := &cuda.Local{Input: kernelsum.Input{Rows: rows, Dim: dims, Classes: classes, Z: make([]float32, rows*dims), E: make([]float32, rows*classes), Bin: make([]int32, rows*classes)}}
	for i := range l.Z {
		l.Z[i] = float32(rng.NormFloat64() * (12 - 11*float64(i%dims)/(dims-1)) / 10)
	}
	for i := range l.E {
		p := rng.Float64() * rng.Float64()
		l.E[i], l.Bin[i] = float32(p), int32(15*p)
	}
	return l
}

// TestCardCrossover says what a launch costs, and so how much work between two launches the
// CPU does in that time, which is what Auto asks for; and beside it what an epoch of the
// calibrator takes on both.
func TestCardCrossover(t *testing.T) {
	d := cudatest.Card(t)
	const launches = 1000
	x := d.Alloc(32)
	d.Clear(x)
	empty := d.Record(func() {
		for range launches {
			d.Map(cuda.Scaled, x, x, 32, 1)
		}
	})
	var each clock
	for range 12 {
		each.begin()
		d.Replay(empty)
		cuda.Download(d, make([]float32, 1), x)
		each.lap()
	}
	d.Forget(empty)
	d.Free(x)
	launch, roof := each.median()/launches, MeasureRoof()
	t.Logf("a launch of a recorded step takes %v; the CPU multiplies at %.0f GFLOP/s: %.0f operations a launch (auto asks for %.0f)", launch, roof.FlopsPerSecond/1e9, launch.Seconds()*roof.FlopsPerSecond, cuda.Worth)
	for _, classes := range []int{2, 3, 5, 10, 20, 50} {
		var seconds [2]float64
		for i, on := range []run.Executor{nil, cudatest.On(d)} {
			s, err := calibrator(t.Context(), on, size{2000, classes}, 3)
			if err != nil {
				t.Fatal(err)
			}
			seconds[i] = s
		}
		work := calibratorCost(2000, float64(classes)).Flops * Batch / 2000
		t.Logf("C = %d, %.2g operations a step: an epoch of 2,000 rows takes %.2f ms on the CPU, %.2f ms on the card", classes, work, 1e3*seconds[0], 1e3*seconds[1])
	}
}

func name(rows, classes int) string {
	return fmt.Sprintf("rows=%d/classes=%d", rows, classes)
}

// clock is how long laps took; the first two warm up. The device is done with what it was given at the end of each.
type clock struct {
	last time.Time
	laps []time.Duration
}

func (c *clock) begin() { c.last = time.Now() }

func (c *clock) lap() {
	c.laps = append(c.laps, time.Since(c.last))
	c.begin()
}

func (c *clock) observe(optim.Epoch) { c.lap() }

func (c *clock) median() time.Duration {
	warm := slices.Sorted(slices.Values(c.laps[2:]))
	return warm[len(warm)/2]
}

func (c *clock) report(b *testing.B, d *cuda.Device, bytes float64) {
	median, traffic := c.median().Seconds(), bytes/copyRate(b, d)
	b.ReportMetric(1e3*median, "ms")
	b.ReportMetric(1e3*traffic, "ms-traffic")
	b.ReportMetric(0, "ns/op")
}

// copyRate is the bytes read and written a second by a copy of 256 MiB, the best of five.
func copyRate(b *testing.B, d *cuda.Device) float64 {
	x, y := d.Alloc(64<<20), d.Alloc(64<<20)
	defer d.Free(x, y)
	var copies clock
	for range 5 {
		copies.begin()
		d.Copy(y, x)
		cuda.Download(d, make([]float32, 1), y)
		copies.lap()
	}
	if err := d.Err(); err != nil {
		b.Fatal(err)
	}
	return 2 * float64(x.Bytes()) / slices.Min(copies.laps).Seconds()
}
