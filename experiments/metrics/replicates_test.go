package metrics

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// twins are two predictions of the same rows that are as wrong as each other: the law of
// the labels with class 0's log-odds moved up by shift, and down by it.
func twins(rows int, shift float64, rng *rand.Rand) (up, down *mat.Dense, labels []int, embedding *mat.Dense) {
	up, down, embedding = mat.NewDense(rows, 3, nil), mat.NewDense(rows, 3, nil), mat.NewDense(rows, 4, nil)
	labels = make([]int, rows)
	for i := range rows {
		var score [3]float64
		for c := range score {
			score[c] = 1.5 * rng.NormFloat64()
		}
		for j := range 4 {
			embedding.Set(i, j, 3*rng.NormFloat64())
		}
		write := func(m *mat.Dense, by float64) {
			top, sum := math.Inf(-1), 0.0
			moved := score
			moved[0] += by
			for _, s := range moved {
				top = max(top, s)
			}
			for _, s := range moved {
				sum += math.Exp(s - top)
			}
			for c, s := range moved {
				m.Set(i, c, s-top-math.Log(sum))
			}
		}
		write(up, 0)
		u := rng.Float64()
		for c := range 3 {
			if u -= math.Exp(up.At(i, c)); u < 0 || c == 2 {
				labels[i] = c
				break
			}
		}
		write(up, shift)
		write(down, -shift)
	}
	return up, down, labels, embedding
}

// evaluated is the report of p with replicates by a seed of its own.
func evaluated(t *testing.T, p *mat.Dense, labels []int, embedding *mat.Dense) *Report {
	t.Helper()
	return evaluatedAs(t, Settings{}, p, labels, embedding)
}

func evaluatedAs(t *testing.T, s Settings, p *mat.Dense, labels []int, embedding *mat.Dense) *Report {
	t.Helper()
	r, err := Evaluate(t.Context(), p, labels, embedding, s, Uncertainty{Replicates: 100, Redraws: None}, rand.New(rand.NewPCG(3, 3)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func compared(a, b *Report) *Comparison {
	return CompareReplicates(a.Values[LCE]-b.Values[LCE], a.Replicates[LCE], b.Replicates[LCE], a.Without[LCE], b.Without[LCE])
}

// Predictions as wrong as each other differ in LCE no more often than the level says. The
// rows' local residuals taken for independent told two of three such pairs apart.
func TestCompareReplicatesOfEquals(t *testing.T) {
	const pairs, level = 20, .05
	told := 0
	for k := range pairs {
		up, down, labels, z := twins(250, .1, rand.New(rand.NewPCG(7, uint64(k))))
		if compared(evaluated(t, up, labels, z), evaluated(t, down, labels, z)).PValue < level {
			told++
		}
	}
	// three standard deviations of the binomial
	if most := level*pairs + 3*math.Sqrt(level*(1-level)*pairs); float64(told) > most {
		t.Errorf("%d of %d pairs of equals are told apart, more than %.1f", told, pairs, most)
	}
	t.Logf("%d of %d", told, pairs)
}

// What is far more wrong is seen to be; what is the same is not told apart.
func TestCompareReplicatesSeesADifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	right, _, labels, z := twins(400, 0, rng)
	wrong := mat.DenseCopyOf(right)
	for i := range 400 { // temperature 1/3
		var sum float64
		for c := range 3 {
			sum += math.Exp(3 * right.At(i, c))
		}
		for c := range 3 {
			wrong.Set(i, c, 3*right.At(i, c)-math.Log(sum))
		}
	}
	a, b := evaluated(t, wrong, labels, z), evaluated(t, right, labels, z)
	if c := compared(a, b); c.PValue > 1e-4 || c.Interval.Low <= 0 || c.Difference != a.Values[LCE]-b.Values[LCE] {
		t.Errorf("an overconfident model less a calibrated one: %+v", c)
	}
	if c := compared(a, a); c.PValue != 1 || c.Difference != 0 || c.Interval.Low == c.Interval.Low {
		t.Errorf("a model with itself: %+v", c)
	}
	if c := CompareReplicates(1, a.Replicates[LCE][:10], b.Replicates[LCE][:10], nil, nil); c != nil {
		t.Errorf("ten replicates say %+v", c)
	}
	// a single row, whose resamples are itself
	one := evaluatedAs(t, Settings{Protocol: Formula}, dense([][]float64{{math.Log(.25), math.Log(.75)}}), []int{0}, dense([][]float64{{3}}))
	other := evaluatedAs(t, Settings{Protocol: Formula}, dense([][]float64{{math.Log(.5), math.Log(.5)}}), []int{0}, dense([][]float64{{3}}))
	if c := compared(one, other); c.Difference == 0 || c.PValue != 1 {
		t.Errorf("of a single row: %+v", c)
	}
	if c := CompareReplicates(math.NaN(), a.Replicates[LCE], b.Replicates[LCE], nil, nil); c != nil {
		t.Errorf("a difference that is not known is %+v", c)
	}
}

// Where errors are near their noise, the bootstrap knows a difference less well than it
// says: of two classes that swap, predictions moved up and down are as wrong as each other,
// and its deviation alone is a fifth too small and told 10 % of 300 such pairs apart.
func TestCompareReplicatesNearTheNoise(t *testing.T) {
	if os.Getenv("CALIBRA_CHECK") != "all" {
		t.Skip("asked with CALIBRA_CHECK=all")
	}
	const pairs, rows, shift, level = 50, 700, .4, .05
	var differences, reaches []float64
	told := 0
	for k := range pairs {
		rng := rand.New(rand.NewPCG(99, uint64(k)))
		up, down, z, labels := mat.NewDense(rows, 2, nil), mat.NewDense(rows, 2, nil), mat.NewDense(rows, 4, nil), make([]int, rows)
		for i := range rows {
			score := 1.5 * rng.NormFloat64()
			for j := range 4 {
				z.Set(i, j, 3*rng.NormFloat64())
			}
			if rng.Float64() > 1/(1+math.Exp(-score)) {
				labels[i] = 1
			}
			for m, s := range map[*mat.Dense]float64{up: score + shift, down: score - shift} {
				m.SetRow(i, []float64{-math.Log1p(math.Exp(-s)), -math.Log1p(math.Exp(s))})
			}
		}
		c := compared(evaluated(t, up, labels, z), evaluated(t, down, labels, z))
		differences, reaches = append(differences, c.Difference), append(reaches, (c.Interval.High-c.Interval.Low)/2/1.96)
		if c.PValue < level {
			told++
		}
	}
	// 50 pairs know the deviation to 10 %
	if got, want := checked.Mean(reaches), NewSpread(differences).SD; got < .9*want {
		t.Errorf("the deviation of a difference is taken for %.4g, not %.4g", got, want)
	}
	if most := level*pairs + 3*math.Sqrt(level*(1-level)*pairs); float64(told) > most {
		t.Errorf("%d of %d pairs of equals are told apart, more than %.1f", told, pairs, most)
	}
	t.Logf("%d of %d told apart, deviation %.4g of %.4g", told, pairs, checked.Mean(reaches), NewSpread(differences).SD)
}
