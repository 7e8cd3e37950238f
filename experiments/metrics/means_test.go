package metrics

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestMeanIntervalsCover: the interval of a mean of exponential numbers covers it in .93 to .97 of the draws, with the
// weights of a Pareto law too, whose variance is infinite. 4,000 draws know a share to ±.007 (two standard errors).
func TestMeanIntervalsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, rows := range []int{30, 100} {
		for _, shape := range []float64{0, 2, 1.5} { // 0: no weights
			covered, draws := 0, 4000
			x, w := make([]float64, rows), make([]float64, rows)
			for range draws {
				for i := range x {
					x[i] = rng.ExpFloat64()
					w[i] = math.Exp(rng.ExpFloat64() / shape)
				}
				i := meanInterval(x, w)
				if shape == 0 {
					i = meanInterval(x, nil)
				}
				if i.Low <= 1 && 1 <= i.High {
					covered++
				}
			}
			if share := float64(covered) / float64(draws); share < .93 || share > .977 {
				t.Errorf("%d rows, Pareto weights of shape %g: the interval covers %.3f", rows, shape, share)
			}
		}
	}
}

// TestGroupsAreObservations: rows that stand four times, each as a group, have the intervals of single rows. Those of
// NLL and Brier are equal; the design effect of Korn & Graubard has G − 1 for G; replicates of the ECE are as wide,
// within the error of 400 of them.
func TestGroupsAreObservations(t *testing.T) {
	const rows, times = 150, 4
	p := generate(rows, 3, 2, 1.5, rand.New(rand.NewPCG(5, 5)))
	var of, labels, groups []int
	for i := range rows * times {
		of, groups = append(of, i%rows), append(groups, 7*(i%rows))
		labels = append(labels, p.labels[i%rows])
	}
	many, where := mat.NewDense(rows*times, 3, nil), mat.NewDense(rows*times, 2, nil)
	for i, k := range of {
		many.SetRow(i, p.logProbs.RawRowView(k))
		where.SetRow(i, mat.Row(nil, k, p.embedding))
	}
	u := Uncertainty{Replicates: 400, Redraws: None}
	one := evaluateRows(t, p.logProbs, p.labels, p.embedding, Settings{SmallBin: NoSmallBin}, u)
	four := evaluateRows(t, many, labels, where, Settings{SmallBin: NoSmallBin, Groups: groups}, u)
	for m, tolerance := range map[Metric]float64{NLL: 1e-9, Brier: 1e-9, Accuracy: .01, ECE: .25, TopECE: .25, LCE: .25} {
		a, b := one.Intervals[m], four.Intervals[m]
		if !near(b.High-b.Low, a.High-a.Low, tolerance) {
			t.Errorf("%v: the interval of groups is %v, that of their rows %v", m, b, a)
		}
	}
	if alone := evaluateRows(t, many, labels, where, Settings{SmallBin: NoSmallBin}, u).Intervals[NLL]; alone.High-alone.Low > .6*(one.Intervals[NLL].High-one.Intervals[NLL].Low) {
		t.Error("the case is no test: rows without groups have intervals as wide")
	}
	if !slices.Equal(groups[:2], []int{0, 7}) {
		t.Error("groups are changed")
	}
}

// TestUnseenErrors: of 1,000 rows of probability .999 without an error the NLL may be as high as .00368 errors, the
// upper limit of Clopper and Pearson, would make it; and of 30 rows that are all right the accuracy is .884 to 1.
func TestUnseenErrors(t *testing.T) {
	of := func(rows int, miss float64) *Report {
		l := mat.NewDense(rows, 2, nil)
		for i := range rows {
			l.SetRow(i, []float64{math.Log1p(-miss), math.Log(miss)})
		}
		return evaluateRows(t, l, make([]int, rows), nil, Settings{}, Uncertainty{Redraws: None})
	}
	r := of(1000, .001)
	rate := 1 - math.Pow(.025, 1./1000)
	want := -math.Log(.999) + rate*math.Log(.999/.001)
	if i := r.Intervals[NLL]; !near(i.High, want, 1e-9) || !near(i.Low, r.Values[NLL], 1e-9) {
		t.Errorf("the NLL %v lies in %v, want up to %v", r.Values[NLL], i, want)
	}
	if i := of(30, .1).Intervals[Accuracy]; !near(i.Low, math.Pow(.025, 1./30), 1e-9) || i.High != 1 {
		t.Errorf("30 of 30 right: %v", i)
	}
}
