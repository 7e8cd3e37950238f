package studies

import (
	"context"
	"fmt"
	"math"

	"calibra/theory"
	"calibra/theory/internal/numeric"
)

// The codeword that becomes rare, and p_rare·√N.
const (
	rareCodeword = 0
	rareShare    = 8.0
)

// triangular is a law for each N, under which the rows of one codeword grow as √N.
type triangular struct {
	*problem
	sizes     []int
	logNk     []float64   // of each size, N_k the rare codeword's rows
	laws      [][]float64 // of each size, the weights of its law
	predicted []float64   // the sandwich's error under it
}

func runTriangular(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, theory.Fast(), s.RNG(22))
	x := &triangular{problem: p, sizes: choose(s, []int{1e5, 1e7, 1e9}, []int{1e5, 1e6, 1e7, 1e8, 1e9})}
	for _, N := range x.sizes {
		// The rare codeword's share falls as 1/√N, the others keep their proportions.
		frequencies := p.Design.WithShare(rareCodeword, rareShare/math.Sqrt(float64(N)))
		of, err := p.population(p.model, p.Table.Multinomial(frequencies))
		if err != nil {
			return err
		}
		x.laws = append(x.laws, of.Weights)
		x.logNk = append(x.logNk, math.Log(float64(N)*of.Occupancy[rareCodeword]))
		x.predicted = append(x.predicted, numeric.PredictedError(p.target.Jacobian(rareCodeword, p.Theta), of.Covariance, N))
	}
	t := s.Draws(nil, x.sizes, choose(s, 120, 400), 23)
	t.Law = func(of theory.Trial) []float64 { return x.laws[of.Size] }
	errors, losses, err := t.Measure(ctx, x.model, 1, func(model theory.Model, at theory.Trial) ([]float64, error) {
		theta, err := x.fit(model, t.Draw(at))
		return []float64{x.target.Distance(rareCodeword, theta, x.Theta)}, err
	})
	if err != nil {
		return err
	}
	r.Unsettled(losses, t.Total(), theory.LostPart)
	// What second order adds to the first error changes the slope by it over the range.
	left := 0.005 + x.second(0)/(x.logNk[len(x.sizes)-1]-x.logNk[0])
	r.Near("slope-nk", "slope of the error of M_k on N_k ∝ √N", t.SlopesOn(x.logNk, s.RNG(24), errors[0])[0], -0.5, left, "−1/2: the codeword's own rows")
	r.Near("slope-n", "slope of the same error on N", t.Slopes(s.RNG(24), errors[0])[0], -0.25, left/2, "−1/4")
	for n, N := range x.sizes {
		r.Ratio(fmt.Sprintf("ratio-%g", float64(N)), fmt.Sprintf("observed/sandwich RMSE at N = %g, N_k = %.0f", float64(N), math.Exp(x.logNk[n])),
			theory.RMS(errors[0][n]).Over(x.predicted[n]), 1, 0.02+x.second(n), "1")
	}
	figure := theory.LogLog("error", "A codeword whose occurrences grow as √N", "N_k", "RMSE of M_k")
	figure.Against("measured", "sandwich at each N", len(x.sizes), func(n int) (float64, theory.Estimate, float64) {
		return math.Exp(x.logNk[n]), theory.RMS(errors[0][n]), x.predicted[n]
	})
	r.Figures = append(r.Figures, figure)
	return nil
}

// second is how large the terms are that first-order theory leaves out at a size.
func (x *triangular) second(size int) float64 {
	return numeric.Square(x.predicted[size] / x.target.Size(rareCodeword, x.Theta))
}
