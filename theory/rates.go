package theory

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// rateStatistics are what the replicates say about Theorems 1 and 2.
type rateStatistics struct {
	*outcome
	firstSize, last int // sizes that a slope in N begins and ends with

	Ratio         Estimate // mean over blocks of RMSE/pred at the largest N
	Worst, Best   float64  // largest and smallest such ratio
	Wald          Estimate // mean Wald statistic over its degrees of freedom
	BetaN         Estimate // mean over blocks of the slope of log RMSE on log N
	BetaP         Estimate // slope of log RMSE on log N_k, codeword effects removed
	BetaPExcess   Estimate // BetaP minus the same slope of log pred
	ThetaSlope    Estimate // slope of log ‖θ̂ − θ*‖ on log N (Theorem 1)
	GradientSlope Estimate // slope of log ‖∇L_N(θ*)‖ on log N (A3)
	NaiveRatio    float64  // mean over blocks of the naive prediction over the sandwich's
	Blocks        int      // blocks that enter at the largest N
	Null          float64  // largest ‖H v‖ over gauge directions
	Freedom       int

	Extremes Band // where Worst and Best must lie: see extremes
	// Second and SecondFirst are the mean over blocks of (pred_k/|M_k|)² at the largest and
	// at the smallest N: how large the terms are that first-order theory leaves out.
	Second, SecondFirst float64
}

// leftOut is what first-order theory leaves open of a ratio of errors: terms of second
// order, and a hundredth for what the medians of few replicates hide.
func (x *rateStatistics) leftOut() float64 { return 0.01 + x.Second }

// leftOutOfWald is the same of the mean of Wald/df, a square.
func (x *rateStatistics) leftOutOfWald() float64 { return 0.01 + 2*x.Second }

// leftOutOfSlope is the same of a slope over the sizes.
func (x *rateStatistics) leftOutOfSlope() float64 {
	return 0.005 + x.SecondFirst/math.Log(float64(x.sizes[x.last])/float64(x.sizes[x.firstSize]))
}

// statistics summarizes the outcome. Slopes in N use sizes from sizes[firstSize] on.
func (o *outcome) statistics(firstSize int) *rateStatistics {
	x := &rateStatistics{outcome: o, firstSize: firstSize, last: len(o.sizes) - 1}
	x.theory()
	e := bootstrap(len(o.populations)*len(o.sizes), o.count, newRand(o.Seed, o.salt, 1<<32), func(pick [][]int) []float64 {
		return x.observed(func(s, size int) []int { return pick[s*len(o.sizes)+size] })
	})
	x.Ratio, x.Wald, x.BetaN, x.BetaP, x.BetaPExcess, x.ThetaSlope, x.GradientSlope = e[0], e[1], e[2], e[3], e[4], e[5], e[6]
	x.extremes()
	return x
}

// theory is what holds of the usable blocks whatever the replicates.
func (x *rateStatistics) theory() {
	for s, k := range x.usable(x.last) {
		x.Blocks++
		x.NaiveRatio += x.populations[s].naively[k] / x.populations[s].predicted[k]
		x.Second += square(x.relative(s, x.last, k))
	}
	x.NaiveRatio /= float64(x.Blocks)
	x.Second /= float64(x.Blocks)
	var early float64
	for s, k := range x.usable(x.firstSize) {
		early++
		x.SecondFirst += square(x.relative(s, x.firstSize, k))
	}
	x.SecondFirst /= math.Max(early, 1)
	for _, p := range x.populations {
		x.Null, x.Freedom = math.Max(x.Null, p.null), p.freedom()
	}
}

