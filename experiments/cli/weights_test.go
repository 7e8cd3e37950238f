package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"

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
	two := mat.DenseCopyOf(hard)
	two.SetRow(4, []float64{1, 1, 0})
	for _, c := range []struct {
		arrays []data.Array
		want   string
	}{
		{with("cal_weights", weights(3, -1)), "cal_weights holds -1 at row 3; a weight is 0 or more"},
		{with("cal_weights", weights(3, .5)), "cal_weights holds 0.5 at row 3; a weight is a whole number of copies of its row: multiply all of them by one number and round"},
		{with("test_weights", make([]float64, 60)), "test_weights is zero for every row; some row must count"},
		{with("cal_weights", weights(3, 2)[:50]), "cal_weights has shape (50,) and there are 60 rows; it must have one weight for each"},
		{with("cal_labels", soft), "cal_labels holds 0.2 at row 0, column 0; no method learns from soft labels: hand over one class for each row, as a number or as a 1 in its column"},
		{with("cal_labels", two), "row 4 of cal_labels has 2 ones; it must have one, in the column of its class"},
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
	sets := mat.NewDense(300, 3, nil)
	labels := make([]int, 300)
	w := make([]float64, 300)
	w[0] = 2
	in := predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "sets", Value: sets}, data.Array{Name: "weights", Value: w})
	if code, _, stderr := calibra(t, "evaluate", "--in", in); code != exitUsage || !strings.Contains(stderr, "has weights and prediction sets, whose coverage takes none; leave one of them out") {
		t.Errorf("evaluate exits %d: %s", code, stderr)
	}
	in = predictions(t, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: mat.NewDense(7, 2, nil)}, data.Array{Name: "weights", Value: w})
	if code, _, stderr := calibra(t, "evaluate", "--in", in); code != exitUsage || !strings.Contains(stderr, "the embedding has 7 rows and the predictions have 300; they must have the same") {
		t.Errorf("evaluate exits %d: %s", code, stderr)
	}
}
