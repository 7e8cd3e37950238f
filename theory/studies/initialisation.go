package studies

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
)

// optimumMargin is how near the best loss a run must end to have reached the best
// optimum; competing minima of these designs are apart by more than 1e-4.
const optimumMargin = 1e-8

func runInitialisation(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, designOf(s), s.RNG(33))
	at := &theory.Loss{Model: p.model, Weights: p.Weights(p.law(0))}
	origin := make([]float64, p.model.Dim())
	_, grad := at.Gradient(origin)
	values, _ := estimate.Spectrum(at.Newton(origin))
	r.Rounding("origin-gradient", "‖∇L(0)‖", floats.Norm(grad, 2), theory.Vanishing, "0: θ = 0 is stationary")
	r.Below("origin-curvature", "smallest curvature at θ = 0", theory.Exact(values[0]), -1e-6, "negative: a saddle")

	best, _ := at.Gradient(p.Theta)
	start := publishedStart(p.Design.Slots)
	noises := []float64{1e-5, 1e-3, 1e-2, 1e-1}
	runs := choose(s, 16, 64)
	published, publishedErr := p.reached(ctx, best, runs, func(i int, rng *rand.Rand) float64 {
		return start + noises[i%len(noises)]*rng.NormFloat64()
	})
	r.Record("published", fmt.Sprintf("runs of %d from the published start (noise ≤ 0.1) that reach the best optimum", runs), theory.Exact(float64(published)), "all")
	wide, wideErr := p.reached(ctx, best, 8, func(_ int, rng *rand.Rand) float64 { return rng.NormFloat64() })
	r.Record("wide", "runs of 8 from N(0, 1) that reach the best optimum", theory.Exact(float64(wide)), "not all: local minima")
	return cmp.Or(at.Err, publishedErr, wideErr)
}

// reached counts the runs that end at the best loss of the population, the i-th from entries that draw gives.
func (p *problem) reached(ctx context.Context, best float64, runs int, draw func(i int, rng *rand.Rand) float64) (arrived int, err error) {
	weights := p.Weights(p.law(0))
	ends, err := theory.Each(ctx, runs, p.model, func(model theory.Model, i int) (float64, error) {
		rng := p.RNG(34, uint64(runs), uint64(i))
		theta := data.Each(make([]int, model.Dim()), func(int) float64 { return draw(i, rng) })
		// A run that stalls ends where it stalls; the loss there shows whether it arrived.
		_ = theory.Fit(model, p.gauge, theta, weights)
		end := &theory.Loss{Model: model, Weights: weights}
		loss, _ := end.Gradient(theta)
		return loss, end.Err
	})
	for _, loss := range ends {
		if loss <= best+optimumMargin {
			arrived++
		}
	}
	return arrived, err
}

// publishedStart is every entry of the published start, √(softplus⁻¹(1)/w), so that α ≈ 1; noise comes on top.
func publishedStart(slots int) float64 { return math.Sqrt(math.Log(math.Expm1(1)) / float64(slots)) }
