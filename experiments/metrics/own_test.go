package metrics_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// TestOwnFaults: a metric that changes what it is given, or is infinite, is named; NaN is not measured.
func TestOwnFaults(t *testing.T) {
	row := []float64{math.Log(0.75), math.Log(0.25)}
	logProbs := mat.NewDense(2, 2, append(row, row...))
	of := func(all func(*mat.Dense, []int, []float64) float64) (*metrics.Report, error) {
		s := metrics.Settings{Own: []metrics.Own{{Key: "mine", All: all}}}
		return metrics.Evaluate(t.Context(), mat.DenseCopyOf(logProbs), []int{0, 1}, nil, s, metrics.Uncertainty{Replicates: metrics.None, Redraws: metrics.None}, rand.New(rand.NewPCG(1, 0)))
	}
	for says, all := range map[string]func(*mat.Dense, []int, []float64) float64{
		"mine changes the log-probabilities": func(l *mat.Dense, _ []int, _ []float64) float64 {
			l.SetRow(0, []float64{l.At(0, 1), l.At(0, 0)})
			return 1
		},
		"mine changes the weights":   func(_ *mat.Dense, _ []int, w []float64) float64 { w[1] = 3; return 1 },
		"mine of these rows is -Inf": func(*mat.Dense, []int, []float64) float64 { return math.Inf(-1) },
	} {
		if _, err := of(all); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not that %s", err, says)
		}
	}
	r, err := of(func(*mat.Dense, []int, []float64) float64 { return math.NaN() })
	if err != nil || slices.ContainsFunc(r.Measured(), func(m metrics.Measured) bool { return m.Key == "mine" }) {
		t.Errorf("NaN is measured, or %v", err)
	}
}

// again are NLL, accuracy and NLL once more as metrics from outside.
func again() []metrics.Own {
	top := func(l []float64) (best int) {
		for c := range l {
			if l[c] > l[best] {
				best = c
			}
		}
		return best
	}
	return []metrics.Own{
		{Key: "my_nll", Title: "my NLL", Row: func(l []float64, y int) float64 { return -l[y] }},
		{Key: "my_accuracy", HigherIsBetter: true, Row: func(l []float64, y int) float64 {
			if top(l) == y {
				return 1
			}
			return 0
		}},
		{Key: "my_all", All: func(l *mat.Dense, labels []int, weight []float64) float64 {
			var sum, n float64
			for i, w := range weight {
				sum, n = sum-w*l.At(i, labels[i]), n+w
			}
			return sum / n
		}},
	}
}

// TestOwn: a metric from outside that is one of ours has its value, interval and noise floor,
// whichever way it is written, and ours stay the same beside it.
func TestOwn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	n, classes := 300, 4
	logProbs, labels := mat.NewDense(n, classes, nil), make([]int, n)
	for i := range n {
		sum := 0.
		for c := range classes {
			logProbs.Set(i, c, rng.NormFloat64())
			sum += math.Exp(logProbs.At(i, c))
		}
		for c := range classes {
			logProbs.Set(i, c, logProbs.At(i, c)-math.Log(sum))
		}
		labels[i] = rng.IntN(classes)
	}
	evaluate := func(own []metrics.Own) *metrics.Report {
		r, err := metrics.Evaluate(t.Context(), logProbs, labels, nil, metrics.Settings{Own: own}, metrics.Uncertainty{Replicates: 60, Redraws: 20}, rand.New(rand.NewPCG(1, 0)))
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	alone, r := evaluate(nil), evaluate(again())
	if alone.Intervals[metrics.ECE] != r.Intervals[metrics.ECE] || *alone.Noise[metrics.ECE] != *r.Noise[metrics.ECE] {
		t.Error("a metric from outside changes ECE")
	}
	const tolerance = 1e-12 // sums in another order
	near := func(a, b float64) bool { return math.Abs(a-b) <= tolerance }
	for k, m := range []metrics.Metric{metrics.NLL, metrics.Accuracy, metrics.NLL} {
		o := r.Own[k]
		same := near(o.Interval.High, r.Intervals[m].High)
		if o.All != nil { // the bootstrap's, of 60 replicates, which know its half-width to a fifth
			half := (r.Intervals[m].High - r.Intervals[m].Low) / 2
			same = math.Abs(o.Interval.High-r.Intervals[m].High) < .4*half
		}
		if !near(o.Value, r.Values[m]) || !same || !near(o.Noise.Mean, r.Noise[m].Mean) || o.Noise.PValue != r.Noise[m].PValue {
			t.Errorf("%s is %+v, %v is %v %v %+v", o.Key, o, m, r.Values[m], r.Intervals[m], *r.Noise[m])
		}
		if len(o.Without) != 40 || (o.Rows == nil) != (o.All != nil) {
			t.Errorf("%s has %d values without parts", o.Key, len(o.Without))
		}
	}
	text, err := json.Marshal(r)
	var got struct {
		Metrics map[string]struct{ Value float64 }
	}
	if err == nil {
		err = json.Unmarshal(text, &got)
	}
	if err != nil || got.Metrics["my_all"].Value != r.Own[2].Value || got.Metrics["nll"].Value != r.Values[metrics.NLL] {
		t.Errorf("the report has %v (%v)", got, err)
	}
	for _, wrong := range [][]metrics.Own{{{Key: "nll", Row: again()[0].Row}}, {{Key: "none"}}, {{Key: "A b", Row: again()[0].Row}}, {again()[0], again()[0]}} {
		if metrics.CheckOwn(wrong) == nil {
			t.Errorf("%+v is taken", wrong)
		}
	}
}
