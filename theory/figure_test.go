package theory

import (
	"math"
	"strconv"
	"testing"

	"gonum.org/v1/plot"
)

// A tick is named by its place, to the five digits printed.
func TestTicksAreWhereTheirNamesSay(t *testing.T) {
	for _, axis := range [][2]float64{{0.81, 1.17}, {-3, 12}, {0.001, 0.0093}, {1e3, 4.7e6}} {
		places, names := named(t, exactTicks{}.Ticks(axis[0], axis[1]))
		for i, place := range places {
			if math.Abs(names[i]-place) > 1e-4*math.Abs(place)+1e-12 {
				t.Errorf("on %v the tick at %g is named %g", axis, place, names[i])
			}
		}
		if len(names) < 2 {
			t.Errorf("%v has %d named ticks", axis, len(names))
		}
	}
}

// A tick of a log axis is named by its place, and an axis of over 0.7 decades has two names.
func TestDecadesAreWhereTheirNamesSay(t *testing.T) {
	for _, axis := range [][2]float64{{-6, -3.5}, {-0.7, -0.46}, {2, 2}, {3.2, 3.9}, {-2.51, 5.25}} {
		low, high := axis[0], axis[1]
		ticks := decades{}.Ticks(low, high)
		for _, tick := range ticks {
			if tick.Value < low || tick.Value > high {
				t.Errorf("on %v a tick at %g", axis, tick.Value)
			}
		}
		places, names := named(t, ticks)
		for i, place := range places {
			// Of the six digits printed one is needed: what is left is rounding.
			if math.Abs(math.Log10(names[i])-place) > 1e-12 {
				t.Errorf("on %v the tick at %g is named %g", axis, place, names[i])
			}
		}
		if high-low > 0.7 && len(names) < 2 {
			t.Errorf("%v has %d named ticks", axis, len(names))
		}
	}
}

// named are the ticks that have a name: where they are, and the numbers that they name.
func named(t *testing.T, ticks []plot.Tick) (places, names []float64) {
	for _, tick := range ticks {
		if tick.Label == "" {
			continue
		}
		name, err := strconv.ParseFloat(tick.Label, 64)
		if err != nil {
			t.Fatal(err)
		}
		places, names = append(places, tick.Value), append(names, name)
	}
	return places, names
}
