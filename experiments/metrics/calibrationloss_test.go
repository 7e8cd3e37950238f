package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// TestCalibrationLosses: over 400 draws of 600 rows whose confidences are too large by .1, the mean loss is .01, and
// its t test sees the spread that the draws have. Of calibrated rows the mean is 0 and the test errs to the safe side.
func TestCalibrationLosses(t *testing.T) {
	for _, gap := range []float64{.1, 0} {
		var means, errors []float64
		rng := rand.New(rand.NewPCG(7, uint64(100*gap)))
		for range 400 {
			const n = 600
			logs, labels := mat.NewDense(n, 2, nil), make([]int, n)
			for i := range labels {
				p := .6 + .3*float64(i)/n
				logs.SetRow(i, []float64{math.Log(p), math.Log(1 - p)})
				if rng.Float64() > p-gap {
					labels[i] = 1
				}
			}
			m, err := Measure(t.Context(), logs, labels, nil, Settings{})
			if err != nil {
				t.Fatal(err)
			}
			mean, sd := stat.MeanStdDev(m.Calibration, nil)
			means, errors = append(means, mean), append(errors, sd/math.Sqrt(n))
		}
		mean, sd := stat.MeanStdDev(means, nil)
		if se := sd / 20; math.Abs(mean-gap*gap) > 4*se { // of 400 draws
			t.Errorf("gap %.1f: the mean is %.5f ± %.5f, want %.5f", gap, mean, se, gap*gap)
		}
		ratio := stat.Mean(errors, nil) / sd
		if least, most := .95, 1.15; ratio < least || gap > 0 && ratio > most { // an sd of 400 draws is known to 4 %
			t.Errorf("gap %.1f: the standard error is %.2f times the spread", gap, ratio)
		}
	}
}
