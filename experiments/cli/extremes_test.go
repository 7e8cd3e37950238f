package cli

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"

	"gonum.org/v1/gonum/mat"
)

// extreme is a features file at the edge of what can be fitted. A field that is left out is as in an
// ordinary file: 120 rows a part, 8 features and 3 classes, drawn about the label.
type extreme struct {
	name                    string
	rows, features, classes int
	feature, logit          func(i, j, label int, rng *rand.Rand) float64
	label                   func(i, classes int, rng *rand.Rand) int
}

// near draws about shift in the label's column and about 0 in the others, times scale.
func near(shift, scale float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(_, j, label int, rng *rand.Rand) float64 {
		v := rng.NormFloat64()
		if j == label {
			v += shift
		}
		return scale * v
	}
}

// signs are scale in the label's column and −scale in the others, and the other way round in every fifth row.
func signs(scale float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(i, j, label int, _ *rand.Rand) float64 {
		if (j == label) != (i%5 == 0) {
			return scale
		}
		return -scale
	}
}

func constant(v float64) func(i, j, label int, rng *rand.Rand) float64 {
	return func(int, int, int, *rand.Rand) float64 { return v }
}

func byLabel(_, j, label int, _ *rand.Rand) float64 { return float64(j * label) }

var extremes = []extreme{
	{name: "two rows", rows: 2},
	{name: "twelve rows", rows: 12},
	{name: "one feature", features: 1},
	{name: "a prime number of features", features: 7},
	{name: "two classes", classes: 2},
	{name: "more classes than rows", rows: 60, classes: 100},
	{name: "one class alone", label: func(int, int, *rand.Rand) int { return 1 }},
	{name: "a class without rows", classes: 4, label: func(_, c int, rng *rand.Rand) int { return rng.IntN(c - 1) }},
	{name: "one row of a class", label: func(i, _ int, _ *rand.Rand) int { return map[bool]int{true: 2, false: i % 2}[i == 7] }},
	{name: "constant features", feature: constant(1)},
	{name: "constant logits", logit: constant(0)},
	{name: "everything constant", feature: constant(0), logit: constant(0)},
	{name: "equal rows", feature: byLabel, logit: byLabel},
	{name: "features of 1e-300", feature: near(2, 1e-300)},
	{name: "features of 1e30", feature: near(2, 1e30)},
	{name: "features of 1e300", feature: near(2, 1e300)},
	{name: "logits of 1e-300", logit: near(2, 1e-300)},
	{name: "logits of ±1e4", logit: signs(1e4)},
	{name: "logits of ±3e38", logit: signs(3e38)},
	{name: "logits of ±1e300", logit: signs(1e300)},
	{name: "the largest numbers", feature: signs(math.MaxFloat64), logit: signs(math.MaxFloat64)},
	{name: "certain and right", feature: near(50, 1), logit: func(_, k, label int, _ *rand.Rand) float64 {
		return map[bool]float64{true: 800, false: -800}[k == label]
	}},
}

func (x extreme) arrays(rng *rand.Rand) (arrays []data.Array) {
	if x.rows == 0 {
		x.rows = 120
	}
	if x.features == 0 {
		x.features = 8
	}
	if x.classes == 0 {
		x.classes = 3
	}
	if x.feature == nil {
		x.feature = near(2, 1)
	}
	if x.logit == nil {
		x.logit = near(2, 2)
	}
	if x.label == nil {
		x.label = func(_, c int, rng *rand.Rand) int { return rng.IntN(c) }
	}
	for _, part := range []string{"cal", "test"} {
		features, logits, labels := mat.NewDense(x.rows, x.features, nil), mat.NewDense(x.rows, x.classes, nil), make([]int, x.rows)
		for i := range labels {
			labels[i] = x.label(i, x.classes, rng)
			for j := range x.features {
				features.Set(i, j, x.feature(i, j, labels[i], rng))
			}
			for k := range x.classes {
				logits.Set(i, k, x.logit(i, k, labels[i], rng))
			}
		}
		arrays = append(arrays, data.Array{Name: part + "_features", Value: features}, data.Array{Name: part + "_logits", Value: logits}, data.Array{Name: part + "_labels", Value: labels})
	}
	return arrays
}

// TestExtremes: at the edge of what can be fitted a method gives sound predictions, or one sentence
// and no folder. It is held for two methods, and for all with CALIBRA_CHECK=all.
func TestExtremes(t *testing.T) {
	methods := []string{"ts", "vq"}
	if os.Getenv("CALIBRA_CHECK") == "all" {
		methods = nil
		for _, m := range method.All {
			methods = append(methods, m.Name)
		}
	}
	for _, x := range extremes {
		t.Run(x.name, func(t *testing.T) {
			in := write(t, x.arrays(rand.New(rand.NewPCG(1, 0))))
			for _, method := range methods {
				out := filepath.Join(t.TempDir(), method)
				code, _, stderr := calibra(t, "fit", "--in", in, "--method", method, "--out", out)
				_, there := os.Stat(out)
				switch {
				case !slices.Contains([]int{0, 1, 2}, code), strings.Contains(stderr, "goroutine "), code > 0 && len(stderr) > 4000:
					t.Errorf("%s exits %d: %.300s", method, code, stderr)
				case code > 0 && there == nil:
					t.Errorf("%s fails and leaves its folder", method)
				case code == 0:
					if _, err := data.ReadPredictions(filepath.Join(out, "predictions.npz")); err != nil {
						t.Errorf("%s: %v", method, err)
					}
				}
			}
		})
	}
}
