package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/optim/estimate"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// LostPart is how many of the fits of a well-specified problem may reach no minimum near θ*.
const LostPart = 0.005

// OutlierPart is how many replicates of a misspecified problem may leave the
// neighbourhood of θ* (shared/theory.md, section 4), and how many populations may have no θ*.
const OutlierPart = 0.03

// rateKeys are those of the rows that every question has, or some of them.
var rateKeys = []string{
	"nullity", "reach", "n", "population-gradient", "unsettled", "gauge-curvature", "ratio", "ratio-greatest", "ratio-least", "wald", "naive",
	"beta-n", "beta-p", "beta-p-excess", "beta-p-alone-least", "beta-p-alone-greatest", "theorem-1", "a3", "pair-ratio", "pair-beta-n",
}

// Report runs the experiment and adds the rows of the rate studies.
func (e *Experiment) Report(ctx context.Context, r *Report) (*Outcome, error) {
	gradient, err := e.PopulationGradient()
	if err != nil {
		return nil, err
	}
	bound, theory := Vanishing, "0: the truth is the optimum"
	if e.disturbed {
		bound, theory = 1e-10, "0: θ* is the optimum"
	}
	r.Rounding("population-gradient", "‖∇L(θ*)‖ of the population", gradient, bound, theory)
	o, err := e.Run(ctx)
	if err == nil && e.disturbed {
		o.Unsettled = o.KeepNeighbourhood()
	}
	if err == nil {
		o.Report(r)
	}
	return o, err
}

// Report adds the rows of what the replicates gave.
func (o *Outcome) Report(r *Report) {
	e, part := o.Experiment, LostPart
	if e.disturbed {
		part = OutlierPart
	}
	r.Unsettled(o.Unsettled, e.Total(), part)
	all := o.Rates(0)
	late := o.Rates(min(1, len(e.Sizes)-2))
	N := numeric.Short(float64(e.Sizes[len(e.Sizes)-1]))
	r.Rounding("gauge-curvature", "‖H v‖ along the gauge", all.null, 1e-8, "0")
	r.Ratio("ratio", "observed/sandwich RMSE at N = "+N+", mean of blocks", all.Ratio, 1, all.LeftOut(), "1")
	extreme := func(key, quantity string, value, notices float64) {
		r.Judge(Row{Key: key, Quantity: quantity, Estimate: Exact(value), Target: 1, Theory: "1", Level: RowLevel, Notices: notices}, all.extremeBand)
	}
	extreme("ratio-greatest", "… largest block", all.worst, all.larger)
	extreme("ratio-least", "… smallest block", all.best, all.smaller)
	if e.Limits[0].Precision != nil {
		r.Ratio("wald", fmt.Sprintf("Wald/df, df = %d", all.freedom), all.Wald, 1, all.LeftOutOfWald(), "1")
	}
	if e.disturbed {
		r.Record("naive", "naive H⁻¹ prediction / sandwich", Exact(all.NaiveRatio), "1 if the estimator could represent the law")
	}
	r.Near("beta-n", "β_N, mean of blocks", all.BetaN, -0.5, all.LeftOutOfSlope(), "−1/2")
	if e.varied() && !math.IsNaN(all.predictedBetaP) {
		r.Record("beta-p", "β_p", all.BetaP, "−1/2 if constants were equal")
		r.Near("beta-p-excess", "β_p − sandwich β_p", all.betaPExcess, 0, all.LeftOut(), "0")
		low, high := o.singleDesignBetaP()
		r.Record("beta-p-alone-least", "β_p of one design alone, least", Exact(low), "confounded with difficulty")
		r.Record("beta-p-alone-greatest", "β_p of one design alone, greatest", Exact(high), "confounded with difficulty")
	}
	from := numeric.Short(float64(e.Sizes[min(1, len(e.Sizes)-2)]))
	r.Near("theorem-1", "Theorem 1: slope of ‖θ̂ − θ*‖ in N from "+from, late.thetaSlope, -0.5, 2*late.LeftOutOfSlope(), "−1/2")
	r.Near("a3", "A3: slope of ‖∇L_N(θ*)‖ in N", all.gradientSlope, -0.5, 0, "−1/2")
	if gauge, ok := e.Gauge.(Rescaling); ok {
		pairs := o.withTarget(Pairs{gauge}).Rates(0)
		r.Ratio("pair-ratio", "Theorem 2 for π_k = (a_k, b_k): observed/sandwich RMSE, mean of blocks", pairs.Ratio, 1, pairs.LeftOut(), "1")
		r.Near("pair-beta-n", "Theorem 2 for π_k: β_N, mean of blocks", pairs.BetaN, -0.5, pairs.LeftOutOfSlope(), "−1/2")
	}
	r.Figures = append(r.Figures, o.errorFigure(), o.ratioFigure())
}

