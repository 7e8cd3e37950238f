package diagnosis

import (
	"math"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/stat/distuv"
)

// Gap is the mean confidence of the top class less its accuracy, in a part of the rows.
type Gap struct {
	Part  int     `json:"part"` // the number of a class or group
	Rows  int     `json:"rows"`
	Value float64 `json:"gap"`
	// Chance is what the gaps of all parts of calibrated predictions are below 95 times in 100 together (Bonferroni):
	//
	//	z_{1−.025/parts} √(Σ w_i² c_i(1−c_i)) / Σ w_i
	Chance float64 `json:"chance"`
}

// BeyondChance reports whether calibrated predictions would not show it.
func (g Gap) BeyondChance() bool { return math.Abs(g.Value) > g.Chance }

// gaps are those of the parts that have rows, by their numbers; part is that of each row.
func gaps(s *checked.Sample, part func(i int) int) (all []Gap) {
	at := map[int]*Gap{}
	weight := map[int]float64{}
	for i := range s.N {
		k := part(i)
		if at[k] == nil {
			at[k] = &Gap{Part: k}
		}
		g, w, c := at[k], s.W(i), s.Confidence(i)
		g.Rows++
		g.Value += w * s.Miss(i, s.Classes)
		g.Chance += w * w * c * (1 - c)
		weight[k] += w
	}
	z := distuv.UnitNormal.Quantile(1 - .025/float64(len(at)))
	for k, g := range at {
		g.Value, g.Chance = g.Value/weight[k], z*math.Sqrt(g.Chance)/weight[k]
		all = append(all, *g)
	}
	slices.SortFunc(all, func(a, b Gap) int { return a.Part - b.Part })
	return all
}
