package experiments_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// A Spec and its data are a whole run: what was fitted, what it predicts, how good
// that is.
func ExampleSpec_Fit() {
	rng := rand.New(rand.NewPCG(1, 0))
	world := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng)
	src := &data.Source{Path: "cubic", Classes: 3}
	src.Cal, _ = world.Draw(2000, rng)
	src.Test, _ = world.Draw(2000, rng)
	value := map[string]float64{}
	for _, method := range []string{"nc", "ts"} {
		spec := experiments.Spec{Method: method, Data: "cubic", Split: data.PaperText, Seed: 42}
		run, err := spec.Fit(context.Background(), src, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		value[method] = run.Outcome.Metrics.Values[metrics.ECE]
	}
	fmt.Println("temperature scaling lowers class-wise ECE:", value["ts"] < value["nc"])
	// Output: temperature scaling lowers class-wise ECE: true
}

func ExampleMethodByName() {
	_, err := experiments.MethodByName("magic")
	var input *data.InputError
	fmt.Println(errors.As(err, &input))
	m, err := experiments.MethodByName("vq")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(m.Name, "needs", m.Needs)
	// Output:
	// true
	// vq needs [features]
}

func ExampleNewTruth() {
	uniform := mat.NewDense(1, 2, []float64{-0.6931471805599453, -0.6931471805599453})
	t := metrics.NewTruth(uniform, mat.NewDense(1, 2, []float64{0.9, 0.1}))
	fmt.Printf("true LCE %.2f, KL %.3f nats\n", t.LCE, t.KL)
	// Output: true LCE 0.40, KL 0.368 nats
}
