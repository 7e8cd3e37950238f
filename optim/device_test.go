package optim_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/cuda/cudatest"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/tensor"
)

// minimizers minimize a problem of float32 weights.
var minimizers = map[string]func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error){
	"Adam": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.Adam{Rate: 0.05})
	},
	"AdamW": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.AdamW{Rate: 0.05, WeightDecay: 0.1})
	},
	"SGD": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.SGD{Rate: 0.1, Momentum: 0.8, WeightDecay: 1e-3})
	},
	"AdamW with a mask": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.AdamW{Rate: 0.05, WeightDecay: 0.1, Mask: func(name string) bool { return name != "bias" }})
	},
	"Adam with a schedule": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.Chain{optim.Adam{Rate: 0.05}, optim.Scheduled{By: optim.OneCycle{}}})
	},
	"Lion": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.Chain{optim.Clip{}, optim.Lion{Rate: 1e-3}})
	},
	"Nadam": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return steps(t, p, e, optim.Nadam{Rate: 0.05})
	},
	"an average": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return optim.Minimize(t.Context(), p, optim.Settings{Rule: optim.SGD{Rate: 0.1}, Average: optim.EMA{Decay: 0.9}, Epochs: 2, Batch: 64, Executor: e}, rand.New(rand.NewPCG(1, 0)))
	},
	"LBFGS": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return optim.Minimize(t.Context(), p, optim.LBFGS{Rows: 128, Iterations: 6, Gradient: 1e-4, Executor: e}, nil)
	},
	"FixedLBFGS": func(t *testing.T, p optim.Problem, e graph.Executor) (optim.Result, error) {
		return optim.Minimize(t.Context(), p, optim.FixedLBFGS{Rate: 0.1, Iterations: 6, Executor: e}, nil)
	},
}

func steps(t *testing.T, p optim.Problem, e graph.Executor, r optim.Rule) (optim.Result, error) {
	return optim.Minimize(t.Context(), p, optim.Settings{Rule: r, Epochs: 2, Batch: 64, Executor: e}, rand.New(rand.NewPCG(1, 0)))
}

// Each method ends on a device where it ends on the CPU, and at the same bytes whatever the
// order of threads.
func TestHostDeviceMinimizes(t *testing.T) {
	one, two := cudatest.Driver(t, 1), cudatest.Driver(t, 2)
	for name, minimize := range minimizers {
		t.Run(name, func(t *testing.T) {
			on := func(driver *cudatest.Emulator) (optim.Result, *graph.Weights) {
				p, w := multinomialRegressionOf(tensor.Float32, 6, 3)
				var e graph.Executor
				if driver != nil {
					d := cudatest.Open(t, driver)
					e = cudatest.On(d)
					defer func(before int) {
						if driver.Launches == before {
							t.Error("nothing ran on the device")
						}
						if err := d.Trim(); err != nil || driver.InUse() != 0 {
							t.Errorf("%d bytes stay allocated (%v)", driver.InUse(), err)
						}
					}(driver.Launches)
				}
				r, err := minimize(t, p, e)
				if err != nil {
					t.Fatal(err)
				}
				return r, w
			}
			want, x := on(nil)
			got, y := on(one)
			_, z := on(two)
			if want.Epochs != got.Epochs || !scalar.EqualWithinAbs(want.Loss, got.Loss, 1e-5) {
				t.Errorf("%+v on the device, %+v on the CPU", got, want)
			}
			for _, name := range x.Names() {
				if !slices.Equal(y.Float64s(name), z.Float64s(name)) {
					t.Errorf("%s depends on the order of threads", name)
				}
				for i, v := range x.Float64s(name) {
					if d := y.Float64s(name)[i]; !scalar.EqualWithinAbs(d, v, 1e-4) {
						t.Errorf("%s[%d] is %v on the device, %v on the CPU", name, i, d, v)
					}
				}
			}
		})
	}
}

// Losses of float64 weights stay on the CPU, which is told.
func TestHostDeviceLeavesFloat64(t *testing.T) {
	driver := cudatest.Driver(t, 1)
	d := cudatest.Open(t, driver)
	e, said := cudatest.Told(d)
	p, _ := multinomialRegression(6, 3)
	if _, err := optim.Minimize(t.Context(), p, optim.LBFGS{Executor: e}, nil); err != nil {
		t.Fatal(err)
	}
	if driver.Launches > 0 || !slices.Contains(*said, "fits in float64 run on the CPU: the CUDA kernels compute in float32") {
		t.Errorf("%d launches; the notices are %q", driver.Launches, *said)
	}
}

// What a rule remembers on a device comes back with its state, and goes there again.
func TestHostDeviceStateGoesOn(t *testing.T) {
	for _, r := range []optim.Rule{optim.Adam{Rate: 0.05}, optim.SGD{Rate: 0.1, Momentum: 0.9}, optim.Lion{}} {
		run := func(e graph.Executor) (*graph.Weights, *graph.Weights) {
			p, w := multinomialRegressionOf(tensor.Float32, 6, 3)
			var state *graph.Weights
			s := optim.Settings{Rule: r, Batch: p.Rows, Epochs: 3, Executor: e, Observe: func(e optim.Epoch) {
				var err error
				if state, err = e.State(); err != nil {
					t.Fatal(err)
				}
			}}
			for range 2 {
				if _, err := optim.Minimize(t.Context(), p, s, rand.New(rand.NewPCG(1, 0))); err != nil {
					t.Fatal(err)
				}
				s.Start = state
			}
			return w, state
		}
		want, there := run(nil)
		got, state := run(cudatest.On(cudatest.Device(t, 1)))
		for _, pair := range [][2]*graph.Weights{{want, got}, {there, state}} {
			for _, name := range pair[0].Names() {
				if !floats.EqualApprox(pair[0].Float64s(name), pair[1].Float64s(name), 1e-4) {
					t.Errorf("%T: %s is %v on the device, %v on the CPU", r, name, pair[1].Float64s(name), pair[0].Float64s(name))
				}
			}
		}
	}
}
