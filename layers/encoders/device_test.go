package encoders

import (
	"math"
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/cuda/cudatest"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// deviceInputs are rows of a shape whose number divides no batch, category columns whole.
func deviceInputs(n int, shape []int) *data.Inputs {
	rng := newRand(uint64(n))
	t := &data.Table{Features: mat.NewDense(n, Values(shape), nil), Labels: make([]int, n)}
	for i := range n {
		t.Labels[i] = i % 3
		for j := range Values(shape) {
			t.Features.Set(i, j, rng.NormFloat64()+float64((i+j)%3))
		}
		if len(shape) == 1 {
			t.Features.Set(i, 0, float64(rng.IntN(4)))
		}
	}
	in := t.Inputs()
	in.Shape = shape
	return in
}

func trainOn(t *testing.T, d *cudatest.GPU, n Network, shape []int) (*Model, optim.Result, []float64) {
	t.Helper()
	var e graph.Executor
	if d != nil {
		x, told := cudatest.Told(d)
		defer func() {
			if len(*told) == 0 {
				t.Fatal("nothing ran on the device")
			}
		}()
		e = x
	}
	var checkpoint []float64
	s := Settings{
		Optim:      optim.Settings{Rule: optim.SGD{Rate: 0.05, Momentum: 0.9, WeightDecay: 1e-3}, Epochs: 2, Batch: 16, Executor: e},
		Checkpoint: func(m *Model, _ optim.Epoch) { checkpoint = m.weights.Float64s(m.weights.Names()[0]) },
	}
	m, r, err := Train(t.Context(), n, deviceInputs(21, shape), deviceInputs(11, shape), s, newRand(2))
	if err != nil {
		t.Fatal(err)
	}
	return m, r, checkpoint
}

// Each architecture, dropout and augmentation included, is trained on a device as on the
// CPU, at the same bytes whatever the order of threads, and a checkpoint is of the
// weights that are kept.
func TestHostDeviceTrainsAsTheCPUDoes(t *testing.T) {
	trainingsAgree(t, cudatest.Device(t, 1), cudatest.Device(t, 2))
}

// The same on a card.
func TestCardTrainsAsTheCPUDoes(t *testing.T) {
	d := cudatest.Card(t)
	trainingsAgree(t, d, d)
}

func trainingsAgree(t *testing.T, one, two *cudatest.GPU) {
	for name, c := range small {
		t.Run(name, func(t *testing.T) {
			if f, ok := c.network.(*FTTransformer); ok {
				with := *f
				with.Categorical = []Category{{Column: 0, Values: 4}}
				c.network = &with
			}
			want, result, _ := trainOn(t, nil, c.network, c.shape)
			got, deviceResult, checkpoint := trainOn(t, one, c.network, c.shape)
			again, _, _ := trainOn(t, two, c.network, c.shape)
			if result.Best != deviceResult.Best || !scalar.EqualWithinAbs(result.Loss, deviceResult.Loss, 1e-4) || !scalar.EqualWithinAbs(result.Validation, deviceResult.Validation, 1e-4) {
				t.Errorf("the training ends at %+v on the device, at %+v on the CPU", deviceResult, result)
			}
			for i, name := range want.weights.Names() {
				x, y, z := want.weights.Float64s(name), got.weights.Float64s(name), again.weights.Float64s(name)
				if !slices.Equal(y, z) {
					t.Errorf("%s depends on the order of threads", name)
				}
				if i == 0 && !slices.Equal(checkpoint, y) {
					t.Errorf("%s of the last checkpoint is not what is kept", name)
				}
				for i := range x {
					if !(math.Abs(x[i]-y[i]) <= 1e-4*math.Max(1, math.Abs(x[i]))) {
						t.Fatalf("%s[%d] is %v on the device, %v on the CPU", name, i, y[i], x[i])
					}
				}
			}
		})
	}
}
