package baselines

import (
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/cuda/cudatest"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// The methods that train by minibatches: of a seed, and told of each epoch.
var trained = map[string]func(optim.Settings) layers.Calibrator{
	"Local Nets": func(s optim.Settings) layers.Calibrator { return &LocalNets{Hidden: 9, Method: s} },
	"KCal":       func(s optim.Settings) layers.Calibrator { return &KCal{Dimensions: 5, Method: s} },
}

func trainedOn(t *testing.T, d *cudatest.GPU, method func(optim.Settings) layers.Calibrator) *data.Predictions {
	t.Helper()
	if d == nil {
		return trainedBy(t, nil, method)
	}
	e, told := cudatest.Told(d)
	defer func() {
		if len(*told) == 0 {
			t.Fatal("nothing ran on the device")
		}
	}()
	return trainedBy(t, e, method)
}

func trainedBy(t *testing.T, e graph.Executor, method func(optim.Settings) layers.Calibrator) *data.Predictions {
	t.Helper()
	c := method(optim.Settings{Epochs: 3, Batch: 32, Rule: optim.SGD{Rate: 0.01, Momentum: 0.9}, Executor: e})
	fit(t, c, deviceProblem(107), deviceProblem(41))
	return predict(t, c, deviceProblem(50))
}

// deviceProblem has features that its labels and logits agree with.
func deviceProblem(n int) *data.Set {
	rng := newRand(uint64(n))
	s := &data.Set{Features: mat.NewDense(n, 11, nil), Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		y := rng.IntN(3)
		s.Labels[i] = y
		for j := range 11 {
			data.Dense(s.Features).Set(i, j, rng.NormFloat64()+float64((j+y)%3))
		}
		for j := range 3 {
			s.Logits.Set(i, j, rng.NormFloat64())
		}
		s.Logits.Set(i, y, s.Logits.At(i, y)+1)
	}
	return s
}

// What is trained on a device, its dropout and its background drawn there, predicts as
// what the CPU trained, and the same whatever the order of threads.
func TestHostDeviceFitsBaselines(t *testing.T) {
	baselinesAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card.
func TestCardFitsBaselines(t *testing.T) {
	d := cudatest.Card(t)
	baselinesAgree(t, d, d)
}

func baselinesAgree(t *testing.T, one, two *cudatest.GPU) {
	for name, method := range trained {
		t.Run(name, func(t *testing.T) {
			want := trainedOn(t, nil, method)
			got := trainedOn(t, one, method)
			again := trainedOn(t, two, method)
			if !mat.Equal(got.LogProbs, again.LogProbs) {
				t.Error("the posteriors depend on the order of threads")
			}
			if !mat.EqualApprox(want.LogProbs, got.LogProbs, 1e-4) {
				t.Error("the posteriors differ by more than 1e-4")
			}
		})
	}
}

// However much memory there is, auto ends where the CPU does, and leaves nothing behind.
func TestHostDeviceFitsBaselinesInAnyMemory(t *testing.T) {
	for name, method := range trained {
		t.Run(name, func(t *testing.T) {
			want := trainedOn(t, nil, method)
			cudatest.InAnyMemory(t, 200000, 9970, func(bytes int, e *cudatest.Executor) {
				got := trainedBy(t, e, method)
				if !mat.EqualApprox(want.LogProbs, got.LogProbs, 1e-4) {
					t.Errorf("with %d bytes the posteriors differ by more than 1e-4", bytes)
				}
			})
		})
	}
}
