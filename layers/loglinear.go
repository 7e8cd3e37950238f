package layers

import (
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// WeightPrior is w_k ~ N(Mean, Deviation²) of the weights of a log-linear pool, independently. Zero: there is no prior.
type WeightPrior struct{ Mean, Deviation float64 }

// LogLinear finds the weights w ≥ 0 of the logarithmic pool (Genest and Zidek 1986)
//
//	log p = Σ_k w_k ℓ_k − log Σ_c exp Σ_k w_k ℓ_kc
//
// of members ℓ_k, log-probabilities of the rows (N×C each) that were made without their labels, that minimize
//
//	(1/V) Σ_i v_i NLL_i + Σ_k (w_k − Mean)²/(2 Deviation² V) ,  V = Σ_i v_i
//
// with the weights v of the rows. This is convex. Newton's method on the weights that are not held at 0 (Bertsekas
// 1982) ends where each derivative is below 1e-10, or positive where w_k = 0. Weights that do not change the loss stay
// at 1/M.
func LogLinear(members []*mat.Dense, rows *data.Set, prior WeightPrior) ([]float64, error) {
	p := &pooling{members: members, rows: rows, prior: prior}
	if err := p.check(); err != nil {
		return nil, err
	}
	p.total = rows.Total()
	m := len(members)
	w := make([]float64, m)
	for k := range w {
		w[k] = 1 / float64(m)
	}
	at := p.measure(w)
	for range poolSteps {
		free := at.free(w)
		if at.excess(free) < poolGradient {
			return w, nil
		}
		next, found := p.descend(at, w, at.newton(free))
		if !found {
			break
		}
		copy(w, next.w)
		at = next
	}
	if left := at.excess(at.free(w)); !(left < 1e3*poolGradient) {
		return nil, fmt.Errorf("layers: the weights of a pool of %d members end at a derivative of %g; the loss has no minimum that can be found", m, left)
	}
	return w, nil
}

const (
	poolGradient = 1e-10 // in nats a row; far above the rounding of a mean of NLLs of order 1
	poolSteps    = 200
)

// Pool is the logarithmic pool of log-probabilities (N×C each) with these weights. A class that is masked in one of
// them is masked. It is nil of no members.
func Pool(members []*mat.Dense, weights []float64) *mat.Dense {
	if len(members) == 0 {
		return nil
	}
	n, c := members[0].Dims()
	out := mat.NewDense(n, c, nil)
	for i := range n {
		poolRow(out.RawRowView(i), members, weights, i)
	}
	return Renormalize(out)
}

// poolRow sets s (C) to Σ_k w_k ℓ_k of a row.
func poolRow(s []float64, members []*mat.Dense, weights []float64, row int) {
	clear(s)
	for k, m := range members {
		for c, l := range m.RawRowView(row) {
			if data.Masked(l) {
				s[c] = l
			} else {
				s[c] += weights[k] * l
			}
		}
	}
}

// pooling is the loss of a pool.
type pooling struct {
	members []*mat.Dense
	rows    *data.Set
	total   float64 // V
	prior   WeightPrior
}

func (p *pooling) check() error {
	if len(p.members) == 0 || p.rows == nil {
		return fmt.Errorf("layers: a pool has no members, or no rows")
	}
	_, c := p.members[0].Dims()
	if err := checkLabels(p.rows, c); err != nil {
		return err
	}
	for k, m := range p.members {
		if rows, classes := m.Dims(); rows != p.rows.Len() || classes != c {
			return fmt.Errorf("layers: member %d of a pool has %d×%d log-probabilities for %d rows of %d classes", k, rows, classes, p.rows.Len(), c)
		}
		for i := range p.rows.Len() {
			row := m.RawRowView(i)
			if floats.HasNaN(row) || math.IsInf(floats.Max(row), 0) {
				return fmt.Errorf("layers: member %d of a pool has log-probabilities of row %d that are not finite", k, i)
			}
			for y := range p.rows.Shares(i) {
				if data.Masked(row[y]) {
					return fmt.Errorf("layers: member %d of a pool masks class %d of row %d, its label", k, y, i)
				}
			}
		}
	}
	return nil
}

// pooled is the loss at weights w, with its derivatives.
type pooled struct {
	w, gradient []float64 // M
	hessian     *mat.SymDense
	loss        float64
}

func newPooled(m int) *pooled {
	return &pooled{w: make([]float64, m), gradient: make([]float64, m), hessian: mat.NewSymDense(m, nil)}
}

// poolBlock is how many rows are summed at a time: sums are the same on any number of threads.
const poolBlock = 256

// measure is the loss at w.
func (p *pooling) measure(w []float64) *pooled {
	n := p.rows.Len()
	parts := make([]*pooled, (n+poolBlock-1)/poolBlock)
	work.Ranges(n, poolBlock, func(lo, hi int) { parts[lo/poolBlock] = p.part(w, lo, hi) })
	sum := newPooled(len(w))
	copy(sum.w, w)
	for _, part := range parts {
		sum.loss += part.loss
		floats.Add(sum.gradient, part.gradient)
		sum.hessian.AddSym(sum.hessian, part.hessian)
	}
	if s := p.prior.Deviation; s > 0 {
		for k, v := range w {
			d := v - p.prior.Mean
			sum.loss += d * d / (2 * s * s)
			sum.gradient[k] += d / (s * s)
			sum.hessian.SetSym(k, k, sum.hessian.At(k, k)+1/(s*s))
		}
	}
	sum.loss /= p.total
	floats.Scale(1/p.total, sum.gradient)
	sum.hessian.ScaleSym(1/p.total, sum.hessian)
	return sum
}

// part sums rows lo … hi−1: the gradient is Σ_i v_i (Σ_c p_c ℓ_kc − Σ_c q_c ℓ_kc), q the row's shares of the classes,
// and the Hessian Σ_i v_i Cov_p(ℓ_k, ℓ_l).
func (p *pooling) part(w []float64, lo, hi int) *pooled {
	sum, m := newPooled(len(w)), len(w)
	_, c := p.members[0].Dims()
	logits, mean := make([]float64, c), make([]float64, m)
	for i := lo; i < hi; i++ {
		v := p.rows.Weight(i)
		poolRow(logits, p.members, w, i)
		all := floats.LogSumExp(logits)
		clear(mean)
		for y, q := range p.rows.Shares(i) {
			sum.loss += v * q * (all - logits[y])
			for k, member := range p.members {
				sum.gradient[k] -= v * q * member.At(i, y)
			}
		}
		for y, l := range logits {
			if logits[y] = math.Exp(l - all); logits[y] == 0 { // masked, or as good as
				continue
			}
			for k, member := range p.members {
				mean[k] += logits[y] * member.At(i, y)
			}
		}
		floats.AddScaled(sum.gradient, v, mean)
		for y, p1 := range logits {
			if p1 == 0 {
				continue
			}
			for k, member := range p.members {
				for l := k; l < m; l++ {
					more := v * p1 * (member.At(i, y) - mean[k]) * (p.members[l].At(i, y) - mean[l])
					sum.hessian.SetSym(k, l, sum.hessian.At(k, l)+more)
				}
			}
		}
	}
	return sum
}

// free are the weights that may move: above 0, or with a loss that falls as they leave it.
func (p *pooled) free(w []float64) (free []int) {
	for k, g := range p.gradient {
		if w[k] > 0 || g < 0 {
			free = append(free, k)
		}
	}
	return free
}

// excess is the largest derivative by a free weight.
func (p *pooled) excess(free []int) (most float64) {
	for _, k := range free {
		most = max(most, math.Abs(p.gradient[k]))
	}
	return most
}

// newton is the step of Newton's method in the free weights.
func (p *pooled) newton(free []int) []float64 {
	h, g := mat.NewSymDense(len(free), nil), mat.NewVecDense(len(free), nil)
	largest := 0.0
	for a, k := range free {
		g.SetVec(a, -p.gradient[k])
		largest = max(largest, p.hessian.At(k, k))
		for b := a; b < len(free); b++ {
			h.SetSym(a, b, p.hessian.At(k, free[b]))
		}
	}
	step := make([]float64, len(p.w))
	var factor mat.Cholesky
	for ridge := 1e-12 * largest; ; ridge = max(10*ridge, math.SmallestNonzeroFloat64) { // of members alike
		for a := range free {
			h.SetSym(a, a, p.hessian.At(free[a], free[a])+ridge)
		}
		if factor.Factorize(h) {
			break
		}
	}
	x := mat.NewVecDense(len(free), nil)
	if factor.SolveVecTo(x, g) != nil {
		x.CopyVec(g) // the ridge is too small for an accurate step; the loss falls along −g too
	}
	for a, k := range free {
		step[k] = x.AtVec(a)
	}
	return step
}

// leastWeight is the least weight but 0: one just above would shorten each step that lowers it.
const leastWeight = 1e-12

// descend takes the step from w, cut off at 0 and halved until the loss falls (Armijo).
func (p *pooling) descend(from *pooled, w, step []float64) (*pooled, bool) {
	for share := 1.0; share > 1e-10; share /= 2 {
		to := make([]float64, len(w))
		gain := 0.0
		for k := range w {
			if to[k] = w[k] + share*step[k]; to[k] < leastWeight {
				to[k] = 0
			}
			gain += from.gradient[k] * (w[k] - to[k])
		}
		at := p.measure(to)
		// Near the minimum the loss cannot show what a step gains, but its gradient can.
		flat := math.Abs(at.loss-from.loss) <= 1e-14*math.Abs(from.loss) && at.excess(at.free(to)) < from.excess(from.free(w))
		if at.loss <= from.loss-1e-4*gain || flat {
			return at, true
		}
	}
	return from, false
}
