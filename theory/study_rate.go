package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// evenShifts returns n cyclic shifts spread over the codewords.
func evenShifts(d Design, n int) []int {
	shifts := make([]int, n)
	for s := range shifts {
		shifts[s] = s * d.Codewords / n
	}
	return shifts
}

// populationGradient is the largest ‖∇L(θ*)‖ over the populations: zero when θ* is
// where the loss that is trained has its optimum.
func (e *experiment) populationGradient() (float64, error) {
	largest, at := 0.0, &probe{model: e.model}
	for _, p := range e.populations {
		at.weights = p.weights
		_, grad := at.gradient(p.theta)
		largest = math.Max(largest, floats.Norm(grad, 2))
	}
	return largest, at.err
}

// vanishing is how large a sum may be that vanishes but for rounding.
const vanishing = 1e-12

// lostPart is how many of the fits of a well-specified problem may reach no minimum near θ*.
const lostPart = 0.005

// newRate is the experiment of study rate.
func newRate(ctx context.Context, s *setup) (*experiment, *problem, error) {
	p := s.problem(s.design(), newRand(s.Seed, 1))
	e, err := p.experiment(ctx, p.shifted(choose(s, 4, 12))...)
	e.sizes, e.count = rateSizes, s.replicates(64, 64)
	return e, p, err
}

func runRate(ctx context.Context, s *setup, r *Report) error {
	e, truth, err := newRate(ctx, s)
	if err != nil {
		return err
	}
	// The graph's derivatives against those worked out by hand, at θ*.
	p, byHand := e.populations[0], newBilinear(truth.Table, truth.Design.Identity)
	for _, of := range []struct {
		key, quantity string
		fill          func(m Model, dst *mat.SymDense) error
	}{
		{"hessian-by-hand", "‖∇²L − by hand‖ at θ*", func(m Model, dst *mat.SymDense) error { return m.Hessian(dst, truth.Theta, p.weights) }},
		{"scores-by-hand", "‖J − by hand‖ at θ*", func(m Model, dst *mat.SymDense) error { return m.Scores(dst, truth.Theta, p.weights) }},
	} {
		graph, hand := mat.NewSymDense(byHand.Dim(), nil), mat.NewSymDense(byHand.Dim(), nil)
		if err := of.fill(e.model, graph); err != nil {
			return err
		}
		if err := of.fill(byHand, hand); err != nil {
			return err
		}
		subtract(graph, hand)
		r.rounding(of.key, of.quantity, operatorNorm(graph), 1e-8, "0: the graph's derivatives are the formula's")
	}
	_, err = e.report(ctx, r)
	return err
}

// rateSizes are the N of the rate studies.
var rateSizes = []int{1e5, 3e5, 1e6, 3e6}

// report runs the experiment and adds the rows of the rate studies.
func (e *experiment) report(ctx context.Context, r *Report) (*outcome, error) {
	gradient, err := e.populationGradient()
	if err != nil {
		return nil, err
	}
	bound, theory := vanishing, "0: the truth is the optimum"
	if e.disturbed {
		bound, theory = 1e-10, "0: θ* is the optimum"
	}
	r.rounding("population-gradient", "‖∇L(θ*)‖ of the population", gradient, bound, theory)
	o, err := e.run(ctx)
	if err == nil {
		o.report(r)
	}
	return o, err
}

