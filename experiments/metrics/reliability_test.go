package metrics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The gaps of the curve are those that ECE averages.
func TestReliabilityIsWhatECEAverages(t *testing.T) {
	p := generate(800, 4, 1, 2, rand.New(rand.NewPCG(1, 1)))
	top, classes, err := Reliability(p.logProbs, p.labels, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	m := p.measure(t, Settings{})
	var ece float64
	for k, n := range top.Count {
		if n > 0 {
			ece += float64(n) / 800 * math.Abs(top.Confidence[k]-top.Frequency[k])
		} else if !math.IsNaN(top.Frequency[k]) || !math.IsNaN(top.Low[k]) {
			t.Errorf("empty bin %d has a frequency", k)
		}
	}
	if !near(ece, m.Values[TopECE], 1e-12) {
		t.Errorf("the curve's gaps average %v, the top-label ECE is %v", ece, m.Values[TopECE])
	}
	predictions := 0
	var classwise float64
	for c, of := range classes {
		for k, n := range of.Count {
			if predictions += n; n == 0 {
				continue
			}
			classwise += float64(n) / (4 * 800) * math.Abs(of.Confidence[k]-of.Frequency[k])
			if !(of.Low[k] <= of.Frequency[k] && of.Frequency[k] <= of.High[k]) {
				t.Errorf("class %d, bin %d: frequency %v outside its interval %v to %v", c, k, of.Frequency[k], of.Low[k], of.High[k])
			}
		}
	}
	if predictions != 4*800 || !near(classwise, m.Values[ECE], 1e-12) {
		t.Errorf("%d predictions in the curves of the classes, whose gaps average %v; the class-wise ECE is %v", predictions, classwise, m.Values[ECE])
	}
}

func TestPoolCurves(t *testing.T) {
	nan := math.NaN()
	pooled := PoolCurves([]*Curve{
		{Confidence: []float64{nan, .9}, Frequency: []float64{nan, 1}, Count: []int{0, 6}},
		{Confidence: []float64{.4, .8}, Frequency: []float64{.5, .75}, Count: []int{2, 4}},
	})
	// Bin 0 is the second model's alone; bin 1 has (6·0.9 + 4·0.8)/10 and (6·1 + 4·0.75)/10.
	if pooled.Confidence[0] != .4 || !near(pooled.Confidence[1], .86, 1e-12) || !near(pooled.Frequency[1], .9, 1e-12) || pooled.Count[1] != 5 {
		t.Errorf("pooled %+v", pooled)
	}
	if i := ShareInterval(4.5, 5); pooled.Low[1] != i.Low || pooled.High[1] != i.High {
		t.Errorf("the interval is %v – %v, not that of five rows", pooled.Low[1], pooled.High[1])
	}
}
