package method

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"calibra/layers"
)

// mutants are copies of a configuration, each with one number replaced, one list a
// billion long in what it claims, or one field of another kind.
func mutants(config json.RawMessage) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	var walk func(path string, at any, put func(any) any)
	values := []any{-1, 0, 1, 7, 1_000_000_000, int64(1) << 53, 1.5, "x", nil, []int{}, map[string]any{}}
	walk = func(path string, at any, put func(any) any) {
		for _, v := range values {
			text, err := json.Marshal(put(v))
			if err != nil {
				panic(err)
			}
			out[fmt.Sprintf("%s = %v", path, v)] = text
		}
		switch at := at.(type) {
		case map[string]any:
			for key, inner := range at {
				walk(path+"."+key, inner, func(v any) any {
					changed := map[string]any{}
					for k, old := range at {
						changed[k] = old
					}
					changed[key] = v
					return put(changed)
				})
			}
		case []any:
			for i, inner := range at {
				walk(fmt.Sprintf("%s[%d]", path, i), inner, func(v any) any {
					changed := append([]any(nil), at...)
					changed[i] = v
					return put(changed)
				})
			}
		}
	}
	var whole any
	if err := json.Unmarshal(config, &whole); err != nil {
		panic(err)
	}
	walk("config", whole, func(v any) any { return v })
	return out
}

// TestRestoreOfAnyHeader: whatever the configuration of a model file claims, no method
// panics, takes much more memory than the weights have, or predicts what is no
// distribution.
func TestRestoreOfAnyHeader(t *testing.T) {
	const most = 16 << 20 // bytes; the models themselves have some kilobytes
	cal, val, test := smallProblem(200, 1), smallProblem(60, 2), smallProblem(10, 4)
	for _, m := range All {
		t.Run(m.Name, func(t *testing.T) {
			c := small(t, m)
			if err := c.Fit(t.Context(), cal, val, rand.New(rand.NewPCG(3, 0))); err != nil {
				t.Fatal(err)
			}
			state, err := c.State()
			if err != nil {
				t.Fatal(err)
			}
			for what, config := range mutants(state.Config) {
				func() {
					defer func() {
						if p := recover(); p != nil {
							t.Errorf("%s: panic: %v", what, p)
						}
					}()
					again := small(t, m)
					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					err := again.Restore(layers.State{Config: config, Weights: state.Weights})
					runtime.ReadMemStats(&after)
					if took := after.TotalAlloc - before.TotalAlloc; took > most {
						t.Errorf("%s: restoring takes %d MB", what, took>>20)
					}
					if err != nil {
						return
					}
					if p, err := again.Predict(test); err == nil {
						if err := distribution(p); err != nil {
							t.Errorf("%s: %v", what, err)
						}
					}
				}()
			}
		})
	}
}
