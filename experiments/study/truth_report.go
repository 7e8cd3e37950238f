package study

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/stat"
)

// TruthFindings are the cells of study truth and the content of their report.
type TruthFindings struct {
	*Truth
	Head      []report.Fact
	Results   []*TruthResult
	Diagnosis []*DiagnosisRate
}

// Findings are the results that the plan of its cells has.
func (t *Truth) Findings(p *Plan) *TruthFindings {
	f := &TruthFindings{Truth: t}
	for _, r := range p.results {
		switch r := r.(type) {
		case *TruthResult:
			f.Results = append(f.Results, r)
		case *DiagnosisRate:
			f.Diagnosis = append(f.Diagnosis, r)
		}
	}
	return f
}

// TruthFiles are the files of the report besides the figures.
var TruthFiles = append([]string{"results.csv", "ranks.csv", "alarms.csv", "diagnosis.csv"}, report.Files...)

// truthMetric is a metric by its key in results, with the title of its row.
type truthMetric struct{ key, title string }

// truthMetrics are the metrics in the order of the tables, with their titles.
var truthMetrics = []truthMetric{
	{"nll", "NLL"}, {"brier", "Brier"}, {"recoverable_shared", "recoverable NLL, one reference"}, {"recoverable_nll", "recoverable NLL"},
	{"squared_50nn", "U-statistic of 50 neighbours"}, {"skce", "SKCE"}, {"ece", "ECE"}, {"ecce", "ECCE"},
	{"lce", "LCE, γ = 10"}, {"mlce", "MLCE, γ = 10"}, {"lce_3", "LCE, γ = 3"},
}

// metricTitles are their titles.
var metricTitles = data.Each(truthMetrics, func(m truthMetric) string { return m.title })

// truths are the true errors.
var truths = []struct {
	key   string
	value func(Predictor) float64
}{
	{"squared", func(p Predictor) float64 { return p.Squared }},
	{"absolute", func(p Predictor) float64 { return p.Absolute }},
	{"kl", func(p Predictor) float64 { return p.KL }},
	{"calibration", func(p Predictor) float64 { return p.Calibration }},
	{"regional", func(p Predictor) float64 { return p.Regional }},
}

// Write puts the report into dir: report.html, tables.md, tables.tex, figures/, unless these go elsewhere, results.csv (a line
// a predictor), ranks.csv (a line a setting and metric), alarms.csv (a line a metric and predictor)
// and diagnosis.csv.
func (f *TruthFindings) Write(dir string, figures report.Export) error {
	d := f.document()
	d.Files = []string{"results.csv", "ranks.csv", "alarms.csv", "diagnosis.csv", "tables.tex", "tables.md"}
	to := disk.NewFolder(dir, Group)
	defer to.Discard()
	for name, write := range map[string]func(io.Writer) error{"results.csv": f.writeResults, "ranks.csv": f.writeRanks, "alarms.csv": f.writeAlarms, "diagnosis.csv": f.writeDiagnosis} {
		to.WriteFile(name, write)
	}
	d.Add(to, figures)
	return cmp.Or(to.Commit(), figures.Write(d.Drawings()))
}

// setting is cells that differ in their seed alone.
type setting struct {
	name  string
	cells []*TruthResult
}

// settings are those without alarms, in their order.
func (f *TruthFindings) settings() (all []setting) {
	for _, r := range f.Results {
		if r.Alarm {
			continue
		}
		c := r.TruthCell
		name := c.Source
		switch {
		case c.Features > 0:
			name = fmt.Sprintf("%s, %d features", name, c.Features)
		case c.Classes > 0:
			name = fmt.Sprintf("%s, %d classes", name, c.Classes)
		case c.Rows != f.Rows[0]:
			name = fmt.Sprintf("%s, %d rows", name, c.Rows)
		}
		k := slices.IndexFunc(all, func(s setting) bool { return s.name == name })
		if k < 0 {
			all, k = append(all, setting{name: name}), len(all)
		}
		all[k].cells = append(all[k].cells, r)
	}
	return all
}

