package theory

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// population is one law of (cell, atom, label), with the parameters that fit it
// best and the asymptotics there.
type population struct {
	weights    []float64 // cells × R × C
	occupancy  []float64 // E[n_k] per row
	asymptotic *asymptotics
}

// experiment estimates one model from many samples of a few populations (the
// cyclic shifts of a design) at growing sizes.
type experiment struct {
	model       Model
	gauge       Gauge
	target      Target
	populations []population
	sizes       []int // N, increasing
	replicates  int
	seed        uint64
}

// outcome holds what an experiment's replicates gave, indexed [population][size].
type outcome struct {
	*experiment
	blockError [][][][]float64 // …[block][replicate], ‖M̂_k − M*_k‖
	thetaError [][][]float64   // …[replicate], ‖θ̂ − θ*‖ at the representative
	gradNorm   [][][]float64   // …[replicate], ‖∇L_N(θ*)‖
	waldStat   [][][]float64   // …[replicate]
}

// usablePart bounds pred_k/|M*_k| of the blocks that enter a statistic: beyond it
// the first-order theory is not expected to describe the estimator.
const usablePart = 0.35

// usable tells which blocks the first-order theory is expected to describe, by
// population, size and block.
func (e *experiment) usable(pred [][]float64) func(s, size, k int) bool {
	return func(s, size, k int) bool {
		at := e.populations[s].asymptotic.theta
		return pred[s][k]/math.Sqrt(float64(e.sizes[size])) <= usablePart*e.target.Size(k, at)
	}
}

func (e *experiment) run(ctx context.Context) (*outcome, error) {
	if err := e.checkSizes(); err != nil {
		return nil, err
	}
	o := &outcome{experiment: e}
	S, n, R := len(e.populations), len(e.sizes), e.replicates
	for range S {
		var blocks [][][]float64
		for range n {
			perBlock := make([][]float64, e.target.Blocks())
			for k := range perBlock {
				perBlock[k] = make([]float64, R)
			}
			blocks = append(blocks, perBlock)
		}
		o.blockError = append(o.blockError, blocks)
		o.thetaError = append(o.thetaError, grid(n, R))
		o.gradNorm = append(o.gradNorm, grid(n, R))
		o.waldStat = append(o.waldStat, grid(n, R))
	}
	err := forEach(ctx, S*n*R, e.model.fork, func(model Model, i int) error {
		s, size, r := i/(n*R), i/R%n, i%R
		rng := newRand(e.seed, uint64(s), uint64(size), uint64(r))
		if err := o.replicate(model, s, size, r, Sample(e.populations[s].weights, e.sizes[size], rng)); err != nil {
			return fmt.Errorf("theory: shift %d, N = %d, replicate %d: %w", s, e.sizes[size], r, err)
		}
		return nil
	})
	return o, err
}

// checkSizes refuses samples in which the theory is expected to describe no block.
func (e *experiment) checkSizes() error {
	pred, _ := e.predicted()
	usable := e.usable(pred)
	last := len(e.sizes) - 1
	for s := range e.populations {
		for k := range e.target.Blocks() {
			if usable(s, last, k) {
				return nil
			}
		}
	}
	return fmt.Errorf("theory: N = %d is too small: the predicted error of every block exceeds %g of its size; give a larger N", e.sizes[last], usablePart)
}

func grid(n, m int) [][]float64 {
	g := make([][]float64, n)
	for i := range g {
		g[i] = make([]float64, m)
	}
	return g
}

// replicate fits one sample, from θ*, and records how far the fit is from θ*.
func (o *outcome) replicate(model Model, s, size, r int, sample []float64) error {
	at := o.populations[s].asymptotic
	if p, ok := model.(interface{ precondition(*mat.SymDense) }); ok {
		p.precondition(at.hessian)
	}
	grad := make([]float64, model.Dim())
	if _, err := model.Gradient(grad, at.theta, sample); err != nil {
		return err
	}
	o.gradNorm[s][size][r] = floats.Norm(grad, 2)

	theta := append([]float64(nil), at.theta...)
	if err := minimize(model, o.gauge, theta, sample); err != nil {
		return err
	}
	o.gauge.Fix(theta, at.theta)
	o.thetaError[s][size][r] = floats.Distance(theta, at.theta, 2)
	o.waldStat[s][size][r] = at.wald(theta, o.sizes[size])
	for k := range o.target.Blocks() {
		o.blockError[s][size][k][r] = o.target.Distance(k, theta, at.theta)
	}
	return nil
}

// predicted returns pred_k = √(tr[(D S Dᵀ)_kk]/N) of each population and block at
// N = 1, from the sandwich S and from the naive H⁺.
func (e *experiment) predicted() (sandwich, naive [][]float64) {
	for _, p := range e.populations {
		var withS, withH []float64
		for k := range e.target.Blocks() {
			d := e.target.Jacobian(k, p.asymptotic.theta)
			withS = append(withS, predictedError(d, p.asymptotic.covariance, 1))
			withH = append(withH, predictedError(d, p.asymptotic.naive, 1))
		}
		sandwich, naive = append(sandwich, withS), append(naive, withH)
	}
	return sandwich, naive
}

