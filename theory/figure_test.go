package theory

import (
	"math"
	"strconv"
	"testing"
)

// A tick is named by its place, to the five digits printed.
func TestTicksAreWhereTheirNamesSay(t *testing.T) {
	for _, axis := range [][2]float64{{0.81, 1.17}, {-3, 12}, {0.001, 0.0093}, {1e3, 4.7e6}} {
		named := 0
		for _, tick := range (exactTicks{}).Ticks(axis[0], axis[1]) {
			if tick.Label == "" {
				continue
			}
			named++
			name, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(name-tick.Value) > 1e-4*math.Abs(tick.Value)+1e-12 {
				t.Errorf("on %v the tick at %g is named %q", axis, tick.Value, tick.Label)
			}
		}
		if named < 2 {
			t.Errorf("%v has %d named ticks", axis, named)
		}
	}
}

// A tick of a log axis is named by its place, and an axis of over 0.7 decades has two names.
func TestDecadesAreWhereTheirNamesSay(t *testing.T) {
	for _, axis := range [][2]float64{{-6, -3.5}, {-0.7, -0.46}, {2, 2}, {3.2, 3.9}, {-2.51, 5.25}} {
		low, high := axis[0], axis[1]
		named := 0
		for _, tick := range (decades{}).Ticks(low, high) {
			if tick.Value < low || tick.Value > high {
				t.Errorf("on %v a tick at %g", axis, tick.Value)
			}
			if tick.Label == "" {
				continue
			}
			named++
			name, err := strconv.ParseFloat(tick.Label, 64)
			if err != nil {
				t.Fatal(err)
			}
			// Of the six digits printed one is needed: what is left is rounding.
			if math.Abs(math.Log10(name)-tick.Value) > 1e-12 {
				t.Errorf("on %v the tick at %g is named %q", axis, tick.Value, tick.Label)
			}
		}
		if high-low > 0.7 && named < 2 {
			t.Errorf("%v has %d named ticks", axis, named)
		}
	}
}
