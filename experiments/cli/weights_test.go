package cli

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments"

	"gonum.org/v1/gonum/mat"
)

// copied are the arrays with row i as often as times(i), and with the weights that say so.
func copied(t *testing.T, arrays []data.Array, weights []string, times func(i int) int) (weighted, copies []data.Array) {
	t.Helper()
	n := 0
	for _, a := range arrays {
		var rows []int
		repeat := func(length int) {
			n = length
			for i := range n {
				for range times(i) {
					rows = append(rows, i)
				}
			}
		}
		switch v := a.Value.(type) {
		case *mat.Dense:
			repeat(v.RawMatrix().Rows)
			copies = append(copies, data.Array{Name: a.Name, Value: data.RowsOf(v, rows)})
		case []int:
			repeat(len(v))
			copies = append(copies, data.Array{Name: a.Name, Value: picked(v, rows)})
		}
	}
	weighted = arrays
	for _, name := range weights {
		w := make([]float64, n)
		for i := range w {
			w[i] = float64(times(i))
		}
		weighted = append(weighted, data.Array{Name: name, Value: w})
	}
	return weighted, copies
}

func times(i int) int { return (i + i/7) % 4 }

// TestAWeightIsThatManyCopies of the row, to the byte, in fits, metrics and diagnoses.
func TestAWeightIsThatManyCopies(t *testing.T) {
	weighted, copies := copied(t, features(200), []string{"cal_weights", "test_weights"}, times)
	in := [2]string{write(t, weighted), write(t, copies)}
	for _, method := range []string{"ts", "ir", "histogram", "vector", "spline", "vq"} {
		var files [2][3][]byte
		for k, path := range in {
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"fit", "--in", path, "--method", method, "--out", out}
			if method == "vq" {
				args = append(args, append(small, "--set", "optim.epochs=2")...)
			}
			if code, _, stderr := calibra(t, args...); code != 0 || strings.Contains(stderr, "nothing reads") {
				t.Fatalf("%s exits %d: %s", method, code, stderr)
			}
			for f, name := range []string{"model.safetensors", "metrics.json", "predictions.npz"} {
				var err error
				if files[k][f], err = os.ReadFile(filepath.Join(out, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for f := range files[0] {
			if !bytes.Equal(files[0][f], files[1][f]) {
				t.Errorf("%s: file %d of weighted rows is not that of copies", method, f)
			}
		}
	}
	plain, _ := copied(t, features(200), nil, times)
	var predicted []data.Array
	for _, a := range plain[3:] {
		name := map[string]string{"test_features": "embedding", "test_logits": "logits", "test_labels": "labels"}[a.Name]
		predicted = append(predicted, data.Array{Name: name, Value: a.Value})
	}
	weighted, copies = copied(t, predicted, []string{"weights"}, times)
	in = [2]string{write(t, weighted), write(t, copies)}
	for _, args := range [][]string{
		{"evaluate", "--json", "--replicates", "40", "--redraws", "20"},
		{"evaluate", "--json", "--replicates", "0", "--redraws", "0", "--features", "IN"},
		{"diagnose", "--json", "--redraws", "19", "--rows", "20", "--out", filepath.Join(t.TempDir(), "d")},
	} {
		var said [2]string
		for k, path := range in {
			words := append([]string{}, args...)
			for i := range words {
				words[i] = strings.Replace(words[i], "IN", write(t, predicted), 1)
			}
			if k == 1 && words[len(words)-2] == "--features" {
				words[len(words)-1] = path
			}
			var code int
			if code, said[k] = output(t, append(words, "--in", path)...); code != 0 {
				t.Fatalf("%v exits %d", words, code)
			}
			if at := len(words) - 2; words[at] == "--features" { // which the verdict's command names
				said[k] = strings.ReplaceAll(said[k], words[at+1], "IN")
			}
		}
		if said[0] != said[1] {
			t.Errorf("%v says of weighted rows\n%s\nand of copies\n%s", args, said[0], said[1])
		}
	}
}

// TestWeightsAndSoftLabelsThatAreRefused have a sentence, and leave nothing.
func TestWeightsAndSoftLabelsThatAreRefused(t *testing.T) {
	with := func(name string, value any) []data.Array {
		arrays := features(60)
		for i := range arrays {
			if arrays[i].Name == name {
				arrays[i].Value = value
				return arrays
			}
		}
		return append(arrays, data.Array{Name: name, Value: value})
	}
	weights := func(at int, v float64) []float64 {
		w := make([]float64, 60)
		for i := range w {
			w[i] = 1
		}
		w[at] = v
		return w
	}
	soft, hard := mat.NewDense(60, 3, nil), mat.NewDense(60, 3, nil)
	for i, y := range features(60)[2].Value.([]int) {
		soft.SetRow(i, []float64{.2, .3, .5})
		hard.Set(i, y, 1)
	}
	two, negative, wide := mat.DenseCopyOf(hard), mat.DenseCopyOf(soft), mat.NewDense(60, 4, nil)
	two.SetRow(4, []float64{1, 1, 0})
	negative.SetRow(4, []float64{1.5, -.5, 0})
	wide.Apply(func(int, int, float64) float64 { return .25 }, wide)
	for _, c := range []struct {
		arrays []data.Array
		want   string
	}{
		{with("cal_weights", weights(3, -1)), "cal_weights holds -1 at row 3; a weight is 0 or more"},
		{with("test_weights", make([]float64, 60)), "test_weights is zero for every row; some row must count"},
		{with("cal_weights", weights(3, 2)[:50]), "cal_weights has shape (50,) and there are 60 rows; it must have one weight for each"},
		{with("cal_labels", two), "row 4 of cal_labels sums to 2; hand over one class for each row, or the probabilities of all classes, which sum to 1"},
		{with("cal_labels", negative), "row 4 of cal_labels sums to 1 and has a negative number in column 1"},
		{with("cal_labels", wide), "cal_labels has 4 columns and there are 3 classes; it must have one for each"},
	} {
		out := filepath.Join(t.TempDir(), "run")
		if code, _, stderr := calibra(t, "fit", "--in", write(t, c.arrays), "--method", "ts", "--out", out); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("fit exits %d: %s\nwant %s", code, stderr, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s left %s", c.want, out)
		}
	}
	var models [2][]byte
	for k, arrays := range [][]data.Array{features(60), with("cal_labels", hard)} {
		out := filepath.Join(t.TempDir(), "run")
		if code, _, stderr := calibra(t, "fit", "--in", write(t, arrays), "--method", "ts", "--out", out); code != 0 {
			t.Fatalf("fit exits %d: %s", code, stderr)
		}
		models[k], _ = os.ReadFile(filepath.Join(out, "model.safetensors"))
	}
	if !bytes.Equal(models[0], models[1]) {
		t.Error("one-hot labels are not labels, to the byte")
	}
	labels := make([]int, 300)
	w := make([]float64, 300)
	w[0] = 2
	in := predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: mat.NewDense(7, 2, nil)}, data.Array{Name: "weights", Value: w})
	if code, _, stderr := calibra(t, "evaluate", "--in", in); code != exitUsage || !strings.Contains(stderr, "the embedding has 7 rows and the predictions have 300; they must have the same") {
		t.Errorf("evaluate exits %d: %s", code, stderr)
	}
}

// refusing are the methods that take no real weights; those of both lists no soft labels either.
var refusing = [2][]string{{"spline", "local-ts", "clustered", "dac", "boosted", "kc", "kc-original", "ln", "pc", "pc-bins"}, {"boosted", "kc", "kc-original", "ln", "pc", "pc-bins"}}

// TestMethodsThatTakeNoWeights say so by name and leave nothing; all others fit.
func TestMethodsThatTakeNoWeights(t *testing.T) {
	half, soft := realWeights(features(300), 300, .5)
	for k, arrays := range [][]data.Array{half, soft} {
		in := write(t, slices.DeleteFunc(slices.Clone(arrays), func(a data.Array) bool { return strings.HasPrefix(a.Name, "test_") }))
		for _, m := range experiments.Methods {
			if m.Group != experiments.Baseline && !slices.Contains([]string{"vq", "stacked", "vq-tuned", "new-head"}, m.Name) {
				continue // the others are these in the parts that see weights
			}
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"fit", "--in", in, "--method", m.Name, "--out", out, "--split", "none"}
			if m.StopsEarly {
				args = append(args, "--set", "optim.epochs=1")
			}
			if m.Divides() {
				args = append(args, small...)
			}
			code, _, stderr := calibra(t, args...)
			if !slices.Contains(refusing[k], m.Name) {
				if code != 0 {
					t.Errorf("%s exits %d: %s", m.Name, code, stderr)
				}
				continue
			}
			want := []string{"cal_weights holds weights that are no whole numbers and " + m.Name + " takes none", "cal_labels holds probabilities of classes and " + m.Name + " learns from one class of each row"}[k]
			if code != exitUsage || !strings.Contains(stderr, want) {
				t.Errorf("%s exits %d: %s\nwant %s", m.Name, code, stderr, want)
			}
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s left a folder", m.Name)
			}
		}
	}
	if code, _, stderr := calibra(t, "compare", "--in", write(t, half), "--methods", "ts,spline", "--out", filepath.Join(t.TempDir(), "c")); code != exitUsage || !strings.Contains(stderr, "spline takes none") {
		t.Errorf("compare exits %d: %s", code, stderr)
	}
}

