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
