package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"calibra/graph/work"
	"calibra/optim/pav"
)

// Decomposition splits the NLL and the Brier score into three parts (CORP: Dimitriadis, Gneiting and Jordan 2021),
//
//	S = miscalibration − discrimination + uncertainty = (S − S_C) − (S_R − S_C) + S_R
//
// S_C is the score of the recalibrated probabilities q̂_ic, for each class the isotonic regression of 1[y_i = c] on
// p_ic over the same rows, and S_R is the score of the shares of the classes. With two classes this is CORP itself: the
// Brier score of both classes is twice that of one.
//
// With more classes the Brier score is the sum over the classes of CORP's, so no part is below 0. The NLL needs
// probabilities that sum to 1, so its S_C is the score of q̂_ic/Σ_k q̂_ik, the prediction of method ir. These do not
// minimize the NLL, so its first two parts may fall below 0.
//
// The curves are fitted to the rows they are judged on, so S_C is too low. Miscalibration and discrimination are both
// too high by about the noise floor of the miscalibration, which calibrated predictions show. Intervals are of the
// values of as many rows; less the floor they are Many, which hold the value of many rows in about nine of ten draws.
type Decomposition struct{ NLL, Brier ScoreParts }

// ScoreParts are the parts of one score.
type ScoreParts struct {
	Miscalibration, Discrimination, Uncertainty Measured // in the units of the score; the first alone has a floor
}

// MarshalJSON writes the parts as metrics are written.
func (p ScoreParts) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Miscalibration *noisy `json:"miscalibration"`
		Discrimination *noisy `json:"discrimination"`
		Uncertainty    *noisy `json:"uncertainty"`
	}{newNoisy(p.Miscalibration), newNoisy(p.Discrimination), newNoisy(p.Uncertainty)})
}

// MarshalJSON writes both scores by their keys.
func (d *Decomposition) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]ScoreParts{NLL.String(): d.NLL, Brier.String(): d.Brier})
}

// Measured are the parts as a table shows them below one another: S, − and +.
func (d *Decomposition) Measured() (all []Measured) {
	for m, parts := range []ScoreParts{d.NLL, d.Brier} {
		parts.Miscalibration.Title = []Metric{NLL, Brier}[m].Title() + " = miscalibration"
		parts.Discrimination.Title, parts.Uncertainty.Title = "− discrimination", "+ uncertainty"
		all = append(all, parts.Miscalibration, parts.Discrimination, parts.Uncertainty)
	}
	return all
}

// sameValue is how far apart, relative to them, two probabilities may lie that are one value: rounding of equal logits.
const sameValue = 1e-12

// decompositionWork is how many probabilities are pooled at most for all replicates, and for all redraws: of more rows
// or classes there are fewer, but no fewer than 40.
const decompositionWork = 1e8

// regressions are the isotonic regressions of all classes, whatever the weights and labels of the rows.
type regressions struct {
	*binned
	place  [][]int32 // C×N: which value p_ic is, of the class's in ascending order
	values []int     // C: how many there are
}

func (b *binned) regressions(ctx context.Context) (*regressions, error) {
	r := &regressions{b, make([][]int32, b.Classes), make([]int, b.Classes)}
	err := work.Parts{N: b.Classes}.With(ctx, func() func(context.Context, int) error {
		order := make([]int32, b.N)
		return func(_ context.Context, c int) error {
			p := func(i int32) float64 { return b.Prob[int(i)*b.Classes+c] }
			for i := range order {
				order[i] = int32(i)
			}
			slices.SortFunc(order, func(i, j int32) int { return cmp.Or(cmp.Compare(p(i), p(j)), cmp.Compare(i, j)) })
			place, first, k := make([]int32, b.N), p(order[0]), int32(0)
			for _, i := range order {
				if p(i) > first*(1+sameValue) {
					first = p(i)
					k++
				}
				place[i] = k
			}
			r.place[c], r.values[c] = place, int(k)+1
			return nil
		}
	})
	return r, err
}

// scores are S_C and S_R: NLL and Brier.
type scores struct{ recalibrated, shares [2]float64 }

