package compare_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/compare"
	"calibra/experiments/metrics"
)

// An overconfident classifier as it is and with its temperature scaled, over two seeds.
func ExampleRun() {
	rng := rand.New(rand.NewPCG(1, 0))
	world := data.NewCubic(data.SyntheticSettings{Features: 8, Classes: 3}, rng)
	src := &data.Source{Path: "cubic", Classes: 3}
	src.Cal, _ = world.Draw(1000, rng)
	src.Test, _ = world.Draw(1000, rng)
	methods := []string{"nc", "ts"}
	fits, err := compare.Run(context.Background(), src, compare.Settings{Methods: methods, Seeds: []uint64{42, 43}, Split: data.PaperText})
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := compare.Rows(context.Background(), fits, methods, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range rows {
		if p := row.Against[metrics.NLL]; p != nil {
			fmt.Printf("%s is worse than %s in NLL: significant %t\n", row.Method, p.Best, p.Significant())
		}
	}
	// Output: nc is worse than ts in NLL: significant true
}
