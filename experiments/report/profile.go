package report

import (
	"fmt"

	"calibra/experiments/metrics"

	"gonum.org/v1/plot/vg"
)

// ProfilePanel shows local calibration error along the effective sample size of the
// neighbourhood: bins of equally many rows from sparse to dense, so that methods whose
// embeddings differ share one axis.
type ProfilePanel struct {
	Title    string
	Profiles []ProfileLine
}

// ProfileLine is one method's profile over one or more seeds.
type ProfileLine struct {
	Name  string
	Ours  bool
	Style int
	Seeds []metrics.Profile
}

// Profiles draws the panels side by side, and as a floor what the paper's calibrator, or else the first method, would
// show if it were perfectly calibrated. It is nil where nothing was measured.
func Profiles(panels []ProfilePanel) *Figure {
	var drawn []LinePanel
	for _, panel := range panels {
		out := LinePanel{Title: panel.Title, X: "rows from sparse to dense, %", Y: "local calibration error", LogY: true}
		var floored *ProfileLine
		for i, line := range panel.Profiles {
			s := Series{Name: line.Name, Ours: line.Ours, Style: line.Style}
			if s.average(line.Seeds, func(p metrics.Profile) []float64 { return p.LCE }); len(s.X) == 0 {
				continue
			}
			out.Series = append(out.Series, s)
			if floored == nil || line.Ours {
				floored = &panel.Profiles[i]
			}
		}
		if floored == nil {
			continue
		}
		floor := Series{Name: "floor of " + floored.Name, Kind: Floor}
		floor.average(floored.Seeds, func(p metrics.Profile) []float64 { return p.Floor })
		floor.SD = nil
		if len(floor.X) > 0 {
			out.Series = append(out.Series, floor)
		}
		drawn = append(drawn, out)
	}
	return Lines(drawn)
}

// average fills in the means over the seeds of what each bin has.
func (s *Series) average(seeds []metrics.Profile, of func(metrics.Profile) []float64) {
	for k := range seeds[0].Count {
		var y []float64
		for _, p := range seeds {
			if values := of(p); p.Count[k] > 0 && values != nil {
				y = append(y, values[k])
			}
		}
		if y == nil {
			continue
		}
		lce := metrics.NewSpread(y)
		s.X = append(s.X, 100*(float64(k)+.5)/float64(len(seeds[0].Count)))
		s.Mean, s.SD = append(s.Mean, lce.Mean), append(s.SD, lce.SD)
	}
}

// ESSProfile draws the local calibration error of one set of predictions along the
// effective sample size of the neighbourhood, with its noise floor if it is known.
func ESSProfile(title string, profile metrics.Profile) *Figure {
	figure := Profiles([]ProfilePanel{{title, []ProfileLine{{Name: "measured", Ours: true, Seeds: []metrics.Profile{profile}}}}})
	if figure == nil {
		return &Figure{err: fmt.Errorf("report: draw %s: %w", title, errNothing)}
	}
	figure.cell = vg.Point{X: 12 * vg.Centimeter, Y: 8 * vg.Centimeter}
	return figure
}
