package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// python is a Python that has onnx and onnxruntime, from CALIBRA_PYTHON or the path.
func python(t *testing.T) string {
	t.Helper()
	path := os.Getenv("CALIBRA_PYTHON")
	if path == "" {
		path = "python3"
	}
	if out, err := exec.Command(path, "-c", "import onnx, onnxruntime, numpy").CombinedOutput(); err != nil {
		t.Skipf("exported networks are run in Python, and %s has no onnx and onnxruntime (pip install onnx onnxruntime, or set CALIBRA_PYTHON): %v %s", path, err, bytes.TrimSpace(out))
	}
	return path
}

// problem is rows of four Gaussian classes in 16 dimensions with the logits of a classifier
// that is twice too sure, all of them numbers of float32.
func problem(n int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 0))
	s := &data.Set{Features: mat.NewDense(n, 16, nil), Logits: mat.NewDense(n, 4, nil), Labels: make([]int, n)}
	for i := range n {
		s.Labels[i] = rng.IntN(4)
		for j := range 16 {
			x := rng.NormFloat64()
			if j%4 == s.Labels[i] {
				x++
			}
			s.Features.Set(i, j, float64(float32(x)))
			s.Logits.Set(i, j%4, float64(float32(s.Logits.At(i, j%4)+x)))
		}
	}
	return s
}

// fitted is each method fitted to a problem.
func fitted(t *testing.T, m experiments.Method) layers.Stateful {
	t.Helper()
	o := experiments.Options{Epochs: map[string]int{"divide": 3, "calibrate": 3, "train": 3}}
	if m.Divides {
		o.Values = experiments.Values{"codebook.slots": "4", "codebook.codewords": "12"}
	}
	if m.Name == "vq-tuned" {
		o.Values = experiments.Values{"tuned.slots": "4,8", "tuned.codewords": "12"}
	}
	c, _, err := m.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fit(t.Context(), problem(500, 1), problem(100, 2), rand.New(rand.NewPCG(3, 0))); err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	return c
}

// refused are the methods that read their calibration rows to predict, and two controls
// of the benchmark, which are not for use.
var refused = map[string]bool{"kc": true, "kc-original": true, "pc": true, "pc-bins": true, "new-head": true, "stacked-shuffled": true}

// TestExportedNetworksSayWhatApplySays runs every method's network in ONNX Runtime.
func TestExportedNetworksSayWhatApplySays(t *testing.T) {
	path, dir := python(t), t.TempDir()
	test := problem(700, 4)
	written := 0
	for _, m := range experiments.Methods {
		if refused[m.Name] {
			continue
		}
		c := fitted(t, m)
		var file bytes.Buffer
		if err := Write(&file, m.Name, c); err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		p, err := c.Predict(test)
		if err != nil {
			t.Fatal(err)
		}
		var probs mat.Dense
		probs.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, p.LogProbs)
		if err := os.WriteFile(filepath.Join(dir, m.Name+".onnx"), file.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		err = data.WriteNPZ(filepath.Join(dir, m.Name+".npz"),
			data.Array{Name: "features", Value: test.Features}, data.Array{Name: "logits", Value: test.Logits}, data.Array{Name: "probs", Value: &probs})
		if err != nil {
			t.Fatal(err)
		}
		written++
	}
	glue(t, dir, test)
	written++
	cmd := exec.Command(path, filepath.Join("testdata", "check.py"), dir)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != written {
		t.Errorf("%d networks were checked, %d written", len(lines), written)
	}
	for _, line := range lines {
		var r struct {
			Method            string
			Apart, Alone, Sum float64
			Bytes             int
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		t.Logf("%-20s apart %.1e, %d bytes", r.Method, r.Apart, r.Bytes)
		// Networks compute in float64 and print float32, whose last place is 6e-8. Maps on
		// codewords predict in float32 here, and the Dirichlet score multiplies their last
		// places by concentrations and log p̂ up to 18.
		within := 1e-6
		if strings.HasPrefix(r.Method, "vq") || strings.HasSuffix(r.Method, "bilinear") {
			within = 1e-5
		}
		if !(r.Apart <= within) || !(r.Alone <= 1e-6) || !(r.Sum <= 1e-6) {
			t.Errorf("%s: %s", r.Method, line)
		}
	}
}

// TestOthersAreRefused in one sentence that the command gives exit code 2.
func TestOthersAreRefused(t *testing.T) {
	for _, m := range experiments.Methods {
		if !refused[m.Name] {
			continue
		}
		err := Write(&bytes.Buffer{}, m.Name, fitted(t, m))
		var input *data.InputError
		if !errors.As(err, &input) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
}

// glue writes vq behind a backbone whose features and logits are those of the problem.
func glue(t *testing.T, dir string, test *data.Set) {
	t.Helper()
	raw := mat.NewDense(test.Len(), 20, nil)
	raw.Augment(test.Features, test.Logits)
	take := func(from, columns int) []float32 { // of the 20 raw numbers
		picks := make([]float32, 20*columns)
		for j := range columns {
			picks[(from+j)*columns+j] = 1
		}
		return picks
	}
	b := newNetwork(leastOperators)
	x := b.input("raw", 20)
	b.output("embedding", b.matMul(x, table(b, take(0, 16), 20, 16)), single, 16)
	b.output("logits", b.matMul(x, table(b, take(16, 4), 20, 4)), single, 4)
	file := message{}.number(1, 7).bytes(7, b.graph()).bytes(8, opset("", leastOperators))

	method, err := experiments.NewCatalog().Find("stacked")
	if err != nil {
		t.Fatal(err)
	}
	c := fitted(t, method)
	p, err := c.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	var probs mat.Dense
	probs.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, p.LogProbs)
	var out bytes.Buffer
	if err := Glue(&out, Backbone{File: file, Features: "embedding"}, "stacked", c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "glued.onnx"), out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
	err = data.WriteNPZ(filepath.Join(dir, "glued.npz"), data.Array{Name: "raw", Value: raw}, data.Array{Name: "probs", Value: &probs})
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]Backbone{
		"no network":        {File: []byte("abc")},
		"no such output":    {File: file, Features: "penultimate"},
		"features unnamed":  {File: file},
		"too old operators": {File: message{}.number(1, 7).bytes(7, b.graph()).bytes(8, opset("", 11)), Features: "embedding"},
	} {
		var input *data.InputError
		if err := Glue(&bytes.Buffer{}, b, "stacked", c); !errors.As(err, &input) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