// varied reports whether the populations use any codeword more and less often.
func (e *Experiment) varied() bool {
	return slices.ContainsFunc(e.Limits, func(p Limit) bool {
		return !floats.EqualApprox(p.Occupancy, e.Limits[0].Occupancy, 1e-9) // a sum over cells rounds
	})
}

// singleDesignBetaP is the range over populations of the slope across codewords
// that a study without shifts would report.
func (o *Outcome) singleDesignBetaP() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	last := len(o.Sizes) - 1
	all, blocks := data.UpTo(o.Count), data.UpTo(o.Target.Blocks())
	for s, p := range o.Limits {
		y := data.Each(blocks, func(k int) float64 { return math.Log(numeric.RMS(o.Errors(s, last, k), all)) })
		b := numeric.Line(numeric.Logs(p.Occupancy), y)
		low, high = math.Min(low, b), math.Max(high, b)
	}
	return low, high
}

// errorFigure draws the error of some codewords against N_k, with the sandwich's line.
func (o *Outcome) errorFigure() Figure {
	f := LogLog("error", "Error of a codeword's factors against its occurrences",
		"N_k, occurrences of the codeword", "RMSE of M_k = a_k b_kᵀ")
	K := o.Target.Blocks()
	for _, k := range slices.Compact([]int{0, K / 3, 2 * K / 3, K - 1}) {
		f.Against(fmt.Sprintf("codeword %d", k), "sandwich", len(o.Sizes), func(size int) (float64, Estimate, float64) {
			N := float64(o.Sizes[size])
			return N * o.Limits[0].Occupancy[k], RMS(o.Errors(0, size, k)), o.Limits[0].Predicted[k] / math.Sqrt(N)
		})
	}
	return f
}

// ratioFigure draws observed/sandwich for every block at the largest N.
func (o *Outcome) ratioFigure() Figure {
	last := len(o.Sizes) - 1
	N := float64(o.Sizes[last])
	blocks := Curve{Label: "block"}
	for s, p := range o.Limits {
		for k := range o.Target.Blocks() {
			blocks.Add(N*p.Occupancy[k], RMS(o.Errors(s, last, k)).Over(p.Predicted[k]/math.Sqrt(N)))
		}
	}
	return Figure{
		Name: "ratio", Title: "Observed error over the sandwich's, per codeword and shift",
		XLabel: "N_k, occurrences of the codeword", YLabel: "RMSE / prediction", LogX: true,
		Curves: []Curve{blocks, blocks.PowerLaw("theory: 1", 1, 0)},
	}
}