// realWeights are arrays of n rows with weights between less and 1, or with soft labels.
func realWeights(arrays []data.Array, n int, less float64) (weighted, soft []data.Array) {
	w := make([]float64, n)
	for i := range w {
		w[i] = less + (1-less)*float64(i%5)/4
	}
	weighted = append(slices.Clone(arrays), data.Array{Name: "cal_weights", Value: w}, data.Array{Name: "test_weights", Value: w})
	soft = slices.Clone(arrays)
	for i, a := range soft {
		if a.Name == "cal_labels" {
			shares := mat.NewDense(n, 3, nil)
			for row, y := range a.Value.([]int) {
				shares.Set(row, y, .8)
				shares.Set(row, (y+1)%3, .2)
			}
			soft[i].Value = shares
		}
	}
	return weighted, soft
}

// TestWeightsOfAtMostOne may be multiplied by any number: the fit and what it is judged by stay.
func TestWeightsOfAtMostOne(t *testing.T) {
	weighted, _ := realWeights(features(200), 200, .25)
	halves := slices.Clone(weighted)
	for i, a := range halves {
		if strings.HasSuffix(a.Name, "_weights") {
			w := slices.Clone(a.Value.([]float64))
			for k := range w {
				w[k] /= 4 // to the bit
			}
			halves[i].Value = w
		}
	}
	in := []string{write(t, weighted), write(t, halves), write(t, features(200))}
	for _, method := range []string{"ts", "ir", "sm", "vq", "stacked"} {
		var said [3][]byte
		for k, path := range in {
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"fit", "--in", path, "--method", method, "--out", out}
			if method == "vq" {
				args = append(args, append(small, "--set", "optim.epochs=2")...)
			}
			if method == "stacked" {
				args = append(args, small...)
			}
			if code, _, stderr := calibra(t, args...); code != 0 {
				t.Fatalf("%s exits %d: %s", method, code, stderr)
			}
			said[k], _ = os.ReadFile(filepath.Join(out, "metrics.json"))
		}
		if !bytes.Equal(said[0], said[1]) {
			t.Errorf("%s: a quarter of the weights says\n%s\nnot\n%s", method, said[1], said[0])
		}
		if bytes.Equal(said[0], said[2]) {
			t.Errorf("%s does not see the weights", method)
		}
	}
}

