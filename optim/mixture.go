package optim

import "gonum.org/v1/gonum/floats"

// mixtureSteps bounds the steps toward them, which grow small where parts are nearly
// alike and their weights do not matter.
const mixtureSteps = 20_000

// MixtureWeights moves w, the weights of a mixture of M densities, toward those that
// minimize the mean loss of N rows, of which part m gives row i the probability p_im (p is
// N×M, row by row; each row may be scaled by a factor of its own):
//
//	−(1/N) Σ_i log Σ_m w_m p_im ,  w ≥ 0 ,  Σ_m w_m = 1
//
// by expectation and maximization, from the w that is given:
//
//	w_m ← w_m g_m ,  g_m = (1/N) Σ_i p_im / Σ_l w_l p_il
//
// The loss is convex, falls with each step and is at most max_m g_m − 1 above the least
// (Lindsay 1983); the steps end when that is below gap, in nats a row. A weight of 0 stays. A row for
// which all parts of positive weight give 0 has no part in it.
func MixtureWeights(w, p []float64, gap float64) {
	n := len(p) / len(w)
	g := make([]float64, len(w))
	for range mixtureSteps {
		clear(g)
		for i := range n {
			row := p[i*len(w) : (i+1)*len(w)]
			if said := floats.Dot(w, row); said > 0 {
				floats.AddScaled(g, 1/(float64(n)*said), row)
			}
		}
		above := 0.0
		for m := range w {
			if w[m] > 0 {
				above = max(above, g[m]-1)
			}
			w[m] *= g[m]
		}
		floats.Scale(1/floats.Sum(w), w) // 1 but for rounding
		if above < gap {
			return
		}
	}
}