// scores are those of a variant.
func (r *regressions) scores(as variant) (s scores) {
	var n float64
	of := make([][]int, r.Classes) // the rows that count and have a share of each
	for i, w := range as.weight {
		if n += w; w > 0 {
			as.EachShare(i, func(c int, _ float64) { of[c] = append(of[c], i) })
		}
	}
	weight, sum, mean := make([]float64, slices.Max(r.values)), make([]float64, slices.Max(r.values)), make([]float64, slices.Max(r.values))
	total, loss := make([]float64, r.N), make([]float64, r.N) // Σ_c q̂_ic and −Σ_c q_ic log q̂_ic
	var pools []pav.Pool
	for c, place := range r.place {
		weight, sum := weight[:r.values[c]], sum[:r.values[c]]
		clear(weight)
		clear(sum)
		for _, i := range of[c] {
			sum[place[i]] += as.weight[i] * as.Share(i, c)
		}
		for i, w := range as.weight {
			weight[place[i]] += w
		}
		pools = pav.Pools(pools[:0], weight, sum)
		var share float64
		for _, p := range pools {
			share += p.Sum / n
			y := p.Mean()
			s.recalibrated[1] += p.Sum / n * (1 - y) // Σ w [q (1 − y)² + (1 − q) y²], of Σ w q = y Σ w
			for k := p.First; k <= p.Last; k++ {
				mean[k] = y
			}
		}
		s.shares[1] += share * (1 - share)
		if share > 0 {
			s.shares[0] -= share * math.Log(share)
		}
		for i, k := range place {
			total[i] += mean[k]
		}
		for _, i := range of[c] {
			loss[i] -= as.Share(i, c) * math.Log(mean[place[i]])
		}
	}
	for i, w := range as.weight {
		if w > 0 {
			s.recalibrated[0] += w / n * (loss[i] + math.Log(total[i]))
		}
	}
	return s
}

// decompose finds the parts of the scores in r, with intervals from the resamples and a noise floor from the redraws.
func (b *binned) decompose(ctx context.Context, r *Report, x *resamples) (*Decomposition, error) {
	curves, err := b.regressions(ctx)
	if err != nil {
		return nil, fmt.Errorf("metrics: decompose the scores: %w", err)
	}
	most := max(FewestReplicates, int(decompositionWork/float64(b.N*b.Classes)))
	replicates, redraws := x.replicates[:min(most, len(x.replicates))], x.redraws[:min(most, len(x.redraws))]
	found, err := across(ctx, x, len(replicates), len(redraws), func() func(variant) scores { return curves.scores })
	if err != nil {
		return nil, fmt.Errorf("metrics: decompose the scores: %w", err)
	}
	of, wider, drawn := curves.scores(b.observed()), b.wider(), slices.Concat(replicates, redraws)
	parts := func(m Metric, at int) ScoreParts {
		part := func(value func(score float64, s scores) float64) (p Measured, redrawn []float64) {
			x := make([]float64, len(drawn))
			for k := range drawn {
				x[k] = value(drawn[k][m], found[k])
			}
			p = Measured{Value: value(r.Values[m], of), Interval: noInterval, Many: noInterval}
			if len(replicates) > 0 {
				p.Interval = around(p.Value, x[:len(replicates)], wider)
			}
			if m == Brier {
				p.Interval = p.Interval.possible(p.Value)
			}
			return p, x[len(replicates):]
		}
		miscalibration, redrawn := part(func(score float64, s scores) float64 { return score - s.recalibrated[at] })
		discrimination, _ := part(func(_ float64, s scores) float64 { return s.shares[at] - s.recalibrated[at] })
		uncertainty, _ := part(func(_ float64, s scores) float64 { return s.shares[at] })
		if len(redraws) > 0 {
			miscalibration.Noise = upperNoise(miscalibration.Value, redrawn)
			for _, p := range []*Measured{&miscalibration, &discrimination} {
				floor := miscalibration.Noise.Mean
				if p.Many = (Interval{p.Interval.Low - floor, p.Interval.High - floor}); m == Brier {
					p.Many = Interval{max(p.Many.Low, 0), max(p.Many.High, 0)}
				}
			}
		}
		return ScoreParts{miscalibration, discrimination, uncertainty}
	}
	return &Decomposition{NLL: parts(NLL, 0), Brier: parts(Brier, 1)}, nil
}
