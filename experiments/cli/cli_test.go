package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// calibra runs the command in this process and returns what it printed.
func calibra(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	stderr = captured(t, &os.Stderr, func() {
		stdout = captured(t, &os.Stdout, func() { code = execute(args) })
	})
	return code, stdout, stderr
}

// testTerminal is that of a command which is not run from a command line.
func testTerminal() *terminal { return &terminal{out: os.Stdout, err: os.Stderr} }

// captured returns what is written to f while print runs.
func captured(t *testing.T, f **os.File, print func()) string {
	t.Helper()
	old := *f
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	*f = w
	text := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		text <- string(b)
	}()
	print()
	*f = old
	w.Close()
	return <-text
}

// features is a small features file as arrays, for tests to spoil.
func features(n int) []data.Array {
	rng := rand.New(rand.NewPCG(1, 2))
	var arrays []data.Array
	for _, part := range []string{"cal", "test"} {
		x, logits, labels := mat.NewDense(n, 8, nil), mat.NewDense(n, 3, nil), make([]int, n)
		for i := range n {
			labels[i] = rng.IntN(3)
			for j := range 8 {
				x.Set(i, j, rng.NormFloat64())
			}
			x.Set(i, labels[i], x.At(i, labels[i])+2)
			for j := range 3 {
				logits.Set(i, j, 4*x.At(i, j))
			}
		}
		arrays = append(arrays, data.Array{Name: part + "_features", Value: x}, data.Array{Name: part + "_logits", Value: logits}, data.Array{Name: part + "_labels", Value: labels})
	}
	return arrays
}

func write(t *testing.T, arrays []data.Array) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "features.npz")
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
	return path
}

var small = []string{"--set", "codebook.slots=4", "--set", "codebook.codewords=8"}

func TestFitThenApply(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...)
	if code != 0 || !strings.Contains(stdout, "NLL") {
		t.Fatalf("fit exits %d: %s%s", code, stdout, stderr)
	}
	for _, name := range []string{"config.json", "metrics.json", "model.safetensors", "predictions.npz"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	applied := filepath.Join(t.TempDir(), "applied.npz")
	if code, _, stderr := calibra(t, "apply", "--model", out, "--in", in, "--out", applied); code != 0 {
		t.Fatalf("apply exits %d: %s", code, stderr)
	}
	fitted, err := data.ReadMatrix(filepath.Join(out, "predictions.npz"), "probs")
	if err != nil {
		t.Fatal(err)
	}
	again, err := data.ReadMatrix(applied, "probs")
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(fitted, again) {
		t.Error("apply predicts something else than fit did")
	}
	if fitted, err = data.ReadMatrix(filepath.Join(out, "predictions.npz"), "embedding"); err != nil {
		t.Fatal(err)
	}
	if again, err = data.ReadMatrix(applied, "embedding"); err != nil || !mat.Equal(fitted, again) {
		t.Errorf("apply embeds the rows in another way than fit did (%v)", err)
	}
}

// TestSameSeedSameBytes fits learned methods three times, on one core and twice on two.
func TestSameSeedSameBytes(t *testing.T) {
	in := write(t, features(300))
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, method := range []string{"vq", "vq-dc", "pool", "ts"} {
		var first []byte
		for _, cores := range []int{1, 2, 2} {
			runtime.GOMAXPROCS(cores)
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"fit", "--in", in, "--method", method, "--seed", "7", "--out", out}
			if strings.HasPrefix(method, "vq") {
				args = append(args, small...)
			}
			if code, _, stderr := calibra(t, args...); code != 0 {
				t.Fatal(stderr)
			}
			got, err := os.ReadFile(filepath.Join(out, "metrics.json"))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = got
			}
			if !bytes.Equal(got, first) {
				t.Errorf("%s: metrics.json on %d cores differs:\n%s\n%s", method, cores, got, first)
			}
		}
	}
}

