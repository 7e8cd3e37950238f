package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"gonum.org/v1/gonum/stat/distuv"
)

// TestAnchorsEstimateLCE: over many draws the anchors' LCE has the mean of the exact one
// and the spread that its standard error says, under both protocols.
func TestAnchorsEstimateLCE(t *testing.T) {
	p, labels, z := miscalibrated(1500, 4, rand.New(rand.NewPCG(5, 6)))
	for _, protocol := range []Protocol{Tables, Formula} {
		exact, err := Measure(t.Context(), p, labels, z, Settings{Protocol: protocol, Bandwidth: 1})
		if err != nil {
			t.Fatal(err)
		}
		const draws, count = 60, 300
		var sum, squares, errors float64
		for seed := range uint64(draws) {
			m, err := Measure(context.Background(), p, labels, z, Settings{Protocol: protocol, Bandwidth: 1, Anchors: count, AnchorSeed: seed})
			if err != nil {
				t.Fatal(err)
			}
			if m.Anchors == nil || m.Anchors.Rows != count {
				t.Fatalf("measured at %+v", m.Anchors)
			}
			d := m.Values[LCE] - exact.Values[LCE]
			sum, squares, errors = sum+d, squares+d*d, errors+m.Anchors.SE
			if m.Values[MLCE] > exact.Values[MLCE]+1e-9 {
				t.Errorf("%v: the largest of some rows, %v, is above that of all, %v", protocol, m.Values[MLCE], exact.Values[MLCE])
			}
			for _, i := range []Metric{NLL, ECE, Accuracy} {
				if m.Values[i] != exact.Values[i] {
					t.Errorf("%v: anchors change %v", protocol, i)
				}
			}
		}
		rms, mean, said := math.Sqrt(squares/draws), sum/draws, errors/draws
		// The mean of 60 draws lies within four of its standard errors of 0; their spread is
		// known to 9 %, and shuffling within bins leaves strata a little wider than they are.
		if math.Abs(mean) > 4*rms/math.Sqrt(draws) || said < 0.7*rms || said > 1.6*rms {
			t.Errorf("%v: LCE is off by %.2g on average and by %.2g in the mean square; the standard error says %.2g", protocol, mean, rms, said)
		}
	}
}

// TestAllRowsAreNoAnchors: as many anchors as rows are the exact metrics.
func TestAllRowsAreNoAnchors(t *testing.T) {
	p, labels, z := miscalibrated(300, 4, rand.New(rand.NewPCG(5, 6)))
	want, err := Evaluate(t.Context(), p, labels, z, Settings{}, Uncertainty{Replicates: 40, Redraws: 5}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Evaluate(t.Context(), p, labels, z, Settings{Anchors: 300}, Uncertainty{Replicates: 40, Redraws: 5}, rand.New(rand.NewPCG(1, 0)))
	if err != nil || got.Anchors != nil || got.Values != want.Values || got.Intervals != want.Intervals {
		t.Errorf("300 anchors of 300 rows measure otherwise: %v", err)
	}
	some, err := Evaluate(t.Context(), p, labels, z, Settings{Anchors: 100}, Uncertainty{Replicates: 40, Redraws: 5}, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		t.Fatal(err)
	}
	if half := distuv.UnitNormal.Quantile(.975) * some.Anchors.SE; math.Abs(some.Intervals[LCE].High-some.Values[LCE]-half) > 1e-12 {
		t.Errorf("the interval of LCE is %v around %v with the standard error %v", some.Intervals[LCE], some.Values[LCE], some.Anchors.SE)
	}
	if some.Intervals[NLL] != want.Intervals[NLL] || some.Noise[LCE] == nil || !(some.Noise[LCE].Mean > 0) {
		t.Errorf("anchors lose the noise floor %+v, or change the interval of NLL", some.Noise[LCE])
	}
}

// miscalibrated are predictions of C classes that are too sharp, in two dimensions.
func miscalibrated(n, classes int, rng *rand.Rand) (logProbs *mat.Dense, labels []int, z *mat.Dense) {
	logProbs, labels, z = mat.NewDense(n, classes, nil), make([]int, n), mat.NewDense(n, 2, nil)
	for i := range n {
		z.SetRow(i, []float64{9 * rng.NormFloat64(), 9 * rng.NormFloat64()})
		truth, said := make([]float64, classes), logProbs.RawRowView(i)
		for c := range said {
			truth[c] = rng.NormFloat64()
			said[c] = 2 * truth[c]
		}
		draw, most := math.Inf(-1), 0
		for c, l := range truth { // the largest of l + Gumbel
			if g := l - math.Log(rng.ExpFloat64()); g > draw {
				draw, most = g, c
			}
		}
		labels[i] = most
		var sum float64
		for _, l := range said {
			sum += math.Exp(l)
		}
		for c := range said {
			said[c] -= math.Log(sum)
		}
	}
	return logProbs, labels, z
}
