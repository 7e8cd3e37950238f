package theory_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/layers"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// regionBias shifts the scores of the classes by what a region's codewords say,
//
//	posterior = softmax(log p̂ + Σ_k n_k(V) v_k)
type regionBias struct{}

func (regionBias) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("region/bias", make([]float64, s.Codewords*s.Classes), s.Codewords, s.Classes)
	return w, nil
}

func (regionBias) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Plus(in.LogProbs, b.MatMul(in.Mass, b.Weight("region/bias"))))
}

// Does the error of one's own layer fall as N^(−1/2), with the sandwich's constants?
// Any Map can be asked; what of its weights no prediction depends on is found first.
func ExampleNewStudy() {
	design := theory.Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	study := theory.NewStudy("mine", "the rate of a map", theory.Question{
		Population: theory.Population{Design: design}, Estimator: theory.Estimator{Map: regionBias{}},
		Sizes: []int{100_000, 1_000_000}, Shifts: 2, Replicates: 200,
	})
	report, err := study.Run(context.Background(), theory.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s: %.0f\n", report.Rows[0].Quantity, report.Rows[0].Value)
	for _, row := range report.Rows {
		if row.Quantity == "β_N, mean of blocks" {
			fmt.Printf("error ∝ N^β with β = %.1f: %s\n", row.Value, row.Verdict())
		}
	}
	fmt.Println("outside their band:", report.Failures())
	// Output:
	// null directions of the population Hessian: 3
	// error ∝ N^β with β = -0.5: pass
	// outside their band: []
}

// Codewords are used unevenly: their frequencies fall over the design's decades.
func ExampleDesign_Frequencies() {
	d := theory.Design{Classes: 2, Slots: 2, Codewords: 3, Atoms: 4, Decades: 2}
	fmt.Printf("%.3f\n", d.Frequencies(0))
	fmt.Printf("%.3f\n", d.Frequencies(1))
	// Output:
	// [0.901 0.090 0.009]
	// [0.090 0.009 0.901]
}

// A population is a vector of weights, and a sample of any size one draw.
func ExampleNewTruth() {
	design := theory.Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}
	rng := rand.New(rand.NewPCG(1, 0))
	truth, err := theory.NewTruth(design, rng)
	if err != nil {
		fmt.Println(err)
		return
	}
	population := truth.Weights(truth.Table.Multinomial(design.Frequencies(0)))
	apart := func(n int) (most float64) {
		for i, w := range theory.Sample(population, n, rng) {
			most = math.Max(most, math.Abs(w-population[i]))
		}
		return most
	}
	fmt.Println(len(truth.Table.Cells), "cells,", len(population), "weights")
	fmt.Printf("of 10⁴ rows within 0.02: %t; of 10⁹ within 1e-4: %t\n", apart(1e4) < 0.02, apart(1e9) < 1e-4)
	// Output: 6 cells, 72 weights
	// of 10⁴ rows within 0.02: true; of 10⁹ within 1e-4: true
}

// A study may run as you write it: here the slope in N of the error of all factors together.
func ExampleStudy() {
	run := func(ctx context.Context, s theory.Settings, r *theory.Report) error {
		d := theory.Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1, Identity: 1}
		truth, err := theory.NewTruth(d, s.RNG(1))
		if err != nil {
			return err
		}
		gauge := d.Gauge()
		gauge.Fix(truth.Theta, nil)
		t := s.Draws(truth.Weights(truth.Table.Multinomial(d.Frequencies(0))), []int{1e6, 1e8}, 40, 2)
		errors, lost, err := t.Measure(ctx, truth.Table.ByHand(1), 1, func(model theory.Model, x theory.Trial) ([]float64, error) {
			theta := slices.Clone(truth.Theta)
			err := theory.Fit(model, gauge, theta, t.Draw(x))
			gauge.Fix(theta, truth.Theta)
			return []float64{floats.Distance(theta, truth.Theta, 2)}, err
		})
		if err != nil {
			return err
		}
		r.Unsettled(lost, t.Total(), theory.LostPart)
		r.Near("slope", "slope of ‖θ̂ − θ*‖ in N", t.Slopes(s.RNG(3), errors...)[0], -0.5, 0.01, "−1/2")
		return nil
	}
	study := theory.Study{Name: "mine", Claim: "Theorem 1", Parts: []theory.Part{run}}
	report, err := study.Run(context.Background(), theory.Settings{})
	if err != nil {
		fmt.Println(err)
		return
	}
	slope := report.Rows[1]
	fmt.Printf("%.1f: %s, and it would notice %s\n", slope.Value, slope.Verdict(), slope.Power())
	// Output: -0.5: pass, and it would notice a factor of 1.21
}
