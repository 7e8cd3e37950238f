package anchored_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/layers"
	"calibra/layers/anchored"
)

// overconfident is calibration, validation and test rows of a classifier that grows
// overconfident where data are sparse: M = 8 features, C = 3 classes.
func overconfident() (cal, val, test *data.Set) {
	world := synthetic.NewProximity(synthetic.Settings{Features: 8, Classes: 3, Strength: 3}, seeded(1))
	cal, _ = world.Draw(2000, seeded(2))
	val, _ = world.Draw(500, seeded(3))
	test, _ = world.Draw(2000, seeded(4))
	return cal, val, test
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// nll is the mean negative log-likelihood of predictions, in nats.
func nll(p *data.Predictions) float64 {
	var sum float64
	for i, y := range p.Labels {
		sum -= p.LogProbs.At(i, y)
	}
	return sum / float64(len(p.Labels))
}

// Cross-validation says how far, if at all, the codewords are to correct the
// classifier's own head.
func ExampleAuto() {
	cal, _, test := overconfident()
	auto := anchored.Auto{
		Base:       &anchored.Anchor{Slots: 4, Codebook: layers.Codebook{Codewords: 8}},
		Candidates: []anchored.Candidate{{Name: "temperature", Map: anchored.LocalTemperature{}}, {Name: "anchored", Map: anchored.Tables{}}},
	}
	if err := auto.Fit(context.Background(), cal, nil, seeded(5)); err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range auto.Ranking {
		fmt.Printf("%-12s held-out NLL %.2f\n", r.Name, r.NLL)
	}
	p, err := auto.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: NLL %.2f\n", auto.Choice(), nll(p))
	// Output:
	// temperature  held-out NLL 0.23
	// anchored     held-out NLL 0.18
	// anchored: NLL 0.19
}

// Where held-out rows do not tell maps apart, a mixture of them loses less than one.
func ExampleStack() {
	cal, _, test := overconfident()
	stack := anchored.Stack{
		Base:       &anchored.Anchor{Slots: 4, Codebook: layers.Codebook{Codewords: 8}},
		Candidates: []anchored.Candidate{{Name: "temperature", Map: anchored.LocalTemperature{}}, {Name: "anchored", Map: anchored.Tables{}}},
	}
	if err := stack.Fit(context.Background(), cal, nil, seeded(5)); err != nil {
		fmt.Println(err)
		return
	}
	for m, r := range stack.Ranking {
		fmt.Printf("%-12s held-out NLL %.2f, share %.2f\n", r.Name, r.NLL, stack.Shares()[m])
	}
	p, err := stack.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("mixture      held-out NLL %.2f, on new rows %.2f\n", stack.NLL, nll(p))
	// Output:
	// temperature  held-out NLL 0.23, share 0.02
	// anchored     held-out NLL 0.18, share 0.98
	// mixture      held-out NLL 0.18, on new rows 0.19
}
