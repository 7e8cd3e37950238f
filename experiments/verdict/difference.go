package verdict

import (
	"encoding/json"
	"fmt"
	"math"

	"calibra/data"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/stat/distuv"
)

// Difference is how far a method lies from another in an error on the same test rows. Below 0
// the method is the better one. Equal predictions have the difference 0, without an interval (NaN, and null in JSON).
type Difference struct {
	Value float64
	Low   float64 // of the interval
	High  float64
	P     float64 // of no difference, adjusted for all methods (Holm 1979)

	seeds float64 // the share of its variance that is from seed to seed, and that more rows leave as it is
}

// NewDifference is the comparison with its p by Holm.
func NewDifference(c metrics.Comparison, holm float64) *Difference {
	return &Difference{Value: c.Difference, Low: c.Interval.Low, High: c.Interval.High, P: holm, seeds: c.FromSeeds}
}

func (d *Difference) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Value float64  `json:"value"`
		Low   *float64 `json:"low"`
		High  *float64 `json:"high"`
		P     float64  `json:"p"`
	}{d.Value, known(d.Low), known(d.High), d.P})
}

// InPairs are the differences of methods in a metric, by their losses of the same rows, so tied, to one of them, with
// p by Holm. It panics where losses are not finite or not of the same rows.
func InPairs(m metrics.Metric, losses [][]float64, ties metrics.Ties,
	law func(i, reference int) *metrics.Law, reference int) []*Difference {
	out := make([]*Difference, len(losses))
	var others []*Difference
	for i := range losses {
		if i == reference {
			continue
		}
		if ties.Law = nil; m == metrics.NLL {
			ties.Law = law(i, reference)
		}
		c, err := ties.Compare(m, losses[i], losses[reference])
		if err != nil {
			panic("verdict: " + err.Error())
		}
		out[i] = NewDifference(*c, c.PValue)
		others = append(others, out[i])
	}
	for k, p := range metrics.Holm(data.Each(others, func(d *Difference) float64 { return d.P })) {
		others[k].P = p
	}
	return out
}

// Told reports whether the difference is more than chance at 5 %.
func (d *Difference) Told() bool { return d != nil && d.P < 0.05 }

// String is "−.0718 (95 % −.0781 to −.0660, p ≤ 1e-6)", or "0, of equal predictions".
func (d *Difference) String() string {
	if math.IsNaN(d.Low) {
		return "0, of equal predictions"
	}
	digits := decimals(d.Value, d.Low, d.High)
	value := fixed(d.Value, digits)
	if least := math.Pow(10, -float64(digits)); math.Abs(d.Value) < least/2 {
		value = "less than " + fixed(least, digits)
	}
	return fmt.Sprintf("%s (95 %% %s to %s, %s)", value, fixed(d.Low, digits), fixed(d.High, digits), pEquals(d.P))
}

// moves says what the method does to the NLL: "lowers the NLL by .0718 (95 % .0660 to .0781, p ≤ 1e-6)".
func (d *Difference) moves() string {
	switch {
	case d.none():
		return "does not change the NLL"
	case d.Value < 0:
		return "lowers the NLL by " + (&Difference{Value: -d.Value, Low: -d.High, High: -d.Low, P: d.P}).String()
	}
	return "raises the NLL by " + d.String()
}

// none reports whether there is no difference, or one that no number shows.
func (d *Difference) none() bool {
	return d.Value == 0 || max(math.Abs(d.Low), math.Abs(d.High)) < nothing
}

// most is the largest gain in the interval, 0 where there is none.
func (d *Difference) most() float64 {
	if !(d.Low < 0) {
		return 0
	}
	return -d.Low
}

// half is half the width of the interval.
func (d *Difference) half() float64 { return (d.High - d.Low) / 2 }

// tells is moves, with whether it is more than chance; it says that so many tests were made where the interval does not
// show it.
func (d *Difference) tells(tests int) string {
	switch {
	case d.Told() || d.none():
		return d.moves()
	case tests > 1 && (d.Low > 0 || d.High < 0):
		return fmt.Sprintf("%s, no more than chance among the %d methods compared", d.moves(), tests)
	}
	return d.moves() + ", no more than chance"
}

// Tells says what a difference alone, of no others, does to the NLL, and whether that is more than chance.
func (d *Difference) Tells() string { return d.tells(1) }

// rowsFor is about how many rows show a gain, four times in five by the first of so many tests that Holm corrects at 5
// %, of two significant digits; 0 where none do. Of the variance v of the difference for n rows more rows lessen what
// is not from seed to seed:
//
//	v_rows n/N + v_seeds = (gain / (z_{1−.025/tests} + z_.8))²
func rowsFor(n int, d *Difference, gain float64, tests int) int {
	z := func(p float64) float64 { return distuv.UnitNormal.Quantile(p) }
	v, enough := math.Pow(d.half()/z(.975), 2), math.Pow(gain/(z(1-.025/float64(tests))+z(.8)), 2)
	if v > 0 && d.seeds*v >= enough {
		return 0
	}
	rows := max(float64(n)*(1-d.seeds)*v/(enough-d.seeds*v), float64(n)+1) // a difference without an interval would need none
	return twoDigits(rows)
}
