package optim_test

import (
	"errors"
	"testing"

	"calibra/optim"
)

// Coupled decay is a ridge of its strength, whatever stands around it; decoupled decay is none.
func TestRidge(t *testing.T) {
	for name, test := range map[string]struct {
		rule optim.Rule
		want float64
		err  error
	}{
		"Adam":             {rule: optim.Adam{WeightDecay: 1e-3}, want: 1e-3},
		"Adam, none":       {rule: optim.Adam{}},
		"SGD":              {rule: optim.SGD{WeightDecay: 10, Momentum: 0.9}, want: 10},
		"Nadam":            {rule: optim.Nadam{WeightDecay: 2}, want: 2},
		"clipped Adam":     {rule: optim.Chain{optim.Clip{}, optim.Adam{WeightDecay: 3}, optim.Scheduled{By: optim.Cosine{}}}, want: 3},
		"AdamW":            {rule: optim.AdamW{WeightDecay: 1e-3}, err: optim.ErrDecoupled},
		"AdamW, none":      {rule: optim.AdamW{}},
		"Lion":             {rule: optim.Lion{WeightDecay: 1e-3}, err: optim.ErrDecoupled},
		"SAM":              {rule: optim.SAM{}, err: optim.ErrDecoupled},
		"Lookahead":        {rule: optim.Chain{optim.Lookahead{}, optim.Adam{WeightDecay: 2}}, err: nil, want: 2},
		"Lion, none":       {rule: optim.Lion{}},
		"decay of a share": {rule: optim.Chain{optim.Decay{Strength: 1, Mask: func(string) bool { return false }}, optim.Rate{}}, err: optim.ErrDecoupled},
		"undeclared":       {rule: optim.Chain{optim.Undeclared{Rule: optim.SGD{}}, optim.Rate{}}, err: optim.ErrDecoupled},
		"decay of a step":  {rule: optim.Chain{optim.Momentum{Factor: 0.5}, optim.Decay{Strength: 1}}, err: optim.ErrDecoupled},
	} {
		if got, err := optim.Ridge(test.rule); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: a ridge of %g, %v", name, got, err)
		}
	}
}
