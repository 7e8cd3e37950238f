package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// scoreCases are the files of ../shared/cases/meaning about scores, with the NLL of ts and 1/T that right.py there
// prints of them by scipy; or the words of the question.
var scoreCases = []struct {
	file          string
	flags         []string
	ts, sharpness float64 // to the digits printed
	within        float64
	says          string
}{
	{"percent.npz", nil, .736504, .367162, 1e-6, "probabilities on another scale"},
	{"percent.npz", []string{"--scores", "probabilities"}, .736504, .367162, 1e-6, "divided by their sums"},
	{"softmax-uint8.npz", nil, .778047, .119470, 1e-6, "divided by their sums"},
	{"one-against-the-rest.npz", []string{"--scores", "one-vs-rest"}, .700524, .749887, 1e-6, "each class against the rest"},
	{"one-against-the-rest.npz", nil, 0, 0, 0, "may be logits, probabilities, or probabilities of each class against the rest"},
	{"one-minus-margin.npz", nil, 0, 0, 0, "may be 1 − m and m of a margin m"},
	{"zero-beside-tiny.npz", nil, .449200, .005893, 1e-5, "12 of them are 0, read as 1e-320"}, // right.py reads them as 5e-324
	{"zero-beside-tiny-float32.npz", nil, .848281, .050250, 1e-6, "250 of them are 0, read as 1.4e-45"},
	{"zero-beside-tiny-as-logits.npz", nil, .847271, .049548, 1e-6, "no hold"},
}

// TestScoresOfCases: scores on another scale are read as scipy reads them, or asked for, and never in silence.
func TestScoresOfCases(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	for _, s := range scoreCases {
		t.Run(strings.Join(append([]string{s.file}, s.flags...), " "), func(t *testing.T) {
			r := c.fit(t, filepath.Join("meaning", s.file), "ts", s.flags...)
			if s.ts == 0 {
				r.refuses(t, s.says, "--scores logits, probabilities, log-probabilities or one-vs-rest")
				return
			}
			isNear(t, "NLL", r.result(t, "nll"), s.ts, s.within)
			isNear(t, "1/T", r.sharpness(t), s.sharpness, s.within)
			r.says(t, s.says)
		})
	}
}

// TestZeroIsNeverAboveMore: no increasing method gives a class of probability 0 more than one of probability 1e-200,
// and a model keeps its floor for rows that have no such number.
func TestZeroIsNeverAboveMore(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	rows := mat.NewDense(4, 2, []float64{0, 1, 1e-200, 1, 1e-30, 1, 1e-5, 1 - 1e-5})
	all, zero := filepath.Join(t.TempDir(), "all.npz"), filepath.Join(t.TempDir(), "zero.npz")
	for path, m := range map[string]*mat.Dense{all: rows, zero: mat.NewDense(1, 2, []float64{0, 1})} {
		if err := disk.WriteArrays(path, data.Array{Name: "test_logits", Value: m}); err != nil {
			t.Fatal(err)
		}
	}
	for _, method := range []string{"ts", "ir", "vector", "histogram", "venn-abers"} {
		model := c.fit(t, "meaning/zero-beside-tiny.npz", method).ok(t)
		apply := func(in string) *mat.Dense {
			return c.run(t, "apply", "--model", model.out, "--accept-shift", "--in", in).probabilities(t)
		}
		p := apply(all)
		for i := range 3 {
			if !(p.At(i, 0) <= p.At(i+1, 0)) {
				t.Errorf("%s: P %v where p is %g, and %v where it is %g", method, p.At(i, 0), rows.At(i, 0), p.At(i+1, 0), rows.At(i+1, 0))
			}
		}
		if alone := apply(zero); alone.At(0, 0) != p.At(0, 0) {
			t.Errorf("%s: a 0 alone gets %v, beside others %v", method, alone.At(0, 0), p.At(0, 0))
		}
	}
}

// TestOneRowOfLogitsInUnitInterval is answered as the rows of the model were; five rows that all sum to 1 are not.
func TestOneRowOfLogitsInUnitInterval(t *testing.T) {
	dir, runs := t.TempDir(), &casesOf{t.TempDir(), map[string]*ran{}}
	model := runs.run(t, "fit", "--in", write(t, features(600)), "--method", "ts").ok(t)
	for name, c := range map[string]struct {
		m       *mat.Dense
		refused bool
	}{
		"sum to 1": {mat.NewDense(1, 3, []float64{.1, .2, .7}), false},
		"no sum":   {mat.NewDense(1, 3, []float64{.1, .9, .3}), false},
		"five":     {mat.NewDense(5, 3, []float64{.1, .2, .7, .1, .2, .7, .1, .2, .7, .1, .2, .7, .7, .2, .1}), true},
	} {
		in := filepath.Join(dir, name+".npz")
		if err := disk.WriteArrays(in, data.Array{Name: "test_logits", Value: c.m}); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{"p.npz", "p.parquet"} { // streamed, and all rows at once
			code, _, stderr := calibra(t, "apply", "--model", model.out, "--in", in, "--accept-shift", "--out", filepath.Join(dir, name+out))
			if (code == exitUsage) != c.refused || code != 0 && code != exitUsage {
				t.Errorf("%s, %s: exits %d: %s", name, out, code, stderr)
			}
		}
	}
}
