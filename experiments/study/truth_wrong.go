package study

import (
	"math"
	"math/rand/v2"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// wrongRows are predictions with what is true of them.
type wrongRows struct {
	z, logProbs, truth *mat.Dense
	labels             []int
	region             []int // N: the planted region of each row, from 1 on; 0 for none
}

func (w *wrongRows) size(region int) (rows int) {
	for _, k := range w.region {
		if k == region {
			rows++
		}
	}
	return rows
}

// wrongLaw is predictions that are wrong everywhere: logits l of a linear softmax of z, and what is said of them.
type wrongLaw struct {
	name    string
	classes int
	df      float64 // of the t-distribution of z; 0: normal
	rare    float64 // log-odds by which the first class is likelier than the others
	scale   func(z []float64, rng *rand.Rand) float64
}

func constant(t float64) func([]float64, *rand.Rand) float64 {
	return func([]float64, *rand.Rand) float64 { return t }
}

// either scales up the logits of half of the rows, and scales down those of the others.
func either(_ []float64, rng *rand.Rand) float64 {
	if rng.IntN(2) == 0 {
		return 3
	}
	return 1. / 3
}

// beside scales up the logits where the first coordinate is above 0.
func beside(z []float64, _ *rand.Rand) float64 {
	if z[0] > 0 {
		return 3
	}
	return 1
}

const globalLaw = "global"

// wrongLaws are what the coverage of intervals is measured on.
var wrongLaws = []wrongLaw{
	{name: "overconfident-10-1.5", classes: 10, scale: constant(1.5)}, {name: "overconfident-10-2", classes: 10, scale: constant(2)},
	{name: "overconfident-10-3", classes: 10, scale: constant(3)}, {name: "overconfident-10-5", classes: 10, scale: constant(5)},
	{name: "overconfident-2-3", classes: 2, scale: constant(3)}, {name: "underconfident-10", classes: 10, scale: constant(.5)},
	{name: "mixed-10", classes: 10, scale: either}, {name: "unbalanced-10", classes: 10, rare: 4, scale: constant(3)},
	{name: "heavy-tailed-10", classes: 10, df: 2, scale: constant(3)}, {name: "local-10", classes: 10, scale: beside}, {name: "local-2", classes: 2, scale: beside},
}

// plantedShapes are of regions that are planted side by side: cut off by planes, and clusters.
var plantedShapes = []string{"boxes", "clusters"}

// draw is the rows of a law.
func (s DiagnosisRate) draw(rng *rand.Rand) *wrongRows {
	law, n := s.law(), diagnosisRows
	w := &wrongRows{z: mat.NewDense(n, diagnosisSpace, nil), logProbs: mat.NewDense(n, law.classes, nil), truth: mat.NewDense(n, law.classes, nil), labels: make([]int, n), region: make([]int, n)}
	weights := mat.NewDense(diagnosisSpace, law.classes, nil)
	for _, m := range []*mat.Dense{w.z, weights} {
		m.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, m)
	}
	weights.Scale(2/math.Sqrt(diagnosisSpace), weights)
	for i := range n {
		z := w.z.RawRowView(i)
		if law.df > 0 { // t: normal over the root of a mean of squares
			var chi float64
			for range int(law.df) {
				x := rng.NormFloat64()
				chi += x * x / law.df
			}
			floats.Scale(1/math.Sqrt(chi), z)
		}
		if s.Law == "clusters" {
			spread(z, i%8)
		}
	}
	w.logProbs.Mul(w.z, weights)
	for i := range n {
		row := w.logProbs.RawRowView(i)
		row[0] += law.rare
		w.truth.SetRow(i, row)
		floats.Scale(law.scale(w.z.RawRowView(i), rng), row)
	}
	w.logProbs = layers.LogSoftmax(w.logProbs)
	w.truth = layers.LogSoftmax(w.truth)
	w.truth.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, w.truth)
	s.plant(w)
	w.drawLabels(rng)
	return w
}

// law is that of its name: of none of wrongLaws right, or wrong everywhere.
func (s DiagnosisRate) law() wrongLaw {
	for _, l := range wrongLaws {
		if l.name == s.Law {
			return l
		}
	}
	if s.Law == globalLaw {
		return wrongLaw{classes: 4, scale: constant(2)}
	}
	return wrongLaw{classes: 4, scale: constant(1)}
}

// drawLabels draws each row's label from the truth.
func (w *wrongRows) drawLabels(rng *rand.Rand) {
	for i := range w.labels {
		u := rng.Float64()
		for k, p := range w.truth.RawRowView(i) {
			w.labels[i] = k
			if u -= p; u < 0 {
				break
			}
		}
	}
}

// spread moves a row into one of eight clusters on a circle.
func spread(z []float64, cluster int) {
	floats.Scale(.4, z)
	z[0] += 3 * math.Cos(float64(cluster)*math.Pi/4)
	z[1] += 3 * math.Sin(float64(cluster)*math.Pi/4)
}

// plant makes regions wrong: the top class has Shift less than it is said to, which goes to the others alike. Without a law
// the region is the ball of Share of the rows around a point at distance 1 from the mean.
func (s DiagnosisRate) plant(w *wrongRows) {
	n, classes := w.logProbs.Dims()
	radius := make([]float64, n)
	for i := range n {
		x := w.z.RawRowView(i)
		radius[i] = (x[0] - 1) * (x[0] - 1)
		for _, v := range x[1:] {
			radius[i] += v * v
		}
	}
	within := quantileOf(radius, s.Share)
	for i := range n {
		z := w.z.RawRowView(i)
		switch {
		case s.Law == "" && s.Share > 0 && radius[i] <= within:
			w.region[i] = 1
		case s.Law == "boxes" && z[0] > .8:
			w.region[i] = 1
		case s.Law == "boxes" && z[1] < -.9:
			w.region[i] = 2
		case s.Law == "boxes" && z[2] > 1:
			w.region[i] = 3
		case s.Law == "clusters" && i%8%3 == 0: // clusters 0, 3 and 6
			w.region[i] = i%8/3 + 1
		}
		if w.region[i] > s.Planted {
			w.region[i] = 0
		}
		if w.region[i] == 0 {
			continue
		}
		q, top := w.truth.RawRowView(i), topOf(w.logProbs.RawRowView(i))
		off := min(s.Shift, q[top])
		floats.AddConst(off/float64(classes-1), q)
		q[top] -= off + off/float64(classes-1)
	}
}

// topOf is the class of the largest number, the first among equals.
func topOf(x []float64) int { return floats.MaxIdx(x) }