// TestBadInput expects one sentence, exit code 2, and nothing written.
func TestBadInput(t *testing.T) {
	spoil := func(name string, by func(*data.Array)) []data.Array {
		arrays := features(60)
		by(&arrays[slices.IndexFunc(arrays, func(a data.Array) bool { return a.Name == name })])
		return arrays
	}
	without := func(name string) []data.Array {
		return slices.DeleteFunc(features(60), func(a data.Array) bool { return a.Name == name })
	}
	validated := func(without string) []data.Array {
		arrays := features(60)
		for _, a := range arrays[:3] {
			if a.Name = strings.Replace(a.Name, "cal", "val", 1); a.Name != without {
				arrays = append(arrays, a)
			}
		}
		return arrays
	}
	set := func(v float64) func(*data.Array) {
		return func(a *data.Array) { a.Value.(*mat.Dense).Set(5, 2, v) }
	}
	nan := 0.0
	nan /= nan
	cut := func() string {
		path := write(t, features(60))
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, whole[:len(whole)/2], 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write(t, features(60))
	file := filepath.Join(t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		in   string
		args []string
		want []string
	}{
		"missing key":     {write(t, without("cal_features")), nil, []string{"cal_features"}},
		"missing labels":  {write(t, without("cal_labels")), nil, []string{"cal_labels"}},
		"test features":   {write(t, without("test_features")), nil, []string{"test_features"}},
		"test logits":     {write(t, without("test_logits")), []string{"--method", "ts"}, []string{"test_logits"}},
		"val features":    {write(t, validated("val_features")), nil, []string{"val_features"}},
		"val labels":      {write(t, validated("val_labels")), []string{"--method", "ln"}, []string{"val_labels"}},
		"wrong rank":      {write(t, spoil("cal_features", func(a *data.Array) { a.Value = make([]float64, 60) })), nil, []string{"cal_features"}},
		"other row count": {write(t, spoil("cal_labels", func(a *data.Array) { a.Value = make([]int, 59) })), nil, []string{"59", "60"}},
		"NaN":             {write(t, spoil("cal_features", set(nan))), nil, []string{"cal_features", "row 5", "column 2"}},
		"label too large": {write(t, spoil("cal_labels", func(a *data.Array) { a.Value.([]int)[4] = 3 })), nil, []string{"row 4", "3"}},
		"slots":           {good, []string{"--set", "codebook.slots=5"}, []string{"5 slots", "8 features"}},
		"no slots":        {good, []string{"--set", "codebook.slots=0"}, []string{"codebook.slots is"}},
		"no codewords":    {good, []string{"--set", "codebook.codewords=0"}, []string{"codebook.codewords is"}},
		"too few rows":    {good, []string{"--set", "codebook.codewords=61"}, []string{"fewer", "61"}},
		"truncated":       {cut(), nil, []string{"features.npz"}},
		"no such file":    {filepath.Join(t.TempDir(), "none.npz"), nil, []string{"none.npz"}},
		"unknown method":  {good, []string{"--method", "magic"}, []string{"magic", "vq"}},
		"unknown split":   {good, []string{"--split", "magic"}, []string{"magic", "paper"}},
		"unwritable out":  {good, []string{"--out", filepath.Join(file, "run")}, []string{"cannot be made"}},
		"empty out":       {good, []string{"--out", ""}, []string{"--out", "empty"}},
		"unknown ema":     {good, []string{"--set", "codebook.start=cold"}, []string{"codebook.start", "warm"}},
		"unknown flag":    {good, []string{"--speed", "9"}, []string{"--speed"}},
	} {
		out := filepath.Join(t.TempDir(), "run")
		args := c.args
		if args == nil {
			args = small
		}
		code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", c.in, "--out", out}, args...)...)
		if code != exitUsage {
			t.Errorf("%s: exit code %d, not %d: %s", name, code, exitUsage, stderr)
		}
		if strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%s: more than one line: %s", name, stderr)
		}
		for _, want := range c.want {
			if !strings.Contains(stderr, want) {
				t.Errorf("%s: %q does not say %q", name, stderr, want)
			}
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s was left behind", name, out)
		}
	}
}

func TestClassWithoutRowsWarnsAndWorks(t *testing.T) {
	arrays := features(300)
	labels := arrays[2].Value.([]int)
	for i, y := range labels {
		if y == 1 {
			labels[i] = 0
		}
	}
	in, out := write(t, arrays), filepath.Join(t.TempDir(), "run")
	code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...)
	if code != 0 || !strings.Contains(stderr, "warning") || !strings.Contains(stderr, "[1]") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

func TestWarningOfManyClassesIsShort(t *testing.T) {
	src := &data.Source{Classes: 1000, Cal: &data.Set{Labels: []int{3}}}
	stderr := captured(t, &os.Stderr, func() { warnRareClasses(testTerminal(), src) })
	for _, want := range []string{"of class [0 1 2 4 5 6 7 8 9 10] and 989 more of 1000 classes;", "at most 3 calibration rows each are of class [3];"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("%q does not say %q", stderr, want)
		}
	}
}