// report adds the rows of what the replicates gave.
func (o *outcome) report(r *Report) {
	e, part := o.experiment, lostPart
	if e.disturbed {
		part = outlierPart
	}
	r.unsettled(o.unsettled, e.total(), part)
	all := o.statistics(0)
	late := o.statistics(min(1, len(e.sizes)-2))
	N := short(float64(e.sizes[len(e.sizes)-1]))
	r.rounding("gauge-curvature", "‖H v‖ along the gauge", all.Null, 1e-8, "0")
	r.ratio("ratio", "observed/sandwich RMSE at N = "+N+", mean of blocks", all.Ratio, 1, all.leftOut(), "1")
	extreme := func(key, quantity string, value float64) {
		r.judge(Row{Key: key, Quantity: quantity, Estimate: exact(value), Target: 1, Theory: "1", Level: rowLevel}, all.Extremes)
	}
	extreme("ratio-greatest", "… largest block", all.Worst)
	extreme("ratio-least", "… smallest block", all.Best)
	if e.populations[0].precision != nil {
		r.ratio("wald", fmt.Sprintf("Wald/df, df = %d", all.Freedom), all.Wald, 1, all.leftOutOfWald(), "1")
		r.power("wald-power", "probability that Wald/df notices a covariance a tenth too large", all.Wald, 1, 1/1.1, all.leftOutOfWald())
	}
	r.near("beta-n", "β_N, mean of blocks", all.BetaN, -0.5, all.leftOutOfSlope(), "−1/2")
	if e.varied() && !math.IsNaN(all.BetaP.Value) {
		r.record("beta-p", "β_p", all.BetaP, "−1/2 if constants were equal")
		r.near("beta-p-excess", "β_p − sandwich β_p", all.BetaPExcess, 0, all.leftOut(), "0")
		low, high := o.singleDesignBetaP()
		r.record("beta-p-alone-least", "β_p of one design alone, least", exact(low), "confounded with difficulty")
		r.record("beta-p-alone-greatest", "β_p of one design alone, greatest", exact(high), "confounded with difficulty")
	}
	from := short(float64(e.sizes[min(1, len(e.sizes)-2)]))
	r.near("theorem-1", "Theorem 1: slope of ‖θ̂ − θ*‖ in N from "+from, late.ThetaSlope, -0.5, 2*late.leftOutOfSlope(), "−1/2")
	r.near("a3", "A3: slope of ‖∇L_N(θ*)‖ in N", all.GradientSlope, -0.5, 0, "−1/2")
	if gauge, ok := e.gauge.(Rescaling); ok {
		pairs := o.withTarget(Pairs{gauge}).statistics(0)
		r.ratio("pair-ratio", "Theorem 2 for π_k = (a_k, b_k): observed/sandwich RMSE, mean of blocks", pairs.Ratio, 1, pairs.leftOut(), "1")
		r.near("pair-beta-n", "Theorem 2 for π_k: β_N, mean of blocks", pairs.BetaN, -0.5, pairs.leftOutOfSlope(), "−1/2")
	}
	r.Figures = append(r.Figures, o.errorFigure(), o.ratioFigure())
}

// varied tells whether the populations use any codeword more and less often.
func (e *experiment) varied() bool {
	for _, p := range e.populations {
		if !floats.EqualApprox(p.occupancy, e.populations[0].occupancy, 1e-9) { // a sum over cells rounds
			return true
		}
	}
	return false
}

// singleDesignBetaP is the range over populations of the slope across codewords
// that a study without shifts would report.
func (o *outcome) singleDesignBetaP() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	last := len(o.sizes) - 1
	all := everyone(o.count)
	for s, p := range o.populations {
		var y []float64
		for k := range o.target.Blocks() {
			y = append(y, math.Log(rms(o.errors(s, last, k), all)))
		}
		b := line(logs(p.occupancy), y)
		low, high = math.Min(low, b), math.Max(high, b)
	}
	return low, high
}

// errorFigure draws the error of some codewords against N_k, with the sandwich's line.
func (o *outcome) errorFigure() Figure {
	f := Figure{
		Name: "error", Title: "Error of a codeword's factors against its occurrences",
		XLabel: "N_k, occurrences of the codeword", YLabel: "RMSE of M_k = a_k b_kᵀ", LogX: true, LogY: true,
	}
	K := o.target.Blocks()
	for _, k := range slices.Compact([]int{0, K / 3, 2 * K / 3, K - 1}) {
		curve := Curve{Label: fmt.Sprintf("codeword %d", k), Style: Joined}
		line := Curve{Label: "sandwich", Style: Prediction}
		for size, N := range o.sizes {
			x := float64(N) * o.populations[0].occupancy[k]
			curve.add(x, rmsEstimate(o.errors(0, size, k)))
			line.X, line.Y = append(line.X, x), append(line.Y, o.populations[0].predicted[k]/math.Sqrt(float64(N)))
		}
		if k > 0 {
			line.Label = ""
		}
		f.Curves = append(f.Curves, curve, line)
	}
	return f
}

// ratioFigure draws observed/sandwich for every block at the largest N.
func (o *outcome) ratioFigure() Figure {
	f := Figure{
		Name: "ratio", Title: "Observed error over the sandwich's, per codeword and shift",
		XLabel: "N_k, occurrences of the codeword", YLabel: "RMSE / prediction", LogX: true,
	}
	last := len(o.sizes) - 1
	N := float64(o.sizes[last])
	blocks := Curve{Label: "block"}
	for s, p := range o.populations {
		for k := range o.target.Blocks() {
			blocks.add(N*p.occupancy[k], rmsEstimate(o.errors(s, last, k)).over(p.predicted[k]/math.Sqrt(N)))
		}
	}
	f.Curves = []Curve{blocks, powerLaw("theory: 1", 1, 0, blocks.X)}
	return f
}
