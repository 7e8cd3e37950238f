package study

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/floats/scalar"
)

// judged is a result with given losses, whose mean is its NLL, or else with that.
func judged(method string, seed uint64, nll float64, losses ...float32) *Result {
	for _, x := range losses {
		nll += float64(x) / float64(len(losses))
	}
	return &Result{Spec: run.Spec{Method: method, Seed: seed}, Losses: losses, Shared: map[string]float64{"nll": nll, "lce": 0.5}, Noise: map[string]float64{"lce": 0.2}}
}

// TestPairedLosses: seeds are compared with their own kind, and a difference that is
// the same in every row is as certain as the number of rows allows.
func TestPairedLosses(t *testing.T) {
	a := &row{results: []*Result{judged("auto", 1, 0, 1, 2, 3, 4), judged("auto", 2, 0, 1, 1, 1, 1)}}
	b := &row{results: []*Result{judged("ts", 2, 0, 2, 2, 2, 2), judged("ts", 1, 0, 2, 3, 4, 5), judged("ts", 3, 0, 0, 0, 0, 0)}}
	c := pairedLosses(a, b, sharedMetric(metrics.NLL))
	if c.Difference != -1 || c.Interval.High >= 0 || c.PValue != math.Exp2(-7) {
		t.Errorf("%+v", c)
	}
	if c = pairedLosses(a, a, sharedMetric(metrics.NLL)); c.Difference != 0 || c.PValue != 1 {
		t.Errorf("with itself: %+v", c)
	}
	if c = pairedLosses(a, &row{}, sharedMetric(metrics.NLL)); c != nil {
		t.Errorf("without results %+v", c)
	}
}

// Data of one name would write over each other's figures.
func TestCellsOfOneNameAreRefused(t *testing.T) {
	a, b := &source.Origin{Name: "cifar10-resnet", Dataset: "cifar10", Backbone: "resnet"}, &source.Origin{Name: "cifar10-resnet", Dataset: "cifar10", Backbone: "resnet"}
	empty := &Study{Grid: func(*source.Origin) []run.Spec { return nil }}
	var input *data.InputError
	if _, _, err := empty.Cells(t.Context(), []*source.Origin{a, b}, Settings{}); !errors.As(err, &input) {
		t.Errorf("two files of one name: %v", err)
	}
	if _, _, err := empty.Cells(t.Context(), []*source.Origin{a, {Name: "cifar10-vit", Dataset: "cifar10", Backbone: "vit"}}, Settings{}); err != nil {
		t.Error(err)
	}
}

// TestPairedLossesCountARowOnce: rows that every seed tests are no more evidence for
// being tested again, rows of its own are.
func TestPairedLossesCountARowOnce(t *testing.T) {
	const rows, seeds = 60, 5
	rng := rand.New(rand.NewPCG(1, 1))
	losses := make([]float32, rows)
	for i := range losses {
		losses[i] = float32(0.2 + rng.NormFloat64())
	}
	pOf := func(seeds int, numbered bool) float64 {
		a, b := &row{}, &row{}
		for seed := range uint64(seeds) {
			x, y := judged("auto", seed, 0, losses...), judged("ts", seed, 0, make([]float32, rows)...)
			if order := rng.Perm(rows); numbered { // each seed has them in an order of its own
				x.Losses, x.Rows = make([]float32, rows), order
				for i, k := range order {
					x.Losses[i] = losses[k]
				}
			}
			a.results, b.results = append(a.results, x), append(b.results, y)
		}
		return pairedLosses(a, b, sharedMetric(metrics.NLL)).PValue
	}
	one, same, own := pOf(1, true), pOf(seeds, true), pOf(seeds, false)
	if !scalar.EqualWithinAbs(same, one, 0.05) || one < 0.1 { // two bootstraps of 2000, of which p has an error of .01
		t.Errorf("p = %v of one seed, %v of the same rows %d times", one, same, seeds)
	}
	if own > one/2 {
		t.Errorf("p = %v of one seed, %v of %d times as many rows", one, own, seeds)
	}
}

func TestExcess(t *testing.T) {
	r := judged("ts", 1, 0)
	if got := above(sharedMetric(metrics.LCE), noiseOf(metrics.LCE, sharedEmbedding)).value(r); !scalar.EqualWithinAbs(got, 0.3, 1e-12) {
		t.Errorf("excess %v", got)
	}
	lce, noise := 0.7, 0.1
	r.Strata = []Stratum{{&lce, &noise}, {}, {}}
	if own, floor := inThird(0, ownEmbedding); own.value(r) != lce || floor.value(r) != noise { // no space of its own
		t.Errorf("in its own embedding %v over %v", own.value(r), floor.value(r))
	}
	if middle, _ := inThird(1, sharedEmbedding); !math.IsNaN(middle.value(r)) {
		t.Errorf("a third that was not measured has %v", middle.value(r))
	}
}
