package source

import (
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/synthetic"
)

// generated is a problem of known posterior.
type generated struct {
	problem func(synthetic.Settings, *rand.Rand) *synthetic.Problem
	classes int
	rows    drawn
}

// drawn is how many rows of each part there are.
type drawn struct{ cal, val, test int }

var (
	usual = drawn{5000, 500, 10000}
	many  = drawn{10000, 1000, 2000} // classes need more rows to fit, and time and memory to judge
)

// syntheticFeatures is M of the synthetic problems: enough for 32 slots of width 2.
const syntheticFeatures = 64

// syntheticOrigin draws the rows.
func syntheticOrigin(name string, s generated) *Origin {
	return &Origin{
		Name: name, Dataset: name, Backbone: "known", Digest: "synthetic", seeded: true, Shifts: []Shift{ThinShift},
		size: Size{Rows: s.rows.cal, Features: syntheticFeatures, Classes: s.classes, Tested: s.rows.test},
		load: func(_ context.Context, seed uint64, _ Encoder) (*Problem, error) {
			rng := rand.New(rand.NewPCG(seed, 1))
			g := s.problem(synthetic.Settings{Features: syntheticFeatures, Classes: s.classes}, rng)
			p := &Problem{Source: &data.Source{Path: name, Classes: g.Classes}}
			p.Source.Cal, _ = g.Draw(s.rows.cal, rng)
			p.Source.Val, _ = g.Draw(s.rows.val, rng)
			p.Source.Test, p.Truth = g.Draw(s.rows.test, rng)
			return p, nil
		},
	}
}
