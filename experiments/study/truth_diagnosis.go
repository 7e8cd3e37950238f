package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// DiagnosisRate is how often diagnoses call something wrong.
type DiagnosisRate struct {
	Share float64 `json:"share"` // of the rows in the wrong region; 0: calibrated predictions
	Shift float64 `json:"shift"` // of the probability there
	Runs  int     `json:"runs"`
	Named int     `json:"named"` // runs that call a region wrong
	Any   int     `json:"any"`   // or a class, a confidence
	Found int     `json:"found"` // runs whose wrong regions hold half of the rows planted, or more

	Program experiments.Program `json:"program"` // that computed it
}

const (
	diagnosisRuns  = 200
	powerRuns      = 40
	diagnosisRows  = 2000
	diagnosisSpace = 6
)

var (
	powerShares = []float64{.05, .1, .2, .4}
	powerShifts = []float64{.15, .3}
)

// without leaves the recoverable loss out of a diagnosis: it decides nothing there.
var without = metrics.Recovery{Folds: 2, Global: metrics.Unchanged{}, Local: metrics.Unchanged{}}

// diagnoses are what is asked: alarms on calibrated predictions, and on ones that are wrong
// in a region.
func diagnoses() []DiagnosisRate {
	settings := []DiagnosisRate{{Runs: diagnosisRuns}}
	for _, shift := range powerShifts {
		for _, share := range powerShares {
			settings = append(settings, DiagnosisRate{Share: share, Shift: shift, Runs: powerRuns})
		}
	}
	return settings
}

func (s DiagnosisRate) String() string { return fmt.Sprintf("diagnose-%g-%g", s.Share, s.Shift) }

func (s DiagnosisRate) run(ctx context.Context) (DiagnosisRate, error) {
	for run := range s.Runs {
		rng := rand.New(rand.NewPCG(uint64(run), 21))
		logProbs, labels, z, planted := s.draw(rng)
		d, err := metrics.Diagnose(ctx, logProbs, labels, z, metrics.Examination{Redraws: 199, Recovery: without}, rng)
		if err != nil {
			return s, err
		}
		if len(d.Wrong()) > 0 {
			s.Any++
		}
		named, in, all := false, map[int]bool{}, 0
		for _, r := range d.Regions {
			if r.Wrong {
				named = true
				for _, i := range r.Rows {
					in[i] = true
				}
			}
		}
		hit := 0
		for i, p := range planted {
			if p {
				all++
				if in[i] {
					hit++
				}
			}
		}
		if named {
			s.Named++
		}
		if all > 0 && 2*hit >= all {
			s.Found++
		}
	}
	return s, nil
}

// draw is 2,000 rows of 4 classes, z ~ N(0, I) in six dimensions, softmax predictions of z that are right but
// in the ball of Share of the rows around a point at distance 1 from the mean, where the top class has
// Shift less than it is said to, which goes to the others alike.
func (s DiagnosisRate) draw(rng *rand.Rand) (logProbs *mat.Dense, labels []int, z *mat.Dense, planted []bool) {
	const classes = 4
	n := diagnosisRows
	z, logits, w := mat.NewDense(n, diagnosisSpace, nil), mat.NewDense(n, classes, nil), mat.NewDense(diagnosisSpace, classes, nil)
	for _, m := range []*mat.Dense{z, w} {
		m.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, m)
	}
	w.Scale(2/math.Sqrt(diagnosisSpace), w)
	logits.Mul(z, w)
	logProbs = layers.LogSoftmax(logits)
	planted, labels = make([]bool, n), make([]int, n)
	radius := make([]float64, n)
	for i := range n {
		x := z.RawRowView(i)
		radius[i] = (x[0] - 1) * (x[0] - 1)
		for _, v := range x[1:] {
			radius[i] += v * v
		}
	}
	within := quantileOf(radius, s.Share)
	for i := range n {
		q := make([]float64, classes)
		top := 0
		for k, l := range logProbs.RawRowView(i) {
			q[k] = math.Exp(l)
			if q[k] > q[top] {
				top = k
			}
		}
		if s.Share > 0 && radius[i] <= within {
			planted[i] = true
			off := min(s.Shift, q[top])
			for k := range q {
				q[k] += off / (classes - 1)
			}
			q[top] -= off + off/(classes-1)
		}
		u := rng.Float64()
		for k, p := range q {
			labels[i] = k
			if u -= p; u < 0 {
				break
			}
		}
	}
	return logProbs, labels, z, planted
}
