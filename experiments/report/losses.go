package report

import (
	"math"
	"slices"
)

// LossCurve is how the losses of a stage of a fit went.
type LossCurve struct {
	Name             string
	Epochs           []float64
	Loss, Validation []float64 // NaN where there is none
	Kept             float64   // the epoch whose weights are kept
}

// Losses draws learning curves, a panel for each stage whose loss moves by what an axis shows, a dot at the epoch that
// is kept; nil where there are none.
func Losses(curves []LossCurve) *Figure {
	var panels []LinePanel
	for _, c := range curves {
		if low, high := slices.Min(c.Loss), slices.Max(c.Loss); high-low < 1e-4*math.Abs(high) {
			continue
		}
		panel := LinePanel{Title: c.Name, X: "epoch or iteration", Y: "loss, nats a row", Apart: true}
		panel.Series = append(panel.Series, Series{Name: "training", Kind: Prediction, X: c.Epochs, Mean: c.Loss})
		judged := c.Loss
		if slices.ContainsFunc(c.Validation, func(v float64) bool { return !math.IsNaN(v) }) {
			judged = c.Validation
			panel.Series = append(panel.Series, Series{Name: "validation", Ours: true, Kind: Prediction, X: c.Epochs, Mean: c.Validation})
		}
		if at := slices.Index(c.Epochs, c.Kept); at >= 0 {
			panel.Series = append(panel.Series, Series{Name: "kept", Ours: true, Kind: Marks, X: c.Epochs[at : at+1], Mean: judged[at : at+1]})
		}
		panels = append(panels, panel)
	}
	if panels == nil {
		return nil
	}
	return Lines(panels)
}
