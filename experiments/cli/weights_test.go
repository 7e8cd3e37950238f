package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"

	"gonum.org/v1/gonum/mat"
)

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
		{with("cal_weights", weights(3, -1)), "cal_weights holds -1 at row 3; a weight is a number of 0 or more"},
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

// TestEveryMethodTakesWeights and soft labels, and says how where its reference has no form for the former.
func TestEveryMethodTakesWeights(t *testing.T) {
	half, soft := realWeights(features(300), 300, .5)
	for k, arrays := range [][]data.Array{half, soft} {
		in := write(t, slices.DeleteFunc(slices.Clone(arrays), func(a data.Array) bool { return strings.HasPrefix(a.Name, "test_") }))
		for _, m := range method.All {
			if m.Group != method.Baseline && !slices.Contains([]string{"vq", "pool", "new-head"}, m.Name) {
				continue // the others are these in the parts that see weights
			}
			args := []string{"fit", "--in", in, "--method", m.Name, "--out", filepath.Join(t.TempDir(), "run"), "--split", "none"}
			if m.StopsEarly {
				args = append(args, "--set", "optim.epochs=1")
			}
			if m.Divides() {
				args = append(args, small...)
			}
			code, _, stderr := calibra(t, args...)
			if told := strings.Contains(stderr, m.Name+" has no weighted form in its reference: "); code != 0 || told != (k == 0 && m.Weighing != "") {
				t.Errorf("%s exits %d: %s", m.Name, code, stderr)
			}
		}
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

// TestWeightsTimesANumber: the fit and what it is judged by stay, in bytes.
func TestWeightsTimesANumber(t *testing.T) {
	weighted, _ := realWeights(features(200), 200, .25)
	halves := slices.Clone(weighted)
	for i, a := range halves {
		if strings.HasSuffix(a.Name, "_weights") {
			w := slices.Clone(a.Value.([]float64))
			for k := range w {
				w[k] *= 7.3
			}
			halves[i].Value = w
		}
	}
	in := []string{write(t, weighted), write(t, halves), write(t, features(200))}
	for _, method := range []string{"ts", "ir", "sm", "vq", "pool"} {
		var said [3][]byte
		for k, path := range in {
			out := filepath.Join(t.TempDir(), "run")
			args := []string{"fit", "--in", path, "--method", method, "--out", out}
			if method == "vq" {
				args = append(args, append(small, "--set", "optim.epochs=2")...)
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

// TestEvaluateTakesWeights and soft labels, with all that it says of others.
func TestEvaluateTakesWeights(t *testing.T) {
	w, soft, labels, few := make([]float64, 300), mat.NewDense(300, 3, nil), make([]int, 300), make([]float64, 300)
	few[0], few[1] = 1, 2 // rows alone count, too few for corrections
	for i := range w {
		w[i], labels[i] = .5+float64(i%3), i%3
		soft.SetRow(i, []float64{.5, .25, .25})
	}
	for _, rows := range [][]data.Array{
		{{Name: "labels", Value: labels}, {Name: "weights", Value: w}},
		{{Name: "labels", Value: soft}},
		{{Name: "labels", Value: soft}, {Name: "weights", Value: w}},
		{{Name: "labels", Value: labels}, {Name: "weights", Value: few}},
	} {
		in := predictions(t, rows...)
		code, out := output(t, "evaluate", "--json", "--in", in)
		if code != 0 || !strings.Contains(out, `"ci"`) || !strings.Contains(out, `"noise"`) {
			t.Errorf("evaluate exits %d: %s", code, out)
		}
	}
}

// TestPredictionsAreTheTestRows in their order, with weights and soft labels as they were given.
func TestPredictionsAreTheTestRows(t *testing.T) {
	_, soft := realWeights(features(200), 200, .25)
	weights := make([]float64, 200)
	for i := range weights {
		weights[i] = float64(i % 3) // 0, 1 and 2
	}
	for i, a := range soft {
		if a.Name == "test_labels" {
			soft[i].Value = soft[slices.IndexFunc(soft, func(a data.Array) bool { return a.Name == "cal_labels" })].Value
		}
	}
	for exit, arrays := range map[int][]data.Array{0: features(200), exitCheck: soft} { // labels of other rows
		in, run := write(t, append(slices.Clone(arrays), data.Array{Name: "test_weights", Value: weights})), filepath.Join(t.TempDir(), "run")
		if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", run); code != 0 {
			t.Fatalf("fit exits %d: %s", code, stderr)
		}
		src, err := data.Open(in)
		if err != nil {
			t.Fatal(err)
		}
		applied := filepath.Join(t.TempDir(), "applied.npz")
		if code, _, stderr := calibra(t, "apply", "--model", run, "--in", in, "--out", applied); code != exit {
			t.Fatalf("apply exits %d: %s", code, stderr)
		}
		for _, file := range []string{filepath.Join(run, "predictions.npz"), applied} {
			p, err := data.ReadPredictions(file)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(p.Labels, src.Test.Labels) || !slices.Equal(p.Weights, weights) || (p.Soft == nil) != (src.Test.Soft == nil) || p.Soft != nil && !mat.EqualApprox(p.Soft, src.Test.Soft, 1e-15) {
				t.Errorf("%s has other labels or weights than the test rows", filepath.Base(file))
			}
			if code, out := output(t, "evaluate", "--json", "--replicates", "0", "--redraws", "0", "--folds", "0", "--in", file, "--features", in); code != 0 || !strings.Contains(out, `"lce"`) {
				t.Errorf("evaluate exits %d: %s", code, out)
			}
		}
	}
}
