package encoders_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/layers/encoders"
	"calibra/optim"
)

// From raw rows to the features and logits that a calibrator is given.
func ExampleMLP() {
	digits := data.Digits()
	rng := rand.New(rand.NewPCG(1, 0))
	parts := digits.Split([]float64{0.7, 0.3}, rng)
	m := encoders.MLP{Hidden: []int{64, 16}, Optim: optim.Settings{Epochs: 40}}
	if err := m.Fit(context.Background(), parts[0], nil, rng); err != nil {
		fmt.Println(err)
		return
	}
	cal, err := m.Encode(parts[1])
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, width := cal.Features.Dims()
	right := 0
	for i, y := range cal.Labels {
		best := 0
		for c := range cal.Classes() {
			if cal.Logits.At(i, c) > cal.Logits.At(i, best) {
				best = c
			}
		}
		if best == y {
			right++
		}
	}
	fmt.Printf("%d rows, M = %d, C = %d, more than 90 %% right: %t\n", rows, width, cal.Classes(), 10*right > 9*rows)
	// Output: 540 rows, M = 16, C = 10, more than 90 % right: true
}
