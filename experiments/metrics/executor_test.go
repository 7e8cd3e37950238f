package metrics

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/graph/cuda/cudatest"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// localProblem is N rows of C classes in a cloud of d dimensions, dense enough for
// neighbours and wide enough for rows without any.
func localProblem(n, classes, d int) (logProbs *mat.Dense, labels []int, z *mat.Dense) {
	rng := rand.New(rand.NewPCG(uint64(n), uint64(classes*d)))
	logProbs, z, labels = mat.NewDense(n, classes, nil), mat.NewDense(n, d, nil), make([]int, n)
	for i := range n {
		var sum float64
		for c := range classes {
			v := math.Exp(3 * rng.NormFloat64())
			logProbs.Set(i, c, v)
			sum += v
		}
		for c := range classes {
			logProbs.Set(i, c, math.Log(logProbs.At(i, c)/sum))
		}
		labels[i] = rng.IntN(classes)
		for j := range d {
			z.Set(i, j, 12*rng.NormFloat64()/math.Sqrt(float64(d))*(1+40*float64(i%50/49)))
		}
	}
	return logProbs, labels, z
}

// on is an executor on d, or none.
func on(d *cudatest.GPU) Executor {
	if d == nil {
		return nil
	}
	return cudatest.On(d)
}

// The device's residuals, sample sizes and metrics are the CPU's, in both protocols, for
// numbers of rows and classes that divide no tile, even and odd numbers of tiles, one launch
// and two, rows within the kernel's reach and beyond it, and whatever the order of threads;
// kernel values differ in float32 by some 1e-6.
func TestHostDeviceMeasuresAsTheCPUDoes(t *testing.T) {
	measuresAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card.
func TestCardMeasuresAsTheCPUDoes(t *testing.T) {
	d := cudatest.Card(t)
	measuresAgree(t, d, d)
}

func measuresAgree(t *testing.T, one, two *cudatest.GPU) {
	for _, size := range []struct{ n, classes, d int }{{2, 2, 1}, {63, 3, 2}, {64, 9, 17}, {129, 2, 50}, {300, 11, 5}, {1300, 3, 7}, {6003, 2, 2}} {
		for _, protocol := range []Protocol{Tables, Formula} {
			logProbs, labels, z := localProblem(size.n, size.classes, size.d)
			var got []*Measurement
			for _, d := range []*cudatest.GPU{nil, one, two} {
				m, err := Measure(context.Background(), logProbs, labels, z, Settings{Protocol: protocol, Executor: on(d)})
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, m)
			}
			cpu, device, again := got[0].Local, got[1].Local, got[2].Local
			for i := range size.n {
				for c := range size.classes {
					a, b := cpu.Residual.At(i, c), device.Residual.At(i, c)
					s, q := cpu.ESS.At(i, c), device.ESS.At(i, c)
					if math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-5 || math.Abs(s-q) > 1e-4*max(1, s) {
						t.Fatalf("%+v %v, row %d, class %d: residual %v and sample size %v on the device, %v and %v on the CPU", size, protocol, i, c, b, q, a, s)
					}
				}
			}
			if !same(device.Residual, again.Residual) || !same(device.ESS, again.ESS) {
				t.Errorf("%+v %v depends on the order of threads", size, protocol)
			}
			if a, b := got[0].Values[LCE], got[1].Values[LCE]; math.IsNaN(a) != math.IsNaN(b) || math.Abs(a-b) > 1e-6 {
				t.Errorf("%+v %v: LCE is %v on the device, %v on the CPU", size, protocol, b, a)
			}
		}
	}
}

// The noise floor of redrawn labels is the CPU's, with the bootstrap beside it and without,
// also where memory for a few label vectors is all there is.
func TestHostDeviceRedrawsAsTheCPUDoes(t *testing.T) {
	ample, tight := cudatest.Driver(t, 1), cudatest.Driver(t, 2)
	tight.Capacity = 330 << 10 // all 20 vectors of 200 rows and 6 classes take 94 KiB, sums and tables 290
	one := cudatest.Open(t, ample)
	two := cudatest.Open(t, tight)
	redrawsAgree(t, one, two)
	if tight.Launches <= ample.Launches {
		t.Errorf("%d launches with little memory, %d with much: the vectors were not taken in parts", tight.Launches, ample.Launches)
	}
}

