package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

func TestSeeds(t *testing.T) {
	for text, want := range map[string][]uint64{
		"1": {1}, "42-46": {42, 43, 44, 45, 46}, "42,43,50-52": {42, 43, 50, 51, 52}, "7, 3": {7, 3}, "18446744073709551615": {1<<64 - 1},
	} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is %v (%v), not %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "x", "-1", "3-1", "1,,2", "1,1", "1-3,2", "0-99999999", "1-2-3", "18446744073709551616"} {
		var got seeds
		if err := got.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

// TestFilesAsSeeds: two files of one data set are one row of a table, whose seeds have the numbers of the files alone.
func TestFilesAsSeeds(t *testing.T) {
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "made-net-1.npz"), filepath.Join(dir, "made-net-2.npz")}
	for k, path := range paths {
		arrays := features(160)
		arrays[1].Value.(*mat.Dense).Scale(float64(1+k), arrays[1].Value.(*mat.Dense)) // logits of another classifier
		arrays[4].Value.(*mat.Dense).Scale(float64(1+k), arrays[4].Value.(*mat.Dense))
		if err := disk.WriteNPZ(path, arrays...); err != nil {
			t.Fatal(err)
		}
	}
	both := strings.Join(paths, ",")
	nll := func(args ...string) (found map[string]float64, rows []map[string]any, stderr string) {
		args = append(args, "--methods", "nc,ts", "--json", "--out", filepath.Join(t.TempDir(), "out"))
		code, stdout, stderr := calibra(t, args...)
		var printed struct{ Methods, Results []map[string]any }
		if err := json.Unmarshal([]byte(stdout), &printed); code != 0 || err != nil {
			t.Fatalf("%v exits %d, %v: %s", args, code, err, stderr)
		}
		found, rows = map[string]float64{}, append(printed.Methods, printed.Results...)
		for _, m := range rows {
			found[m["method"].(string)] = m["nll"].(float64)
		}
		return found, rows, stderr
	}
	for _, command := range [][]string{{"compare", "--in"}, {"study", "main", "--data"}} {
		with := func(files string, more ...string) []string {
			return append(append(slices.Clone(command), files), more...)
		}
		first, _, _ := nll(with(paths[0], "--seeds", "7")...)
		second, _, _ := nll(with(paths[1], "--seeds", "3")...)
		joined, rows, stderr := nll(with(both, "--as-seeds", "--seeds", "7,3")...)
		if len(rows) != 2 || !strings.Contains(stderr, "the 2 files count as seeds 7 3 of made-net; their test rows have the same labels") {
			t.Errorf("%s: %d rows, and says %s", command[0], len(rows), stderr)
		}
		for method, mean := range joined {
			if want := (first[method] + second[method]) / 2; math.Abs(mean-want) > 1e-12 || first[method] == second[method] {
				t.Errorf("%s: the NLL of %s is %v, of the files alone %v and %v", command[0], method, mean, first[method], second[method])
			}
		}
	}
	for want, args := range map[string][]string{
		"takes two features files or more": {"compare", "--in", paths[0], "--as-seeds"},
		"names 1 for 2 files":              {"compare", "--in", both, "--as-seeds", "--seeds", "1"},
		"names 3 for 2 files":              {"study", "main", "--data", both, "--as-seeds", "--seeds", "5-7"},
		"takes features files":             {"study", "main", "--data", paths[0] + ",digits", "--as-seeds"},
		"digits is no features file":       {"compare", "--in", "digits,letter", "--as-seeds"},
		"are seeds of one data set by":     {"compare", "--in", both},
		"leave one of the two out":         {"study", "ood", "--data", both, "--as-seeds", "--shifted", paths[0]},
		"the files of made-net have":       {"compare", "--in", both, "--as-seeds", "--encoder", "mlp"},
		"--as-seeds several":               {"compare", "--in", both, "--as-seeds", "--folds", "5"},
	} {
		if code, _, stderr := calibra(t, append(args, "--out", filepath.Join(dir, "no"))...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}
