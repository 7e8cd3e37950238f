package main

import (
	"cmp"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// problem is a small features file: rows of both parts, features, classes, and how a value
// and a label come about. What it leaves out is as everything can fit.
type problem struct {
	name                    string
	rows, features, classes int
	feature                 func(i, j, label int, rng *rand.Rand) float64
	logit                   func(i, k, label int, rng *rand.Rand) float64
	label                   func(i int, rng *rand.Rand) int
}

func normal(shift, scale float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(_, j, label int, rng *rand.Rand) float64 {
		v := rng.NormFloat64()
		if j == label {
			v += shift
		}
		return scale * v
	}
}

func always(v float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(int, int, int, *rand.Rand) float64 { return v }
}

func signs(scale float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(i, j, label int, _ *rand.Rand) float64 {
		if j == label != (i%5 == 0) { // every fifth row is wrong
			return scale
		}
		return -scale
	}
}

func uniformly(classes int) func(i int, rng *rand.Rand) int {
	return func(_ int, rng *rand.Rand) int { return rng.IntN(classes) }
}

func only(label int) func(int, *rand.Rand) int { return func(int, *rand.Rand) int { return label } }

// plain is a problem that everything can fit.
var plain = problem{name: "plain"}

// problems lie at the edges.
var problems = []problem{
	plain,
	{name: "two rows", rows: 2},
	{name: "twelve rows", rows: 12},
	{name: "one feature", features: 1},
	{name: "prime number of features", features: 7},
	{name: "two classes", classes: 2},
	{name: "more classes than rows", rows: 60, classes: 100},
	{name: "one class alone", label: only(1)},
	{name: "a class without rows", classes: 4, label: uniformly(3)},
	{name: "one row of a class", label: func(i int, _ *rand.Rand) int { return map[bool]int{true: 2, false: i % 2}[i == 7] }},
	{name: "constant features", feature: always(1)},
	{name: "constant logits", logit: always(0)},
	{name: "everything constant", feature: always(0), logit: always(0)},
	{
		name:    "equal rows",
		feature: func(_, j, label int, _ *rand.Rand) float64 { return float64(j * label) },
		logit:   func(_, k, label int, _ *rand.Rand) float64 { return float64(k * label) },
	},
	{name: "features of 1e-300", feature: normal(2, 1e-300)},
	{name: "features of 1e30", feature: normal(2, 1e30)},
	{name: "features of 1e300", feature: normal(2, 1e300)},
	{name: "logits of 1e-300", logit: normal(2, 1e-300)},
	{name: "logits of ±1e4", logit: signs(1e4)},
	{name: "logits of ±3e38", logit: signs(3e38)},
	{name: "logits of ±1e300", logit: signs(1e300)},
	{name: "the largest numbers", feature: signs(math.MaxFloat64), logit: signs(math.MaxFloat64)},
	{name: "certain and right", feature: normal(50, 1), logit: func(_, k, label int, _ *rand.Rand) float64 {
		return map[bool]float64{true: 800, false: -800}[k == label]
	}},
}

// filled is p with what it leaves out.
func (p problem) filled() problem {
	p.rows, p.features, p.classes = cmp.Or(p.rows, 120), cmp.Or(p.features, 8), cmp.Or(p.classes, 3)
	if p.feature == nil {
		p.feature = normal(2, 1)
	}
	if p.logit == nil {
		p.logit = normal(2, 2)
	}
	if p.label == nil {
		p.label = uniformly(p.classes)
	}
	return p
}

// arrays are the problem's, drawn from rng.
func (p problem) arrays(rng *rand.Rand) (arrays []data.Array) {
	p = p.filled()
	for _, part := range []string{"cal", "test"} {
		x, logits, labels := mat.NewDense(p.rows, p.features, nil), mat.NewDense(p.rows, p.classes, nil), make([]int, p.rows)
		for i := range p.rows {
			labels[i] = p.label(i, rng)
			for j := range p.features {
				x.Set(i, j, p.feature(i, j, labels[i], rng))
			}
			for k := range p.classes {
				logits.Set(i, k, p.logit(i, k, labels[i], rng))
			}
		}
		arrays = append(arrays, data.Array{Name: part + "_features", Value: x}, data.Array{Name: part + "_logits", Value: logits}, data.Array{Name: part + "_labels", Value: labels})
	}
	return arrays
}

// write writes the problem to path.
func (p problem) write(path string, rng *rand.Rand) {
	must(disk.WriteNPZ(path, p.arrays(rng)...))
}

func read(path string) []byte {
	text, err := data.ReadFile(path)
	must(err)
	return text
}