// However much memory there is, auto measures what the CPU does, and leaves nothing behind.
func TestHostDeviceMeasuresInAnyMemory(t *testing.T) {
	logProbs, labels, z := localProblem(70, 3, 2)
	measure := func(e Executor) *Report {
		r, err := MeasureWith(t.Context(), logProbs, labels, z, Settings{Executor: e}, Uncertainty{Replicates: 40, Redraws: 5}, rand.New(rand.NewPCG(3, 4)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	want := measure(nil)
	cudatest.InAnyMemory(t, 70000, 2970, func(bytes int, e *cudatest.Executor) {
		got := measure(e)
		for _, m := range []Metric{LCE, MLCE} {
			a, b := want.Intervals[m], got.Intervals[m]
			if !(math.Abs(want.Values[m]-got.Values[m]) <= 1e-6) || !(math.Abs(a.Low-b.Low) <= 1e-5) || !(math.Abs(a.High-b.High) <= 1e-5) || !(math.Abs(want.Noise[m].Mean-got.Noise[m].Mean) <= 1e-5) {
				t.Errorf("with %d bytes %v is %v in %v, noise %v; on the CPU %v in %v, noise %v", bytes, m, got.Values[m], b, got.Noise[m].Mean, want.Values[m], a, want.Noise[m].Mean)
			}
		}
	})
}

// The same on a card.
func TestCardRedrawsAsTheCPUDoes(t *testing.T) {
	d := cudatest.Card(t)
	redrawsAgree(t, d, d)
}

func redrawsAgree(t *testing.T, one, two *cudatest.GPU) {
	for _, size := range []struct{ n, classes, d, replicates int }{{70, 3, 2, 40}, {200, 6, 5, None}, {65, 19, 3, None}} {
		for _, protocol := range []Protocol{Tables, Formula} {
			logProbs, labels, z := localProblem(size.n, size.classes, size.d)
			var got []*Report
			for _, d := range []*cudatest.GPU{nil, one, two} {
				r, err := MeasureWith(t.Context(), logProbs, labels, z, Settings{Protocol: protocol, Executor: on(d)}, Uncertainty{Replicates: size.replicates, Redraws: 20}, rand.New(rand.NewPCG(3, 4)))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, r)
			}
			for _, m := range []Metric{LCE, MLCE} {
				cpu := got[0].Noise[m]
				for _, r := range got[1:] {
					device := r.Noise[m]
					if (cpu == nil) != (device == nil) || cpu != nil && (math.Abs(cpu.Mean-device.Mean) > 1e-5 || math.Abs(cpu.SD-device.SD) > 1e-5 || math.Abs(cpu.P95-device.P95) > 1e-5) {
						t.Errorf("%+v %v: the noise of %v is %+v on the device, %+v on the CPU", size, protocol, m, device, cpu)
					}
				}
				interval := got[0].Intervals[m]
				for _, r := range got[1:] {
					if i := r.Intervals[m]; math.IsNaN(i.Low) != math.IsNaN(interval.Low) || math.Abs(i.Low-interval.Low) > 1e-5 || math.Abs(i.High-interval.High) > 1e-5 {
						t.Errorf("%+v %v: the interval of %v is %+v on the device, %+v on the CPU", size, protocol, m, i, interval)
					}
				}
				if size.replicates != None && got[1].Intervals[m] != got[2].Intervals[m] {
					t.Errorf("%+v %v: the interval of %v is %+v, and again %+v", size, protocol, m, got[1].Intervals[m], got[2].Intervals[m])
				}
				if a, b := got[1].Noise[m], got[2].Noise[m]; a != nil && one == two && *a != *b {
					t.Errorf("%+v %v: the noise of %v is %+v, and again %+v", size, protocol, m, a, b)
				}
			}
		}
	}
}

func same(x, y *mat.Dense) bool {
	return slices.EqualFunc(x.RawMatrix().Data, y.RawMatrix().Data, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
}

// Short of memory the device takes fewer pairs at a time, to the same result, and at last
// says what it needs.
func TestHostDeviceShortOfMemory(t *testing.T) {
	logProbs, labels, z := localProblem(700, 3, 4)
	measure := func(capacity int) (*Measurement, error) {
		driver := cudatest.Driver(t, 1)
		driver.Capacity = capacity
		d := cudatest.Open(t, driver)
		return Measure(context.Background(), logProbs, labels, z, Settings{Executor: on(d)})
	}
	want, err := measure(0)
	if err != nil {
		t.Fatal(err)
	}
	got, err := measure(300 << 10) // 12 lanes of sums take 594 KiB, 6 lanes 297 KiB, 2 lanes 99 KiB
	if err != nil {
		t.Fatal(err)
	}
	if a, b := want.Values[LCE], got.Values[LCE]; !(math.Abs(a-b) < 1e-12) { // float64 sums in another order
		t.Errorf("fewer pairs at a time give an LCE of %v, not %v", b, a)
	}
	if _, err := measure(60 << 10); !cudatest.OutOfMemory(err) || !strings.Contains(err.Error(), "need") {
		t.Errorf("with too little memory the error is %v", err)
	}
}

func TestHostDeviceMeasureCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	logProbs, labels, z := localProblem(300, 3, 4)
	if _, err := Measure(ctx, logProbs, labels, z, Settings{Executor: on(cudatest.Device(t, 1))}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled measurement ends with %v", err)
	}
}

// A device tells how far it is, and one that fails on the way leaves the rows to the CPU.
func TestHostDeviceProgress(t *testing.T) {
	driver := cudatest.Driver(t, 1)
	e, _ := cudatest.Lent(cudatest.Open(t, driver))
	logProbs, labels, z := localProblem(300, 3, 4)
	for _, fails := range []bool{false, true} {
		reports := 0
		ctx := work.WithProgress(t.Context(), func(_ []string, from, to float64) {
			if reports++; from < 0 || to > 1 {
				t.Errorf("progress goes from %g to %g", from, to)
			}
			if fails {
				driver.Capacity = 1 // nothing more can be had
			}
		})
		m, err := Measure(ctx, logProbs, labels, z, Settings{Executor: e})
		if err != nil || math.IsNaN(m.Values[LCE]) || reports < 2 {
			t.Errorf("fails %v: %d reports, %v, %v", fails, reports, m, err)
		}
	}
}
