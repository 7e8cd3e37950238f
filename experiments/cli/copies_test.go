package cli

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// drawnRows are n rows whose labels are drawn from their probabilities, each row so many times.
func drawnRows(n, times int, seed uint64) *data.Set {
	rng := rand.New(rand.NewPCG(seed, 4))
	x := &data.Set{Logits: mat.NewDense(n, 3, nil), Features: mat.NewDense(n, 2, nil), Labels: make([]int, n)}
	for i := range n {
		row := x.Logits.RawRowView(i)
		for k := range row {
			row[k] = rng.NormFloat64()
		}
		x.Features.(*mat.Dense).SetRow(i, []float64{row[0] + rng.NormFloat64(), row[1]})
		data.Normalize(x.Logits.Slice(i, i+1, 0, 3).(*mat.Dense))
		x.Labels[i] = 2
		for k, u := 0, rng.Float64(); k < 2; k++ {
			if u -= math.Exp(row[k]); u < 0 {
				x.Labels[i] = k
				break
			}
		}
	}
	return x.Rows(slices.Repeat(data.UpTo(n), times))
}

// TestCopiesCountOnce: evaluate, diagnose, fit, compare and apply say the same of rows and of copies of them, to the
// byte, but that the latter are copies.
func TestCopiesCountOnce(t *testing.T) {
	const n = 160
	cal := drawnRows(300, 1, 1)
	said := map[int][]string{}
	for _, times := range []int{1, 4} {
		dir, x := t.TempDir(), drawnRows(n, times, 2)
		p, f := filepath.Join(dir, "p.npz"), filepath.Join(dir, "f.npz")
		if err := disk.WriteNPZ(p, data.Array{Name: "log_probs", Value: x.Logits}, data.Array{Name: "labels", Value: x.Labels}, data.Array{Name: "embedding", Value: x.Features}); err != nil {
			t.Fatal(err)
		}
		if err := disk.WriteNPZ(f, data.Array{Name: "cal_logits", Value: cal.Logits}, data.Array{Name: "cal_labels", Value: cal.Labels},
			data.Array{Name: "test_logits", Value: x.Logits}, data.Array{Name: "test_labels", Value: x.Labels}); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"evaluate", "--in", p}, {"diagnose", "--in", p, "--out", filepath.Join(dir, "d"), "--redraws", "99"},
			{"fit", "--in", f, "--method", "ts", "--out", filepath.Join(dir, "r")}, {"compare", "--in", f, "--methods", "nc,ts", "--seeds", "1", "--out", filepath.Join(dir, "c")},
			{"apply", "--in", f, "--model", filepath.Join(dir, "r"), "--out", filepath.Join(dir, "q.npz")},
		} {
			code, out, stderr := calibra(t, append(args, "--json")...)
			if code != 0 {
				t.Fatalf("%v exits %d: %s", args, code, stderr)
			}
			if told := "480 of 640 rows are copies; tests count 160 rows"; strings.Contains(stderr, told) != (times > 1) {
				t.Errorf("%v says %s", args, stderr)
			}
			var values map[string]any
			if err := json.Unmarshal([]byte(out), &values); err != nil {
				t.Fatal(err)
			}
			want := any(nil)
			if times > 1 {
				want = map[string]any{"rows": 480.0, "of": 640.0, "counted": 160.0}
			}
			if got := values["copies"]; !reflect.DeepEqual(got, want) {
				t.Errorf("%v: the copies are %v", args, got)
			}
			if of, fits := values["results"].(map[string]any); fits {
				delete(of, "seconds")
			}
			for _, key := range []string{"copies", "notes", "test_rows", "rows", "methods"} { // the rows of the file, and seconds
				delete(values, key)
			}
			if v, judged := values["verdict"].(map[string]any); judged {
				delete(v, "notes")
			}
			text, err := json.Marshal(values)
			if err != nil {
				t.Fatal(err)
			}
			said[times] = append(said[times], strings.ReplaceAll(string(text), dir, ""))
		}
	}
	for k, once := range said[1] {
		if said[4][k] != once {
			t.Errorf("%s\nis of copies\n%s", once, said[4][k])
		}
	}
}

// TestUnreadBesidePredictions: arrays of a predictions file that nothing reads are named.
func TestUnreadBesidePredictions(t *testing.T) {
	x, numbers := drawnRows(60, 1, 3), slices.Repeat([]int{1, 2}, 30)
	for _, c := range []struct {
		name, want string
		value      any
		flags      []string
	}{
		{"weight", "nothing reads weight (did you mean weights?)", numbers, nil},
		{"sample_weight", "nothing reads sample_weight (did you mean weights?)", numbers, nil},
		{"group", "nothing reads group (did you mean groups?)", numbers, nil},
		{"place", "", x.Features, []string{"--embedding", "place"}},
		{"weights", "", numbers, nil},
	} {
		for _, ending := range []string{".npz", ".parquet"} {
			path := filepath.Join(t.TempDir(), "p"+ending)
			if err := disk.WriteArrays(path, data.Array{Name: "log_probs", Value: x.Logits}, data.Array{Name: "labels", Value: x.Labels}, data.Array{Name: c.name, Value: c.value}); err != nil {
				t.Fatal(err)
			}
			code, out, stderr := calibra(t, append([]string{"evaluate", "--in", path, "--folds", "0", "--json"}, c.flags...)...)
			if got := strings.Contains(stderr, "nothing reads"); code != 0 || got != (c.want != "") || !strings.Contains(stderr, c.want) {
				t.Errorf("%s in %s: %s", c.name, ending, stderr)
			}
			var values struct {
				Notes []struct{ Key, Text string } `json:"notes"`
			}
			if err := json.Unmarshal([]byte(out), &values); err != nil {
				t.Fatal(err)
			}
			if c.want != "" && (len(values.Notes) != 1 || values.Notes[0].Key != "unread" || values.Notes[0].Text != c.want) || c.want == "" && values.Notes != nil {
				t.Errorf("%s in %s: the notes are %v", c.name, ending, values.Notes)
			}
		}
	}
}
