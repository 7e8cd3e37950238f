package metrics_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

// weather is a forecaster who says 80 % rain on each of 100 days, of which 60 are wet.
func weather() (logProbs *mat.Dense, labels []int, embedding *mat.Dense) {
	logProbs, labels, embedding = mat.NewDense(100, 2, nil), make([]int, 100), mat.NewDense(100, 1, nil)
	for i := range 100 {
		logProbs.SetRow(i, []float64{math.Log(.2), math.Log(.8)})
		if i < 60 {
			labels[i] = 1
		}
		embedding.Set(i, 0, float64(i)) // the day
	}
	return logProbs, labels, embedding
}

func ExampleMeasure() {
	logProbs, labels, day := weather()
	m, err := metrics.Measure(context.Background(), logProbs, labels, day, metrics.Settings{Bandwidth: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	// The mean hides that the first days were all wet and the last all dry.
	fmt.Printf("class-wise ECE %.2f, LCE %.2f, MLCE %.2f\n", m.Values[metrics.ECE], m.Values[metrics.LCE], m.Values[metrics.MLCE])
	// Output:
	// class-wise ECE 0.20, LCE 0.41, MLCE 0.80
}

func ExampleEvaluate() {
	logProbs, labels, _ := weather()
	r, err := metrics.Evaluate(context.Background(), logProbs, labels, nil, metrics.Settings{}, metrics.Uncertainty{}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		fmt.Println(err)
		return
	}
	noise := r.Noise[metrics.ECE]
	fmt.Printf("class-wise ECE %.2f, of a calibrated forecaster %.2f, p = %.2f\n", r.Values[metrics.ECE], noise.Mean, noise.PValue)
	fmt.Println(r.Missing())
	// Output:
	// class-wise ECE 0.20, of a calibrated forecaster 0.03, p = 0.02
	// LCE, MLCE and the ESS profile need an embedding of the rows
}

func ExampleReliability() {
	logProbs, labels, _ := weather()
	top, _, err := metrics.Reliability(logProbs, labels, metrics.Settings{Bins: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d days at %.1f: wet %.1f (%.2f to %.2f)\n", top.Count[4], top.Confidence[4], top.Frequency[4], top.Low[4], top.High[4])
	// Output:
	// 100 days at 0.8: wet 0.6 (0.50 to 0.70)
}

func ExampleCompare() {
	a, b := make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i], b[i] = float64(i%7), float64(i%7)+.1*float64(i%3)
	}
	c, err := metrics.Compare(a, b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f (%.2f to %.2f), p < 0.001: %t\n", c.Difference, c.Interval.Low, c.Interval.High, c.PValue < .001)
	// Output:
	// -0.10 (-0.11 to -0.09), p < 0.001: true
}

func ExampleHolm() {
	fmt.Println(metrics.Holm([]float64{0.01, 0.04, 0.03}))
	// Output:
	// [0.03 0.06 0.06]
}

func ExampleMarks() {
	column := []metrics.Spread{
		metrics.NewSpread([]float64{.0046, .0053, .0060}),
		metrics.NewSpread([]float64{.0221, .0203, .0239}),
		metrics.NewSpread([]float64{.0101, .0094, .0108}),
	}
	marks := metrics.Marks(metrics.LCE, column)
	for i, s := range column {
		switch text := s.Format(metrics.LCE); marks[i] {
		case metrics.Best:
			fmt.Printf("**%s**\n", text)
		case metrics.Second:
			fmt.Printf("_%s_\n", text)
		default:
			fmt.Println(text)
		}
	}
	// Output:
	// **.0053±.0007**
	// .0221±.0018
	// _.0101±.0007_
}

// The error of a metric's own: what a calibrated forecaster would show on these days.
func ExampleMeasureWith() {
	logProbs, labels, day := weather()
	m, err := metrics.MeasureWith(context.Background(), logProbs, labels, day, metrics.Settings{Bandwidth: 5}, metrics.Uncertainty{Replicates: metrics.None}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		fmt.Println(err)
		return
	}
	lce := m.Noise[metrics.LCE]
	fmt.Printf("LCE %.2f = %.2f noise + %.2f\n", m.Values[metrics.LCE], lce.Mean, lce.Excess)
	// Output:
	// LCE 0.41 = 0.08 noise + 0.33
}

// Where the rows have few neighbours, and how wrong the forecasts are there.
func ExampleLocal_ESSProfile() {
	logProbs, labels, day := weather()
	m, err := metrics.Measure(context.Background(), logProbs, labels, day, metrics.Settings{Bandwidth: 5})
	if err != nil {
		fmt.Println(err)
		return
	}
	p := m.Local.ESSProfile(2)
	for k := range p.Count {
		fmt.Printf("%d rows of %.0f neighbours: error %.2f\n", p.Count[k], p.At[k], p.LCE[k])
	}
	// Output:
	// 100 rows of 15 neighbours: error 0.50
	// 100 rows of 17 neighbours: error 0.32
}

func ExampleNewTruth() {
	uniform := mat.NewDense(1, 2, []float64{-0.6931471805599453, -0.6931471805599453})
	t := metrics.NewTruth(uniform, mat.NewDense(1, 2, []float64{0.9, 0.1}))
	fmt.Printf("true LCE %.2f, KL %.3f nats\n", t.LCE, t.KL)
	// Output: true LCE 0.40, KL 0.368 nats
}
