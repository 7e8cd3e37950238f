package diagnosis_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 9)) }

// divergence is mean KL(q ‖ p), in nats.
func divergence(logProbs, q *mat.Dense) (kl float64) {
	n, _ := q.Dims()
	for i := range n {
		for c, x := range q.RawRowView(i) {
			if x > 0 {
				kl += x * (math.Log(x) - logProbs.At(i, c)) / float64(n)
			}
		}
	}
	return kl
}

func recovered(t *testing.T, logProbs *mat.Dense, labels []int, features *mat.Dense) *metrics.Recovered {
	t.Helper()
	r, err := diagnosis.Recover(context.Background(), logProbs, labels, features, diagnosis.Recovery{Folds: 3}, newRand(3))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecoverTellsGlobalFromLocal holds the gains to the true divergence of planted errors.
func TestRecoverTellsGlobalFromLocal(t *testing.T) {
	x, labels, q, said := graded(2500, 12, 4, newRand(1))
	for k, g := range grades {
		r := recovered(t, said[k], labels, x)
		kl, total := divergence(said[k], q), r.NLL.Total
		t.Logf("%s: KL %.4f, gains %+.4f global, %+.4f local, SE %.4f", g.name, kl, r.NLL.Global.Value, r.NLL.Local.Value, total.SE)
		// A lower bound of the divergence on average: four deviations of the rows' noise.
		if !(total.Value < kl+4*total.SE+1e-4) {
			t.Errorf("%s: %.4f nats recovered of %.4f", g.name, total.Value, kl)
		}
		switch g.name {
		case "exact":
			// 2,500 rows cost what is fitted to noise; 0.003 nats is a tenth of the
			// -.02 to -.027 that an unshrunk fit loses on as many rows.
			if math.Abs(total.Value) > .003 || total.Low > 0 {
				t.Errorf("of calibrated predictions %+.4f nats recovered, at least %+.4f", total.Value, total.Low)
			}
		case "global":
			if !(r.NLL.Global.Low > kl/2 && math.Abs(r.NLL.Local.Value) < kl/10) {
				t.Errorf("a global error of %.4f nats gives %+v", kl, r.NLL)
			}
		case "local":
			if !(r.NLL.Local.Low > 0 && total.Low > kl/3 && r.Brier.Local.Low > 0) {
				t.Errorf("a local error of %.4f nats gives %+v", kl, r.NLL)
			}
		}
	}
}

func TestRecoverLaws(t *testing.T) {
	x, drawn, _, said := graded(400, 8, 3, newRand(2))
	p := said[len(said)-1]
	a, b := recovered(t, p, drawn, x), recovered(t, p, drawn, x)
	if a.NLL != b.NLL || a.Brier != b.Brier {
		t.Errorf("the same seed gives %+v and %+v", a.NLL, b.NLL)
	}
	// the parts add up, as rows and as means
	var sum float64
	for i := range a.GlobalNLL {
		sum += (a.GlobalNLL[i] + a.LocalNLL[i]) / 400
	}
	if math.Abs(sum-a.NLL.Total.Value) > 1e-12 || math.Abs(a.NLL.Global.Value+a.NLL.Local.Value-sum) > 1e-12 {
		t.Errorf("gains %+v and rows' mean %v do not add up", a.NLL, sum)
	}
	// Relabelled classes change nothing but the order of sums: 1e-5 nats is where the
	// minimization stops.
	turned, labels := mat.NewDense(400, 3, nil), make([]int, 400)
	for i := range 400 {
		for c := range 3 {
			turned.Set(i, (c+1)%3, p.At(i, c))
		}
		labels[i] = (drawn[i] + 1) % 3
	}
	if r := recovered(t, turned, labels, x); math.Abs(r.NLL.Total.Value-a.NLL.Total.Value) > 1e-3 {
		t.Errorf("relabelled classes: %v became %v", a.NLL.Total, r.NLL.Total)
	}
	// no correction gains nothing, not even a rounding that a test could call a gain
	r := recovered(t, p, drawn, nil)
	if r.NLL.Local.Value != 0 || r.NLL.Local.P != 1 {
		t.Errorf("no local correction gains %+v", r.NLL.Local)
	}
	text, err := json.Marshal(r)
	const family = `"global_family":"shrunk multinomial correction"`
	if err != nil || !strings.Contains(string(text), family) || strings.Contains(string(text), "local_family") {
		t.Errorf("written as %s, %v", text, err)
	}
}

func TestRecoverRefuses(t *testing.T) {
	p := mat.NewDense(4, 2, []float64{-.7, -.7, -.7, -.7, -.7, -.7, -.7, -.7})
	p.Apply(func(int, int, float64) float64 { return math.Log(.5) }, p)
	for want, features := range map[string]*mat.Dense{
		"one row for each": mat.NewDense(3, 2, nil),
		"features must be": mat.NewDense(4, 1, []float64{1, 2, math.NaN(), 0}),
		"two rows or more": mat.NewDense(4, 1, nil),
	} {
		_, err := diagnosis.Recover(context.Background(), p, []int{0, 1, 0, 1}, features, diagnosis.Recovery{}, newRand(1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}
