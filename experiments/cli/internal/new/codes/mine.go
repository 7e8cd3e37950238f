package main

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// mine is the paper's calibrator, vq, on codes of this module. All else is as in vq.
var mine = method.Method{
	Name: "mine", Line: "the paper's bilinear calibrator on codewords that are drawn far from each other",
	Needs: []string{"features"}, StopsEarly: true,
	New: func(o *method.Options) layers.Stateful {
		divide := o.DivideBy(Spread{layers.Fixed{Codewords: o.Int("codebook.codewords", 64, 1, "64", "codewords")}})
		return layers.Train(divide, layers.Bilinear{}, o.Stage("calibrate", method.Published))
	},
}

// Spread are codes whose codewords are slots of the calibration rows. Each is drawn with a probability in proportion to
// the squared distance from the nearest of those before it:
//
//	P(c_k = z) ∝ min_{l<k} ‖z − c_l‖²        (Arthur and Vassilvitskii 2007)
//
// They never move. A slot z of a row has the nearest codeword, s = argmin_k ‖z − c_k‖: that, the state and the twin are
// those of layers.Fixed.
type Spread struct{ layers.Fixed }

var _ layers.Codes = Spread{}

// Init places the codewords (K×d) among the slots of up to 1,000 rows.
func (c Spread) Init(w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) error {
	if err := c.Fixed.Init(w, cal, s, rng); err != nil { // draws c_1, and the others, which are replaced
		return err
	}
	d := s.Features / s.Slots
	var slots [][]float64
	for _, row := range rng.Perm(cal.Len())[:min(cal.Len(), 1000)] {
		z := data.Row(cal.Features, row, make([]float64, s.Features))
		for at := 0; at < len(z); at += d {
			slots = append(slots, z[at:at+d])
		}
	}
	codewords := w.Float64s("codebook/codewords")
	apart := make([]float64, len(slots)) // min_{l<k} ‖z − c_l‖²
	floats.AddConst(math.Inf(1), apart)
	for k := 1; k < s.Codewords; k++ {
		for i, z := range slots {
			far := floats.Distance(z, codewords[(k-1)*d:k*d], 2)
			apart[i] = min(apart[i], far*far)
		}
		if floats.Sum(apart) == 0 { // all slots are codewords
			break
		}
		copy(codewords[k*d:], slots[int(distuv.NewCategorical(apart, rng).Rand())])
	}
	w.SetValues("codebook/codewords", codewords)
	return nil
}
