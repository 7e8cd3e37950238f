package rowcheck_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// overconfident are n rows whose labels are drawn from softmax(s + log prior), s normal, and whose logits are those
// times sharp.
func overconfident(n int, sharp float64, prior []float64, rng *rand.Rand) *data.Set {
	x := &data.Set{Logits: mat.NewDense(n, len(prior), nil), Labels: make([]int, n)}
	for i := range n {
		row, drawn := x.Logits.RawRowView(i), make([]float64, len(prior))
		for c, p := range prior {
			row[c] = 2*rng.NormFloat64() + math.Log(p)
			drawn[c] = row[c] - math.Log(rng.ExpFloat64()) // Gumbel
		}
		x.Labels[i] = floats.MaxIdx(drawn)
		floats.Scale(sharp, row)
	}
	return x
}

func equal(classes int) []float64 {
	prior := make([]float64, classes)
	floats.AddConst(1, prior)
	return prior
}

// Labels of other rows are told where the rows are enough to tell, and labels of the same rows never are: of few rows,
// of few or many classes, of a rare class, of a classifier that is forty times too sure or not at all.
func TestOtherLabels(t *testing.T) {
	for _, problem := range []struct {
		name  string
		n     int
		sharp float64
		prior []float64
		told  bool // surely, once the labels are of other rows
	}{
		{"two classes", 150, 2.5, equal(2), true},
		{"four classes", 150, 2.5, equal(4), true},
		{"thirty classes", 150, 2.5, equal(30), true},
		{"forty times too sure", 150, 40, equal(4), true},
		{"few rows", 12, 2.5, equal(4), false},
		{"of 99 to 1", 300, 2.5, []float64{.99, .01}, false},
		{"unsure", 60, .05, equal(4), false},
	} {
		rng, told := rand.New(rand.NewPCG(1, 2)), 0
		for range 40 {
			x := overconfident(problem.n, problem.sharp, problem.prior, rng)
			if text := rowcheck.OtherLabels("rows", x); text != "" {
				t.Fatalf("%s: labels of the same rows: %s", problem.name, text)
			}
			rng.Shuffle(problem.n, func(i, j int) { x.Labels[i], x.Labels[j] = x.Labels[j], x.Labels[i] })
			if strings.Contains(rowcheck.OtherLabels("rows", x), "look like those of other rows") {
				told++
			}
		}
		if problem.told && told < 38 { // one shuffle in a hundred looks related
			t.Errorf("%s: %d of 40 shuffles are told", problem.name, told)
		}
	}
}

// Labels in another order than the columns are told as such, and so is nothing of a classifier that always says the
// same.
func TestLabelsInAnotherOrder(t *testing.T) {
	x := overconfident(200, 2.5, equal(5), rand.New(rand.NewPCG(1, 2)))
	for i, y := range x.Labels {
		x.Labels[i] = (y + 1) % 5
	}
	if text := rowcheck.OtherLabels("rows", x); !strings.Contains(text, "another order than the columns") {
		t.Errorf("labels of other columns: %q", text)
	}
	for i := range x.Labels {
		x.Logits.SetRow(i, []float64{3, 0, 0, 0, 0})
		x.Labels[i] = i % 7 % 5
	}
	if text := rowcheck.OtherLabels("rows", x); text != "" {
		t.Errorf("a constant output: %q", text)
	}
}
