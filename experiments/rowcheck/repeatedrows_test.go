package rowcheck_test

import (
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// Of 40 test rows 10 are calibration rows; one of 40 is not told, and rows that share their logits alone are others.
func TestRepeatedRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	set := func(n int) *data.Set {
		x, logits := mat.NewDense(n, 3, nil), mat.NewDense(n, 2, nil)
		for i := range n {
			for j := range 3 {
				x.Set(i, j, rng.NormFloat64())
			}
			logits.Set(i, 0, rng.NormFloat64())
		}
		return &data.Set{Features: x, Logits: logits, Labels: make([]int, n)}
	}
	cal := set(50)
	test := func(repeated int) *data.Set {
		x := set(40)
		for i := range repeated {
			x.Features.(*mat.Dense).SetRow(i, mat.Row(nil, 2*i, cal.Features))
			x.Logits.SetRow(i, cal.Logits.RawRowView(2*i))
		}
		return x
	}
	if r := rowcheck.Repeated(cal, test(10)); r == nil || r.Rows != 10 || r.Of != 40 {
		t.Errorf("ten rows are repeated, and it finds %v", r)
	}
	if r := rowcheck.Repeated(cal, test(1)); r != nil {
		t.Errorf("one row of 40 is told: %v", r)
	}
	other := test(10)
	for i := range 10 {
		other.Features.(*mat.Dense).Set(i, 0, 7)
	}
	if r := rowcheck.Repeated(cal, other); r != nil {
		t.Errorf("rows of the same logits and other features are told: %v", r)
	}
	labels := &data.Set{Labels: make([]int, 9)}
	if r := rowcheck.Repeated(labels, labels); r != nil {
		t.Errorf("rows of labels alone are told: %v", r)
	}
}

// Outputs of few values coincide by chance, and a constant one in all rows: of these no row is told but where more are
// the same than within either part.
func TestRepeatedRowsOfFewValues(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	votes := func(n, of int) *data.Set {
		x := &data.Set{Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
		for i := range n {
			for range of {
				k := min(rng.IntN(3), rng.IntN(3))
				x.Logits.Set(i, k, x.Logits.At(i, k)+1)
			}
		}
		return x
	}
	for _, of := range []int{0, 1, 5, 10, 40} {
		for range 20 {
			cal, test := votes(180, of), votes(90, of)
			if r := rowcheck.Repeated(cal, test); r != nil {
				t.Errorf("%d votes: %v", of, r)
			}
		}
	}
	cal, test := votes(180, 1000), votes(90, 1000) // a few of which coincide by chance
	for i := range 30 {
		test.Logits.SetRow(i, cal.Logits.RawRowView(i))
	}
	if r := rowcheck.Repeated(cal, test); r == nil || r.Rows < 30 {
		t.Errorf("thirty rows are the same, and it finds %v", r)
	}
	cal, test = votes(180, 30), votes(90, 30)
	for _, set := range []*data.Set{cal, test} {
		for k := range set.Labels {
			set.Labels[k] = rng.IntN(6) // without which votes of so few values could be the same by chance
		}
	}
	if r := rowcheck.Repeated(cal, test); r != nil {
		t.Errorf("votes and labels: %v", r)
	}
	for i := range 30 {
		test.Logits.SetRow(i, cal.Logits.RawRowView(i))
		test.Labels[i] = cal.Labels[i]
	}
	if r := rowcheck.Repeated(cal, test); r == nil || r.Rows < 30 {
		t.Errorf("thirty rows of votes and labels are the same, and it finds %v", r)
	}
	many, twice := votes(600, 1000), &data.Set{Labels: make([]int, 1200), Logits: mat.NewDense(1200, 3, nil)}
	for i := range 1200 {
		twice.Logits.SetRow(i, many.Logits.RawRowView(i/2))
	}
	if r := rowcheck.Repeated(twice, votes(300, 1000)); r != nil && r.Rows < 30 {
		t.Errorf("calibration rows that are there twice are no test rows: %v", r)
	}
}
