package report

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot"
)

// TestAxesAreTicked: however short or long an axis, three places on it are named, each
// with the number that is there to the four digits printed, and none lies outside it.
func TestAxesAreTicked(t *testing.T) {
	for _, span := range [][2]float64{{1, 1000}, {0.1, 3}, {30, 45}, {1.02, 1.09}, {20000, 90000}, {1e-6, 3e-4}, {2e-3, 1.7e5}, {1e7, 1e9}, {0.2, 0.35}, {1e-12, 1}} {
		low, high := math.Log10(span[0]), math.Log10(span[1])
		checkTicks(t, logTicks(apart).Ticks(low, high), low, high, func(v float64) float64 { return math.Pow(10, v) })
	}
	for _, span := range [][2]float64{{0.81, 1.17}, {-3, 12}, {0.001, 0.0093}, {1e3, 4.7e6}} {
		checkTicks(t, evenTicks{}.Ticks(span[0], span[1]), span[0], span[1], func(v float64) float64 { return v })
	}
}

// TestNamesOfTicksDoNotTouch where powers of ten alone leave three of them.
func TestNamesOfTicksDoNotTouch(t *testing.T) {
	for _, span := range [][2]float64{{1e-6, 3e-4}, {1e-3, 1}, {1e7, 1e9}, {800, 1.2e5}, {0.005, 2}} {
		low, high := math.Log10(span[0]), math.Log10(span[1])
		end := math.Inf(-1)
		for _, tick := range logTicks(apart).Ticks(low, high) {
			if tick.Label == "" {
				continue
			}
			half := float64(len(tick.Label)) / 2 * (high - low) / axisCharacters
			if tick.Value-half < end {
				t.Errorf("on %g … %g the name %s touches the one before", span[0], span[1], tick.Label)
			}
			end = tick.Value + half
		}
	}
}

func checkTicks(t *testing.T, ticks []plot.Tick, low, high float64, value func(float64) float64) {
	t.Helper()
	last := math.Inf(-1)
	for _, tick := range ticks {
		if tick.Value < low-1e-9 || tick.Value > high+1e-9 || tick.Value <= last {
			t.Errorf("on %g … %g a tick at %g after %g", low, high, tick.Value, last)
		}
		last = tick.Value
		if tick.Label == "" {
			continue
		}
		text, unit := tick.Label, 1.0
		switch text[len(text)-1] {
		case 'k':
			text, unit = text[:len(text)-1], 1e3
		case 'M':
			text, unit = text[:len(text)-1], 1e6
		case 'G':
			text, unit = text[:len(text)-1], 1e9
		}
		name, err := strconv.ParseFloat(strings.Replace(text, "−", "-", 1), 64)
		if err != nil {
			t.Fatal(err)
		}
		if want := value(tick.Value); math.Abs(name*unit-want) > 1e-3*math.Abs(want)+1e-12 {
			t.Errorf("the tick at %g is named %s", want, tick.Label)
		}
	}
	if named := len(slices.DeleteFunc(slices.Clone(ticks), unnamed)); named < 3 {
		t.Errorf("%g … %g has %d named ticks", low, high, named)
	}
}
