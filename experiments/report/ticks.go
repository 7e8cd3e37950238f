package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"gonum.org/v1/plot"
)

// Logarithmic axes hold log10 of their values: gonum/plot v0.17 places the label of
// an axis of plot.LogScale off its middle.

// logTicks names 1, 2, 5, 10, 20, … of a logarithmic axis, or else 1, 5, 10, 50, … or powers of ten, every second, and
// so on: the first of these whose names do not touch. Where that leaves fewer than three, or two of an axis of more
// than a power of ten, even steps are named.
type logTicks func(ticks []plot.Tick, length float64) (apart bool)

var _ plot.Ticker = logTicks(apart)

// Ticks are digits whose names stay apart, or else even steps.
func (apart logTicks) Ticks(low, high float64) []plot.Tick {
	fewest := 3
	if high-low > 1 {
		fewest = 2
	}
	for coarse := range 9 {
		named, step := [][]float64{{1, 2, 5}, {1, 5}, {1}}[min(coarse, 2)], max(1, coarse-1)
		ticks := digitTicks(low, high, named, step)
		if len(slices.DeleteFunc(slices.Clone(ticks), unnamed)) < fewest {
			break
		}
		if apart(ticks, high-low) {
			return ticks
		}
	}
	ticks := evenTicks{}.Ticks(math.Pow(10, low), math.Pow(10, high))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	unname(ticks, 0.13*(high-low))
	return slices.DeleteFunc(ticks, unnamed)
}

// digitTicks ticks 1, 2, …, 9 times each power of ten, the named of every so many powers alone on a long axis.
func digitTicks(low, high float64, named []float64, step int) (ticks []plot.Tick) {
	for e := math.Floor(low); e <= high; e++ {
		for digit := 1.0; digit < 10; digit++ {
			x := e + math.Log10(digit)
			if x < low || x > high {
				continue
			}
			tick := plot.Tick{Value: x}
			if slices.Contains(named, digit) && math.Mod(e, float64(step)) == 0 {
				tick.Label = short(digit * math.Pow(10, e))
			} else if high-low > 4 {
				continue
			}
			ticks = append(ticks, tick)
		}
	}
	return ticks
}

// axisCharacters is how many characters of a tick's name an axis holds side by side.
const axisCharacters = 36

// apart reports whether no two names of ticks, in ascending order, touch on an axis of that length.
func apart(ticks []plot.Tick, length float64) bool {
	const between = 2 // characters
	return disjoint(ticks, func(name string) float64 {
		return float64(utf8.RuneCountInString(name)+between) * length / axisCharacters
	})
}

// stacked reports whether no two names of ticks, in ascending order, touch on an axis upwards of that length, which has
// room for twelve lines.
func stacked(ticks []plot.Tick, length float64) bool {
	return disjoint(ticks, func(string) float64 { return length / 12 })
}

// disjoint reports whether no two names of ticks, in ascending order, which take so much of the axis, touch.
func disjoint(ticks []plot.Tick, size func(name string) float64) bool {
	end := math.Inf(-1)
	for _, t := range ticks {
		if unnamed(t) {
			continue
		}
		half := size(t.Label) / 2
		if t.Value-half < end {
			return false
		}
		end = t.Value + half
	}
	return true
}

func unnamed(t plot.Tick) bool { return t.Label == "" }

// unname takes the name of ticks, in ascending order, that would not leave the next name
// to their right some room.
func unname(ticks []plot.Tick, room float64) {
	free := math.Inf(1)
	for k := len(ticks) - 1; k >= 0; k-- {
		if free-ticks[k].Value < room {
			ticks[k].Label = ""
			continue
		}
		free = ticks[k].Value
	}
}

// short writes thousands as k, millions as M and thousands of millions as G.
func short(x float64) string {
	switch {
	case x >= 1e9 && x < 1e13:
		return fmt.Sprintf("%.4gG", x/1e9)
	case x >= 1e6 && x < 1e9:
		return fmt.Sprintf("%.4gM", x/1e6)
	case x >= 1e4 && x < 1e6:
		return fmt.Sprintf("%.4gk", x/1e3)
	}
	return fmt.Sprintf("%.4g", x)
}

// evenTicks ticks four to ten multiples of 1, 2 or 5 times a power of ten.
type evenTicks struct{}

var _ plot.Ticker = evenTicks{}

func (evenTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10(high-low)))
	for _, part := range []float64{1, 0.5, 0.2, 0.1} {
		if (high-low)/(step*part) >= 4 {
			step *= part
			break
		}
	}
	decimals := max(0, int(-math.Floor(math.Log10(step)+1e-9)))
	for k := math.Ceil(low / step); k*step <= high; k++ {
		tick := plot.Tick{Value: k * step, Label: strings.Replace(fmt.Sprintf("%.*f", decimals, k*step+0), "-", "−", 1)} // −0 + 0 is 0
		if tick.Value >= 1e4 && high < 1000*step {                                                                       // short has four digits
			tick.Label = short(tick.Value)
		}
		ticks = append(ticks, tick)
	}
	return ticks
}

// spacedTicks are evenTicks of an axis along which names stand side by side: where they would
// touch, every second or every fifth has one.
type spacedTicks struct{}

func (spacedTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for _, every := range []int{1, 2, 5} {
		ticks = evenTicks{}.Ticks(low, high)
		zero := 0 // the tick nearest to 0 keeps its label
		for i := range ticks {
			if math.Abs(ticks[i].Value) < math.Abs(ticks[zero].Value) {
				zero = i
			}
		}
		for i := range ticks {
			if (i-zero)%every != 0 {
				ticks[i].Label = ""
			}
		}
		if apart(ticks, high-low) {
			break
		}
	}
	return ticks
}

// placedTicks ticks an axis at given places, and names those that leave the name to
// their right some room.
type placedTicks struct {
	labels map[float64]string
	log    bool
}

func (t placedTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for x, label := range t.labels {
		ticks = append(ticks, plot.Tick{Value: scaled(x, t.log), Label: label})
	}
	slices.SortFunc(ticks, func(a, b plot.Tick) int { return cmp.Compare(a.Value, b.Value) })
	unname(ticks, 0.09*(high-low))
	return ticks
}

// unitTicks are the ends of the unit interval and its middle.
var unitTicks = plot.ConstantTicks{{Value: 0, Label: "0.0"}, {Value: 0.5, Label: "0.5"}, {Value: 1, Label: "1.0"}}
