package diagnosis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/blas"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
)

// tested is a set of rows with its sums for class c < C and, at C, for the top class.
type tested struct {
	rows      []int     // ascending
	in        []bool    // N, of a region: all rows that its conditions hold of
	name      string    // of a group or a predicted class
	of        []*tested // the two that it is the intersection of; nil otherwise
	from      int       // the classes tested are from this one on
	weight    float64   // Σ w, as all sums are by weight
	predicted []float64 // Σ w p
	variance  []float64 // Σ w² p (1 − p): that of Σ w e if the predictions are right
	hits      []float64 // Σ w q: rows of label c, and rows whose top class is the label
	spread    []float64 // Σ w² (e − ē)²: that of Σ w e whatever the predictions, or more
}

// steady is added to a variance, so that a region where next to nothing is expected
// to happen does not rule the maximum as soon as something does: with 4 the tails of
// Poisson and normal counts cross where the maximum of a few hundred regions lies.
const steady = 4

// statistic is T = Σ w e / √(max(S, V) + 4), e = p − 1[y]: V = Σ w² p(1 − p) is the variance of Σ w e if the
// predictions are right, S = Σ w² (e − ē)² what the rows show of it.
func (g *tested) statistic(c int) float64 { return (g.predicted[c] - g.hits[c]) / g.deviation(c) }

func (g *tested) deviation(c int) float64 { return math.Sqrt(max(g.spread[c], g.variance[c]) + steady) }

// gap is confidence less frequency.
func (g *tested) gap(c int) float64 { return (g.predicted[c] - g.hits[c]) / g.weight }

// largest is the largest |of| of the classes that the set is tested for.
func (g *tested) largest(of func(c int) float64) (most float64) {
	for c := g.from; c < len(g.predicted); c++ {
		most = max(most, math.Abs(of(c)))
	}
	return most
}

// worst is the largest |T|.
func (g *tested) worst() float64 { return g.largest(g.statistic) }

// member reports of each of n rows whether it is one of the set.
func (g *tested) member(n int) []bool {
	in := make([]bool, n)
	for _, i := range g.rows {
		in[i] = true
	}
	return in
}

// count sums some rows for the classes that they are tested for: from one on. Gaps (N×(C+1); nil: 0) are not counted as
// errors.
func count(s *checked.Sample, rows []int, from int, gaps []float64) *tested {
	classes := s.Classes + 1
	sums := func() []float64 { return make([]float64, classes) }
	g := &tested{rows: rows, from: from, predicted: sums(), variance: sums(), hits: sums(), spread: sums()}
	squares, cross := 0., sums() // Σ w², Σ w² e
	for _, i := range rows {
		w := s.W(i)
		g.weight += w
		squares += w * w
		for c := from; c < classes; c++ {
			p, q := s.Probability(i, c), s.Hit(i, c)
			if gaps != nil {
				q += gaps[i*classes+c]
			}
			e := p - q
			g.predicted[c] += w * p
			g.hits[c] += w * q
			g.variance[c] += w * w * p * (1 - p)
			g.spread[c] += w * w * e * e
			cross[c] += w * w * e
		}
	}
	for c := range g.spread {
		e := (g.predicted[c] - g.hits[c]) / max(g.weight, math.SmallestNonzeroFloat64)
		g.spread[c] = max(0, g.spread[c]-2*e*cross[c]+e*e*squares)
	}
	return g
}

