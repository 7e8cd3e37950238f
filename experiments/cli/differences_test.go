package cli

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/paper"

	"gonum.org/v1/gonum/mat"
)

// wide are the rows of features(n) with columns of noise, 384 in all, which 128 and 192 slots divide.
func wide(n int) []data.Array {
	arrays, rng := features(n), rand.New(rand.NewPCG(3, 4))
	for k, a := range arrays {
		if strings.HasSuffix(a.Name, "_features") {
			x := mat.NewDense(n, 384, nil)
			x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
			x.Slice(0, n, 0, 8).(*mat.Dense).Copy(a.Value.(*mat.Dense))
			arrays[k].Value = x
		}
	}
	return arrays
}

// configured is config.json of a fit.
type configured struct {
	Method, Split string
	Settings      map[string]any
}

// fittedBy is what a fit of two epochs with these flags wrote: its predictions with its metrics, and its config. It is
// of vq, or of another method that has the settings.
func fittedBy(t *testing.T, in string, flags ...string) (wrote string, c configured) {
	t.Helper()
	if !slices.Contains(flags, "--method") {
		var keys []string
		for i, flag := range flags {
			if key, _, set := strings.Cut(flag, "="); set && flags[i-1] == "--set" {
				keys = append(keys, key)
			}
		}
		for _, name := range []string{"vq", "kc", "ps", "pc"} {
			m, err := method.Find(name)
			if err == nil && !slices.ContainsFunc(keys, func(key string) bool { return !m.Has(key, nil) }) {
				flags = append([]string{"--method", name}, flags...)
				break
			}
		}
	}
	if m, err := method.Find(flags[slices.Index(flags, "--method")+1]); err == nil && m.Has("optim.epochs", nil) {
		flags = append(flags, "--set", "optim.epochs=2")
	}
	out := filepath.Join(t.TempDir(), "out")
	code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--seed", "1", "--out", out}, flags...)...)
	if code != 0 {
		t.Fatalf("%v: exit code %d: %s", flags, code, stderr)
	}
	for _, name := range []string{"predictions.npz", "metrics.json"} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		wrote += string(text)
	}
	text, err := os.ReadFile(filepath.Join(out, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	return wrote, c
}

// TestEveryDifferenceHasItsSetting: each row says how to get the other, and each of its flags fits and changes what the
// fit writes, but the default's own split and the floor that no probability reaches in two epochs.
func TestEveryDifferenceHasItsSetting(t *testing.T) {
	in, slots, plain := write(t, features(300)), write(t, wide(100)), map[string]string{}
	same := []string{"--split paper", "--set head.floor=0"}
	for _, d := range paper.Differences() {
		if slices.Contains([]string{d.Section, d.What, d.Text, d.Code, d.Calibra, d.Other()}, "") {
			t.Errorf("%s, %s lacks a column", d.Section, d.What)
		}
		for _, flags := range append([]string{d.AsText, d.AsCode}, d.Also...) {
			if flags == "" {
				continue
			}
			t.Run(flags, func(t *testing.T) {
				rows := in
				if strings.HasPrefix(flags, "--slots") || strings.Contains(flags, "distance") { // of slots wider than 1
					rows = slots
				}
				wrote, config := fittedBy(t, rows, strings.Fields(flags)...)
				of := config.Method
				if plain[of+rows] == "" {
					plain[of+rows], _ = fittedBy(t, rows, "--method", of)
				}
				if (wrote == plain[of+rows]) != (slices.Contains(same, flags) || strings.HasPrefix(flags, "--method")) {
					t.Errorf("%s with %s writes what it writes without: %v", of, flags, wrote == plain[of+rows])
				}
			})
		}
	}
}

// TestProtocol: it sets what differs together, for each method what that has, and a setting beside it wins.
func TestProtocol(t *testing.T) {
	in := write(t, features(300))
	for _, p := range []metrics.Protocol{metrics.Tables, metrics.Formula} {
		wrote, config := fittedBy(t, in, "--method", "vq", "--protocol", p.String(), "--set", "divide.decay=0.5")
		vq, err := method.Find("vq")
		if err != nil {
			t.Fatal(err)
		}
		set, split := paper.Protocol(p)
		for _, s := range set {
			key, value, _ := strings.Cut(s, "=")
			if key == "divide.decay" {
				value = "0.5"
			}
			if got, has := config.Settings[key]; has != vq.Has(key, nil) || has && fmt.Sprint(got) != value {
				t.Errorf("%s: %s is %v, not %s", p, key, got, value)
			}
		}
		if config.Split != split || !strings.Contains(wrote, `"protocol": "`+p.String()+`"`) {
			t.Errorf("%s: the split is %s, not %s", p, config.Split, split)
		}
		out := filepath.Join(t.TempDir(), "out")
		code, _, stderr := calibra(t, "compare", "--in", in, "--methods", "vq,kc,ps", "--seeds", "1",
			"--set", "optim.epochs=2", "--protocol", p.String(), "--out", out)
		text, err := os.ReadFile(filepath.Join(out, "metrics.json"))
		says := func(key, value string) bool { return strings.Contains(string(text), `"`+key+`": "`+value+`"`) }
		if code != 0 || err != nil || !says("protocol", p.String()) || !says("split", split) {
			t.Errorf("compare by %s: exit code %d, %s, %v", p, code, stderr, err)
		}
	}
}
