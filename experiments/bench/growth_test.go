package main

import "testing"

// A fixed cost bends an exponent down, and the last doubling less.
func TestExponent(t *testing.T) {
	for _, c := range []struct {
		y    []float64
		want string
	}{
		{[]float64{1, 4, 16, 64}, "2.00"},
		{[]float64{1 + 1, 1 + 4, 1 + 16, 1 + 64}, "1.68"},
		{[]float64{1 + 16, 1 + 64}, "1.93"},
		{[]float64{1, 0.999, 1, 0.999}, "0.00"},
	} {
		if e := exponent(c.y); e != c.want {
			t.Errorf("the exponent of %v is %s, not %s", c.y, e, c.want)
		}
	}
}