// largest are, in ascending order, the largest |Σ w e| / √(V + 4), which is |T| or more, over all sets and all classes
// they are tested for, under labels redrawn from the predictions.
func (x *exam) largest(ctx context.Context, rng *rand.Rand) ([]float64, error) {
	s, sets, seeds := x.Sample, x.sets(), make([]uint64, x.Redraws)
	for t := range seeds {
		seeds[t] = rng.Uint64()
	}
	sums := cumulative(s)
	most := make([]float64, x.Redraws)
	bits := eight(0, 1)
	err := work.Parts{N: (x.Redraws + 7) / 8}.With(ctx, func() func(context.Context, int) error {
		label, hits := make([]int32, s.N), make([]float64, s.Classes)
		right := make([]uint8, s.N) // of eight redraws, those whose label is the top class
		return func(_ context.Context, b int) error {
			most := most[8*b : min(8*b+8, x.Redraws)]
			hit := func(t int, g *tested, c int, hits float64) {
				most[t] = max(most[t], math.Abs(g.predicted[c]-hits)/math.Sqrt(g.variance[c]+steady))
			}
			clear(right)
			for t := range most {
				drawLabels(label, s.Top, sums, rand.NewPCG(seeds[8*b+t], 0))
				for i, y := range label {
					if y == s.Top[i] {
						right[i] |= 1 << t
					}
				}
				for _, g := range sets {
					if g.from == s.Classes {
						continue
					}
					clear(hits)
					for _, i := range g.rows {
						hits[label[i]] += s.W(i)
					}
					for c := g.from; c < s.Classes; c++ {
						hit(t, g, c, hits[c])
					}
				}
			}
			for _, g := range sets {
				var hits [8]float64
				for _, i := range g.rows {
					w := s.W(i)
					for t, bit := range &bits[right[i]] {
						hits[t] += w * bit
					}
				}
				for t := range most {
					hit(t, g, s.Classes, hits[t])
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("diagnosis: redraw labels: %w", err)
	}
	slices.Sort(most)
	return most, nil
}

// eight are, of each byte, its bits from the lowest on: as numbers, of 0 and of 1.
func eight(zero, one float64) (of [256][8]float64) {
	for b := range of {
		for k := range 8 {
			of[b][k] = zero + float64(b>>k&1)*(one-zero)
		}
	}
	return of
}

// cumulative is Σ_{l ≤ c} p_il (N×C).
func cumulative(s *checked.Sample) []float32 {
	out, row := make([]float32, 0, s.N*s.Classes), make([]float64, s.Classes)
	for i := range s.N {
		s.Cumulate(row, i)
		for _, sum := range row {
			out = append(out, float32(sum))
		}
	}
	return out
}

// drawLabels draws a label of each row from cumulative probabilities, and looks for it from the top class on.
func drawLabels(label, top []int32, cumulative []float32, source *rand.PCG) {
	classes := len(cumulative) / len(label)
	for i := range label {
		row := cumulative[i*classes : (i+1)*classes]
		u := float32(source.Uint64()>>40) * 0x1p-24 * row[classes-1]
		y := int(top[i])
		for y > 0 && u < row[y-1] {
			y--
		}
		for y < classes-1 && u >= row[y] {
			y++
		}
		label[i] = int32(y)
	}
}

// swings are, in ascending order, the largest |Σ ±w (e − ē)| / √(Σ w² (e − ē)² + 4) over all
// sets and classes, with one random sign for each row (the wild bootstrap of Wu 1986 with the signs of Liu 1988). They
// use no prediction's own estimate of its variance, so they hold for wrong predictions too.
func (x *exam) swings(ctx context.Context, rng *rand.Rand) ([]float64, error) {
	s, sets, replicates, words := x.Sample, x.sets(), x.Redraws, (x.N+63)/64
	sign := make([]uint64, replicates*words)
	for k := range sign {
		sign[k] = rng.Uint64()
	}
	most := make([]float64, replicates)
	signed := eight(1, -1)
	err := work.Parts{N: (replicates + 63) / 64}.With(ctx, func() func(context.Context, int) error {
		of := make([]uint64, s.N) // the signs of each row in 64 replicates
		signs, e, sum := make([]float64, swingRows*64), []float64(nil), []float64(nil)
		return func(_ context.Context, b int) error {
			most := most[64*b : min(64*b+64, replicates)]
			clear(of)
			for t := range most {
				for i := range of {
					of[i] |= sign[(64*b+t)*words+i/64] >> (i % 64) & 1 << t
				}
			}
			for _, g := range sets {
				wide := s.Classes + 1 - g.from
				sum = append(sum[:0], make([]float64, wide*64)...)
				for rows := range slices.Chunk(g.rows, swingRows) {
					e = e[:0]
					for k, i := range rows {
						for t := range 8 {
							*(*[8]float64)(signs[k*64+8*t:]) = signed[uint8(of[i]>>(8*t))]
						}
						for c := g.from; c <= s.Classes; c++ {
							e = append(e, s.W(i)*(s.Miss(i, c)-g.gap(c)))
						}
					}
					blas.Current().Dgemm(gonum.Trans, gonum.NoTrans, wide, 64, len(rows), 1, e, wide, signs, 64, 1, sum, 64)
				}
				for c := range wide {
					for t := range most {
						most[t] = max(most[t], math.Abs(sum[c*64+t])/math.Sqrt(g.spread[g.from+c]+steady))
					}
				}
			}
			return nil
		}
	})
	if err != nil {
		return nil, fmt.Errorf("diagnosis: bootstrap: %w", err)
	}
	slices.Sort(most)
	return most, nil
}

// swingRows are multiplied at once.
const swingRows = 256

// interval is the simultaneous interval of a gap,
//
//	{ g : |Σ w (p − 1[y]) − n g| ≤ c √(max(S, V(g)) + 4) } ,   n = Σ w
//
// where S = Σ w² (e − ē)² is what the rows show of the variance, whatever the predictions imply for it, and V(g) is
// what it would be if the truth lay g from the predictions by one shift of all log-odds,
// log q/(1 − q) = log p/(1 − p) + t: a bound for classes that hardly occur, of which rows show none.
// p are the probabilities of the class in the region's rows, w their weights, sum is Σ w (p − 1[y]).
func interval(p, w []float64, sum, spread, critical float64) (low, high float64) {
	var n, sumP float64
	for i, x := range p {
		n += w[i]
		sumP += w[i] * x
	}
	solve := func(c float64) float64 { // n g with (sum − n g)/√(max(S, V(g)) + 4) = c
		// where S alone decides, g is known; elsewhere V does, and t is sought by Newton's method between bounds
		reach, lo, hi, t, gap := sum-c*math.Sqrt(spread+steady), -40., 40., 0., 0. // beyond, q is 0 or 1
		for range 64 {
			variance, slope, ofVariance := 0., 0., 0. // V, and the derivatives of −gap and V by t
			gap = 0
			for i, x := range p {
				q := x
				if x > 0 && x < 1 {
					q = 1 / (1 + (1-x)/x*math.Exp(-t))
				}
				v := w[i] * q * (1 - q)
				gap += w[i] * (x - q)
				variance += w[i] * v
				slope += v
				ofVariance += w[i] * v * (1 - 2*q)
			}
			root := math.Sqrt(variance + steady)
			beyond := sum - gap - c*root
			if beyond < 0 {
				lo = t
			} else {
				hi = t
			}
			next := t - beyond/(slope-c*ofVariance/(2*root))
			if !(next > lo && next < hi) {
				next = (lo + hi) / 2
			}
			if math.Abs(next-t) < 5e-12 {
				break
			}
			t = next
		}
		if c > 0 {
			return min(gap, reach)
		}
		return max(gap, reach)
	}
	// no gap is beyond probabilities of 0 and 1
	return max(solve(critical), sumP-n) / n, min(solve(-critical), sumP) / n
}
