package study

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
)

// localityStudy shows on how small a scale methods are wrong.
var localityStudy = Study{
	Name: "locality", Line: "how local is local? LCE as the kernel widens, and along the entropy and the distance of assignments",
	Grid: always(each(tableOrder...)), Judging: run.Judging{Redraws: 20, Locality: true},
	Vary:  []Field{byMethod},
	Views: []View{localityTable, localityFigures, localityDeciles}, Statements: localityOf,
}

// Locality is [run.Locality] as it is stored.
type Locality struct {
	LCE      gapped           `json:"lce"`
	Noise    gapped           `json:"noise"`
	Entropy  *metrics.Profile `json:"entropy,omitempty"`
	Distance *metrics.Profile `json:"distance,omitempty"`
}

// newLocality is nil where none was measured.
func newLocality(l *run.Locality) *Locality {
	if l == nil {
		return nil
	}
	return &Locality{l.LCE, l.Noise, l.Entropy, l.Distance}
}

// atBandwidth is LCE at the k-th of the bandwidths with its noise floor.
func atBandwidth(k int) (q, floor quantity) {
	number := func(of func(*Locality) gapped) func(*Result) float64 {
		return func(r *Result) float64 {
			if r.Locality == nil {
				return nan
			}
			return of(r.Locality)[k]
		}
	}
	title := "LCE γ=" + strconv.FormatFloat(run.Bandwidths[k], 'g', -1, 64)
	q = quantity{metric: metrics.LCE, title: title, value: number(func(l *Locality) gapped { return l.LCE })}
	return q, quantity{metric: metrics.LCE, title: title + " noise", unranked: true, value: number(func(l *Locality) gapped { return l.Noise })}
}

// localityTable is LCE at each bandwidth, and what of it exceeds the noise floor.
var localityTable = tables("LCE as the kernel widens",
	"In the embedding shared by all methods, whose distances grow with the root of its dimensions. A narrow kernel sees a row alone, and nearly all of its error is noise; a wide one averages a whole bin of confidence. Where the excess over the noise is as large at a narrow kernel as at a wide one, the error that is left is not local.",
	func(f *Findings) (all []*report.Table) {
		var whole, exceeding []quantity
		for k := range run.Bandwidths {
			q, floor := atBandwidth(k)
			whole, exceeding = append(whole, q), append(exceeding, above(q, floor))
		}
		return []*report.Table{f.table("LCE.", whole), f.table("LCE above its noise floor.", exceeding)}
	})

// localityFigures are LCE along the bandwidth and, of methods with codes, along the entropy and the distance of codes.
var localityFigures = figures("How local is local?",
	"LCE in the shared embedding: along the bandwidth γ of the kernel, and at its usual width in deciles of the test rows by the entropy of the codewords of their slots and by the mean squared distance of the slots to these. Bands are one standard deviation over the seeds; dotted is the noise floor of the first method of a panel.",
	func(_ *Findings, s *subject) []*report.Drawing {
		const lce = "local calibration error"
		panels := []report.LinePanel{
			{Title: s.Title(), X: "bandwidth γ of the kernel", Y: lce, Log: true, LogY: true, Places: map[float64]string{}},
			{Title: "by entropy: " + s.Title(), X: "entropy of a row's codewords, nats", Y: lce, Apart: true},
			{Title: "by distance: " + s.Title(), X: "mean squared distance of slots to codewords", Y: lce, Log: true, Apart: true},
		}
		for _, bandwidth := range run.Bandwidths {
			panels[0].Places[bandwidth] = strconv.FormatFloat(bandwidth, 'g', -1, 64)
		}
		for _, r := range s.rows {
			for k, of := range []func(*Locality) points{
				func(l *Locality) points { return points{run.Bandwidths, l.LCE, l.Noise} },
				byEntropy, byDistance,
			} {
				line, floor := r.along(of)
				if line.X == nil {
					continue
				}
				if panels[k].Series = append(panels[k].Series, line); len(panels[k].Series) == 1 {
					panels[k].Series = append(panels[k].Series, floor)
				}
			}
		}
		panels = slices.DeleteFunc(panels, func(p report.LinePanel) bool { return p.Series == nil })
		if len(panels) == 0 {
			return nil
		}
		return s.drawing("locality", "LCE of %s along the bandwidth of the kernel, and along the entropy and the distance of assignments.", report.Lines(panels))
	})

