package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// The gaps of the curve are those that ECE averages.
func TestReliabilityIsWhatECEAverages(t *testing.T) {
	p := generate(800, 4, 1, 2, rand.New(rand.NewPCG(1, 1)))
	top, classes, err := Reliability(context.Background(), p.logProbs, p.labels, Settings{}, 40, rand.New(rand.NewPCG(2, 2)))
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
	for k, n := range classes.Count {
		predictions += n
		if !(classes.Low[k] <= classes.Frequency[k] && classes.Frequency[k] <= classes.High[k]) {
			t.Errorf("bin %d: frequency %v outside its band %v to %v", k, classes.Frequency[k], classes.Low[k], classes.High[k])
		}
	}
	if predictions != 4*800 {
		t.Errorf("%d predictions in the curve of all classes", predictions)
	}
}
