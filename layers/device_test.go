package layers_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/cuda/cudatest"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// deviceProblem is a small set whose rows divide no batch and whose batches divide no block.
func deviceProblem(n int) *data.Set {
	const m, c = 12, 3
	rng := rand.New(rand.NewPCG(5, uint64(n)))
	s := &data.Set{Features: mat.NewDense(n, m, nil), Logits: mat.NewDense(n, c, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(c)
		s.Labels[i] = y
		for j := range m {
			data.Dense(s.Features).Set(i, j, max(0, rng.NormFloat64()+float64((j+y)%c)))
		}
		for j := range c {
			s.Logits.Set(i, j, rng.NormFloat64())
		}
		s.Logits.Set(i, y, s.Logits.At(i, y)+1)
	}
	return s
}

// deviceFit is a fit of a map on a divided space.
type deviceFit struct {
	of        layers.Map
	codes     layers.Codes // nil: five codewords
	rule      optim.Rule   // nil: Adam
	validated bool
}

func fitOn(t *testing.T, d *cudatest.GPU, f deviceFit) (layers.State, []layers.Stage, *data.Predictions) {
	t.Helper()
	if d == nil {
		return fitBy(t, nil, f)
	}
	e, told := cudatest.Told(d)
	defer func() {
		if len(*told) == 0 {
			t.Fatal("nothing ran on the device")
		}
		if all := strings.Join(*told, "\n"); strings.Contains(all, "has no CUDA kernel") {
			t.Error(all)
		}
	}()
	return fitBy(t, e, f)
}

func fitBy(t *testing.T, e graph.Executor, f deviceFit) (layers.State, []layers.Stage, *data.Predictions) {
	t.Helper()
	s := optim.Settings{Epochs: 4, Batch: 32, Rule: f.rule, Executor: e}
	codes := cmp.Or[layers.Codes](f.codes, layers.Codebook{Codewords: 5})
	c := layers.Train(&layers.Divide{Slots: 4, Codebook: codes, Optim: s}, f.of, s)
	var val *data.Set
	if f.validated {
		val = deviceProblem(41)
	}
	if err := c.Fit(context.Background(), deviceProblem(107), val, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	state, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Predict(deviceProblem(23))
	if err != nil {
		t.Fatal(err)
	}
	return state, c.Stages(), p
}

// A whole fit on a device ends where the CPU's does, in float32 after 16 steps of each
// stage, and at the same bytes whatever the order of threads.
func TestHostDeviceFitsAsTheCPUDoes(t *testing.T) {
	fitsAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card.
func TestCardFitsAsTheCPUDoes(t *testing.T) {
	d := cudatest.Card(t)
	fitsAgree(t, d, d)
}

func fitsAgree(t *testing.T, one, two *cudatest.GPU) {
	for name, f := range map[string]deviceFit{
		"bilinear":       {of: layers.Bilinear{}},
		"learned scale":  {of: layers.Bilinear{Scale: layers.LearnedScale{}, Prior: layers.CountPrior{}}},
		"dirichlet":      {of: layers.Dirichlet{}},
		"residual codes": {of: layers.Bilinear{}, codes: layers.Residual{Of: layers.KMeans{Codewords: 5}}},
		"soft codes":     {of: layers.Bilinear{Scale: layers.LearnedScale{}}, codes: layers.Soft{Of: layers.Codebook{Codewords: 5}, Nearest: 3}},
		"validated":      {of: layers.Bilinear{}, validated: true},
		"decoupled rule": {of: layers.Dirichlet{}, rule: optim.AdamW{Rate: 1e-2, WeightDecay: 0.1}}, // a bilinear map's first gradients are rounding, which Adam would enlarge
	} {
		if testing.Short() && (name == "learned scale" || name == "dirichlet" || name == "residual codes") {
			continue // three fits each; bilinear, soft codes and the decoupled rule stay
		}
		t.Run(name, func(t *testing.T) {
			want, stages, posterior := fitOn(t, nil, f)
			got, deviceStages, devicePosterior := fitOn(t, one, f)
			again, _, _ := fitOn(t, two, f)
			for _, name := range want.Weights.Names() {
				x, y, z := want.Weights.Float64s(name), got.Weights.Float64s(name), again.Weights.Float64s(name)
				if !slices.Equal(y, z) {
					t.Errorf("%s depends on the order of threads", name)
				}
				for i := range x {
					if !(math.Abs(x[i]-y[i]) <= 1e-4*math.Max(1, math.Abs(x[i]))) {
						t.Fatalf("%s[%d] is %v on the device, %v on the CPU", name, i, y[i], x[i])
					}
				}
			}
			for i := range stages {
				a, b := stages[i].Result, deviceStages[i].Result
				if a.Best != b.Best || a.Epochs != b.Epochs || !scalar.EqualWithinAbs(a.Loss, b.Loss, 1e-4) {
					t.Errorf("stage %s ends at %+v on the device, at %+v on the CPU", stages[i].Name, b, a)
				}
			}
			if !mat.EqualApprox(posterior.LogProbs, devicePosterior.LogProbs, 1e-4) {
				t.Error("the posteriors differ by more than 1e-4")
			}
		})
	}
}

// Each map computes on a device what it does on the CPU.
func TestHostDeviceMaps(t *testing.T) { layers.MapsAgree(t, cudatest.On(cudatest.Device(t, 1))) }

// The same on a card.
func TestCardMaps(t *testing.T) { layers.MapsAgree(t, cudatest.On(cudatest.Card(t))) }

// The host waits for the device once for each number that an epoch takes there or brings back, never in
// between steps, and tables travel once.
func TestHostDeviceStepsWithoutWaiting(t *testing.T) {
	driver := cudatest.Driver(t, 1)
	d := cudatest.Open(t, driver)
	set := deviceProblem(107)
	var syncs, uploaded []int
	s := optim.Settings{Epochs: 5, Batch: 4, Executor: cudatest.On(d), Observe: func(optim.Epoch) {
		syncs, uploaded = append(syncs, driver.Syncs), append(uploaded, driver.Uploaded)
	}}
	base := &layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 5}, Optim: s}
	if err := base.Fit(context.Background(), set, nil, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	for i := 1; i < len(syncs); i++ {
		if n := syncs[i] - syncs[i-1]; n != 4 { // the order of rows, Adam's corrections, the loss, and the first step that was not finite
			t.Errorf("epoch %d of 27 steps waits %d times", i+1, n)
		}
		if n, want := uploaded[i]-uploaded[i-1], 4*(107+2*27); n != want { // the order of rows and Adam's corrections
			t.Errorf("epoch %d uploads %d bytes, not %d", i+1, n, want)
		}
	}
}

// However much memory there is, auto ends where the CPU does: without room it leaves the validation loss and at
// last the whole fit to the CPU.
func TestHostDeviceFitsIntoAnyMemory(t *testing.T) {
	want, _, _ := fitOn(t, nil, deviceFit{of: layers.Bilinear{}, validated: true})
	cudatest.InAnyMemory(t, 30000, 970, func(bytes int, e *cudatest.Executor) {
		got, _, _ := fitBy(t, e, deviceFit{of: layers.Bilinear{}, validated: true})
		for _, name := range want.Weights.Names() {
			x, y := want.Weights.Float64s(name), got.Weights.Float64s(name)
			for i := range x {
				if !(math.Abs(x[i]-y[i]) <= 1e-4*math.Max(1, math.Abs(x[i]))) {
					t.Fatalf("with %d bytes %s[%d] is %v, on the CPU %v", bytes, name, i, y[i], x[i])
				}
			}
		}
	})
}

// An interrupted fit keeps its best weights, in memory.
func TestHostDeviceInterrupted(t *testing.T) {
	d := cudatest.Device(t, 1)
	ctx, cancel := context.WithCancel(context.Background())
	s := optim.Settings{Epochs: 50, Batch: 32, Executor: cudatest.On(d), Observe: func(e optim.Epoch) {
		if e.Number == 2 {
			cancel()
		}
	}}
	base := &layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 5}, Optim: s}
	err := base.Fit(ctx, deviceProblem(107), nil, rand.New(rand.NewPCG(1, 2)))
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the weights of epoch 2 are kept") {
		t.Fatalf("the fit ends with %v", err)
	}
	want := &layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 5}, Optim: optim.Settings{Epochs: 2, Batch: 32, Executor: cudatest.On(d)}}
	if err := want.Fit(context.Background(), deviceProblem(107), nil, rand.New(rand.NewPCG(1, 2))); err != nil {
		t.Fatal(err)
	}
	x, _ := base.State()
	y, _ := want.State()
	for _, name := range x.Weights.Names() {
		if !slices.Equal(x.Weights.Float64s(name), y.Weights.Float64s(name)) {
			t.Errorf("%s is not that of epoch 2", name)
		}
	}
}

