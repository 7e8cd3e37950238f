package main

import (
	"math"
	"math/rand/v2"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// problem is a small features file: rows of both parts, features, classes, and how a value
// and a label come about.
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
var plain = problem{"plain", 120, 8, 3, normal(2, 1), normal(2, 2), uniformly(3)}

// problems lie at the edges.
var problems = []problem{
	plain,
	{"two rows", 2, 8, 3, normal(2, 1), normal(2, 2), uniformly(3)},
	{"twelve rows", 12, 8, 3, normal(2, 1), normal(2, 2), uniformly(3)},
	{"one feature", 120, 1, 3, normal(2, 1), normal(2, 2), uniformly(3)},
	{"prime number of features", 120, 7, 3, normal(2, 1), normal(2, 2), uniformly(3)},
	{"two classes", 120, 8, 2, normal(2, 1), normal(2, 2), uniformly(2)},
	{"more classes than rows", 60, 8, 100, normal(2, 1), normal(2, 2), uniformly(100)},
	{"one class alone", 120, 8, 3, normal(2, 1), normal(2, 2), only(1)},
	{"a class without rows", 120, 8, 4, normal(2, 1), normal(2, 2), uniformly(3)},
	{"one row of a class", 120, 8, 3, normal(2, 1), normal(2, 2), func(i int, _ *rand.Rand) int { return map[bool]int{true: 2, false: i % 2}[i == 7] }},
	{"constant features", 120, 8, 3, always(1), normal(2, 2), uniformly(3)},
	{"constant logits", 120, 8, 3, normal(2, 1), always(0), uniformly(3)},
	{"everything constant", 120, 8, 3, always(0), always(0), uniformly(3)},
	{"equal rows", 120, 8, 3, func(_, j, label int, _ *rand.Rand) float64 { return float64(j * label) }, func(_, k, label int, _ *rand.Rand) float64 { return float64(k * label) }, uniformly(3)},
	{"features of 1e-300", 120, 8, 3, normal(2, 1e-300), normal(2, 2), uniformly(3)},
	{"features of 1e30", 120, 8, 3, normal(2, 1e30), normal(2, 2), uniformly(3)},
	{"features of 1e300", 120, 8, 3, normal(2, 1e300), normal(2, 2), uniformly(3)},
	{"logits of 1e-300", 120, 8, 3, normal(2, 1), normal(2, 1e-300), uniformly(3)},
	{"logits of ±1e4", 120, 8, 3, normal(2, 1), signs(1e4), uniformly(3)},
	{"logits of ±3e38", 120, 8, 3, normal(2, 1), signs(3e38), uniformly(3)},
	{"logits of ±1e300", 120, 8, 3, normal(2, 1), signs(1e300), uniformly(3)},
	{"the largest numbers", 120, 8, 3, signs(math.MaxFloat64), signs(math.MaxFloat64), uniformly(3)},
	{"certain and right", 120, 8, 3, normal(50, 1), func(_, k, label int, _ *rand.Rand) float64 {
		return map[bool]float64{true: 800, false: -800}[k == label]
	}, uniformly(3)},
}

// arrays are the problem's, drawn from rng.
func (p problem) arrays(rng *rand.Rand) (arrays []data.Array) {
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
	must(data.WriteNPZ(path, p.arrays(rng)...))
}

func read(path string) []byte {
	text, err := data.ReadFile(path)
	must(err)
	return text
}
