package export

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/graph/onnx"
	"calibra/graph/work/worktest"
	"calibra/layers"
	"calibra/layers/anchored"

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

// problem is rows of four Gaussian classes in 16 dimensions with the logits of a classifier that is twice too sure, all
// of them numbers of float32. Where the first feature is above 1, the next class's label stands: what trees of the
// features find. The first ten rows are there twice, the second time as the next class, so that leaves are of two.
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
			data.Dense(s.Features).Set(i, j, float64(float32(x)))
			s.Logits.Set(i, j%4, float64(float32(s.Logits.At(i, j%4)+x)))
		}
		if s.Features.At(i, 0) > 1 {
			s.Labels[i] = (s.Labels[i] + 1) % 4
		}
		if i >= 10 && i < 20 {
			data.Dense(s.Features).SetRow(i, data.Dense(s.Features).RawRowView(i-10))
			s.Logits.SetRow(i, s.Logits.RawRowView(i-10))
			s.Labels[i] = (s.Labels[i-10] + 1) % 4
		}
	}
	return s
}

var in = flag.String("in", "", "features file to fit every method to, by its defaults, and to write TABLE.md of")

// fits gives a fitted method and test rows for it: those of problem, or of the file -in.
func fits(t *testing.T) (fit func(method.Method) layers.Stateful, test *data.Set) {
	if *in == "" {
		return func(m method.Method) layers.Stateful { return fitted(t, m) }, problem(700, 4)
	}
	src, err := data.Open(*in)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []*mat.Dense{data.Dense(src.Test.Features), src.Test.Logits} { // as a network reads them
		x.Apply(func(_, _ int, v float64) float64 { return float64(float32(v)) }, x)
	}
	return func(m method.Method) layers.Stateful {
		start := time.Now()
		run, err := run.Spec{Method: m.Name, Split: data.PaperText, Seed: 42}.Fit(t.Context(), &data.Source{Path: src.Path, Classes: src.Classes, Cal: src.Cal, Val: src.Val}, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %.0f s", m.Name, time.Since(start).Seconds())
		return run.Model
	}, src.Test
}

// onCodes are the quantized head and the paper's calibrator on every kind of codes, hard and soft, and a correction on
// soft ones.
func onCodes(t *testing.T) (all []method.Method) {
	t.Helper()
	kinds := []method.Values{{"codebook.kind": "random"}, {"codebook.kind": "kmeans"}, {"codebook.kind": "ema", "codebook.softness": "1", "codebook.nearest": "3"}}
	kinds = append(kinds, method.Values{"codebook.distance": "l1"})
	bilinear := append(kinds, method.Values{"bilinear.prior": "codewords", "head.floor": "0.1"})
	joint := []method.Values{{"codebook.kind": "kmeans", "joint.slots": "4", "joint.codewords": "12"}}
	for name, sets := range map[string][]method.Values{"vq-nc": kinds, "vq": bilinear, "corrected": joint} {
		m, err := method.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			on, plain := m, m.New
			on.Name += "-" + strings.ReplaceAll(strings.ReplaceAll(set.String(), " ", "-"), "=", "-")
			on.New = func(o *method.Options) layers.Stateful {
				o.Values = o.Values.With(set)
				return plain(o)
			}
			all = append(all, on)
		}
	}
	return all
}

// ensembles are one of maps on codes and one of trees.
func ensembles(t *testing.T) (all []method.Method) {
	t.Helper()
	for _, name := range []string{"vq", "forest"} {
		m, err := method.Find(name)
		if err != nil {
			t.Fatal(err)
		}
		on := m
		on.Name += "-ensemble"
		on.New = func(o *method.Options) layers.Stateful {
			return &layers.Ensemble{Members: []layers.Stateful{m.New(o), m.New(o)}}
		}
		all = append(all, on)
	}
	return all
}

// fitted is each method fitted to a problem.
func fitted(t *testing.T, m method.Method) layers.Stateful {
	t.Helper()
	o := method.Options{Epochs: map[string]int{"divide": 3, "calibrate": 3, "train": 3}}
	if m.Divides() {
		o.Values = method.Values{"codebook.slots": "4", "codebook.codewords": "12"}
	}
	c, _, err := m.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Fit(t.Context(), problem(200, 1), problem(50, 2), rand.New(rand.NewPCG(3, 0))); err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	return c
}

// refused are the methods that predict a row with the help of other rows.
var refused = map[string]bool{"kc": true, "kc-original": true, "pc": true}

// networkCheck is a line of testdata/check.py.
type networkCheck struct {
	Method            string
	Apart, Alone, Sum float64
	Rows, Bytes       int
	Codes             int // that are not those of calibra apply
	Finite, NaN       int // probabilities of rows that apply refuses that are finite, and of other rows that are NaN
	RowsPerSecond     int `json:"rows_per_second"`
	Load              float64
	Versions          string

	apply int // rows a second of calibra apply
}

// codesOf adds to a file's arrays the codes that c gives to rows, if it has a base that divides.
func codesOf(t *testing.T, c layers.Stateful, rows *data.Set) []data.Array {
	t.Helper()
	var base layers.Base
	switch c := c.(type) {
	case *layers.Trained:
		base = c.Base
	case *anchored.Joint:
		base = c.Base
	default:
		return nil
	}
	v, err := base.View(rows)
	if err != nil {
		t.Fatal(err)
	}
	if v.Codes == nil {
		return nil
	}
	codes := make([]float64, len(v.Codes))
	for at, k := range v.Codes {
		codes[at] = float64(k)
	}
	return []data.Array{{Name: "codes", Value: mat.NewDense(rows.Len(), len(codes)/rows.Len(), codes)}}
}

