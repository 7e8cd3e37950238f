package method

import (
	"calibra/data"
	"calibra/layers"
	"calibra/layers/anchored"
)

// anchor is the original head on a divided space, whose codes are of that kind by default.
func (o *Options) anchor(kind string) *anchored.Anchor {
	return &anchored.Anchor{Slots: o.slots(), Codebook: o.codebook(kind), Passes: o.Int("codebook.passes", 10, 1, "", "passes of the codebook over the calibration rows")}
}

// joint is the joint correction, whose codes are of that kind by default.
func (o *Options) joint(kind string) *anchored.Joint {
	slots := o.IntsOr("joint.slots", "largest divisors of M up to 64 and up to 32", "", "slots w to choose from, each with its number of codewords")
	codewords := o.IntsOr("joint.codewords", "64 and 256", "", "codewords K to choose from, as many numbers as joint.slots has")
	if len(slots) != len(codewords) && o.err == nil {
		o.err = data.Inputf("", "joint.slots has %d numbers and joint.codewords %d; give as many of both", len(slots), len(codewords))
	}
	of := func(k int) layers.Codes { return layers.Scaled{Of: o.codes(k, kind, 1)} }
	of(64)
	s := anchored.JointSettings{
		Base: func(d layers.Division) layers.Base {
			return &anchored.Anchor{Slots: d.Slots, Codebook: of(d.Codewords)}
		},
		Folds:  o.Int("search.folds", 4, 2, "", "folds of the cross-validation"),
		Rows:   o.IntOr("search.rows", "all, or those of 2²² logits", 2, "", "calibration rows that the folds divide; the maps are then fitted to all"),
		Method: o.Minimize(),
		Spreads: anchored.SpreadGrid{
			Smallest: o.Float("search.smallest", 1./32, Positive, "", "smallest standard deviation of a correction's prior to try, in nats"),
			First:    o.Float("search.first", 1./2, Positive, "", "the standard deviation to try first; each next one is twice or half as large"),
			Largest:  o.Float("search.largest", 256, Positive, "", "the largest to try"),
		},
	}
	for i, w := range slots[:min(len(slots), len(codewords))] {
		s.Divisions = append(s.Divisions, layers.Division{Slots: w, Codewords: codewords[i]})
	}
	return anchored.NewJoint(s)
}
