package experiments

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers"
)

// TestNeverWorseThanDoingNothing: a method whose maps contain the identity loses no more on
// its calibration rows than the classifier as it is, whatever the size of the logits.
func TestNeverWorseThanDoingNothing(t *testing.T) {
	problems := map[string]func(x *data.Set){
		"calibrated":   func(x *data.Set) {},
		"100 times":    func(x *data.Set) { x.Logits.Scale(100, x.Logits) },
		"1e4 times":    func(x *data.Set) { x.Logits.Scale(1e4, x.Logits) },
		"a thousandth": func(x *data.Set) { x.Logits.Scale(1e-3, x.Logits) },
		"always right": func(x *data.Set) {
			x.Logits.Apply(func(i, j int, _ float64) float64 { return one(x.Labels[i] == j) }, x.Logits)
		},
		"always wrong": func(x *data.Set) {
			x.Logits.Apply(func(i, j int, _ float64) float64 { return one(x.Labels[i] != j) }, x.Logits)
		},
		"all alike": func(x *data.Set) { x.Logits.Zero() },
	}
	for _, size := range []float64{10, 1e3, 1e4, 1e6} {
		problems[fmt.Sprintf("±%g, 8 %% wrong", size)] = func(x *data.Set) {
			rng := rand.New(rand.NewPCG(9, 0))
			for i, y := range x.Labels {
				if rng.Float64() < 0.08 {
					y = (y + 1) % 3
				}
				for j := range 3 {
					x.Logits.Set(i, j, size*(2*one(j == y)-1))
				}
			}
		}
	}
	loss := func(t *testing.T, method string, x *data.Set) float64 {
		m, err := MethodByName(method)
		if err != nil {
			t.Fatal(err)
		}
		c := small(t, m)
		if err := c.Fit(t.Context(), x, nil, rand.New(rand.NewPCG(3, 0))); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		p, err := c.Predict(x)
		if err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		var sum float64
		for i, y := range x.Labels {
			sum -= p.LogProbs.At(i, y) / float64(x.Len())
		}
		return sum
	}
	for name, change := range problems {
		t.Run(name, func(t *testing.T) {
			x := smallProblem(300, 5)
			change(x)
			nothing := loss(t, "nc", x)
			if nothing > 1e-3 && nothing < 18 { // T = 1e3 is too little for logits of 1e4
				var ts layers.Temperature
				if err := ts.Fit(t.Context(), x, nil, nil); err != nil {
					t.Fatal(err)
				}
				if strings.Contains(ts.Result.Ended, "bound") && name != "all alike" && name != "always wrong" && name != "always right" {
					t.Errorf("ts: %s", ts.Result.Ended)
				}
			}
			for _, method := range []string{"ts", "vector", "dc", "dc-odir", "sm", "beta", "local-ts"} {
				// nc is in float32, and a penalized fit stops within 1e-6 of its optimum
				if got := loss(t, method, x); !(got <= nothing+1e-5*math.Max(1, nothing)) {
					t.Errorf("%s loses %v, doing nothing %v", method, got, nothing)
				}
			}
		})
	}
}

func one(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
