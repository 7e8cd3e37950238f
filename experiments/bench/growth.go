package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"

	"calibra/graph/work"

	"gonum.org/v1/gonum/stat"
)

// GrowthHead are the columns of [Growth].
var GrowthHead = []string{"command", "doubled", "from", "to", "core s from", "core s to", "exponent", "last doubling", "MB from", "MB to", "exponent of MB"}

// doublings is how often each size is doubled.
const doublings = 3

// grown are the sizes that are doubled, one after another; some are of codes alone.
var grown = []struct {
	name  string
	of    func(s *Size) *int
	codes bool
}{
	{"rows", func(s *Size) *int { return &s.Rows }, false},
	{"classes", func(s *Size) *int { return &s.Classes }, false},
	{"slots", func(s *Size) *int { return &s.Slots }, true},
	{"codewords", func(s *Size) *int { return &s.Codewords }, true},
}

// Growth measures how core seconds and peak memory of commands grow from the sizes s on. Rows, classes, slots and
// codewords are doubled three times, one while the others stay. The fastest of reps runs counts. An exponent is the
// slope of the logarithms: 1 where twice the size takes twice as long. The last doubling has its own, since fixed costs
// bend the first ones.
func Growth(ctx context.Context, program, dir string, s Size, reps int) (rows [][]string, err error) {
	for k, g := range grown {
		from, commands := *g.of(&s), s.growing(g.codes)
		seconds, peaks := make([][]float64, len(commands)), make([][]float64, len(commands))
		for d := range doublings + 1 {
			at := s
			*g.of(&at) = from << d
			if err := at.write(dir); err != nil {
				return nil, err
			}
			for i, c := range at.growing(g.codes) {
				work.Report(ctx, float64(k*(doublings+1)+d)/float64(len(grown)*(doublings+1)), "%s, %d %s", c.shown, from<<d, g.name)
				least := used{core: math.Inf(1)}
				for range reps {
					u, err := c.use(ctx, program, dir)
					if err != nil {
						return nil, err
					}
					if u.core < least.core {
						least = u
					}
				}
				seconds[i], peaks[i] = append(seconds[i], least.core), append(peaks[i], least.peak)
			}
		}
		for i, c := range commands {
			time, peak := seconds[i], peaks[i]
			rows = append(rows, []string{c.shown, g.name, strconv.Itoa(from), strconv.Itoa(from << doublings),
				fmt.Sprintf("%.2f", time[0]), fmt.Sprintf("%.2f", time[doublings]), exponent(time), exponent(time[doublings-1:]),
				fmt.Sprintf("%.0f", peak[0]), fmt.Sprintf("%.0f", peak[doublings]), exponent(peak)})
		}
	}
	return rows, nil
}

// growing are the commands that are measured at a size, or those with codes.
func (s Size) growing(codes bool) []command {
	commands := append(s.commands(), command{"evaluate --folds 0", "evaluate", []string{"evaluate", "--folds", "0"}, false})
	return slices.DeleteFunc(commands, func(c command) bool { return codes && !c.codes })
}

// exponent is the slope of log₂ y by the number of doublings, of two decimals.
func exponent(y []float64) string {
	at, logs := make([]float64, len(y)), make([]float64, len(y))
	for i, v := range y {
		at[i], logs[i] = float64(i), math.Log2(v)
	}
	_, slope := stat.LinearRegression(at, logs, nil, false)
	return fmt.Sprintf("%.2f", math.Round(100*slope)/100+0) // and −0 is 0
}