// A fit that is too large for the device says what was too little: auto leaves it to the
// CPU, cuda fails.
func TestHostDeviceTooSmall(t *testing.T) {
	want, _, _ := fitOn(t, nil, deviceFit{of: layers.Bilinear{}, validated: true})
	driver := cudatest.Driver(t, 1)
	driver.Capacity = 12000
	d := cudatest.Open(t, driver)
	e, said := cudatest.Lent(d)
	got, _, _ := fitBy(t, e, deviceFit{of: layers.Bilinear{}, validated: true})
	for _, name := range want.Weights.Names() {
		if !slices.Equal(want.Weights.Float64s(name), got.Weights.Float64s(name)) {
			t.Errorf("%s is not the CPU's", name)
		}
	}
	if all := strings.Join(*said, "\n"); !strings.Contains(all, "CUDA_ERROR_OUT_OF_MEMORY") || !strings.Contains(all, "free") {
		t.Errorf("the notices are %q", *said)
	}
	base := &layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 5}, Optim: optim.Settings{Executor: cudatest.On(d)}}
	if err := base.Fit(context.Background(), deviceProblem(107), nil, rand.New(rand.NewPCG(1, 2))); !cudatest.OutOfMemory(err) {
		t.Errorf("with the device asked for, the fit ends with %v", err)
	}
	if err := d.Trim(); err != nil || d.Err() != nil || driver.InUse() != 0 {
		t.Errorf("%d bytes stay allocated (%v, %v)", driver.InUse(), err, d.Err())
	}
}

// A loss that is not finite is told with its batch.
func TestHostDeviceNotFinite(t *testing.T) {
	d := cudatest.Device(t, 1)
	s := optim.Settings{Epochs: 3, Batch: 32, Rule: optim.Adam{Rate: 1e38}, Executor: cudatest.On(d)}
	base := &layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 5}, Optim: s}
	err := base.Fit(context.Background(), deviceProblem(107), nil, rand.New(rand.NewPCG(1, 2)))
	if err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("a rate of 1e38 ends with %v", err)
	}
}