// TestWholeWeightsBesideOthers are copies there too: a row of weight 2 is two rows, in what it is
// judged by to the byte, in a smooth fit to its gradient.
func TestWholeWeightsBesideOthers(t *testing.T) {
	arrays := features(200)
	w := make([]float64, 200)
	var rows []int
	var apart []float64
	for i := range w {
		w[i] = float64(1 + i%3)
		if i%4 == 0 {
			w[i] = .5
		}
		for left := w[i]; left > 0; left-- {
			rows, apart = append(rows, i), append(apart, min(1, left))
		}
	}
	weighted := append(slices.Clone(arrays), data.Array{Name: "cal_weights", Value: w}, data.Array{Name: "test_weights", Value: w})
	copies := []data.Array{{Name: "cal_weights", Value: apart}, {Name: "test_weights", Value: apart}}
	for _, a := range arrays {
		switch v := a.Value.(type) {
		case *mat.Dense:
			copies = append(copies, data.Array{Name: a.Name, Value: data.RowsOf(v, rows)})
		case []int:
			copies = append(copies, data.Array{Name: a.Name, Value: picked(v, rows)})
		}
	}
	in := []string{write(t, weighted), write(t, copies)}
	for _, method := range []string{"nc", "ts", "sm", "histogram"} {
		var values [2]map[string]float64
		for k, path := range in {
			out := filepath.Join(t.TempDir(), "run")
			if code, _, stderr := calibra(t, "fit", "--in", path, "--method", method, "--out", out); code != 0 {
				t.Fatalf("%s exits %d: %s", method, code, stderr)
			}
			values[k] = measuredIn(t, out)
		}
		for key, v := range values[0] {
			if within := 1e-6; math.Abs(v-values[1][key]) > within { // of probabilities, of fits to a gradient of 1e-6 and less
				t.Errorf("%s: %s is %v of weights and %v of copies", method, key, v, values[1][key])
			}
		}
	}
}

// measuredIn are the metrics of a run but the local ones, whose embedding is that of other rows.
func measuredIn(t *testing.T, dir string) map[string]float64 {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "metrics.json"))
	if err != nil {
		t.Fatal(err)
	}
	var m struct {
		Metrics map[string]float64 `json:"metrics"`
	}
	if err := json.Unmarshal(text, &m); err != nil || len(m.Metrics) == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	delete(m.Metrics, "lce")
	delete(m.Metrics, "mlce")
	return m.Metrics
}

