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

// newExperiment sets up the estimation of truth by model over cyclic shifts of the
// design. In every population θ* is the truth's own.
func newExperiment(ctx context.Context, truth *Truth, model Model, shifts, sizes []int, replicates int, seed uint64) (*experiment, error) {
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	e := &experiment{
		model: model, gauge: gauge, target: Products{gauge},
		sizes: sizes, replicates: replicates, seed: seed,
	}
	gauge.Fix(truth.Theta, nil)
	e.populations = make([]population, len(shifts))
	err := forEach(ctx, len(shifts), model.fork, func(model Model, i int) (err error) {
		cellProb := truth.Table.Multinomial(truth.Design.Frequencies(shifts[i]))
		e.populations[i], err = newPopulation(truth, model, cellProb)
		return err
	})
	return e, err
}

// newPopulation is the truth under the given cell probabilities.
func newPopulation(truth *Truth, model Model, cellProb []float64) (population, error) {
	weights := truth.Weights(cellProb)
	gauge := Rescaling{truth.Design.Classes, truth.Design.Codewords}
	at, err := newAsymptotics(model, gauge, truth.Theta, weights)
	return population{weights, truth.Table.Occupancy(cellProb), at}, err
}

// populationGradient is the largest ‖∇L(θ*)‖ over the populations: zero when θ* is
// where the loss that is trained has its optimum.
func (e *experiment) populationGradient() (float64, error) {
	var largest float64
	grad := make([]float64, e.model.Dim())
	for _, p := range e.populations {
		if _, err := e.model.Gradient(grad, p.asymptotic.theta, p.weights); err != nil {
			return 0, err
		}
		largest = math.Max(largest, floats.Norm(grad, 2))
	}
	return largest, nil
}

// Acceptance bands of the rate studies (shared/theory.md, section 4).
var (
	bandRatio = between(0.95, 1.05)
	bandBlock = between(0.65, 1.40)
	bandWald  = between(0.95, 1.06)
	bandSlope = between(-0.54, -0.47)
	bandBetaP = between(-0.05, 0.05)
)

// bandZero is for sums that vanish but for rounding.
var bandZero = atMost(1e-12)

func runRate(ctx context.Context, s Settings, r *Report) error {
	truth, err := NewTruth(s.design(), newRand(s.Seed, 1))
	if err != nil {
		return err
	}
	model, err := trained(truth.Table, truth.Design.Identity)
	if err != nil {
		return err
	}
	return rateOf(ctx, s, r, truth, model)
}

// rateSizes are the N of the rate studies.
var rateSizes = []int{1e5, 3e5, 1e6, 3e6}

// rateOf studies how fast model finds truth.
func rateOf(ctx context.Context, s Settings, r *Report, truth *Truth, model Model) error {
	shifts := evenShifts(truth.Design, choose(s, 4, 12))
	e, err := newExperiment(ctx, truth, model, shifts, rateSizes, choose(s, 80, 40), s.Seed)
	if err != nil {
		return err
	}
	byHand := newBilinear(truth.Table, truth.Design.Identity)
	hess := mat.NewSymDense(byHand.Dim(), nil)
	if err := byHand.Hessian(hess, truth.Theta, e.populations[0].weights); err != nil {
		return err
	}
	subtract(hess, e.populations[0].asymptotic.hessian)
	r.judge("‖∇²L − analytic‖ at θ*", exact(operatorNorm(hess)), "0: the graph's Hessian is the formula's", atMost(1e-8))
	return e.report(ctx, r)
}

// report runs the experiment and adds the rows of the rate studies.
func (e *experiment) report(ctx context.Context, r *Report) error {
	gradient, err := e.populationGradient()
	if err != nil {
		return err
	}
	r.judge("‖∇L(θ*)‖ of the population", exact(gradient), "0: the truth is the optimum", bandZero)
	o, err := e.run(ctx)
	if err != nil {
		return err
	}
	all := o.statistics(0)
	late := o.statistics(min(1, len(e.sizes)-2))
	N := short(float64(e.sizes[len(e.sizes)-1]))
	r.judge("‖H v‖ along the gauge", exact(all.Null), "0", atMost(1e-8))
	r.judge("observed/sandwich RMSE at N = "+N+", mean of blocks", all.Ratio, "1", bandRatio)
	r.judge("… largest block", all.Worst, "1", bandBlock)
	r.judge("… smallest block", all.Best, "1", bandBlock)
	r.judge(fmt.Sprintf("Wald/df, df = %d", all.Freedom), all.Wald, "1", bandWald)
	r.judge("β_N, mean of blocks", all.BetaN, "-1/2", bandSlope)
	if len(e.populations) > 1 && !math.IsNaN(all.BetaP.Value) {
		r.tell("β_p", all.BetaP, "-1/2 if constants were equal")
		r.judge("β_p − sandwich β_p", all.BetaPExcess, "0", bandBetaP)
		low, high := o.singleDesignBetaP()
		r.tell("β_p of one design alone, least", exact(low), "confounded with difficulty")
		r.tell("β_p of one design alone, greatest", exact(high), "confounded with difficulty")
	}
	from := short(float64(e.sizes[min(1, len(e.sizes)-2)]))
	r.judge("Theorem 1: slope of ‖θ̂ − θ*‖ in N from "+from, late.ThetaSlope, "-1/2", bandSlope)
	r.judge("A3: slope of ‖∇L_N(θ*)‖ in N", all.GradientSlope, "-1/2", bandSlope)
	r.Figures = append(r.Figures, o.errorFigure(), o.ratioFigure())
	return nil
}

// singleDesignBetaP is the range over populations of the slope across codewords
// that a study without shifts would report.
func (o *outcome) singleDesignBetaP() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	last := len(o.sizes) - 1
	all := everyone(o.replicates)
	for s, p := range o.populations {
		var y []float64
		for k := range o.target.Blocks() {
			y = append(y, math.Log(rms(o.blockError[s][last][k], all)))
		}
		b := slope(logs(p.occupancy), y, make([]int, len(y)))
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
	pred, _ := o.predicted()
	K := o.target.Blocks()
	for _, k := range slices.Compact([]int{0, K / 3, 2 * K / 3, K - 1}) {
		curve := Curve{Label: fmt.Sprintf("codeword %d", k), Style: Joined}
		line := Curve{Label: "sandwich", Style: Prediction}
		for size, N := range o.sizes {
			x := float64(N) * o.populations[0].occupancy[k]
			curve.add(x, rmsEstimate(o.blockError[0][size][k], 1, newRand(o.seed, 1<<33, uint64(k), uint64(size))))
			line.X, line.Y = append(line.X, x), append(line.Y, pred[0][k]/math.Sqrt(float64(N)))
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
	pred, _ := o.predicted()
	last := len(o.sizes) - 1
	N := float64(o.sizes[last])
	blocks := Curve{Label: "block"}
	for s, p := range o.populations {
		for k := range o.target.Blocks() {
			blocks.add(N*p.occupancy[k], rmsEstimate(o.blockError[s][last][k], math.Sqrt(N)/pred[s][k], newRand(o.seed, 1<<34, uint64(s), uint64(k))))
		}
	}
	f.Curves = []Curve{blocks, powerLaw("theory: 1", 1, 0, blocks.X)}
	return f
}
