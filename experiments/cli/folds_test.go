package cli

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// memory is sure of the label of a row whose first feature it was fitted to, and knows nothing of others.
type memory struct {
	layers.Temperature // to be saved
	labels             map[float64]int
}

func (m *memory) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	m.labels = map[float64]int{}
	for i, y := range cal.Labels {
		m.labels[cal.Features.At(i, 0)] = y
	}
	return m.Temperature.Fit(ctx, cal, val, rng)
}

func (m *memory) Predict(x *data.Set) (*data.Predictions, error) {
	p := mat.NewDense(x.Len(), 3, nil)
	for i := range x.Len() {
		p.SetRow(i, []float64{-math.Log(3), -math.Log(3), -math.Log(3)})
		if y, seen := m.labels[x.Features.At(i, 0)]; seen {
			p.SetRow(i, []float64{-20, -20, -20})
			p.Set(i, y, math.Log1p(-2*math.Exp(-20)))
		}
	}
	return data.NewPredictions(p, &data.Set{})
}

// compared is the JSON of compare --folds 5 of memory and ts on a file.
func compared(t *testing.T, in string, flags ...string) (nll map[string]float64, text string) {
	t.Helper()
	method := method.Method{Name: "memory", Line: "the labels of its rows", Needs: []string{"features", "logits"}, Cost: method.Moment,
		New: func(*method.Options) layers.Stateful { return &memory{} }}
	args := append([]string{"compare", "--in", in, "--methods", "nc,ts,memory", "--folds", "5", "--json", "--out", filepath.Join(t.TempDir(), "out")}, flags...)
	var code int
	stderr := captured(t, &os.Stderr, func() {
		text = captured(t, &os.Stdout, func() { code = execute(args, method) })
	})
	if code != 0 {
		t.Fatalf("%v: %s", args, stderr)
	}
	var said struct {
		Methods []map[string]any
		Verdict struct {
			Methods []struct {
				Method string
				NLL    float64
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		t.Fatal(err)
	}
	nll = map[string]float64{}
	for _, m := range said.Verdict.Methods {
		nll[m.Method] = m.NLL
	}
	return nll, text
}

// TestFoldsHideTheirRows: no row is predicted by a fit that saw it or, with whole groups, that saw its group; rows may
// come as predictions, and then classifiers are judged alike.
func TestFoldsHideTheirRows(t *testing.T) {
	all := features(400)[3:] // test rows alone
	groups := make([]int, 400)
	for i := range groups {
		groups[i] = i / 4
	}
	nll, text := compared(t, write(t, all))
	if got := nll["memory"]; math.Abs(got-math.Log(3)) > 1e-6 {
		t.Errorf("the NLL of what is not seen is %v, want log 3", got)
	}
	if !strings.Contains(text, `"folds": 5`) || !strings.Contains(text, "the other 4 of 5 folds") {
		t.Errorf("it says %s", text)
	}
	before := nll["nc"]
	x := all[0].Value.(*mat.Dense)
	for i, g := range groups {
		x.Set(i, 0, float64(g))
	}
	in := write(t, append(all, data.Array{Name: "groups", Value: groups}))
	if nll, _ = compared(t, in); math.Abs(nll["memory"]-math.Log(3)) < .1 {
		t.Errorf("of groups that are parted nothing is remembered: %v", nll["memory"])
	}
	if nll, _ = compared(t, in, "--whole-groups"); math.Abs(nll["memory"]-math.Log(3)) > 1e-6 {
		t.Errorf("a group that is whole is remembered: %v", nll["memory"])
	}
	if nll["nc"] != before {
		t.Errorf("the classifier's NLL is %v, and %v in other folds", nll["nc"], before)
	}
	plain := write(t, []data.Array{{Name: "logits", Value: all[1].Value}, {Name: "labels", Value: all[2].Value}, {Name: "features", Value: x}})
	if nll, _ = compared(t, plain); nll["nc"] != before {
		t.Errorf("as predictions the classifier's NLL is %v, want %v", nll["nc"], before)
	}
	for _, flags := range [][]string{{"--folds", "5"}, {"--folds", "5", "--whole-groups"}} {
		args := append([]string{"evaluate", "--in", write(t, []data.Array{{Name: "logits", Value: all[1].Value}, {Name: "labels", Value: all[2].Value}, {Name: "groups", Value: groups}}), "--redraws", "0", "--replicates", "0", "--json"}, flags...)
		code, text, stderr := calibra(t, args...)
		if code != 0 || !strings.Contains(text, `"say": "use"`) || !strings.Contains(text, "the other 4 of 5 folds") || strings.Contains(text, "local_family") || strings.Contains(text, `"whole_groups": true`) != (len(flags) == 3) {
			t.Errorf("%v: exit code %d, %s%s", flags, code, text, stderr)
		}
	}
	for want, args := range map[string][]string{
		"has no groups":         {"--in", plain, "--folds", "5", "--whole-groups"},
		"add --folds 5":         {"--in", in},
		"there must be two":     {"--in", plain, "--folds", "1"},
		"give --folds 5 too":    {"--in", plain, "--whole-groups"},
		"too few for 101 folds": {"--in", in, "--folds", "101", "--whole-groups", "--methods", "ts"},
	} {
		code, _, stderr := calibra(t, append([]string{"compare", "--out", filepath.Join(t.TempDir(), "o")}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v: exit code %d, %s", args, code, stderr)
		}
	}
}
