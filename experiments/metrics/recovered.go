package metrics

import (
	"encoding/json"

	"calibra/experiments/internal/checked"

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

// Says takes the predictions of the rows as they are, after the global correction, and after both.
func (r *Recovered) Says(all [3]*checked.Sample) {
	for k, s := range all {
		r.Events[k] = EventsOf(s)
	}
	r.laws = [3]*Law{LawOf(all[1], all[0]), LawOf(all[2], all[0]), LawOf(all[2], all[1])}
}

// Law is that of predictions a and b, numbered as in r.Events.
func (r *Recovered) Law(a, b int) *Law {
	if a < b {
		return r.Law(b, a).Swapped()
	}
	return r.laws[a+b-1]
}

// Gain fills in the gains, from the losses of rows as they are, after the global correction, and after both (N each),
// in NLL and in the Brier score. It uses r.Ties and what [Recovered.Says] took.
func (r *Recovered) Gain(nll, brier [3][]float64) (err error) {
	for _, of := range []struct {
		nll, brier *Gain
		from, to   int
		law        *Law
	}{{&r.NLL.Global, &r.Brier.Global, 0, 1, r.laws[0]}, {&r.NLL.Local, &r.Brier.Local, 1, 2, r.laws[2]}, {&r.NLL.Total, &r.Brier.Total, 0, 2, r.laws[1]}} {
		t := r.Ties
		t.Law = of.law
		if *of.nll, err = recoverable(nll[of.from], nll[of.to], nll[of.from], nll[of.to], t); err != nil {
			return err
		}
		if *of.brier, err = recoverable(brier[of.from], brier[of.to], nll[of.from], nll[of.to], t); err != nil {
			return err
		}
	}
	return nil
}

// Recovered is the loss that is left on the table.
type Recovered struct {
	NLL, Brier Gains
	// GlobalNLL and LocalNLL have a term for each row that counts; the gains of NLL are their means. LocalNLL is nil if
	// there are no features for a local correction.
	GlobalNLL, LocalNLL []float64
	Families            [2]string  // of the global and of the local recalibrator
	Ties                Ties       // of the rows, as a verdict counts them
	Events              [3]*Events // of the predictions as they are, after the global correction, and after both
	laws                [3]*Law    // of the same: global less as they are, both less as they are, both less global
}

// recoverable is what rows save of a loss by going from one prediction to another, of those NLLs. As another loss that
// is proper falls no more than by chance for labels drawn from the first, p of each is at least the bound of the NLL's
// ([Comparison.likelihood]).
func recoverable(from, to, nllFrom, nllTo []float64, t Ties) (Gain, error) {
	c, err := t.paired(from, to)
	if err != nil {
		return Gain{}, err
	}
	nll, err := t.paired(nllFrom, nllTo)
	if err != nil {
		return Gain{}, err
	}
	g := Gain{Value: c.Difference, SE: c.se, Low: c.Difference, P: 1}
	if c.Difference == 0 {
		return g, nil
	}
	if c.se > 0 {
		law := distuv.StudentsT{Sigma: 1, Nu: c.df}
		g.P, g.Low = law.Survival(c.Difference/c.se), c.Difference-law.Quantile(.95)*c.se
	} else if c.Difference > 0 {
		g.P = 0
	}
	bound, rows := 1., float64(len(from))
	if nll.Difference > 0 {
		bound = t.Law.chance(-rows*nll.Difference, nll.rows/rows)
	}
	if bound > g.P {
		g.P = bound
		if z := distuv.UnitNormal.Quantile(1 - bound); z > 0 {
			g.Low = min(g.Low, g.Value*(1-distuv.UnitNormal.Quantile(.95)/z))
		} else {
			g.Low = min(g.Low, 0)
		}
	}
	return g, nil
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
