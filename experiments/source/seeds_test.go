package source_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/mat"
)

// TestRowsOfSeeds: test rows that have the same labels in all files are the same rows, by which methods are compared
// over the seeds, and others are not. Files that name a class otherwise, or hold the same, are refused.
func TestRowsOfSeeds(t *testing.T) {
	for name, second := range map[string][]int{"x-seed41": {0, 1, 0}, "x-seed42": {0, 1, 1, 0}, "x-twice": {0, 1, 0}, "x-named": {0, 1, 0}} {
		var files []*source.Origin
		classes := []string{"cat", "dog"}
		for k, labels := range [][]int{{0, 1, 0}, second} {
			features := mat.NewDense(len(labels), 2, nil)
			if name != "x-twice" {
				features.Set(0, 0, float64(k))
			}
			if k == 1 && name == "x-named" {
				classes[1] = "fox"
			}
			arrays := []data.Array{{Name: "class_names", Value: classes}}
			for _, part := range []string{"cal", "test"} {
				arrays = append(arrays, data.Array{Name: part + "_features", Value: features},
					data.Array{Name: part + "_logits", Value: mat.NewDense(len(labels), 2, nil)}, data.Array{Name: part + "_labels", Value: labels})
			}
			path := filepath.Join(t.TempDir(), []string{"x-seed4", name}[k]+".npz")
			if err := disk.WriteNPZ(path, arrays...); err != nil {
				t.Fatal(err)
			}
			o, err := source.Registry(nil).Open(path, source.Settings{})
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, o)
		}
		joined, same, err := source.AsSeeds(t.Context(), files, []uint64{9, 5})
		if refused := map[string]string{"x-twice": "holds the same as ", "x-named": "calls class 1 fox, and x-seed4.npz calls it dog"}[name]; refused != "" {
			if err == nil || !strings.Contains(err.Error(), refused) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || same != (len(second) == 3) {
			t.Fatalf("%s: same rows %t, %v", name, same, err)
		}
		if joined.Name != "x" || joined.DigestOf(5) != files[1].Digest {
			t.Errorf("%s is called %s, and its second seed has the digest %s", name, joined.Name, joined.DigestOf(5))
		}
		first := 0
		if len(second) != 3 {
			first = 3
		}
		for seed, want := range map[uint64][]int{9: {0, 1, 2}, 5: data.UpTo(first + len(second))[first:]} {
			p, err := joined.Load(t.Context(), seed, "", "")
			if err != nil || !slices.Equal(p.Source.Test.Numbers, want) {
				t.Errorf("%s: seed %d tests the rows %v (%v)", name, seed, p.Source.Test.Numbers, err)
			}
		}
	}
}
