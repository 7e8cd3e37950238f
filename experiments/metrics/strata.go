package metrics

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Stratum is the local calibration error of some of the rows, with neighbours from all:
// Σ_c w_c mean_i |r_ic| over the rows i of the stratum. Two methods differ in it by their
// errors and not by their rows only if the strata were fixed before either was fitted.
type Stratum struct {
	LCE   float64 // NaN where every local bin of its rows was skipped
	Floor float64 // what LCE would be of a calibrated model, mean of the redraws; NaN without
}

// checkStrata returns an error unless each of n rows has a stratum.
func (s Settings) checkStrata(n int) error {
	if s.Strata != nil && len(s.Strata) != n {
		return fmt.Errorf("metrics: settings: %d strata for %d rows: give one a row", len(s.Strata), n)
	}
	for i, k := range s.Strata {
		if k < 0 {
			return fmt.Errorf("metrics: settings: row %d has the stratum %d: want 0 or more", i, k)
		}
	}
	return nil
}

// strata measures each stratum.
func (b *binned) strata(local *Local) []Stratum {
	out := make([]Stratum, slices.Max(b.settings.Strata)+1)
	for s, lce := range b.byStratum(local, local.Residual, len(out)) {
		out[s] = Stratum{LCE: lce, Floor: math.NaN()}
	}
	if local.Floor != nil {
		for s, floor := range b.byStratum(local, local.Floor, len(out)) {
			out[s].Floor = floor
		}
	}
	return out
}

// byStratum is Σ_c w_c mean_i |x_ic| of each of so many strata over the rows whose bin was not
// skipped, x being N×C.
func (b *binned) byStratum(local *Local, x *mat.Dense, parts int) []float64 {
	sums := tallyOf(b.Sample, parts)
	for i, s := range b.settings.Strata {
		place := local.place(i)
		if place < 0 {
			continue
		}
		for c, r := range local.Residual.RawRowView(place) {
			if !math.IsNaN(r) {
				sums.add(s, c, math.Abs(x.At(place, c)), b.W(i))
			}
		}
	}
	lce, weights := make([]float64, parts), b.classWeights(b.observed())
	for s := range lce {
		lce[s], _ = sums.values(s, weights, b.settings.Protocol)
	}
	return lce
}
