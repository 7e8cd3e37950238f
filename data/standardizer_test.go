package data

import (
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

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
