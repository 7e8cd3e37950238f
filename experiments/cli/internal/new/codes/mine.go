package main

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
)

// mine is the paper's calibrator on codes of this module.
var mine = experiments.Method{
	Name: "mine", Line: "the paper's bilinear calibrator on codewords that are far from each other",
	Needs: []string{"features"}, StopsEarly: true,
	New: func(o *experiments.Options) layers.Stateful {
		divide := o.Divide()
		divide.Codebook = Farthest{layers.Fixed{Codewords: o.Int("codebook.codewords", 64, 1, "64", "codewords")}}
		return layers.Train(divide, layers.Bilinear{}, o.Stage("calibrate", experiments.Training{Batch: 128}))
	},
}

// Farthest are codes whose codewords are slots of the calibration rows, each the one farthest from those before it:
//
//	c_1 is drawn,  c_k = argmax_z min_{l<k} ‖z − c_l‖        (Gonzalez 1985)
//
// They never move. A slot z of a row has the nearest codeword, s = argmin_k ‖z − c_k‖: that, the state and the twin are
// those of layers.Fixed.
type Farthest struct{ layers.Fixed }

var _ layers.Codes = Farthest{}

// Init places the codewords (K×d) among the slots of up to 1,000 rows.
func (c Farthest) Init(w *graph.Weights, cal *data.Set, s layers.Sizes, rng *rand.Rand) error {
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
	codewords, apart := w.Float64s("codebook/codewords"), make([]float64, len(slots)) // apart is min_{l<k} ‖z − c_l‖
	floats.AddConst(math.Inf(1), apart)
	for k := 1; k < s.Codewords; k++ {
		for i, z := range slots {
			apart[i] = min(apart[i], floats.Distance(z, codewords[(k-1)*d:k*d], 2))
		}
		copy(codewords[k*d:], slots[floats.MaxIdx(apart)])
	}
	w.SetValues("codebook/codewords", codewords)
	return nil
}
