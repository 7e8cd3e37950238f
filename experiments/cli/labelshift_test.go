package cli

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// drawn are n rows of three classes, as frequent as priors say, that lie around three corners; the scores know the
// priors alike. Their weights are 1, 2 and 3 by turns.
func drawn(part string, n int, priors []float64, noise float64, rng *rand.Rand) []data.Array {
	x, l, y, w := mat.NewDense(n, 3, nil), mat.NewDense(n, 3, nil), make([]int, n), make([]float64, n)
	for i := range n {
		u := rng.Float64()
		for y[i] = 0; y[i] < 2 && u > priors[y[i]]; y[i]++ {
			u -= priors[y[i]]
		}
		w[i] = float64(1 + i%3)
		for j := range 3 {
			x.Set(i, j, math.Hypot(1, noise)*rng.NormFloat64())
		}
		x.Set(i, y[i], x.At(i, y[i])+1.5)
		for j := range 3 {
			l.Set(i, j, 2.5*x.At(i, j))
		}
	}
	return []data.Array{{Name: part + "_features", Value: x}, {Name: part + "_logits", Value: l}, {Name: part + "_labels", Value: y}, {Name: part + "_weights", Value: w}}
}

// shifted writes a fit of vector scaling to 2,000 rows of equal classes, and new rows of other priors.
func shifted(t *testing.T, noise float64) (dir string) {
	t.Helper()
	dir, rng := t.TempDir(), rand.New(rand.NewPCG(3, 5))
	even, new := []float64{1. / 3, 1. / 3, 1. / 3}, []float64{.7, .25, .05}
	for name, arrays := range map[string][]data.Array{"cal.npz": drawn("cal", 2000, even, 0, rng), "again.npz": drawn("test", 2000, even, 0, rand.New(rand.NewPCG(3, 5))), "new.npz": drawn("test", 1500, new, noise, rand.New(rand.NewPCG(3, 6)))} {
		if err := disk.WriteNPZ(filepath.Join(dir, name), arrays...); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "priors.csv"), []byte("prior,class\n0.05,2\n0.7,0\n0.25,1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "fit", "--in", filepath.Join(dir, "cal.npz"), "--method", "vector", "--out", filepath.Join(dir, "m")); code != 0 {
		t.Fatal(stderr)
	}
	return dir
}

// answered are the model's probabilities of the new rows with further flags.
func answered(t *testing.T, dir, out string, flags ...string) (stdout, stderr string) {
	t.Helper()
	return answeredOf(t, dir, "new.npz", out, flags...)
}

// answeredOf is answered of the rows of another file.
func answeredOf(t *testing.T, dir, in, out string, flags ...string) (stdout, stderr string) {
	t.Helper()
	args := append([]string{"apply", "--model", filepath.Join(dir, "m"), "--in", filepath.Join(dir, in), "--out", filepath.Join(dir, out)}, flags...)
	code, stdout, stderr := calibra(t, args...)
	if code != 0 {
		t.Fatalf("%v: %s", flags, stderr)
	}
	return stdout, stderr
}

// TestNewPriors: estimated priors and the probabilities of both forms are those of numpy, and lower the NLL; the shift
// is in the labels, so that nothing is said of drift. The priors agree within what a gap of 1e-10 nats leaves
// (optim.Mixture).
func TestNewPriors(t *testing.T) {
	dir := shifted(t, 0)
	answered(t, dir, "plain.npz")
	stdout, stderr := answered(t, dir, "estimated.npz", "--new-priors", "estimate")
	if strings.Contains(stderr, "warning") || !strings.Contains(stdout, "new priors, with 95 % intervals: ") || !strings.Contains(stdout, "by their labels: −") {
		t.Errorf("it says %s%s", stdout, stderr)
	}
	priors := filepath.Join(dir, "priors.csv")
	if _, stderr = answered(t, dir, "given.npz", "--new-priors", priors); strings.Contains(stderr, "warning") {
		t.Error(stderr)
	}
	loss := func(name string) float64 {
		p, err := data.ReadPredictions(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return (&data.Set{Labels: p.Labels, Weights: p.Weights}).MeanNLL(p.LogProbs, -30)
	}
	if plain, found, given := loss("plain.npz"), loss("estimated.npz"), loss("given.npz"); found > plain-.05 || math.Abs(found-given) > .01 {
		t.Errorf("NLL %v, with estimated priors %v, with those drawn by %v", plain, found, given)
	}
	plain, _ := answeredOf(t, dir, "again.npz", "cal-plain.npz")
	if stdout, _ = answeredOf(t, dir, "again.npz", "cal-estimated.npz", "--new-priors", "estimate"); plain == "" || !strings.Contains(stdout, ": the priors stay\n") {
		t.Errorf("of the calibration rows it says %s", stdout)
	}
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("the other implementation is Python's: set CALIBRA_PYTHON to one with numpy")
	}
	args := []string{"-B", filepath.Join("testdata", "labelshift.py")}
	for _, name := range []string{"cal-plain.npz", "plain.npz", "estimated.npz", "given.npz", "priors.csv"} {
		args = append(args, filepath.Join(dir, name))
	}
	out, err := exec.Command(python, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var apart struct{ Priors, Estimated, Given float64 }
	if err := json.Unmarshal(out, &apart); err != nil {
		t.Fatal(err)
	}
	isNear(t, "furthest estimated prior", apart.Priors, 0, 1e-6)
	isNear(t, "furthest probability by estimated priors", apart.Estimated, 0, 1e-6)
	isNear(t, "furthest probability by given priors", apart.Given, 0, 1e-6) // weights are kept in float32
}

// TestShiftElsewhereIsTold, and so are priors that do not explain the rows, and a file that has none.
func TestShiftElsewhereIsTold(t *testing.T) {
	dir := shifted(t, 1)
	priors := filepath.Join(dir, "priors.csv")
	for flag, want := range map[string]string{"estimate": "not, or not only, in the labels", priors: "do not explain the rows"} {
		if _, stderr := answered(t, dir, "p.npz", "--new-priors", flag, "--accept-shift"); !strings.Contains(stderr, want) {
			t.Errorf("%s: it says %q", flag, stderr)
		}
	}
	for text, want := range map[string]string{
		"class,prior\n0,.5\n1,.5\n":         "no row for the class 2",
		"class,prior\n0,.5\n1,.5\n2,.5\n":   "sum to 1.5",
		"class,prior\n0,.5\n1,.5\n1,0\n":    "class \"1\" again",
		"class,prior\n0,.5\n1,.5\n3,0\n":    "none of the 3 classes",
		"class,share\n0,.5\n1,.5\n2,0\n":    "no column prior",
		"class,prior\n0,often\n1,.5\n2,0\n": "must be a number in 0…1",
	} {
		if err := os.WriteFile(priors, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		code, _, stderr := calibra(t, "apply", "--model", filepath.Join(dir, "m"), "--in", filepath.Join(dir, "new.npz"), "--out", filepath.Join(dir, "q.npz"), "--new-priors", priors)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, want) {
			t.Errorf("%q: exit code %d, %s", text, code, stderr)
		}
	}
}
