package metrics

import (
	"math"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// tilts are the λ at which a law is known.
var tilts = [...]float64{.25, .5, .75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16}

// Law is what the sum S = Σ_i w_i (log b_i(y_i) − log a_i(y_i)) of the differences between the NLLs of predictions a
// and b is by chance, if the labels y are drawn from one of them: at each of some λ
//
//	Better   log E_b exp(−λS) = Σ_i log Σ_c b_ic (a_ic/b_ic)^{λ w_i}   of labels drawn from b
//	Worse    log E_a exp(+λS) = Σ_i log Σ_c a_ic (b_ic/a_ic)^{λ w_i}   of labels drawn from a
type Law struct {
	Better moments `json:"better"`
	Worse  moments `json:"worse"`
}

// moments are these logarithms, and the mean of the sum as it is, Σ_i w_i Σ_c b_ic log (b_ic/a_ic) of labels drawn from
// b.
type moments struct {
	Logs [len(tilts)]float64 `json:"logs"`
	Mean float64             `json:"mean"`
}

// NewLaw is the law for predictions a and b (N×C log-probabilities) of the same rows. It uses Rows of s.
func NewLaw(a, b *mat.Dense, labels []int, s Settings) (*Law, error) {
	x, err := checked.NewSample(a, labels, s.Rows, s.Soft)
	if err != nil {
		return nil, err
	}
	y, err := checked.NewSample(b, labels, s.Rows, s.Soft)
	if err != nil {
		return nil, err
	}
	return LawOf(x, y), nil
}

// LawOf is NewLaw of samples.
func LawOf(a, b *checked.Sample) *Law {
	const part = 1024 // rows
	parts := make([]Law, (a.N+part-1)/part)
	work.Each(len(parts), 1, func(k int) {
		for i := k * part; i < min((k+1)*part, a.N); i++ {
			parts[k].Better.add(a, b, i)
			parts[k].Worse.add(b, a, i)
		}
	})
	sum := &Law{}
	for _, p := range parts {
		sum.add(&p, 1)
	}
	return sum
}

// SumOfLaws is the sum of laws times a number, such as of several seeds; nil where one is not known.
func SumOfLaws(all []*Law, times float64) *Law {
	sum := &Law{}
	for _, l := range all {
		if l == nil {
			return nil
		}
		sum.add(l, times)
	}
	return sum
}

// add adds log Σ_c from_c (to_c/from_c)^{λw} of row i.
func (m *moments) add(to, from *checked.Sample, i int) {
	var sum, power [len(tilts)]float64
	for c := range to.Classes {
		log := from.LogProb(i, c)
		p := math.Exp(log)
		ratio := to.W(i) * (to.LogProb(i, c) - log)
		m.Mean -= p * ratio
		power[0] = math.Exp(tilts[0] * ratio)
		power[1] = power[0] * power[0]
		power[2] = power[1] * power[0]
		for k := 3; k < len(tilts); k++ { // tilts[k] is twice tilts[k−2]
			power[k] = power[k-2] * power[k-2]
		}
		for k, x := range power {
			sum[k] += p * x
		}
	}
	for k, x := range sum {
		m.Logs[k] += math.Log(x)
	}
}

// add adds another law's logarithms times a number.
func (l *Law) add(other *Law, times float64) {
	l.Better.sum(&other.Better, times)
	l.Worse.sum(&other.Worse, times)
}

func (m *moments) sum(other *moments, times float64) {
	m.Mean += times * other.Mean
	for k, x := range other.Logs {
		m.Logs[k] = min(m.Logs[k]+times*x, math.MaxFloat32) // JSON has no infinity
	}
}

// Swapped is the law of the difference −S, between b and a.
func (l *Law) Swapped() *Law {
	if l == nil {
		return nil
	}
	return &Law{Better: l.Worse, Worse: l.Better}
}

// side is the half of the law that a sum is held to.
func (l *Law) side(sum float64) *moments {
	if sum > 0 {
		return &l.Worse
	}
	return &l.Better
}

// chance bounds the chance of a sum at least as far on its side of 0, of rows that count as a share of their number
// each:
//
//	P(S* ≤ S) ≤ min_λ exp(share (log E_b exp(−λS*) + λS)) ,   S < 0
//
// and likewise for labels drawn from a where S > 0 (Chernoff 1952). Without a law λ = 1, where the mean is 1: the
// likelihood ratio's (Royall 1997, Statistical Evidence, §1.4).
func (l *Law) chance(sum, share float64) float64 {
	size := math.Abs(sum)
	if l == nil {
		return math.Exp(-share * size)
	}
	least := 0.
	for k, log := range l.side(sum).Logs {
		least = min(least, share*(log-tilts[k]*size))
	}
	return math.Exp(least)
}

// below bounds how far below its mean the sum lies in all but 2.5 % of the draws of labels from b if it is below 0, and
// else how far above its mean in those from a.
func (l *Law) below(sum, share float64) float64 {
	of, least := l.side(sum), math.Inf(1)
	for k, lambda := range tilts {
		least = min(least, of.Mean+(of.Logs[k]+math.Log(40)/share)/lambda)
	}
	return least
}
