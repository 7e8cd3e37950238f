package main

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/cli"

	"gonum.org/v1/gonum/mat"
)

// TestShapes: a shard with a damaged embedding, or of another shape than the first that can be
// read, is named and stops no other.
func TestShapes(t *testing.T) {
	dir := t.TempDir()
	pattern := filepath.Join(dir, "part-*.npz")
	must(t, "generate", "--rows", "500", "--shards", "5", "--classes", "3", "--dimensions", "2", "--out", pattern)
	shards, err := list(t.Context(), pattern)
	if err != nil {
		t.Fatal(err)
	}
	rewrite := func(k int, embedding *mat.Dense, classes int) {
		labels, logits := make([]int, 100), mat.NewDense(100, classes, nil)
		arrays := []data.Array{{Name: "logits", Value: logits}, {Name: "labels", Value: labels}}
		if embedding != nil {
			arrays = append(arrays, data.Array{Name: "embedding", Value: embedding})
		}
		if err := disk.WriteNPZ(shards[k].Path, arrays...); err != nil {
			t.Fatal(err)
		}
	}
	damaged := mat.NewDense(100, 2, nil)
	damaged.Set(0, 0, math.NaN())
	rewrite(0, damaged, 3)
	rewrite(2, mat.NewDense(100, 7, nil), 3)
	rewrite(3, nil, 3)
	for _, named := range [][]string{nil, {"--embedding", "embedding"}} {
		text, err := try(t, append([]string{"evaluate", "--in", pattern, "--json"}, named...)...)
		if cli.ExitCode(err) != 1 || !strings.Contains(err.Error(), "3 of 5 shards failed") {
			t.Errorf("%v: the code is %d: %v", named, cli.ExitCode(err), err)
		}
		got := reported(t, text)
		if _, local := got.Metrics["lce"]; got.Rows != 200 || !local || len(got.Failed) != 3 {
			t.Fatalf("%v: %d rows, %v, failed %+v", named, got.Rows, got.Metrics, got.Failed)
		}
		for k, want := range map[int]string{0: "embedding", 1: "has an embedding of 7 dimensions and " + shards[1].Path + " has an embedding of 2", 2: "embedding"} {
			if said := got.Failed[k].Error; !strings.Contains(said, want) || strings.HasPrefix(said, dir) {
				t.Errorf("%v: %s failed by %q", named, got.Failed[k].Name, said)
			}
		}
	}
	rewrite(2, mat.NewDense(100, 2, nil), 4)
	text, err := try(t, "evaluate", "--in", pattern, "--json", "--anchors", "0")
	got := reported(t, text)
	if _, local := got.Metrics["lce"]; cli.ExitCode(err) != 1 || got.Rows != 400 || local || len(got.Failed) != 1 || !strings.Contains(got.Failed[0].Error, "has 4 classes and "+shards[0].Path+" has 3") {
		t.Errorf("without anchors: %d rows, %v, failed %+v (%v)", got.Rows, got.Metrics, got.Failed, err)
	}
}

// TestTemp: the file of the result does not stay, here or elsewhere, and a runner that could
// not give its result is refused.
func TestTemp(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "rows.npz")
	for _, temp := range []string{filepath.Join(dir, "temp"), "memfs://" + dir} {
		must(t, "generate", "--rows", "100", "--out", out, "--temp", temp)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "temp")); err != nil || len(left) > 0 {
		t.Errorf("there are %v (%v)", left, err)
	}
	if left, err := list(t.Context(), "memfs://"+dir+"/*"); err == nil {
		t.Errorf("there are %v", left)
	}
	for _, flags := range [][]string{{"--runner", "flink", "--environment_type", "DOCKER"}, {"--runner", "dataflow"}, {"--async"}} {
		for i := 0; i < len(flags); i += 2 {
			name := strings.TrimPrefix(flags[i], "--")
			was := flag.Lookup(name).Value.String()
			t.Cleanup(func() { flag.Set(name, was) })
		}
		refused := filepath.Join(dir, "refused.npz")
		_, err := try(t, append([]string{"generate", "--rows", "100", "--out", refused}, flags...)...)
		if _, made := os.Stat(refused); cli.ExitCode(err) != 2 || made == nil {
			t.Errorf("%v exits %d: %v", flags, cli.ExitCode(err), err)
		}
	}
}
