package theory

import (
	"cmp"
	"context"

	"gonum.org/v1/gonum/mat"
)

// newRate is the experiment of study rate.
func newRate(ctx context.Context, s Settings) (*Experiment, *problem, error) {
	p := newProblem(s, designOf(s), newRand(s.Seed, 1))
	e, err := p.experiment(ctx, p.shifted(choose(s, 4, 12))...)
	e.Sizes, e.Count = []int{1e5, 3e5, 1e6, 3e6}, choose(s, 64, 64)
	return e, p, err
}

func runRate(ctx context.Context, s Settings, r *Report) error {
	e, truth, err := newRate(ctx, s)
	if err != nil {
		return err
	}
	// The graph's derivatives against those worked out by hand, at θ*.
	graph := &probe{model: e.Model, weights: e.Limits[0].Weights}
	hand := &probe{model: truth.Table.ByHand(truth.Design.Identity), weights: graph.weights}
	for _, of := range []struct {
		key, quantity string
		matrix        func(p *probe, theta []float64) *mat.SymDense
	}{
		{"hessian-by-hand", "‖∇²L − by hand‖ at θ*", (*probe).hessian},
		{"scores-by-hand", "‖J − by hand‖ at θ*", (*probe).scores},
	} {
		gap := of.matrix(graph, truth.Theta)
		subtract(gap, of.matrix(hand, truth.Theta))
		r.rounding(of.key, of.quantity, operatorNorm(gap), 1e-8, "0: the graph's derivatives are the formula's")
	}
	if err := cmp.Or(graph.err, hand.err); err != nil {
		return err
	}
	_, err = e.report(ctx, r)
	return err
}
