package metrics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// partition divides some of the rows into cells, of which regions are unions.
type partition struct {
	cell  []int // N: the cell of each row, −1 for none
	cells int
	// left and right are, for region cells + k, the two regions it unites.
	left, right []int
}

func (p *partition) regions() int { return p.cells + len(p.left) }

// tested are the sums of a region for class c < C and, at C, for the top class.
type tested struct {
	rows      int
	predicted []float64 // C+1: Σ p_ic, and Σ max_c p_ic
	variance  []float64 // C+1: Σ p_ic (1 − p_ic), and of the top class
	hits      []float64 // C+1: rows of label c, and rows whose top class is the label
}

// steady is added to the variance, so that a region where next to nothing is expected
// to happen does not rule the maximum as soon as something does: with 4 the tails of
// Poisson and normal counts cross where the maximum of a few hundred regions lies.
const steady = 4

// statistic is T = Σ e / √(Σ p(1 − p) + 4), e = p − 1[y].
func (g *tested) statistic(c int) float64 {
	return (g.predicted[c] - g.hits[c]) / math.Sqrt(g.variance[c]+steady)
}

// gap is confidence less frequency.
func (g *tested) gap(c int) float64 { return (g.predicted[c] - g.hits[c]) / float64(g.rows) }

// count sums each region of a partition.
func (s *sample) count(p *partition) []tested {
	out := make([]tested, p.regions())
	for k := range out {
		out[k] = tested{0, make([]float64, s.classes+1), make([]float64, s.classes+1), make([]float64, s.classes+1)}
	}
	for i, cell := range p.cell {
		if cell < 0 {
			continue
		}
		g := &out[cell]
		g.rows++
		for c := range s.classes {
			x := s.prob[i*s.classes+c]
			g.predicted[c] += x
			g.variance[c] += x * (1 - x)
		}
		x := s.confidence(i)
		g.predicted[s.classes] += x
		g.variance[s.classes] += x * (1 - x)
		g.hits[s.label[i]]++
		if s.label[i] == s.top[i] {
			g.hits[s.classes]++
		}
	}
	for k := range p.left {
		u, a, b := &out[p.cells+k], &out[p.left[k]], &out[p.right[k]]
		u.rows = a.rows + b.rows
		for c := range u.hits {
			u.predicted[c] = a.predicted[c] + b.predicted[c]
			u.variance[c] = a.variance[c] + b.variance[c]
			u.hits[c] = a.hits[c] + b.hits[c]
		}
	}
	return out
}

// largest are, in ascending order, the largest |T| over all shown regions of all
// partitions and over all classes, under labels redrawn from the predictions.
func (s *sample) largest(ctx context.Context, partitions []*partition, counted [][]tested, shown [][]bool, redraws int, rng *rand.Rand) ([]float64, error) {
	seeds := make([]uint64, redraws)
	for t := range seeds {
		seeds[t] = rng.Uint64()
	}
	cumulative := make([]float32, s.rows*s.classes)
	for i := range s.rows {
		var sum float64
		for c := range s.classes {
			sum += s.prob[i*s.classes+c]
			cumulative[i*s.classes+c] = float32(sum)
		}
	}
	scale := make([][]float64, len(partitions)) // 1/√(V + 4), 0 where not tested
	for k, regions := range counted {
		for r, g := range regions {
			for _, v := range g.variance {
				x := 0.
				if shown[k][r] {
					x = 1 / math.Sqrt(v+steady)
				}
				scale[k] = append(scale[k], x)
			}
		}
	}
	most := make([]float64, redraws)
	err := inParallelWith(ctx, redraws, func() func(t int) {
		hits := make([][]int32, len(partitions))
		for k, p := range partitions {
			hits[k] = make([]int32, p.regions()*(s.classes+1))
		}
		return func(t int) {
			for k := range hits {
				clear(hits[k])
			}
			source := rand.NewPCG(seeds[t], 0)
			for i := range s.rows {
				row := cumulative[i*s.classes : (i+1)*s.classes]
				u := float32(source.Uint64()>>40) * 0x1p-24 * row[s.classes-1]
				y := 0
				for y < s.classes-1 && u >= row[y] {
					y++
				}
				for k, p := range partitions {
					if cell := p.cell[i]; cell >= 0 {
						at := cell * (s.classes + 1)
						hits[k][at+y]++
						if int32(y) == s.top[i] {
							hits[k][at+s.classes]++
						}
					}
				}
			}
			for k, p := range partitions {
				h, wide := hits[k], s.classes+1
				for u := range p.left {
					a, b := h[p.left[u]*wide:(p.left[u]+1)*wide], h[p.right[u]*wide:(p.right[u]+1)*wide]
					for c := range wide {
						h[(p.cells+u)*wide+c] = a[c] + b[c]
					}
				}
				for r := range counted[k] {
					for c, expected := range counted[k][r].predicted {
						at := r*wide + c
						most[t] = max(most[t], math.Abs(expected-float64(h[at]))*scale[k][at])
					}
				}
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("metrics: redraw labels: %w", err)
	}
	slices.Sort(most)
	return most, nil
}

// interval is the simultaneous interval of a gap, the set of those that its statistic does
// not reject. Of the truths with a given gap it takes the one whose log-odds differ from
// the predicted by one number t, log q/(1 − q) = log p/(1 − p) + t:
//
//	{ g(t) : |Σ (p − 1[y]) − n g(t)| ≤ c √(Σ q(1 − q) + 4) } ,  g(t) = mean (p − q)
//
// p are the probabilities of the class in the region's rows, n(g) the observed sum.
func interval(p []float64, sum, critical float64) (low, high float64) {
	at := func(t float64) (gap, variance float64) {
		for _, x := range p {
			q := x
			if x > 0 && x < 1 {
				q = 1 / (1 + (1-x)/x*math.Exp(-t))
			}
			gap += x - q
			variance += q * (1 - q)
		}
		return gap, variance
	}
	solve := func(c float64) float64 { // t with (sum − n g(t))/√(V(t) + 4) = c
		lo, hi := -40., 40. // beyond, q is 0 or 1
		for range 44 {      // 80/2⁴⁴ is 5e-12
			t := (lo + hi) / 2
			gap, variance := at(t)
			if (sum-gap)/math.Sqrt(variance+steady) < c {
				lo = t
			} else {
				hi = t
			}
		}
		gap, _ := at((lo + hi) / 2)
		return gap / float64(len(p))
	}
	return solve(critical), solve(-critical)
}
