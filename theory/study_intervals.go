package theory

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// intervalLevel is the nominal coverage.
const intervalLevel = 0.9

// occurrenceEdges are the classes of N_k in which coverage is counted.
var occurrenceEdges = []float64{30, 100, 300, 1000, 3000, 1e4, math.Inf(1)}

// coverage counts how often an interval held the truth, by class of N_k.
type coverage struct{ held, all []float64 }

func newCoverage() coverage {
	n := len(occurrenceEdges) - 1
	return coverage{make([]float64, n), make([]float64, n)}
}

func (c coverage) count(occurrences float64, holds bool) {
	class := 0
	for class+1 < len(occurrenceEdges) && occurrences >= occurrenceEdges[class+1] {
		class++
	}
	if occurrences < occurrenceEdges[0] {
		return
	}
	c.all[class]++
	if holds {
		c.held[class]++
	}
}

// bandCoverage is the specification's target where N_k ≥ 300.
var bandCoverage = between(0.87, 0.93)

func runIntervals(ctx context.Context, s Settings, r *Report) error {
	d := Fast()
	truth, err := NewTruth(d, newRand(s.Seed, 41))
	if err != nil {
		return err
	}
	gauge := Rescaling{d.Classes, d.Codewords}
	gauge.Fix(truth.Theta, nil)
	model, err := trained(truth.Table, d.Identity)
	if err != nil {
		return err
	}
	population := truth.Weights(truth.Table.Multinomial(d.Frequencies(0)))
	sizes := choose(s, []int{1e4, 3e4, 1e5}, []int{3e3, 1e4, 3e4, 1e5})
	replicates := choose(s, 40, 200)
	predictions := make([]coverage, len(sizes)*replicates)
	factors := make([]coverage, len(sizes)*replicates)
	unfitted := make([]bool, len(sizes)*replicates)
	rows := observedTable(truth.Table)
	layer := layers.Bilinear{Prior: layers.UniformPrior{}}
	err = forEach(ctx, len(predictions), model.fork, func(model Model, i int) error {
		predictions[i], factors[i] = newCoverage(), newCoverage()
		N := sizes[i/replicates]
		sample := Sample(population, N, newRand(s.Seed, 42, uint64(i)))
		theta := slices.Clone(truth.Theta)
		if minimize(model, gauge, theta, sample) != nil {
			// With a codeword seen a few dozen times the likelihood may have no maximum.
			unfitted[i] = true
			return nil
		}
		gauge.Fix(theta, truth.Theta)
		fitted := model.(*layered)
		fitted.set(theta)
		seen := rows
		seen.Counts = make([]float64, len(sample))
		floats.AddScaled(seen.Counts, float64(N), sample)
		sandwich, err := layer.Sandwich(ctx, fitted.weights, seen, fitted.sizes, 0)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			unfitted[i] = true
			return nil
		}
		if err := countPredictions(ctx, predictions[i], sandwich, truth); err != nil {
			return err
		}
		countFactors(factors[i], sandwich, truth, theta)
		return nil
	})
	if err != nil {
		return err
	}
	lost := 0
	for _, u := range unfitted {
		if u {
			lost++
		}
	}
	r.tell(fmt.Sprintf("samples of %d without a maximum of the likelihood", len(unfitted)), exact(float64(lost)), "some, at N_k of a few dozen")
	of := Curve{Label: "posteriors", Style: Joined}
	ofFactors := Curve{Label: "factors", Style: Joined}
	for class := range len(occurrenceEdges) - 1 {
		low, high := occurrenceEdges[class], occurrenceEdges[class+1]
		name := fmt.Sprintf("%g ≤ N_k < %g", low, high)
		if math.IsInf(high, 1) {
			name = fmt.Sprintf("N_k ≥ %g", low)
		}
		part := func(all []coverage) Estimate {
			e := bootstrap(1, len(all), newRand(s.Seed, 43, uint64(class)), func(pick [][]int) []float64 {
				var held, total float64
				for _, i := range pick[0] {
					held, total = held+all[i].held[class], total+all[i].all[class]
				}
				return []float64{held / total}
			})
			return e[0]
		}
		posterior, factor := part(predictions), part(factors)
		if math.IsNaN(posterior.Value) { // no codeword was that rare
			continue
		}
		if low >= 300 {
			r.judge("coverage of posteriors, rarest codeword "+name, posterior, short(intervalLevel), bandCoverage)
		} else {
			r.tell("coverage of posteriors, rarest codeword "+name, posterior, short(intervalLevel))
		}
		r.tell("coverage of factors, "+name, factor, short(intervalLevel))
		of.add(low, posterior)
		ofFactors.add(low, factor)
	}
	r.Figures = append(r.Figures, Figure{
		Name: "coverage", Title: "Coverage of 90 % intervals",
		XLabel: "N_k of the (rarest) codeword, at least", YLabel: "part that holds the truth", LogX: true,
		Curves: []Curve{of, ofFactors, powerLaw("nominal", intervalLevel, 0, of.X)},
	})
	return nil
}

// observedTable lists every (cell, atom, label) as a row; counts come with a sample.
func observedTable(t *Table) layers.Observed {
	C := t.Classes
	n := t.Rows() * C
	o := layers.Observed{View: &layers.View{LogProbs: mat.NewDense(n, C, nil)}, Labels: make([]int, n)}
	for i := range n {
		row := i / C
		o.View.LogProbs.SetRow(i, t.LogP[row*C:][:C])
		o.Labels[i] = i % C
		for _, k := range t.Cells[row/t.Atoms].Codes {
			o.View.Codes = append(o.View.Codes, int32(k))
		}
	}
	return o
}

// countPredictions asks of every posterior whether its interval holds the true one.
func countPredictions(ctx context.Context, c coverage, s *layers.Sandwich, truth *Truth) error {
	t := truth.Table
	view := &layers.View{LogProbs: mat.NewDense(t.Rows(), t.Classes, t.LogP)}
	for row := range t.Rows() {
		for _, k := range t.Cells[row/t.Atoms].Codes {
			view.Codes = append(view.Codes, int32(k))
		}
	}
	lower, upper, err := s.Intervals(ctx, view, intervalLevel)
	if err != nil {
		return err
	}
	for row := range t.Rows() {
		rarest := math.Inf(1)
		for _, o := range t.Cells[row/t.Atoms].Occurrences {
			rarest = math.Min(rarest, s.Occurrences[o.Codeword])
		}
		for j := range t.Classes {
			q := truth.Label[row*t.Classes+j]
			c.count(rarest, lower.At(row, j) <= q && q <= upper.At(row, j))
		}
	}
	return nil
}

// countFactors asks the same of every entry of a_k and b_k.
func countFactors(c coverage, s *layers.Sandwich, truth *Truth, theta []float64) {
	z := distuv.UnitNormal.Quantile(0.5 + intervalLevel/2)
	receiver, sender := s.FactorErrors()
	K, C := truth.Design.Codewords, truth.Design.Classes
	for i, errors := range []*mat.Dense{receiver, sender} {
		for k := range K {
			for j := range C {
				at := (i*K+k)*C + j
				c.count(s.Occurrences[k], math.Abs(theta[at]-truth.Theta[at]) <= z*errors.At(k, j))
			}
		}
	}
}
