package cli

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// TestSetsOfApply follows the sets from apply to evaluate, whose scores are the val rows'.
func TestSetsOfApply(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	dir := t.TempDir()
	in, bare := filepath.Join(dir, "f.npz"), filepath.Join(dir, "bare.npz")
	draw := func(part string, n int) []data.Array {
		z, l, y := mat.NewDense(n, 4, nil), mat.NewDense(n, 3, nil), make([]int, n)
		for i := range n {
			for j := range 4 {
				z.Set(i, j, rng.NormFloat64())
			}
			best := math.Inf(-1)
			for c := range 3 {
				l.Set(i, c, 2*z.At(i, c))
				// Gumbel noise: labels are drawn from softmax(logits)
				if v := l.At(i, c) - math.Log(-math.Log(rng.Float64())); v > best {
					best, y[i] = v, c
				}
			}
		}
		return []data.Array{{Name: part + "_features", Value: z}, {Name: part + "_logits", Value: l}, {Name: part + "_labels", Value: y}}
	}
	cal, val, test := draw("cal", 300), draw("val", 1200), draw("test", 1500)
	for path, arrays := range map[string][][]data.Array{in: {cal, val, test}, bare: {cal, test}} {
		var all []data.Array
		for _, part := range arrays {
			all = append(all, part...)
		}
		if err := disk.WriteNPZ(path, all...); err != nil {
			t.Fatal(err)
		}
	}
	model, out := filepath.Join(dir, "m"), filepath.Join(dir, "out.npz")
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "ts", "--out", model},
		{"apply", "--model", model, "--in", in, "--sets", "0.8", "--out", out},
	} {
		if code, _, said := calibra(t, args...); code != 0 || strings.Contains(said, "prediction sets") {
			t.Fatalf("%v: exit code %d, %s", args, code, said)
		}
	}
	code, text, said := calibra(t, "evaluate", "--in", out, "--redraws", "0", "--replicates", "0", "--folds", "0", "--json")
	if code != 0 {
		t.Fatal(said)
	}
	var r struct {
		Sets struct {
			All     struct{ Coverage, Marginal_coverage, Mean_size float64 }
			Regions []struct {
				Rows     int
				Coverage float64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	// sd of the coverage: √(.16/600 + .16/1500) = .02 by the scores of one half and the test rows
	if a := r.Sets.All; math.Abs(a.Coverage-.8) > .08 || math.Abs(a.Marginal_coverage-.8) > .08 || a.Mean_size < 1 || len(r.Sets.Regions) < 2 {
		t.Errorf("coverage %+v in %d regions", a, len(r.Sets.Regions))
	}
	if code, text, _ = calibra(t, "evaluate", "--in", out, "--redraws", "0", "--replicates", "0", "--folds", "0"); code != 0 || !strings.Contains(text, "least covered region") {
		t.Errorf("evaluate prints no coverage: %s", text)
	}
	// without val rows the scores are those of rows that the model saw, and apply says so
	if code, _, said = calibra(t, "apply", "--model", model, "--in", bare, "--sets", "0.8", "--out", out); code != 0 || !strings.Contains(said, "come from the cal rows") {
		t.Errorf("exit code %d, %q", code, said)
	}
	if code, _, said = calibra(t, "apply", "--model", model, "--in", in, "--sets", "1.2", "--out", filepath.Join(dir, "no.npz")); code != exitUsage || !strings.Contains(said, "level 1.2") {
		t.Errorf("exit code %d, %q", code, said)
	}
}