// Bins of 20 rows at most are skipped, so that a few test rows have no local metric:
// they are left out of metrics.json, and the table has a dash.
func TestFewTestRows(t *testing.T) {
	arrays := features(300)
	for i, a := range features(5)[3:] {
		arrays[3+i] = a
	}
	in, out := write(t, arrays), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...)
	if code != 0 || strings.Contains(stdout, "NaN") {
		t.Fatalf("fit exits %d: %s%s", code, stdout, stderr)
	}
	text, err := os.ReadFile(filepath.Join(out, "metrics.json"))
	if err != nil || strings.Contains(string(text), "lce") || !strings.Contains(string(text), "nll") {
		t.Errorf("%v: %s", err, text)
	}
}

// A directory holds one model: an interrupted fit leaves a finished one as it is, and
// a fit without test rows takes away what the model before it predicted.
func TestFitOverAnEarlierFit(t *testing.T) {
	arrays := features(300)
	in, out := write(t, arrays), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	model := filepath.Join(out, "model.safetensors")
	before, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	settings := settingFlags{Set: []string{"codebook.slots=4", "codebook.codewords=8"}}
	c := fitCmd{In: in, Method: "vq", settingFlags: settings, Split: data.PaperText, Seed: 1, Out: out}
	if err := c.Run(ctx, testTerminal(), nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "before is kept") {
		t.Errorf("interrupted: %v", err)
	}
	if after, err := os.ReadFile(model); err != nil || !bytes.Equal(before, after) {
		t.Errorf("an interrupted fit replaced the model (%v)", err)
	}
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", write(t, arrays[:3]), "--out", out}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	for _, name := range []string{"metrics.json", "predictions.npz"} {
		if _, err := os.Stat(filepath.Join(out, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s of the earlier model is left (%v)", name, err)
		}
	}
}

func TestDamagedModel(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	model := filepath.Join(out, "model.safetensors")
	whole, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	for name, damage := range map[string][]byte{
		"truncated":      whole[:len(whole)-5],
		"another shape":  bytes.Replace(whole, []byte(`\"codewords\":8`), []byte(`\"codewords\":7`), 1),
		"another method": bytes.Replace(whole, []byte(`"method":"vq"`), []byte(`"method":"nc"`), 1),
		"later version":  bytes.Replace(whole, []byte(`"version":"2"`), []byte(`"version":"9"`), 1),
	} {
		if bytes.Equal(damage, whole) {
			t.Fatalf("%s: the file was not damaged", name)
		}
		if err := os.WriteFile(model, damage, 0o666); err != nil {
			t.Fatal(err)
		}
		applied := filepath.Join(t.TempDir(), "applied.npz")
		code, _, stderr := calibra(t, "apply", "--model", out, "--in", in, "--out", applied)
		if code != exitUsage || !strings.Contains(stderr, "model.safetensors") {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		if _, err := os.Stat(applied); err == nil {
			t.Errorf("%s: predictions were written", name)
		}
	}
}

// A model that reads no logits does not notice that the rows are of other classes.
func TestApplyToOtherClasses(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out}, small...)...); code != 0 {
		t.Fatal(stderr)
	}
	x := features(30)[3]
	for want, other := range map[string]data.Array{
		"4 columns": {Name: "test_logits", Value: mat.NewDense(30, 4, nil)},
		"at row 29": {Name: "test_labels", Value: append(make([]int, 29), 3)},
	} {
		applied := filepath.Join(t.TempDir(), "applied.npz")
		code, _, stderr := calibra(t, "apply", "--model", out, "--in", write(t, []data.Array{x, other}), "--out", applied)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("exit code %d: %q does not say %q", code, stderr, want)
		}
		if _, err := os.Stat(applied); err == nil {
			t.Errorf("%s: predictions were written", want)
		}
	}
}

// TestApplyOverItsInput: the features are not lost to the predictions.
func TestApplyOverItsInput(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", out); code != 0 {
		t.Fatal(stderr)
	}
	before, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "apply", "--model", out, "--in", in, "--out", in); code != exitUsage || !strings.Contains(stderr, "is the file that is read") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
	if after, err := os.ReadFile(in); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the features were replaced (%v)", err)
	}
}

// TestQuickstartInterrupted: nothing is left, and nothing is said to be.
func TestQuickstartInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	c := quickstartCmd{Out: filepath.Join(dir, "runs", "quickstart")}
	if err := c.Run(ctx, testTerminal()); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("got %v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind %v, %v", left, err)
	}
}
