package report

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
)

// logTicks ticks 1, 2, 5, 10, 20, … of a logarithmic axis or, where that leaves fewer
// than three ticks, even steps as far as there is room to name them.
type logTicks struct{}

var _ plot.Ticker = logTicks{}

func (logTicks) Ticks(low, high float64) (ticks []plot.Tick) {
	for e := math.Floor(low); e <= high; e++ {
		for _, digit := range []float64{1, 2, 5} {
			if x := e + math.Log10(digit); low <= x && x <= high {
				ticks = append(ticks, plot.Tick{Value: x, Label: short(digit * math.Pow(10, e))})
			}
		}
	}
	if len(ticks) >= 3 {
		return ticks
	}
	ticks = evenTicks{}.Ticks(math.Pow(10, low), math.Pow(10, high))
	for i := range ticks {
		ticks[i].Value = math.Log10(ticks[i].Value)
	}
	unname(ticks, 0.13*(high-low))
	return slices.DeleteFunc(ticks, func(t plot.Tick) bool { return t.Label == "" })
}

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

// short writes thousands as k and millions as M.
func short(x float64) string {
	switch {
	case x >= 1e6:
		return fmt.Sprintf("%gM", x/1e6)
	case x >= 1e4:
		return fmt.Sprintf("%gk", x/1e3)
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
		ticks = append(ticks, plot.Tick{Value: k * step, Label: fmt.Sprintf("%.*f", decimals, k*step+0)}) // −0 + 0 is 0
	}
	return ticks
}
