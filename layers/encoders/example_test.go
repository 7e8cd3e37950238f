package encoders_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"

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

// From raw rows to an encoder's directory, and from it to the rows set aside for
// calibration.
func ExampleTrain() {
	ctx := context.Background()
	origin := encoders.Origin{Data: "digits", Seed: 1}
	raw, err := origin.Open(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	network := &encoders.ResMLP{Block: 32, Blocks: 1}
	model, _, err := encoders.Train(ctx, network, raw.Train, raw.Val, encoders.Settings{Optim: optim.Settings{Epochs: 20}}, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		fmt.Println(err)
		return
	}
	model.Config.Origin = origin
	dir, err := os.MkdirTemp("", "encoder")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := model.Save(dir); err != nil {
		fmt.Println(err)
		return
	}

	again, err := encoders.Load(dir)
	if err != nil {
		fmt.Println(err)
		return
	}
	rows, err := again.Config.Origin.Open(again.Config.Columns)
	if err != nil {
		fmt.Println(err)
		return
	}
	cal, err := encoders.EncodeInputs(context.Background(), again, rows.Cal)
	if err != nil {
		fmt.Println(err)
		return
	}
	n, m := cal.Features.Dims()
	accuracy, _, _ := encoders.Judge(again, rows.Cal)
	fmt.Printf("%d calibration rows, M = %d, C = %d, more than 90 %% right: %t\n", n, m, cal.Classes(), accuracy > 0.9)
	// Output: 539 calibration rows, M = 32, C = 10, more than 90 % right: true
}