// rateStatistics are what the replicates say about Theorems 1 and 2.
type rateStatistics struct {
	Ratio         Estimate // mean over blocks of RMSE/pred at the largest N
	Worst, Best   Estimate // largest and smallest such ratio (the bootstrap cannot bound extremes)
	Wald          Estimate // mean Wald statistic over its degrees of freedom
	BetaN         Estimate // mean over blocks of the slope of log RMSE on log N
	BetaP         Estimate // slope of log RMSE on log N_k, codeword effects removed
	BetaPExcess   Estimate // BetaP minus the same slope of log pred
	ThetaSlope    Estimate // slope of log ‖θ̂ − θ*‖ on log N (Theorem 1)
	GradientSlope Estimate // slope of log ‖∇L_N(θ*)‖ on log N (A3)
	NaiveRatio    Estimate // mean over blocks of the naive prediction over the sandwich's
	Blocks        int      // blocks that enter at the largest N
	WaldOutliers  int      // replicates at the largest N with Wald/df above waldOutlier
	WaldTotal     int
	Null          float64 // largest ‖H v‖ over gauge directions
	Freedom       int
}

// waldOutlier marks replicates that left the neighbourhood where the theory holds.
const waldOutlier = 2.5

// keepNeighbourhood takes the replicates that left the neighbourhood of θ* (Wald/df
// above waldOutlier) out of the block errors; statistics still counts them.
func (o *outcome) keepNeighbourhood() {
	for s, p := range o.populations {
		limit := waldOutlier * float64(p.asymptotic.freedom())
		for size := range o.sizes {
			for r, wald := range o.waldStat[s][size] {
				if wald <= limit {
					continue
				}
				for k := range o.blockError[s][size] {
					o.blockError[s][size][k][r] = math.NaN()
				}
			}
		}
	}
}

// statistics summarizes the outcome. Slopes in N use sizes from sizes[firstSize] on.
func (o *outcome) statistics(firstSize int) *rateStatistics {
	S, n, K := len(o.populations), len(o.sizes), o.target.Blocks()
	last := n - 1
	pred, naive := o.predicted()
	usable := o.usable(pred)
	result := &rateStatistics{}
	var naiveSum float64
	for s := range S {
		for k := range K {
			if usable(s, last, k) {
				result.Blocks++
				naiveSum += naive[s][k] / pred[s][k]
			}
		}
		at := o.populations[s].asymptotic
		result.Null = math.Max(result.Null, at.null)
		result.Freedom = at.freedom()
		for _, wald := range o.waldStat[s][last] {
			result.WaldTotal++
			if wald > waldOutlier*float64(at.freedom()) {
				result.WaldOutliers++
			}
		}
	}
	result.NaiveRatio = exact(naiveSum / float64(result.Blocks))

	statistic := func(pick [][]int) []float64 {
		at := func(s, size int) []int { return pick[s*n+size] }
		var ratio, wald, betaN, slopes float64
		worst, best := math.Inf(-1), math.Inf(1)
		var logNk, logError, logPred []float64
		var codeword []int
		for s := range S {
			for k := range K {
				var x, y []float64
				for size := range n {
					if size >= firstSize && usable(s, size, k) {
						x = append(x, math.Log(float64(o.sizes[size])))
						y = append(y, math.Log(rms(o.blockError[s][size][k], at(s, size))))
					}
				}
				if len(x) > 1 {
					betaN += slope(x, y, make([]int, len(x)))
					slopes++
				}
				if !usable(s, last, k) {
					continue
				}
				N := float64(o.sizes[last])
				observed := rms(o.blockError[s][last][k], at(s, last))
				r := observed * math.Sqrt(N) / pred[s][k]
				ratio += r
				worst, best = math.Max(worst, r), math.Min(best, r)
				logNk = append(logNk, math.Log(N*o.populations[s].occupancy[k]))
				logError = append(logError, math.Log(observed))
				logPred = append(logPred, math.Log(pred[s][k]))
				codeword = append(codeword, k)
			}
			for _, r := range at(s, last) {
				wald += o.waldStat[s][last][r]
			}
		}
		betaP := slope(logNk, logError, codeword)
		return []float64{
			ratio / float64(result.Blocks), worst, best,
			wald / float64(S*o.replicates*result.Freedom),
			betaN / slopes, betaP, betaP - slope(logNk, logPred, codeword),
			o.pooledSlope(o.thetaError, firstSize, at), o.pooledSlope(o.gradNorm, firstSize, at),
		}
	}
	e := bootstrap(S*n, o.replicates, newRand(o.seed, 1<<32), statistic)
	result.Ratio, result.Worst, result.Best, result.Wald = e[0], exact(e[1].Value), exact(e[2].Value), e[3]
	result.BetaN, result.BetaP, result.BetaPExcess = e[4], e[5], e[6]
	result.ThetaSlope, result.GradientSlope = e[7], e[8]
	return result
}

// pooledSlope is the slope of log RMS(values) on log N with one intercept per population.
func (o *outcome) pooledSlope(values [][][]float64, firstSize int, at func(s, size int) []int) float64 {
	var x, y []float64
	var group []int
	for s := range o.populations {
		for size := firstSize; size < len(o.sizes); size++ {
			x = append(x, math.Log(float64(o.sizes[size])))
			y = append(y, math.Log(rms(values[s][size], at(s, size))))
			group = append(group, s)
		}
	}
	return slope(x, y, group)
}
