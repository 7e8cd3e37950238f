package metrics

import (
	"encoding/json"
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// Gain is a mean over rows of the loss that a correction saves on rows it was not fitted
// to, in the units of the loss. It may be negative.
type Gain struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`      // of the mean over rows, the folds' fits being fixed
	Low   float64 `json:"low"`     // one-sided 95 % bound: at least so much is recoverable
	P     float64 `json:"p_value"` // of a gain of 0 or less, normal
}

// Gains are the savings of a loss by a global correction, by a local correction beyond that,
// and by both together.
type Gains struct {
	Global Gain `json:"global"`
	Local  Gain `json:"local"`
	Total  Gain `json:"total"`
}

// NewGains are the gains from the rows' losses as they are, after the global correction, and after both.
func NewGains(before, global, both []float64) Gains {
	return Gains{Global: Recoverable(before, global), Local: Recoverable(global, both), Total: Recoverable(before, both)}
}

// Recovered is the loss that is left on the table.
type Recovered struct {
	NLL, Brier Gains
	// GlobalNLL and LocalNLL have a term for each row that counts; the gains of NLL are their means. LocalNLL is nil if
	// there are no features for a local correction.
	GlobalNLL, LocalNLL []float64
	// ReachedNLL and ReachedBrier are the losses of the corrected predictions, row by row. Other
	// predictions of the same rows can be measured against them; see [Recoverable].
	ReachedNLL, ReachedBrier []float64
	Families                 [2]string // of the global and of the local recalibrator
	Ties                     Ties      // of the rows, as a verdict counts them
}

// Recoverable is the loss that one reference r shows to be recoverable from any predictions p
// of its rows: the mean over rows of how far their losses (N, NLL or Brier) lie above those
// that r reaches, such as [Recovered.ReachedNLL] of the classifier that p was made from:
//
//	R = mean[ℓ(p) − ℓ(r)]
//
// For any r that was not fitted to the rows it is measured on, R is on average at most the
// divergence of p from the truth. Predictions that are compared with one r rank as ℓ ranks
// them. The gains of corrections fitted to each of them also differ by the noise of their
// fits. If p is better than r, R is negative.
func Recoverable(losses, reached []float64) Gain {
	return newGain(floats.SubTo(make([]float64, len(losses)), losses, reached))
}

// newGain is the mean of the rows' gains with its interval.
func newGain(rows []float64) Gain {
	g := Gain{Value: checked.Mean(rows)}
	for _, x := range rows {
		g.SE += (x - g.Value) * (x - g.Value)
	}
	n := float64(len(rows))
	g.SE = math.Sqrt(g.SE / (n - 1) / n)
	g.Low = g.Value - distuv.UnitNormal.Quantile(.95)*g.SE
	switch {
	case g.SE > 0:
		g.P = distuv.UnitNormal.Survival(g.Value / g.SE)
	case g.Value > 0:
		g.P = 0
	default:
		g.P = 1
	}
	return g
}

// MarshalJSON writes what was recovered without the terms of each row.
func (r *Recovered) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		NLL         Gains  `json:"nll"`
		Brier       Gains  `json:"brier"`
		Global      string `json:"global_family"`
		Local       string `json:"local_family,omitempty"`
		Folds       int    `json:"folds,omitempty"`
		WholeGroups bool   `json:"whole_groups,omitempty"`
		Interval    string `json:"interval,omitempty"`
	}{r.NLL, r.Brier, r.Families[0], r.Families[1], r.Ties.Folds, r.Ties.Groups != nil, r.Ties.String()})
}
