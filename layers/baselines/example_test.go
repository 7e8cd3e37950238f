package baselines_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/layers"
	"calibra/layers/baselines"
	"calibra/optim"
)

// problem is a classifier whose logits are wrong by a cubic, with rows to fit and to
// judge on.
func problem() (cal, test *data.Set) {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	cal, _ = world.Draw(1000, rng)
	test, _ = world.Draw(1000, rng)
	return cal, test
}

// nll is the mean negative log-likelihood of what a calibrator fitted on cal says of test.
func nll(c layers.Calibrator, cal, test *data.Set) float64 {
	if err := c.Fit(context.Background(), cal, nil, rand.New(rand.NewPCG(2, 0))); err != nil {
		panic(err)
	}
	p, err := c.Predict(test)
	if err != nil {
		panic(err)
	}
	var sum float64
	for i, y := range p.Labels {
		sum -= math.Max(p.LogProbs.At(i, y), math.Log(1e-12)) // isotonic regression says 0
	}
	return sum / float64(len(p.Labels))
}

// The maps of the logits, each behind the same two methods.
func Example() {
	cal, test := problem()
	fmt.Printf("%-20s %.2f\n", "uncalibrated", nll(layers.Train(&layers.Original{}, layers.Identity{}, optim.Settings{}), cal, test))
	for _, m := range []struct {
		name string
		layers.Calibrator
	}{
		{"temperature", &layers.Temperature{}},
		{"isotonic", baselines.Isotonic()},
		{"Platt", baselines.Platt(nil)},
		{"beta", baselines.Beta(nil)},
		{"histogram", baselines.Histogram(0)},
		{"vector", baselines.Vector(nil, 0)},
		{"Dirichlet", &baselines.Dirichlet{}},
		{"Dirichlet, ODIR", &baselines.DirichletODIR{}},
		{"structured", baselines.Structured(nil, 0)},
		{"local temperature", baselines.LocalTemperature(nil)},
		{"ProCal", &baselines.ProCal{}},
	} {
		fmt.Printf("%-20s %.2f\n", m.name, nll(m, cal, test))
	}
	// Output:
	// uncalibrated         0.77
	// temperature          0.59
	// isotonic             0.82
	// Platt                0.59
	// beta                 0.59
	// histogram            0.75
	// vector               0.59
	// Dirichlet            0.59
	// Dirichlet, ODIR      0.59
	// structured           0.58
	// local temperature    0.59
	// ProCal               0.60
}

// The networks, which read the features too.
func ExampleLocalNets() {
	cal, test := problem()
	short := optim.Settings{Epochs: 100, Batch: 128}
	fmt.Printf("Local Nets           %.2f\n", nll(&baselines.LocalNets{Method: short}, cal, test))
	fmt.Printf("their kernel alone   %.2f\n", nll(&baselines.Kernel{Method: short}, cal, test))
	fmt.Printf("KCal                 %.2f\n", nll(&baselines.KCal{Method: optim.Settings{Epochs: 5}}, cal, test))
	// Output:
	// Local Nets           0.59
	// their kernel alone   0.59
	// KCal                 0.61
}