// localityDeciles are the numbers of the figures along the entropy and the distance of codes.
var localityDeciles = tables("Deciles of entropy and distance",
	"The numbers of the figures: of each decile of the test rows, the mean of the entropy (nats) or the distance, the LCE and its noise floor.",
	func(f *Findings) (all []*report.Table) {
		for k, of := range []func(*Locality) points{byEntropy, byDistance} {
			name := []string{"entropy", "distance"}[k]
			t := &report.Table{Caption: "LCE by " + name + ".", Labels: append(f.heads(), "mean"),
				Values: report.Heads("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")}
			for _, s := range f.shown() {
				for _, r := range s.rows {
					line, floor := r.along(of)
					for i, values := range [][]float64{line.X, line.Mean, floor.Mean} {
						if values == nil {
							continue
						}
						values = append(slices.Clip(values), slices.Repeat([]float64{nan}, len(t.Values))...) // where deciles tie
						t.Add(s.Title(), report.Row{
							Labels: append(slices.Clone(r.labels), []string{name, "LCE", "noise"}[i]),
							Cells: data.Each(values[:len(t.Values)], func(x float64) report.Cell {
								return report.Cell{Text: inTables(x), Value: x}
							}),
						})
					}
				}
			}
			if t.Len() > 0 {
				all = append(all, t)
			}
		}
		return all
	})

// inTables is a mean as tables of LCE have it: .0025.
func inTables(x float64) string { return metrics.Spread{Mean: x, Runs: 1}.Format(metrics.LCE) }

func byEntropy(l *Locality) points  { return inBins(l.Entropy) }
func byDistance(l *Locality) points { return inBins(l.Distance) }

// points are places of a line, with its height and its noise floor there.
type points struct{ x, y, noise []float64 }

// inBins are those of a profile, none of one that was not measured.
func inBins(p *metrics.Profile) (out points) {
	if p == nil {
		return out
	}
	for k, n := range p.Count {
		if n > 0 {
			out.x, out.y = append(out.x, p.At[k]), append(out.y, p.LCE[k])
			out.noise = append(out.noise, append(p.Floor, slices.Repeat([]float64{nan}, len(p.Count))...)[k])
		}
	}
	return out
}

// along is a line of the means over the row's seeds, and of their noise floors; nothing where none has points.
func (r *row) along(of func(*Locality) points) (line, floor report.Series) {
	name := r.spec.Method
	line = report.Series{Name: title(r.spec), Ours: name == tableOrder[0], Style: style(r.spec.Catalog, name)}
	floor = report.Series{Name: "floor of " + line.Name, Kind: report.Floor}
	var seeds []points
	for _, result := range r.results {
		if result.Locality != nil {
			seeds = append(seeds, of(result.Locality))
		}
	}
	places := 0
	if seeds != nil { // of fewest places, where equal numbers share a bin
		places = slices.Min(data.Each(seeds, func(p points) int { return len(p.x) }))
	}
	for k := range places {
		mean := func(of func(points) []float64) metrics.Spread {
			return metrics.NewSpread(data.Each(seeds, func(p points) float64 { return of(p)[k] }))
		}
		x, y := mean(func(p points) []float64 { return p.x }).Mean, mean(func(p points) []float64 { return p.y })
		line.X, line.Mean, line.SD = append(line.X, x), append(line.Mean, y.Mean), append(line.SD, y.SD)
		floor.X, floor.Mean = append(floor.X, x), append(floor.Mean, mean(func(p points) []float64 { return p.noise }).Mean)
	}
	return line, floor
}

// localityOf answers at which bandwidth most of the error is not noise.
var localityOf = answered(func(_ *subject, r *row) string {
	best, most := 0, nan
	for k := range run.Bandwidths {
		if excess := r.spread(above(atBandwidth(k))).Mean; excess > most || math.IsNaN(most) {
			best, most = k, excess
		}
	}
	if most < 5e-5 { // as tables round it
		return fmt.Sprintf("%s: LCE is nowhere above its noise.", r.spec.Method)
	}
	q, noise := atBandwidth(best)
	return fmt.Sprintf("%s: LCE is most above its noise at γ = %g, %s, of which %s is noise.", r.spec.Method,
		run.Bandwidths[best], inTables(r.spread(q).Mean), inTables(r.spread(noise).Mean))
})
