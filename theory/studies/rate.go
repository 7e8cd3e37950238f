package studies

import (
	"cmp"
	"context"

	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/mat"
)

// newRate is the experiment of study rate.
func newRate(ctx context.Context, s theory.Settings) (*theory.Experiment, *problem, error) {
	p := newProblem(s, designOf(s), s.RNG(1))
	e, err := p.experiment(ctx, p.shifted(choose(s, 4, 12))...)
	e.Sizes, e.Count = []int{1e5, 3e5, 1e6, 3e6}, replicates(s, 64, 64)
	return e, p, err
}

func runRate(ctx context.Context, s theory.Settings, r *theory.Report) error {
	e, truth, err := newRate(ctx, s)
	if err != nil {
		return err
	}
	// The graph's derivatives against those worked out by hand, at θ*.
	graph := &theory.Loss{Model: e.Model, Weights: e.Limits[0].Weights}
	hand := &theory.Loss{Model: truth.Table.ByHand(truth.Design.Identity), Weights: graph.Weights}
	for _, of := range []struct {
		key, quantity string
		matrix        func(p *theory.Loss, theta []float64) *mat.SymDense
	}{
		{"hessian-by-hand", "‖∇²L − by hand‖ at θ*", (*theory.Loss).Hessian},
		{"scores-by-hand", "‖J − by hand‖ at θ*", (*theory.Loss).Scores},
	} {
		gap := of.matrix(graph, truth.Theta)
		numeric.Subtract(gap, of.matrix(hand, truth.Theta))
		r.Rounding(of.key, of.quantity, numeric.OperatorNorm(gap), 1e-8, "0: the graph's derivatives are the formula's")
	}
	if err := cmp.Or(graph.Err, hand.Err); err != nil {
		return err
	}
	_, err = e.Report(ctx, r)
	return err
}