// rho is the mean over the draws of Spearman's rank correlation of a metric with a true error; NaN
// where a draw lacks it.
func (s setting) rho(key string, truth func(Predictor) float64) float64 {
	var sum float64
	for _, r := range s.cells {
		var x, y []float64
		for _, p := range r.Predictors {
			v, ok := p.Values[key]
			if !ok {
				return math.NaN()
			}
			x, y = append(x, v), append(y, truth(p))
		}
		sum += stat.Correlation(ranks(x), ranks(y), nil) / float64(len(s.cells))
	}
	return sum
}

// ranks are those of x, 1 the least; equal numbers share their mean rank.
func ranks(x []float64) []float64 {
	return data.Each(x, func(of float64) float64 {
		rank := 0.5
		for _, y := range x {
			switch {
			case y < of:
				rank++
			case y == of:
				rank += 0.5
			}
		}
		return rank
	})
}

// quantileOf is the share-quantile of x by the order statistics.
func quantileOf(x []float64, share float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return sorted[min(len(x)-1, int(share*float64(len(x))))]
}

func (f *TruthFindings) document() *report.Document {
	d := &report.Document{Title: "Study truth", Intro: "Which metric ranks predictors as their true error does, and which raises false alarms.", Head: f.Head}
	if settings := f.settings(); len(settings) > 0 {
		d.Sections = append(d.Sections, f.ranks(settings))
	}
	d.Sections = append(d.Sections, f.alarms(), f.diagnosis())
	d.Facts = []report.Fact{{Name: "Draws", Value: fmt.Sprint(f.Seeds)}, {Name: "Rows", Value: fmt.Sprint(f.Rows)}, {Name: "Methods", Value: f.methodNames()}}
	return d
}

// methodNames are the methods that are fitted, each with its settings.
func (f *TruthFindings) methodNames() string {
	fitted := (TruthCell{of: f.Truth}).fitted()
	return strings.Join(data.Each(fitted, func(m Fitted) string { return strings.TrimSpace(m.Method + " " + m.Set) }), ", ")
}

// MetricRank is the study's result for a metric.
type MetricRank struct {
	Title string
	// Rho is the mean over the sources of its rank correlation with the true squared, the
	// true absolute and the true KL error, and with the calibration error proper and that by
	// region; NaN where a source lacks the metric.
	Rho [5]float64
	// Draws are those that were asked for an alarm, of which it alarms on so many where the
	// predictor is calibrated and where it is wrong.
	Draws, FalseAlarms, Alarms int
}

// Metrics are the metrics in the order of the tables.
func (f *TruthFindings) Metrics() (all []MetricRank) {
	settings := f.settings()
	for _, m := range truthMetrics {
		r := MetricRank{Title: m.title}
		for k, truth := range truths {
			rho := data.Each(settings, func(s setting) float64 { return s.rho(m.key, truth.value) })
			r.Rho[k] = stat.Mean(rho, nil) // of none NaN
		}
		r.Draws, r.FalseAlarms = f.alarmRate(m.key, alarmPredictors[0])
		_, r.Alarms = f.alarmRate(m.key, alarmPredictors[1])
		all = append(all, r)
	}
	return all
}

// ranks are the rank correlations of the metrics with the true errors.
func (f *TruthFindings) ranks(settings []setting) *report.Section {
	ranks := &report.Section{Title: "Rank correlation with the true error", Note: "Spearman's ρ over the predictors of a source, the mean over its draws. " +
		"Predictors are the true posterior, classifiers with planted errors of graded size, and fitted methods. A metric to trust is near 1 in every row. " +
		"The expected Brier score is the true squared error and a constant, the expected NLL the true KL and a constant, so they rank by these errors by construction; " +
		"these hold the grouping loss too. The calibration error proper, ‖E[p − q | p]‖², and that by region, ‖E[p − q | p, region]‖², do not."}
	for _, truth := range truths {
		caption := "ρ with the true " + truth.key + " error"
		ranks.Tables = append(ranks.Tables, crossed(caption, "metric", metricTitles, settingNames(settings, " ↑"), func(k, j int) string {
			return decimal(settings[j].rho(truthMetrics[k].key, truth.value))
		}))
	}
	return ranks
}