// applied is what c predicts, and how many rows in a second of one processor.
func applied(t *testing.T, c layers.Stateful, rows *data.Set) (probs *mat.Dense, perSecond int) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	turns := 1
	if *in != "" { // the table tells the best
		turns = 3
	}
	for range turns {
		start := worktest.Processor()
		p, err := c.Predict(rows)
		if err != nil {
			t.Fatal(err)
		}
		perSecond = max(perSecond, int(float64(rows.Len())/(worktest.Processor()-start).Seconds()))
		probs = new(mat.Dense)
		probs.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, p.LogProbs)
	}
	return probs, perSecond
}

// TestExportedNetworksSayWhatApplySays runs every method's network in ONNX Runtime. Of a row
// that apply refuses it says NaN.
func TestExportedNetworksSayWhatApplySays(t *testing.T) {
	path, dir := python(t), t.TempDir()
	fit, test := fits(t)
	written, apply := 0, map[string]int{}
	methods := slices.Clone(method.All)
	if *in == "" {
		methods = slices.Concat(methods, onCodes(t), ensembles(t))
	}
	for _, m := range methods {
		if refused[m.Name] {
			continue
		}
		c := fit(m)
		probs, perSecond := applied(t, c, test)
		apply[m.Name] = perSecond
		for name, numbers := range map[string]onnx.Element{m.Name: onnx.Single, m.Name + "-float64": onnx.Double} {
			if numbers == onnx.Double && *in != "" {
				continue
			}
			var file bytes.Buffer
			if err := Write(&file, numbers, m.Name, c); err != nil {
				t.Errorf("%s: %v", m.Name, err)
				continue
			}
			if err := os.WriteFile(filepath.Join(dir, name+".onnx"), file.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			err := disk.WriteNPZ(filepath.Join(dir, name+".npz"), append(codesOf(t, c, test),
				data.Array{Name: "features", Value: test.Features}, data.Array{Name: "logits", Value: test.Logits}, data.Array{Name: "probs", Value: probs})...)
			if err != nil {
				t.Fatal(err)
			}
			written++
		}
	}
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
	var checks []networkCheck
	for _, line := range lines {
		var r networkCheck
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		r.apply = apply[r.Method]
		t.Logf("%-20s apart %.1e, %d codes, %d bytes", r.Method, r.Apart, r.Codes, r.Bytes)
		// Networks compute in float64 and print float32, whose last place is 6e-8.
		// On rows of one's own the table says how many lie between two codewords.
		if *in == "" && (!(r.Apart <= 1e-6) || r.Codes > 0) || !(r.Alone <= 1e-6) || !(r.Sum <= 1e-6) || r.Finite > 0 || r.NaN > 0 {
			t.Errorf("%s: %s", r.Method, line)
		}
		checks = append(checks, r)
	}
	if *in != "" {
		writeTable(t, checks, test)
	}
}

// writeTable writes TABLE.md.
func writeTable(t *testing.T, checks []networkCheck, test *data.Set) {
	t.Helper()
	var out strings.Builder
	_, m := test.Features.Dims()
	fmt.Fprintf(&out, "Every method fitted to %s (seed 42, split paper, defaults), exported, and run in ONNX Runtime on %d test rows of\n"+
		"%d features and %d classes: how far probabilities are from those of `calibra apply` at most, in how many rows by more\n"+
		"than 1e-6, how many codes are others, and how large the file is. Then rows in a second of processor time, of the\n"+
		"network in batches of 512 and of `calibra apply`, on one thread each, the best of three turns; the load of the\n"+
		"machine's %d processors was %.1f before. %s; `go doc ./experiments/export`\n"+
		"has the command, and says what bounds the first three columns.\n\n"+
		"| method | max \\|Δp\\| | rows | codes | kB | rows/s | apply |\n|---|--:|--:|--:|--:|--:|--:|\n",
		filepath.Base(*in), test.Len(), m, test.Classes(), runtime.NumCPU(), checks[0].Load, checks[0].Versions)
	by := map[string]networkCheck{}
	for _, c := range checks {
		by[c.Method] = c
	}
	for _, m := range method.All {
		if c, ok := by[m.Name]; ok {
			fmt.Fprintf(&out, "| %s | %.1e | %d | %d | %.0f | %d | %d |\n", m.Name, c.Apart, c.Rows, c.Codes, float64(c.Bytes)/1e3, c.RowsPerSecond, c.apply)
		} else {
			fmt.Fprintf(&out, "| %s | refused: it predicts a row with the help of other rows | | | | | |\n", m.Name)
		}
	}
	if err := disk.WriteFile("TABLE.md", func(w io.Writer) error { _, err := io.WriteString(w, out.String()); return err }); err != nil {
		t.Fatal(err)
	}
}

// TestOthersAreRefused in one sentence that the command gives exit code 2.
func TestOthersAreRefused(t *testing.T) {
	for _, m := range method.All {
		if !refused[m.Name] {
			continue
		}
		err := Write(&bytes.Buffer{}, onnx.Single, m.Name, fitted(t, m))
		var input *data.InputError
		if !errors.As(err, &input) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", m.Name, err)
		}
	}
	vq, err := method.Find("vq")
	if err != nil {
		t.Fatal(err)
	}
	plain := vq.New
	vq.New = func(o *method.Options) layers.Stateful {
		o.Values = o.Values.With(method.Values{"codebook.kind": "indices"})
		return plain(o)
	}
	err = Write(&bytes.Buffer{}, onnx.Single, "vq", fitted(t, vq))
	if err == nil || !strings.Contains(err.Error(), "codebook.kind=indices") || strings.Contains(err.Error(), "hashOp") {
		t.Errorf("random indices: %v", err)
	}
}
