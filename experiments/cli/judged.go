package cli

import (
	"context"
	"fmt"
	"slices"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// Judged are predictions with labels to judge them by, and where their rows lie.
type Judged struct {
	*data.Predictions
	Embedding mat.Matrix // nil without

	path            string
	rows            int                  // of the file
	sets            *metrics.SetCoverage // of their prediction sets, nil without
	classes, groups []metrics.Part       // of the rows, by name
}

// ReadJudged reads predictions with labels.
func ReadJudged(ctx context.Context, path string) (*Judged, error) {
	p, err := data.ReadPredictionsContext(ctx, path)
	if err != nil {
		return nil, err
	}
	if p.Labels == nil {
		return nil, data.Inputf(path, "has no labels to judge the predictions by")
	}
	j := &Judged{Predictions: p, path: path}
	j.rows, _ = p.LogProbs.Dims()
	return j, nil
}

// told prints what the array logits was taken for, where it holds no logits, and what is odd about the labels.
func (j *Judged) told(t *terminal) {
	if j.Order != "" {
		t.note("%s: %s", j.path, j.Order)
	}
	if j.ReadAs != "" {
		t.note("%s holds %s", j.path, j.ReadAs)
	}
	warnOf(t, j.path, rowcheck.OtherLabels("rows", &data.Set{Logits: j.LogProbs, Labels: j.Labels, Weights: j.Weights}))
}

// Embed reads the embedding of the array named or, where key is "", that of the default name if the file has it.
func (j *Judged) Embed(key string) error {
	if key == "" {
		key = "embedding"
		if has, err := data.HasArray(j.path, key); err != nil || !has {
			return err
		}
	}
	z, err := data.ReadFeatures(j.path, key)
	if err != nil {
		return err
	}
	if n, _ := z.Dims(); n != j.rows {
		return data.Inputf(j.path, "the embedding has %d rows and the predictions have %d; they must have the same", n, j.rows)
	}
	j.Embedding = z
	return nil
}

// describe reads the features of the rows from another file; their principal components are the embedding, and its
// groups are those of rows that have none of their own.
func (j *Judged) describe(path string) (*data.Described, error) {
	d, err := j.Describe(path, j.path)
	if err != nil {
		return nil, err
	}
	rows := (&data.Set{Features: d.Features, Weights: j.Weights}).ForFit()
	embed, err := data.FitWeightedEmbedding(rows.Features, rows.Weights, 0)
	if err != nil {
		return nil, err
	}
	if j.Embedding = embed.Apply(d.Features); j.Groups.Of == nil {
		j.Groups = d.Groups
	}
	return d, nil
}

// counting is how the rows count and what their labels are.
func (j *Judged) counting() metrics.Settings {
	return metrics.Settings{Rows: j.Weights, Soft: j.Soft}
}

// byName measures the classes of predictions, where they have names, and the groups of their rows, where they have any.
func (j *Judged) byName() (err error) {
	s := j.counting()
	if j.ClassNames != nil {
		if j.classes, err = metrics.Parts(j.LogProbs, j.Labels, nil, j.ClassNames, s); err != nil {
			return err
		}
	}
	if j.Groups.Of != nil {
		j.groups, err = metrics.Parts(j.LogProbs, j.Labels, j.Groups.Of, j.Groups.Names, s)
	}
	return err
}

// mostParts is how many classes or groups a table shows.
const mostParts = 50

// partsTable is a row for each class or group, named below head; nil of none.
func partsTable(head string, all []metrics.Part) *report.Table {
	if all == nil {
		return nil
	}
	heads := report.Heads("rows", "accuracy", "confidence", "NLL", "share", "predicted")
	if !slices.ContainsFunc(all, func(p metrics.Part) bool { return p.Share > 0 }) {
		heads = heads[:4] // groups have no share
	}
	t := &report.Table{Labels: []string{head}, Values: heads}
	for _, p := range all[:min(len(all), mostParts)] {
		cells := report.Texts(metrics.Fixed(p.Rows, 0))
		for _, x := range []float64{p.Accuracy, p.Confidence, p.NLL, p.Share, p.Predicted} {
			cells = append(cells, report.Texts(metrics.Fixed(x, 4))...)
		}
		t.Add("", report.Row{Labels: []string{p.Name}, Cells: cells[:len(heads)]})
	}
	return t
}

// byName prints the tables of classes and groups, if there are any.
func (t *terminal) byName(r *metrics.Report) error {
	for _, of := range []*report.Table{partsTable("class", r.ByClass), partsTable("group", r.ByGroup)} {
		if of != nil {
			t.printf("\n")
			t.tables(reported(of, map[string]int{"share": 1, "predicted": 1}))
		}
	}
	return t.failed
}

// partsSection is the same on a page; nil of none.
func partsSection(title, note string, all []metrics.Part) *report.Section {
	if all == nil {
		return nil
	}
	if more := len(all) - mostParts; more > 0 {
		note += fmt.Sprintf(" %d more are in the JSON.", more)
	}
	return &report.Section{Title: title, Note: note, Tables: []*report.Table{partsTable(title, all)}}
}