// TestEvaluateTakesWeights, and says what it leaves out.
func TestEvaluateTakesWeights(t *testing.T) {
	w, soft, labels := make([]float64, 300), mat.NewDense(300, 3, nil), make([]int, 300)
	for i := range w {
		w[i], labels[i] = .5+float64(i%3), i%3
		soft.SetRow(i, []float64{.5, .25, .25})
	}
	code, out := output(t, "evaluate", "--json", "--in", predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "weights", Value: w}))
	if code != 0 || !strings.Contains(out, `"ci"`) || !strings.Contains(out, `"noise"`) {
		t.Errorf("evaluate exits %d: %s", code, out)
	}
	in := predictions(t, data.Array{Name: "labels", Value: soft})
	code, stdout, stderr := calibra(t, "evaluate", "--json", "--in", in)
	if code != 0 || strings.Contains(stdout, `"noise"`) || !strings.Contains(stderr, "intervals and noise floors are left out: soft labels are no draws") {
		t.Errorf("evaluate exits %d: %s\n%s", code, stdout, stderr)
	}
	if code, _, stderr := calibra(t, "diagnose", "--in", predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "weights", Value: w}), "--out", filepath.Join(t.TempDir(), "d")); code != exitUsage || !strings.Contains(stderr, "regions are found in rows of one class each") {
		t.Errorf("diagnose exits %d: %s", code, stderr)
	}
}

// TestPredictionsKeepWeights and soft labels: what fit and apply write of test rows is measured alike,
// whole weights as copies of the rows, and prediction sets cover as many.
func TestPredictionsKeepWeights(t *testing.T) {
	weighted, copies := copied(t, features(200), []string{"test_weights"}, times)
	for i, a := range copies { // the same calibration rows in both
		if strings.HasPrefix(a.Name, "cal_") {
			copies[i] = weighted[i]
		}
	}
	halves, soft := realWeights(features(200), 200, .25)
	for i, a := range soft {
		if a.Name == "test_labels" {
			soft[i].Value = soft[2].Value // shares of classes
		}
	}
	dir := t.TempDir()
	var said []string
	for k, arrays := range [][]data.Array{weighted, copies, halves, soft} {
		in, run := write(t, arrays), filepath.Join(dir, string(rune('a'+k)))
		if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "vector", "--out", run); code != 0 {
			t.Fatalf("fit exits %d: %s", code, stderr)
		}
		files := []string{filepath.Join(run, "predictions.npz")}
		for _, name := range []string{".npz", ".parquet"} {
			files = append(files, run+name)
			if code, _, stderr := calibra(t, "apply", "--model", run, "--in", in, "--out", run+name); code != 0 {
				t.Fatalf("apply exits %d: %s", code, stderr)
			}
		}
		for i, file := range files {
			code, text := output(t, "evaluate", "--json", "--replicates", "40", "--redraws", "20", "--in", file)
			if code != 0 || i > 0 && text != said[len(said)-1] {
				t.Errorf("file %d of rows %d: evaluate exits %d: %s\nand said before %s", i, k, code, text, said[max(0, len(said)-1)])
			}
			said = append(said, text)
		}
		sets := run + "-sets.npz"
		code, _, stderr := calibra(t, "apply", "--model", run, "--in", in, "--out", sets, "--sets", "0.8")
		if want := "cal_labels probabilities of classes, and prediction sets take rows of one class each"; k >= 2 {
			if _, err := os.Stat(sets); code != exitUsage || !strings.Contains(stderr, want) || err == nil {
				t.Errorf("apply --sets exits %d: %s\nwant %s, and no file (%v)", code, stderr, want, err)
			}
			continue
		} else if code != 0 {
			t.Fatalf("apply --sets exits %d: %s", code, stderr)
		}
		code, text := output(t, "evaluate", "--json", "--replicates", "0", "--redraws", "0", "--folds", "0", "--in", sets)
		if code != 0 || !strings.Contains(text, `"coverage"`) {
			t.Errorf("evaluate of sets exits %d: %s", code, text)
		}
		said = append(said, text)
	}
	const each = 4 // files of the first two kinds of rows
	for i := range each {
		if said[i] != said[each+i] {
			t.Errorf("file %d says of weighted rows\n%s\nand of copies\n%s", i, said[i], said[each+i])
		}
	}
	last := said[len(said)-1]
	if !strings.Contains(last, `"rows": 200`) || strings.Contains(last, `"noise"`) {
		t.Errorf("of 200 soft labels it says %s", last)
	}
}