// observed are the statistics of the replicates that at names, of each population and size, in
// the order of rateStatistics: Ratio, Wald, the slopes of blocks, those of θ̂ and of the gradient.
func (x *rateStatistics) observed(at func(s, size int) []int) []float64 {
	var ratio, betaN, slopes float64
	var walds, logNk, logError, logPred []float64
	var codeword []int
	N := float64(x.sizes[x.last])
	for s, k := range x.usable(x.last) {
		observed, p := rms(x.errors(s, x.last, k), at(s, x.last)), &x.populations[s]
		ratio += observed * math.Sqrt(N) / p.predicted[k]
		logNk, logError = append(logNk, math.Log(N*p.occupancy[k])), append(logError, math.Log(observed))
		logPred, codeword = append(logPred, math.Log(p.predicted[k])), append(codeword, k)
	}
	for s := range x.populations {
		for k := range x.target.Blocks() {
			if beta, ok := x.slopeOnN(s, k, at); ok {
				betaN += beta
				slopes++
			}
		}
		all := x.at(s, x.last)
		for _, r := range at(s, x.last) {
			if wald := all[r].wald; !math.IsNaN(wald) {
				walds = append(walds, wald)
			}
		}
	}
	betaP := slope(logNk, logError, codeword)
	return []float64{
		ratio / float64(x.Blocks), mean(walds) / float64(x.Freedom),
		betaN / slopes, betaP, betaP - slope(logNk, logPred, codeword),
		x.pooledSlope(func(x replicate) float64 { return x.thetaError }, at),
		x.pooledSlope(func(x replicate) float64 { return x.gradNorm }, at),
	}
}

// slopeOnN is the slope of a block's log RMSE on log N, false where fewer than two sizes are usable.
func (x *rateStatistics) slopeOnN(s, k int, at func(s, size int) []int) (float64, bool) {
	var logN, logError []float64
	for size := x.firstSize; size <= x.last; size++ {
		if x.relative(s, size, k) <= usablePart {
			logN = append(logN, math.Log(float64(x.sizes[size])))
			logError = append(logError, math.Log(rms(x.errors(s, size, k), at(s, size))))
		}
	}
	if len(logN) < 2 {
		return 0, false
	}
	return line(logN, logError), true
}

// extremes are the greatest and least ratio RMSE/pred of the blocks, and between which all lie but with
// probability rowLevel. With C_k = D_k S D_kᵀ the squared error of a block over its prediction has mean 1
// and variance v = 2 tr(C_k²)/tr(C_k)² asymptotically, and its mean over R replicates
// is near a Gamma variable of that mean and variance v/R; what second-order terms add
// to a block is at most its (pred_k/|M_k|)².
func (x *rateStatistics) extremes() {
	x.Worst, x.Best, x.Extremes = math.Inf(-1), math.Inf(1), Band{1, 1}
	for s, k := range x.usable(x.last) {
		p := &x.populations[s]
		ratio := rms(x.errors(s, x.last, k), everyone(x.count)) * math.Sqrt(float64(x.sizes[x.last])) / p.predicted[k]
		x.Worst, x.Best = math.Max(x.Worst, ratio), math.Min(x.Best, ratio)

		c := congruence(p.covariance, mat.DenseCopyOf(x.target.Jacobian(k, p.theta).T()))
		var trace, squares float64
		for i := range c.SymmetricDim() {
			trace += c.At(i, i)
			for j := range c.SymmetricDim() {
				squares += c.At(i, j) * c.At(i, j)
			}
		}
		shape := float64(x.count) * trace * trace / (2 * squares)
		gamma := distuv.Gamma{Alpha: shape, Beta: shape}
		tail, left := rowLevel/2/float64(x.Blocks), 0.01+square(x.relative(s, x.last, k))
		x.Extremes.Low = math.Min(x.Extremes.Low, math.Sqrt(gamma.Quantile(tail))*(1-left))
		x.Extremes.High = math.Max(x.Extremes.High, math.Sqrt(gamma.Quantile(1-tail))*(1+left))
	}
}

func square(x float64) float64 { return x * x }

// pooledSlope is the slope of log RMS of a number on log N with one intercept per population.
func (x *rateStatistics) pooledSlope(of func(replicate) float64, at func(s, size int) []int) float64 {
	var logN, logValue []float64
	var group []int
	for s := range x.populations {
		for size := x.firstSize; size <= x.last; size++ {
			logN, group = append(logN, math.Log(float64(x.sizes[size]))), append(group, s)
			logValue = append(logValue, math.Log(rms(x.values(s, size, of), at(s, size))))
		}
	}
	return slope(logN, logValue, group)
}