// crossed is a table of a cell for each row and column.
func crossed(caption, label string, rows, columns []string, cell func(row, column int) string) *report.Table {
	t := &report.Table{Caption: caption, Labels: []string{label}, Values: report.Heads(columns...)}
	for i, name := range rows {
		r := report.Row{Labels: []string{name}}
		for j := range columns {
			r.Cells = append(r.Cells, report.Cell{Text: cell(i, j)})
		}
		t.Add("", r)
	}
	return t
}

// settingNames are those of settings, each with an ending.
func settingNames(settings []setting, ending string) []string {
	return data.Each(settings, func(s setting) string { return s.name + ending })
}

func decimal(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return strconv.FormatFloat(x, 'f', 2, 64)
}

// alarms are the rates at which p ≤ .05 is called on the exact predictor and on a wrong one.
func (f *TruthFindings) alarms() *report.Section {
	t := crossed(fmt.Sprintf("Share of draws of %d rows with an alarm at 5 %%", alarmRows), "metric", metricTitles, []string{"calibrated", alarmGrade}, func(k, j int) string {
		n, alarms := f.alarmRate(truthMetrics[k].key, alarmPredictors[j])
		if n == 0 {
			return "–"
		}
		return fmt.Sprintf("%d of %d", alarms, n)
	})
	return &report.Section{Title: "False alarms and power", Note: fmt.Sprintf("LCE, ECE and SKCE alarm when %d redraws of the labels do not reach them; recoverable losses when their one-sided bound is above 0; U-statistics beyond 1.645 standard errors.", alarmRedraws), Tables: []*report.Table{t}}
}

// alarmPredictors are the two predictors that alarms are counted of: calibrated and wrong.
var alarmPredictors = []string{"exact", alarmGrade}

func (f *TruthFindings) alarmRate(metric, predictor string) (draws, alarms int) {
	for _, r := range f.Results {
		for _, p := range r.Predictors {
			if alarm, ok := p.Alarms[metric]; ok && r.Alarm && p.Name == predictor {
				draws++
				if alarm {
					alarms++
				}
			}
		}
	}
	return draws, alarms
}

// diagnosis is the result of calibra diagnose for predictions whose error is known.
func (f *TruthFindings) diagnosis() *report.Section {
	table := func(caption string, labels, values []string) *report.Table {
		return &report.Table{Caption: fmt.Sprintf("%s, %d rows each", caption, diagnosisRows), Labels: labels, Values: report.Heads(values...), Blocks: []report.Block{{}}}
	}
	power := table("Calibrated predictions, and one region that is wrong", []string{"wrong region", "shift of the top class"},
		[]string{"runs", "call a region wrong", "call anything wrong", "hold half of the planted rows", "miss a gap"})
	coverage := table("Predictions that are wrong in many ways: intervals that miss", []string{"law"}, []string{"runs", "with a gap outside its interval", "call anything wrong"})
	planted := table("Regions planted side by side, and an error of all rows alike", []string{"shape", "planted"},
		[]string{"runs", "report as many", "say the error is global", "likeness (Jaccard)"})
	add := func(t *report.Table, labels []string, values ...any) {
		t.Add("", report.Row{Labels: labels, Cells: report.Texts(values...)})
	}
	for _, r := range f.Diagnosis {
		switch {
		case r.Law == globalLaw:
			add(planted, []string{r.Law, "–"}, r.Runs, "–", r.Global, "–")
		case r.Law != "" && r.Planted > 0:
			add(planted, []string{r.Law, fmt.Sprint(r.Planted)}, r.Runs, r.Counted, r.Global, decimal(r.Jaccard))
		case r.Law != "":
			add(coverage, []string{r.Law}, r.Runs, r.Missed, r.Any)
		case r.Share == 0:
			add(power, []string{"none", "–"}, r.Runs, r.Named, r.Any, "–", r.Missed)
		default:
			add(power, []string{fmt.Sprintf("%.0f %% of the rows", 100*r.Share), fmt.Sprintf("%g", r.Shift)}, r.Runs, r.Named, r.Any, r.Found, r.Missed)
		}
	}
	s := &report.Section{Title: "Diagnosis", Note: "Of calibrated predictions, at most 5 % of diagnoses should call anything wrong, and of any predictions at most 5 % should have a gap outside its interval. " +
		"Where a region is planted, the top class is right less often than it says, by the shift.", Tables: []*report.Table{power, coverage, planted}}
	return s
}