// Rates are the replicates' evidence on Theorems 1 and 2.
type Rates struct {
	*Outcome
	firstSize, last int // sizes that a slope in N begins and ends with

	Ratio          Estimate // mean over blocks of RMSE/pred at the largest N
	worst, best    float64  // largest and smallest such ratio
	Wald           Estimate // mean Wald statistic over its degrees of freedom
	BetaN          Estimate // mean over blocks of the slope of log RMSE on log N
	BetaP          Estimate // slope of log RMSE on log N_k, codeword effects removed
	betaPExcess    Estimate // BetaP minus the same slope of log pred
	predictedBetaP float64  // that slope; NaN where no block varies
	thetaSlope     Estimate // slope of log ‖θ̂ − θ*‖ on log N (Theorem 1)
	gradientSlope  Estimate // slope of log ‖∇L_N(θ*)‖ on log N (A3)
	NaiveRatio     float64  // mean over blocks of the naive prediction over the sandwich's
	blocks         int      // blocks that enter at the largest N
	null           float64  // largest ‖H v‖ over gauge directions
	freedom        int

	extremeBand Band // where worst and best must lie: see extremes
	// larger and smaller are the error of the prediction of one block that they notice with probability 0.9, if the
	// block is larger than predicted, and if it is smaller.
	larger, smaller float64
	// second and secondFirst are the mean over blocks of (pred_k/|M_k|)² at the largest and
	// at the smallest N: how large the terms are that first-order theory leaves out.
	second, secondFirst float64
}

// LeftOut is what first-order theory leaves open of a ratio of errors: terms of second
// order, and a hundredth for what the medians of few replicates hide.
func (x *Rates) LeftOut() float64 { return 0.01 + x.second }

// LeftOutOfWald is the same of the mean of Wald/df, a square.
func (x *Rates) LeftOutOfWald() float64 { return 0.01 + 2*x.second }

// LeftOutOfSlope is the same of a slope over the sizes.
func (x *Rates) LeftOutOfSlope() float64 {
	return 0.005 + x.secondFirst/math.Log(float64(x.Sizes[x.last])/float64(x.Sizes[x.firstSize]))
}

// Rates summarizes the outcome. Slopes in N use sizes from sizes[firstSize] on.
func (o *Outcome) Rates(firstSize int) *Rates {
	x := &Rates{Outcome: o, firstSize: firstSize, last: len(o.Sizes) - 1}
	x.theory()
	e := Bootstrap(len(o.Limits)*len(o.Sizes), o.Count, newRand(o.Seed, o.Stream, 1<<32), func(pick [][]int) []float64 {
		return x.observed(func(s, size int) []int { return pick[s*len(o.Sizes)+size] })
	})
	x.Ratio, x.Wald, x.BetaN, x.BetaP, x.betaPExcess, x.thetaSlope, x.gradientSlope = e[0], e[1], e[2], e[3], e[4], e[5], e[6]
	x.extremes()
	return x
}

// theory is what holds of the usable blocks whatever the replicates.
func (x *Rates) theory() {
	var predicted numeric.Points
	for s, k := range x.usable(x.last) {
		x.blocks++
		predicted.Add(x.Limits[s].Occupancy[k], x.Limits[s].Predicted[k], k)
		x.NaiveRatio += x.Limits[s].naively[k] / x.Limits[s].Predicted[k]
		x.second += numeric.Square(x.Relative(s, x.last, k))
	}
	x.NaiveRatio, x.predictedBetaP = x.NaiveRatio/float64(x.blocks), predicted.Slope()
	x.second /= float64(x.blocks)
	var early float64
	for s, k := range x.usable(x.firstSize) {
		early++
		x.secondFirst += numeric.Square(x.Relative(s, x.firstSize, k))
	}
	x.secondFirst /= math.Max(early, 1)
	for _, p := range x.Limits {
		x.null, x.freedom = math.Max(x.null, p.null), p.Freedom()
	}
}

