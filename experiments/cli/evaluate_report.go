package cli

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// plotsGroup is the data.Folder group of --plots, and plots are its figures.
const plotsGroup = "evaluate --plots"

var plots = []string{"reliability-isotonic", "confusion", "triangle", "reliability-top", "reliability-classes", "ess-profile"}

// drawings are the figures of an evaluation, some of plots.
func (c *evaluateCmd) drawings(p *data.Predictions, r *metrics.Report) ([]*report.Drawing, error) {
	top, classes, err := metrics.Reliability(p.LogProbs, p.Labels, metrics.Settings{Bins: c.Bins, Rows: p.Weights})
	if err != nil {
		return nil, err
	}
	drawn, err := portrait([]said{{strings.TrimSuffix(filepath.Base(c.In), ".npz"), p}}, p.ClassNames)
	if err != nil {
		return nil, err
	}
	drawn = append(drawn,
		&report.Drawing{Name: "reliability-top", Caption: "How often the top class is right, against its probability.", Figure: report.Reliability("Reliability of the top class", top)},
		&report.Drawing{Name: "reliability-classes", Caption: "How often any class is right, against its probability.", Figure: report.Reliability("Reliability of all classes", classes)})
	if !math.IsNaN(r.Values[metrics.LCE]) {
		drawn = append(drawn, &report.Drawing{Name: "ess-profile", Figure: report.ESSProfile("Local calibration along density", r.Local.ESSProfile(15)),
			Caption: "Local calibration error from rows in sparse places to rows in dense ones, and the noise floor: what a perfectly calibrated model would show."})
	}
	return drawn, nil
}

// draw writes the figures into --plots.
func (c *evaluateCmd) draw(drawn []*report.Drawing) error {
	out := data.NewFolder(c.Plots, plotsGroup)
	defer out.Discard()
	for _, d := range drawn {
		d.Figure.Add(out, d.Name)
	}
	return out.Commit()
}

// page is where --html goes: a directory gets report.html.
func (c *evaluateCmd) page() string {
	if info, err := os.Stat(c.HTML); err == nil && info.IsDir() {
		return filepath.Join(c.HTML, "report.html")
	}
	return c.HTML
}

// writePage writes the evaluation as one HTML page.
func (c *evaluateCmd) writePage(r *metrics.Report, verdict *report.Verdict, drawn []*report.Drawing) error {
	digest, err := data.Digest(c.In)
	if err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(c.In), ".npz")
	d := &report.Document{
		Title: "Evaluation of " + name,
		Intro: fmt.Sprintf("%d rows, %d classes, protocol %s.", r.Rows, r.Classes, r.Protocol),
		Facts: []report.Fact{
			{Name: "Protocol", Value: r.Protocol.String()},
			{Name: "Bins", Value: fmt.Sprintf("%d, %s", r.Settings.Bins, r.Settings.Binning)},
			{Name: "Bandwidth", Value: fmt.Sprintf("%g", r.Settings.Bandwidth)},
			{Name: "Bootstrap replicates", Value: fmt.Sprint(r.Uncertainty.Replicates)},
			{Name: "Redraws of the labels", Value: fmt.Sprint(r.Uncertainty.Redraws)},
			{Name: "Seed", Value: fmt.Sprint(c.Seed)},
		},
		Sections: evaluationSections(r, drawn),
	}
	if d.Head, err = provenance(report.Fact{Name: "Data", Value: name + ", " + digest}); err != nil {
		return err
	}
	if verdict != nil {
		d.Verdict = []report.Statement{verdict.Statement()}
	}
	return data.WriteFile(c.page(), func(w io.Writer) error { return d.WriteHTML(w) })
}

// evaluationSections are those of the page, as far as there is something to tell.
func evaluationSections(r *metrics.Report, drawn []*report.Drawing) []*report.Section {
	note := "Intervals are 95 % bootstrap intervals over the rows. The noise floor is what the same metric shows when labels are redrawn from the predictions, so that they are perfectly calibrated; p is the chance of a value as extreme under perfect calibration."
	if missing := r.Missing(); missing != "" {
		note += " " + missing + "."
	}
	sections := []*report.Section{{Title: "Metrics", Note: note, Tables: []*report.Table{measuredTable(r).page("")}}}
	for _, part := range []struct{ title, note, prefix string }{
		{"Reliability", "Bars are 95 % Wilson intervals of each bin.", "reliability"},
		{"Where it is wrong", "", "confusion"}, {"In the triangle", "", "triangle"}, {"Local calibration", "", "ess"},
	} {
		section := &report.Section{Title: part.title, Note: part.note}
		for _, figure := range drawn {
			if strings.HasPrefix(figure.Name, part.prefix) {
				section.Figures = append(section.Figures, figure)
			}
		}
		if section.Figures != nil {
			sections = append(sections, section)
		}
	}
	if r.Recovered != nil {
		sections = append(sections, &report.Section{Title: "Recoverable loss", Tables: []*report.Table{report.RecoverableTable(r.Recovered)}})
	}
	for _, s := range []*report.Section{
		partsSection("Classes", "How often each class is true and its mean probability; accuracy, confidence and NLL of the rows whose label it is.", r.ByClass),
		partsSection("Groups", "The rows of each group; calibrated predictions are right as often as they are confident.", r.ByGroup),
	} {
		if s != nil {
			sections = append(sections, s)
		}
	}
	return sections
}
