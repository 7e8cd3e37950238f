package cli

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// TestShardsAddUp: totals of the parts of a file, in any order, say what all of it does.
func TestShardsAddUp(t *testing.T) {
	probs, labels := mat.NewDense(900, 3, nil), make([]int, 900)
	for i := range labels {
		x := float64(i%37) / 100
		probs.SetRow(i, []float64{.5 + x, .3 - x/2, .2 - x/2})
		labels[i] = i % 3
	}
	at := func(name string, lo, hi int) string {
		path := filepath.Join(t.TempDir(), name)
		if err := disk.WriteNPZ(path, data.Array{Name: "probs", Value: mat.DenseCopyOf(probs.Slice(lo, hi, 0, 3))}, data.Array{Name: "labels", Value: labels[lo:hi]}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	folder := t.TempDir()
	for k, lo := range []int{300, 0, 600} { // in another order than the rows
		code, _, stderr := calibra(t, "evaluate", "--in", at("part.npz", lo, lo+300), "--first", fmt.Sprint(lo), "--totals", filepath.Join(folder, fmt.Sprint(k)+".totals"))
		if code != 0 {
			t.Fatalf("evaluate exits %d: %s", code, stderr)
		}
	}
	values := func(args ...string) map[string]float64 {
		code, out := output(t, append([]string{"evaluate", "--json"}, args...)...)
		if code != 0 {
			t.Fatalf("%v exits %d", args, code)
		}
		var r struct {
			Metrics map[string]struct{ Value float64 } `json:"metrics"`
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		v := map[string]float64{}
		for key, m := range r.Metrics {
			v[key] = m.Value
		}
		return v
	}
	parts, all := values("--in", folder), values("--in", at("all.npz", 0, 900), "--replicates", "0", "--redraws", "0")
	for key, want := range all {
		if got, there := parts[key]; !there || math.Abs(got-want) > 1e-11 { // of sums in fixed point
			t.Errorf("%s is %v of parts and %v of all", key, got, want)
		}
	}
	one := t.TempDir()
	if code, _, stderr := calibra(t, "evaluate", "--in", at("all.npz", 0, 900), "--totals", filepath.Join(one, "all.totals")); code != 0 {
		t.Fatal(stderr)
	}
	_, a := output(t, "evaluate", "--json", "--in", folder)
	_, b := output(t, "evaluate", "--json", "--in", one)
	if a != b {
		t.Errorf("parts say\n%s\nand all rows\n%s", a, b)
	}
}

// TestTotalsThatAreRefused have a sentence, and leave nothing.
func TestTotalsThatAreRefused(t *testing.T) {
	in, folder := predictions(t), t.TempDir()
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--in", in, "--totals", filepath.Join(folder, "x.bin")}, "it must end in .totals"},
		{[]string{"--in", folder}, "it is not a file but a directory, and has neither predictions.npz"},
		{[]string{"--in", in, "--binning", "quantile", "--totals", filepath.Join(folder, "x.totals")}, "totals need bins of equal width"},
	} {
		if code, _, stderr := calibra(t, append([]string{"evaluate"}, c.args...)...); code != exitUsage || !strings.Contains(stderr, c.want) {
			t.Errorf("%v exits %d: %s", c.args, code, stderr)
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	write := func(name string, args ...string) {
		t.Helper()
		if code, _, stderr := calibra(t, append([]string{"evaluate", "--in", in, "--totals", filepath.Join(folder, name)}, args...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	refused := func(want string, args ...string) {
		t.Helper()
		if code, _, stderr := calibra(t, append([]string{"evaluate", "--in", folder}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("evaluate exits %d: %s\nwant %s", code, stderr, want)
		}
	}
	write("a.totals")
	refused("which give only the global metrics", "--html", filepath.Join(folder, "r.html"))
	if err := os.WriteFile(filepath.Join(folder, "b.totals"), []byte("no totals"), 0o600); err != nil {
		t.Fatal(err)
	}
	refused("b.totals: is no file of totals")
	write("b.totals", "--seed", "7")
	refused("b.totals: does not go with a.totals")
}