// observed are the statistics of the replicates that at names, of each population and size, in
// the order of Rates: Ratio, Wald, the slopes of blocks, those of θ̂ and of the gradient.
func (x *Rates) observed(at func(s, size int) []int) []float64 {
	var ratio, betaN, slopes float64
	var walds []float64
	var measured, predicted numeric.Points
	N := float64(x.Sizes[x.last])
	for s, k := range x.usable(x.last) {
		observed, p := numeric.RMS(x.Errors(s, x.last, k), at(s, x.last)), &x.Limits[s]
		ratio += observed * math.Sqrt(N) / p.Predicted[k]
		measured.Add(N*p.Occupancy[k], observed, k)
		predicted.Add(N*p.Occupancy[k], p.Predicted[k], k)
	}
	for s := range x.Limits {
		for k := range x.Target.Blocks() {
			if beta, ok := x.slopeOnN(s, k, at); ok {
				betaN += beta
				slopes++
			}
		}
		all := x.At(s, x.last)
		walds = append(walds, numeric.Valid(data.Each(at(s, x.last), func(r int) float64 { return all[r].Wald }))...)
	}
	return []float64{
		ratio / float64(x.blocks), numeric.Mean(walds) / float64(x.freedom),
		betaN / slopes, measured.Slope(), measured.Slope() - predicted.Slope(),
		x.pooledSlope(func(x Replicate) float64 { return x.ThetaError }, at),
		x.pooledSlope(func(x Replicate) float64 { return x.gradNorm }, at),
	}
}

// slopeOnN is the slope of a block's log RMSE on log N, false where fewer than two sizes are usable.
func (x *Rates) slopeOnN(s, k int, at func(s, size int) []int) (float64, bool) {
	var of numeric.Points
	for size := x.firstSize; size <= x.last; size++ {
		if x.Relative(s, size, k) <= UsablePart {
			of.Add(float64(x.Sizes[size]), numeric.RMS(x.Errors(s, size, k), at(s, size)), 0)
		}
	}
	return of.Slope(), len(of.Group) > 1
}

// extremes are the greatest and least ratio RMSE/pred of the blocks, and between which all lie but with
// probability RowLevel. With C_k = D_k S D_kᵀ the squared error of a block over its prediction has mean 1
// and variance v = 2 tr(C_k²)/tr(C_k)² asymptotically, and its mean over R replicates
// is near a Gamma variable of that mean and variance v/R; what second-order terms add
// to a block is at most its (pred_k/|M_k|)².
func (x *Rates) extremes() {
	x.worst, x.best, x.extremeBand = math.Inf(-1), math.Inf(1), Band{1, 1}
	least, most := 0.0, math.Inf(1) // of the surest block in 0.9 of the runs
	for s, k := range x.usable(x.last) {
		p := &x.Limits[s]
		ratio := numeric.RMS(x.Errors(s, x.last, k), data.UpTo(x.Count)) * math.Sqrt(float64(x.Sizes[x.last])) / p.Predicted[k]
		x.worst, x.best = math.Max(x.worst, ratio), math.Min(x.best, ratio)

		c := estimate.Congruence(p.Covariance, mat.DenseCopyOf(x.Target.Jacobian(k, p.Theta).T()))
		var trace, squares float64
		for i := range c.SymmetricDim() {
			trace += c.At(i, i)
			for j := range c.SymmetricDim() {
				squares += c.At(i, j) * c.At(i, j)
			}
		}
		shape := float64(x.Count) * trace * trace / (2 * squares)
		gamma := distuv.Gamma{Alpha: shape, Beta: shape}
		tail, left := RowLevel/2/float64(x.blocks), 0.01+numeric.Square(x.Relative(s, x.last, k))
		x.extremeBand.Low = math.Min(x.extremeBand.Low, math.Sqrt(gamma.Quantile(tail))*(1-left))
		x.extremeBand.High = math.Max(x.extremeBand.High, math.Sqrt(gamma.Quantile(1-tail))*(1+left))
		least, most = math.Max(least, math.Sqrt(gamma.Quantile(0.1))), math.Min(most, math.Sqrt(gamma.Quantile(0.9)))
	}
	x.larger, x.smaller = x.extremeBand.High/least-1, most/x.extremeBand.Low-1
}

// pooledSlope is the slope of log RMS of a number on log N with one intercept per population.
func (x *Rates) pooledSlope(of func(Replicate) float64, at func(s, size int) []int) float64 {
	var values numeric.Points
	for s := range x.Limits {
		for size := x.firstSize; size <= x.last; size++ {
			values.Add(float64(x.Sizes[size]), numeric.RMS(x.values(s, size, of), at(s, size)), s)
		}
	}
	return values.Slope()
}
