package data

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// drawn are predictions of 2 to 10 classes of random shares for 100 to 1000 rows, right in 40 to 95 % of them, and
// their labels, with logits of any temperature and with biases.
func drawnClasses(rng *rand.Rand) (*mat.Dense, []int) {
	for {
		n, classes, skill := 100+rng.IntN(901), 2+rng.IntN(9), .5+3.5*rng.Float64()
		scores, labels, right := mat.NewDense(n, classes, nil), make([]int, n), 0
		prior, bias, scale := make([]float64, classes), make([]float64, classes), math.Exp(2*rng.NormFloat64())
		for c := range classes {
			prior[c], bias[c] = .5*rng.NormFloat64(), .3*rng.NormFloat64()
		}
		for i := range n {
			row := scores.RawRowView(i)
			for c := range row {
				row[c] = prior[c] - math.Log(rng.ExpFloat64())
			}
			labels[i] = floats.MaxIdx(row)
			for c := range row {
				row[c] = bias[c] + rng.NormFloat64()
			}
			row[labels[i]] += skill
			if floats.MaxIdx(row) == labels[i] {
				right++
			}
			floats.Scale(scale, row)
		}
		if share := float64(right) / float64(n); share >= .4 && share <= .95 {
			return scores, labels
		}
	}
}

// read gives what is read of predictions whose labels are names, and whose columns are those of the classes to.
func read(t *testing.T, scores *mat.Dense, labels, to []int, more ...Array) (*Predictions, error) {
	t.Helper()
	n, classes := scores.Dims()
	columns := mat.NewDense(n, classes, nil)
	for k, c := range to {
		columns.SetCol(k, mat.Col(nil, c, scores))
	}
	name := func(c int) string { return string(rune('a' + c)) }
	for i, a := range more {
		more[i].Value = Each(a.Value.([]int), name)
	}
	var out bytes.Buffer
	all := append([]Array{{"logits", columns}, {"labels", Each(labels, name)}}, more...)
	if err := NPZ(all...)(&out); err != nil {
		t.Fatal(err)
	}
	a, err := newArchive("f.npz", bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return readPredictions(a, "")
}

// TestColumnsPermuted: names of the columns put any order right. Without them another order of the columns than the
// alphabet is refused, put right or asked for, and the alphabet is never called wrong.
func TestColumnsPermuted(t *testing.T) {
	const draws = 150 // of 3000 none is wrong or refused in its right order, and 3 are asked for
	rng, told := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range draws {
		scores, labels := drawnClasses(rng)
		_, classes := scores.Dims()
		straight := make([]int, classes)
		for c := range straight {
			straight[c] = c
		}
		to := rng.Perm(classes)
		if slices.Equal(to, straight) {
			to[0], to[1] = to[1], to[0]
		}
		if rng.IntN(2) == 0 { // two exchanged alone
			copy(to, straight)
			i := rng.IntN(classes - 1)
			to[i], to[i+1] = to[i+1], to[i]
		}
		if seen := slices.Compact(slices.Sorted(slices.Values(labels))); len(seen) < classes {
			continue
		}
		for what, order := range map[string][]int{"straight": straight, "permuted": to} {
			p, err := read(t, scores, labels, order)
			switch {
			case err != nil && strings.Contains(err.Error(), "do not tell"):
				told[what+" asked"]++
			case err != nil && strings.Contains(err.Error(), "in another order than"):
				told[what+" refused"]++
			case err != nil:
				t.Fatal(err)
			case fmt.Sprint(p.ClassNames) == fmt.Sprint(Each(order, func(c int) string { return string(rune('a' + c)) })):
				told[what+" right"]++
			default:
				told[what+" wrong"]++
			}
			p, err = read(t, scores, labels, order, Array{"class_names", slices.Clone(order)})
			if err != nil {
				t.Fatal(err)
			}
			for i, y := range labels {
				if order[p.Labels[i]] != y {
					t.Fatalf("with names, row %d is read as %d", i, p.Labels[i])
				}
			}
		}
	}
	if told["permuted wrong"] > 0 || told["straight refused"]+told["straight wrong"] > 0 || told["straight asked"] > 1 || told["permuted refused"]+told["permuted right"] < draws/2 {
		t.Error(told)
	}
}

// TestLabelsFromOne: labels 1…C beside C columns are those of the columns in their order, and a model that was fitted
// to such labels reads others so.
func TestLabelsFromOne(t *testing.T) {
	open := func(names Names, labels ...int) (*Source, error) {
		var out bytes.Buffer
		if err := NPZ(Array{"test_logits", mat.NewDense(len(labels), 3, nil)}, Array{"test_labels", labels})(&out); err != nil {
			t.Fatal(err)
		}
		a, err := newArchive("f.npz", bytes.NewReader(out.Bytes()), int64(out.Len()))
		if err != nil {
			t.Fatal(err)
		}
		return readSource(a, names)
	}
	s, err := open(Names{}, 1, 3, 2)
	if err != nil || fmt.Sprint(s.Test.Labels, s.Test.Names.Classes) != "[0 2 1] [1 2 3]" || !strings.Contains(s.Order, "numbers 1…3") {
		t.Errorf("1…3: %+v, %v", s, err)
	}
	if s, err := open(Names{Classes: []string{"1", "2", "3"}}, 1, 2, 1); err != nil || fmt.Sprint(s.Test.Labels) != "[0 1 0]" {
		t.Errorf("for a model: %+v, %v", s, err)
	}
	if s, err := open(Names{}, 1, 2, 1); err != nil || fmt.Sprint(s.Test.Labels) != "[1 2 1]" {
		t.Errorf("1 and 2 of three columns: %+v, %v", s, err)
	}
	scores, labels := drawn(rand.New(rand.NewPCG(3, 3)), 4, func(p float64) float64 { return p }), make([]int, 150)
	for i := range labels {
		labels[i] = floats.MaxIdx(scores.RawRowView(i)[:3]) + 1 // the last class has no row
	}
	var out bytes.Buffer
	if err := NPZ(Array{"probs", scores}, Array{"labels", labels})(&out); err != nil {
		t.Fatal(err)
	}
	p, err := ReadPredictions(tempFile(t, "p.npz", out.Bytes()))
	if err != nil || p.Labels[0] != labels[0]-1 || fmt.Sprint(p.ClassNames) != "[1 2 3 4]" || !strings.Contains(p.Order, "order from 1, which fits the columns better than order from 0") {
		t.Errorf("1…3 of four columns: %+v, %v", p, err)
	}
	for _, labels := range [][]int{{0, 3, 1}, {-1, 3, 1}, {1, 4, 2}} {
		if _, err := open(Names{}, labels...); err == nil || !strings.Contains(err.Error(), "at row") {
			t.Errorf("%d: %v", labels, err)
		}
	}
}
