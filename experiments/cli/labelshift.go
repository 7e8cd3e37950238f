package cli

import (
	"context"

	"calibra/data"
	"calibra/layers"
)

// estimate in place of a file of priors asks for those under which the rows are likeliest.
const estimate = "estimate"

// priorsFile is that of --new-priors, "" where they are estimated or not asked for.
func (f *applyFlags) priorsFile() string {
	if f.NewPriors == estimate {
		return ""
	}
	return f.NewPriors
}

// shift is the label shift that the flags name, without its new priors where they are to be estimated; nil where none is.
func (c *applyCmd) shift(m saved) (*layers.LabelShift, error) {
	if c.NewPriors == "" {
		return nil, nil
	}
	if m.file.Profile == nil || m.file.Profile.ByLabel == nil {
		return nil, data.Inputf(c.Model, "does not say how frequent each class was in the rows that it was fitted to, which --new-priors needs; fit it again")
	}
	s := &layers.LabelShift{Old: m.file.Profile.ByLabel.Priors()}
	if c.NewPriors == estimate {
		return s, nil
	}
	var err error
	names := m.file.Names.Classes
	if s.New, err = data.ReadPriors(c.NewPriors, len(s.Old), names); err != nil {
		return nil, err
	}
	for y, p := range s.New {
		if p > 0 && s.Old[y] == 0 {
			return nil, data.Inputf(c.NewPriors, "gives the class %s the prior %.3g, and none of the model's calibration rows was of that class; give it 0, or fit to rows that have it", data.ClassName(names, y), p)
		}
	}
	return s, nil
}

// held compares the rows with those of the fit. Where the classes alone are more or less frequent, nothing of the logits is odd.
func (c *applyCmd) held(t *terminal, m saved, shift *layers.LabelShift, x *data.Set) *layers.Comparison {
	sample := layers.NewSample(x.Len())
	sample.Add(x)
	profile := m.file.Profile
	if shift == nil {
		return profile.Compare(sample)
	}
	test := profile.ByLabel.Test(x, shift.New)
	switch {
	case test == nil:
		t.note("whether the shift is in the labels cannot be tested: it takes logits of at most 114 classes, and ten rows for each cell of the test")
	case !test.Elsewhere():
		return profile.CompareShifted(sample)
	case shift.New == nil:
		t.warn("warning: %s: the shift is not, or not only, in the labels: whatever the new priors, %.0f %% of the rows would have other predictions (p %.2g). The probabilities may be wrong; label some of these rows and fit to them.", c.In, 100*test.Apart, test.PValue)
	default:
		t.warn("warning: %s: these priors do not explain the rows: under them %.0f %% of the rows would have other predictions (p %.2g). The priors are others, or the shift is not in the labels alone; --new-priors estimate tells them apart.", c.In, 100*test.Apart, test.PValue)
	}
	return profile.Compare(sample)
}

// reweigh gives the predictions the new priors of the shift, which it estimates where they are not known, and says what they are.
func (c *applyCmd) reweigh(ctx context.Context, t *terminal, shift *layers.LabelShift, p *data.Predictions) ([]data.Array, error) {
	if shift == nil {
		return nil, nil
	}
	if shift.New == nil {
		if err := shift.Estimate(ctx, p.LogProbs, p.Weights); err != nil {
			return nil, err
		}
	}
	if err := shift.Apply(c.In, p.LogProbs); err != nil {
		return nil, err
	}
	if err := t.printf("new priors: %s\n", shift.String(func(y int) string { return data.Line(data.ClassName(p.ClassNames, y)) })); err != nil {
		return nil, err
	}
	if data.IsTable(c.Out) {
		return nil, nil // it has room for rows alone
	}
	return []data.Array{{Name: "new_priors", Value: shift.New}}, nil
}
