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

// The classifier's scores are corrected as far as held-out rows say, and pooled with temperature scaling.
func ExamplePool() {
	cal, _, test := overconfident()
	pool := anchored.Pool{Members: []anchored.Member{
		{Name: "corrected", Of: anchored.NewJoint(anchored.JointSettings{
			Divisions: []layers.Division{{Slots: 4, Codewords: 8}},
			Base: func(d layers.Division) layers.Base {
				return &anchored.Anchor{Slots: d.Slots, Codebook: layers.Codebook{Codewords: d.Codewords}}
			},
		})},
		{Name: "ts", Of: &layers.Temperature{}},
	}}
	if err := pool.Fit(context.Background(), cal, nil, seeded(5)); err != nil {
		fmt.Println(err)
		return
	}
	for m, r := range pool.Ranking {
		fmt.Printf("%-9s held-out NLL %.2f, share %.2f\n", r.Name, r.NLL, pool.Shares()[m])
	}
	p, err := pool.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("pool      on new rows %.2f\n", nll(p))
	// Output:
	// corrected held-out NLL 0.17, share 0.93
	// ts        held-out NLL 0.24, share 0.07
	// pool      on new rows 0.18
}
