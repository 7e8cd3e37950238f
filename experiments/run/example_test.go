package run_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
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
		spec := run.Spec{Method: method, Data: "cubic", Split: data.PaperText, Seed: 42}
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
