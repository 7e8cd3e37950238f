package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/metrics"

	"github.com/sourcegraph/conc"
)

// Row is one method over all its seeds.
type Row struct {
	Method    string
	Shared    [metrics.Metrics]metrics.Spread
	Own       [metrics.Metrics]metrics.Spread   // that of Shared where the method has no embedding of its own
	Intervals [metrics.Metrics]metrics.Interval // the mean over the seeds of their bounds, shared embedding
	HasOwn    bool
	Seconds   metrics.Spread             // fit and judgement together
	Against   map[metrics.Metric]*Paired // NLL and LCE, against the best method; nil for the best itself
}

// Paired is a method's difference to the best one on the same test rows.
type Paired struct {
	Best string `json:"best"`
	metrics.Comparison
	Corrected float64 `json:"p_holm"` // the p-value, corrected for all methods (Holm 1979)
}

// Significant says whether the method is worse than the best at the 5 % level.
func (p *Paired) Significant() bool { return p != nil && p.Corrected < 0.05 }

// tested are the metrics whose differences to the best method are tested.
var tested = []metrics.Metric{metrics.LCE, metrics.NLL}

// Rows summarizes the fits, method by method in the order given; methods without a
// single score are left out.
//
// Methods are compared on the seeds that both have. Scores are averaged over these seeds
// where all seeds have the same test rows, as they do unless the validation rows come
// from among them; sameRows says so. Otherwise those of the first seed are compared. If
// ctx is cancelled, the error wraps ctx.Err().
func Rows(ctx context.Context, fits []Fit, methods []string, sameRows bool) ([]Row, error) {
	byMethod := map[string][]Fit{}
	for _, f := range fits {
		if f.Err == nil {
			byMethod[f.Method] = append(byMethod[f.Method], f)
		}
	}
	var rows []Row
	for _, method := range methods {
		if of := byMethod[method]; len(of) > 0 {
			rows = append(rows, newRow(method, of))
		}
	}
	for _, m := range tested {
		err := pair(ctx, rows, byMethod, m, sameRows)
		if cancelled := ctx.Err(); cancelled != nil {
			return nil, fmt.Errorf("the comparison was not finished and nothing was written: %w", cancelled)
		}
		if err != nil {
			return nil, err
		}
	}
	return rows, nil
}

func newRow(method string, fits []Fit) Row {
	r := Row{Method: method, Against: map[metrics.Metric]*Paired{}}
	spread := func(of func(Fit) float64) metrics.Spread {
		var values []float64
		for _, f := range fits {
			values = append(values, of(f))
		}
		return metrics.NewSpread(values)
	}
	r.Seconds = spread(func(f Fit) float64 { return f.Time.Seconds() })
	for m := range metrics.Metrics {
		r.Shared[m] = spread(func(f Fit) float64 { return f.Shared.Values[m] })
		r.Own[m] = spread(func(f Fit) float64 { return f.own().Values[m] })
		r.Intervals[m] = metrics.Interval{
			Low:  spread(func(f Fit) float64 { return f.Shared.Intervals[m].Low }).Mean,
			High: spread(func(f Fit) float64 { return f.Shared.Intervals[m].High }).Mean,
		}
	}
	r.HasOwn = fits[0].Own != nil
	return r
}

// pair compares every method with the one of the lowest mean.
func pair(ctx context.Context, rows []Row, fits map[string][]Fit, m metrics.Metric, sameRows bool) error {
	best := -1
	for i, r := range rows {
		if !math.IsNaN(r.Shared[m].Mean) && (best < 0 || r.Shared[m].Mean < rows[best].Shared[m].Mean) {
			best = i
		}
	}
	if best < 0 {
		return nil
	}
	errs := make([]error, len(rows))
	var wait conc.WaitGroup
	for i := range rows {
		of, reference := common(fits[rows[i].Method], fits[rows[best].Method])
		if i == best || len(of) == 0 {
			continue
		}
		wait.Go(func() {
			if !sameRows {
				of, reference = of[:1], reference[:1]
			}
			var c *metrics.Comparison
			if m == metrics.LCE {
				value := func(f Fit) []float64 { return []float64{f.Shared.Values[m]} }
				replicates := func(f Fit) []float64 { return f.Shared.LCE }
				without := func(f Fit) []float64 { return f.Shared.Without }
				c = metrics.CompareReplicates(average(of, value)[0]-average(reference, value)[0],
					average(of, replicates), average(reference, replicates), average(of, without), average(reference, without))
			} else {
				nll := func(f Fit) []float64 { return f.Shared.NLL }
				c, errs[i] = metrics.Compare(ctx, average(of, nll), average(reference, nll), rand.New(rand.NewPCG(uint64(i), uint64(m))))
			}
			if c != nil {
				rows[i].Against[m] = &Paired{Best: rows[best].Method, Comparison: *c}
			}
		})
	}
	wait.Wait()
	var paired []*Paired
	var p []float64
	for i, r := range rows {
		if errs[i] != nil {
			return errs[i]
		}
		if c := r.Against[m]; c != nil {
			paired, p = append(paired, c), append(p, c.PValue)
		}
	}
	for i, corrected := range metrics.Holm(p) {
		paired[i].Corrected = corrected
	}
	return nil
}

// common are the fits of two methods with the seeds that both have, seed by seed.
func common(a, b []Fit) (x, y []Fit) {
	for _, f := range a {
		if k := slices.IndexFunc(b, func(g Fit) bool { return g.Seed == f.Seed }); k >= 0 {
			x, y = append(x, f), append(y, b[k])
		}
	}
	return x, y
}

// average is the mean over the fits of each of their scores.
func average(fits []Fit, scores func(Fit) []float64) []float64 {
	mean := slices.Clone(scores(fits[0]))
	for _, f := range fits[1:] {
		for i, v := range scores(f) {
			mean[i] += v
		}
	}
	for i := range mean {
		mean[i] /= float64(len(fits))
	}
	return mean
}