func (f *TruthFindings) writeResults(w io.Writer) error {
	head := []string{"source", "rows", "features", "classes", "seed", "alarm", "predictor", "true_squared", "true_absolute", "true_kl", "true_calibration", "true_regional"}
	lines := [][]string{slices.Concat(head, data.Each(truthMetrics, func(m truthMetric) string { return m.key }), []string{"commit"})}
	number := func(x float64) string { return strconv.FormatFloat(x, 'g', 6, 64) }
	for _, r := range f.Results {
		for _, p := range r.Predictors {
			line := []string{r.Source, strconv.Itoa(r.Rows), strconv.Itoa(r.Features), strconv.Itoa(r.Classes), strconv.FormatUint(r.Seed, 10), strconv.FormatBool(r.Alarm), p.Name, number(p.Squared), number(p.Absolute), number(p.KL), number(p.Calibration), number(p.Regional)}
			for _, m := range truthMetrics {
				text := ""
				if v, ok := p.Values[m.key]; ok {
					text = number(v)
				}
				line = append(line, text)
			}
			lines = append(lines, append(line, r.Program.Commit))
		}
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}

// writeRanks writes a line a setting and metric: its ρ with each true error.
func (f *TruthFindings) writeRanks(w io.Writer) error {
	lines := [][]string{{"setting", "draws", "metric", "squared", "absolute", "kl", "calibration", "regional", "commit"}}
	code := commitsOf(f.Results)
	for _, s := range f.settings() {
		for _, m := range truthMetrics {
			line := []string{s.name, strconv.Itoa(len(s.cells)), m.key}
			for _, t := range truths {
				line = append(line, strconv.FormatFloat(s.rho(m.key, t.value), 'f', 3, 64))
			}
			lines = append(lines, append(line, code))
		}
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}

// writeAlarms writes a line a metric and predictor: on how many of the draws the metric raises an alarm.
func (f *TruthFindings) writeAlarms(w io.Writer) error {
	lines := [][]string{{"metric", "predictor", "rows", "draws", "alarms", "commit"}}
	code := commitsOf(f.Results)
	for _, m := range truthMetrics {
		for _, name := range alarmPredictors {
			if n, alarms := f.alarmRate(m.key, name); n > 0 {
				lines = append(lines, []string{m.key, name, strconv.Itoa(alarmRows), strconv.Itoa(n), strconv.Itoa(alarms), code})
			}
		}
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}

func (f *TruthFindings) writeDiagnosis(w io.Writer) error {
	lines := [][]string{{"share", "shift", "runs", "named", "any", "found", "law", "missed", "global", "planted", "counted", "jaccard", "commit"}}
	for _, r := range f.Diagnosis {
		lines = append(lines, []string{fmt.Sprint(r.Share), fmt.Sprint(r.Shift), strconv.Itoa(r.Runs), strconv.Itoa(r.Named), strconv.Itoa(r.Any), strconv.Itoa(r.Found),
			r.Law, strconv.Itoa(r.Missed), strconv.Itoa(r.Global), strconv.Itoa(r.Planted), strconv.Itoa(r.Counted), strconv.FormatFloat(r.Jaccard, 'f', 3, 64), r.Program.Commit})
	}
	return data.NewCSVWriter(w).WriteAll(lines)
}
