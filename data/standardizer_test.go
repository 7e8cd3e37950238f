package data

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestStandardizerOfAnyScale: what is standardized does not depend on the unit, down to denormal numbers.
func TestStandardizerOfAnyScale(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{1, 7, -2, 7, 5, 7, .5, 7})
	want := FitStandardizer(x).Apply(x)
	for _, unit := range []float64{1e-100, 1e-160, 1e-250, 1e-305} {
		var scaled, apart mat.Dense
		scaled.Scale(unit, x)
		apart.Sub(FitStandardizer(&scaled).Apply(&scaled), want)
		if off := mat.Norm(&apart, 2); !(off < 1e-12) { // roundings of four rows
			t.Errorf("in units of %g the rows are %v off", unit, off)
		}
	}
}

// TestCheckScale: a column that no precision divides by its scale is named; a constant 0 is none, nor a denormal number
// among others.
func TestCheckScale(t *testing.T) {
	x := mat.NewDense(3, 3, []float64{1, 0, 0, 2, 0, 1e-310, 1e-310, 0, -3e-310})
	err := CheckScale("f.npz", "cal_features", x, []string{"a", "b", "c"})
	if err == nil || !strings.Contains(err.Error(), "column 2, counted from 0, c, of cal_features holds no number beyond ±3.0e-310 (in row 2)") {
		t.Errorf("says %v", err)
	}
	x.Set(0, 2, 1e-37)
	if err := CheckScale("f.npz", "cal_features", x, nil); err != nil {
		t.Error(err)
	}
}
