package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	figures "calibra/experiments/report"

	"gonum.org/v1/gonum/mat"
)

type diagnoseCmd struct {
	In        string `required:"" type:"path" placeholder:"P.npz" help:"Predictions: probs, log_probs or logits (N×C), labels (N), an embedding (N×d) unless --features is given, and groups (N integers, named by group_names, or N names) where subgroups are to be audited."`
	Features  string `type:"path" placeholder:"F.npz" help:"Features of the same rows (N×M): features, test_features or embedding of this file; regions are found in their principal components and described by them."`
	Rows      int    `default:"50" help:"Rows that a region must have, both where it is found and where it is tested (${default})."`
	Codewords int    `default:"32" help:"Codewords, at most, that each half of the rows is divided by (${default})."`
	Redraws   int    `default:"999" help:"Redraws of the labels behind the p-values (${default})."`
	Seed      uint64 `default:"0" help:"Seed of the halves, the codewords and the redraws (${default})."`
	Out       string `required:"" type:"path" placeholder:"DIR" help:"Directory for diagnosis.html and diagnosis.json."`
	JSON      bool   `name:"json" help:"Print the diagnosis as JSON."`
}

func (diagnoseCmd) Help() string {
	return `Example:

  calibra diagnose --in runs/vq/predictions.npz --out runs/vq/diagnosis
  calibra diagnose --in predictions.npz --features features.npz --out where --json

It tells where a classifier is miscalibrated: regions of the latent space are found on one
half of the rows and tested on the other, then the halves change places. Of calibrated
predictions, at most one diagnosis in twenty calls anything wrong. diagnosis.html has a map
of the latent space and a table of all regions; open it in a browser.`
}

func (c *diagnoseCmd) Run(ctx context.Context, t *terminal) error {
	switch {
	case c.Rows < 2:
		return usageError{fmt.Errorf("--rows is %d; a region needs two or more", c.Rows)}
	case c.Codewords < 2:
		return usageError{fmt.Errorf("--codewords is %d; there must be two or more", c.Codewords)}
	case c.Redraws < 19:
		return usageError{fmt.Errorf("--redraws is %d; there must be 19 or more to show a p-value of .05", c.Redraws)}
	}
	p, err := data.ReadPredictions(c.In)
	if err != nil {
		return err
	}
	if p.Labels == nil {
		return data.Inputf(c.In, "has no labels to judge the predictions by")
	}
	rows, _ := p.LogProbs.Dims()
	e := metrics.Examination{ClassNames: p.ClassNames, Tree: metrics.TreeSettings{Codewords: c.Codewords, Rows: c.Rows}, Redraws: c.Redraws}
	copies, err := data.ReadCopies(c.In, rows)
	if err != nil {
		return err
	}
	embedding, err := c.embedding(rows, &e, copies)
	if err != nil {
		return err
	}
	if e.Groups, e.GroupNames, err = data.ReadGroups(c.In, rows); err != nil {
		return err
	}
	if copies != nil {
		p.LogProbs, p.Labels, e.Groups = data.RowsOf(p.LogProbs, copies), picked(p.Labels, copies), picked(e.Groups, copies)
	}
	undo, err := experiments.PrepareDir(c.Out, diagnosisGroup, diagnosisFiles...)
	if err != nil {
		return err
	}
	defer undo()
	bar := t.progress()
	e.Progress = func(done, total int) { bar.at(float64(done), float64(total), "diagnosing") }
	d, err := metrics.Diagnose(ctx, p.LogProbs, p.Labels, embedding, e, rand.New(rand.NewPCG(c.Seed, 0)))
	bar.clear()
	if err != nil {
		return asUsage(err)
	}
	m, err := d.Map(embedding)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return fmt.Errorf("write the diagnosis: %w", err)
	}
	if err := c.write(text, d, m); err != nil {
		return err
	}
	if c.JSON {
		return t.print(append(text, '\n'))
	}
	return c.report(t, d)
}

// diagnosisGroup is the data.Folder group of a diagnosis, and diagnosisFiles are its files.
const diagnosisGroup = "diagnose"

var diagnosisFiles = []string{"diagnosis.html", "diagnosis.json"}

func (c *diagnoseCmd) write(text []byte, d *metrics.Diagnosis, m *metrics.Map) error {
	to := data.NewFolder(c.Out, diagnosisGroup)
	defer to.Discard()
	if err := to.WriteBytes("diagnosis.json", append(text, '\n')); err != nil {
		return err
	}
	title := "Where is it wrong? " + filepath.Base(c.In)
	if err := to.WriteFile("diagnosis.html", func(w io.Writer) error { return figures.WriteDiagnosis(w, title, d, m) }); err != nil {
		return err
	}
	return to.Commit()
}

// embedding is where regions lie: the file's own, or the principal components of the
// features that describe them.
func (c *diagnoseCmd) embedding(rows int, e *metrics.Examination, copies []int) (*mat.Dense, error) {
	if c.Features == "" {
		has, err := data.HasArray(c.In, "embedding")
		if err != nil {
			return nil, err
		}
		if !has {
			return nil, data.Inputf(c.In, "has no embedding; name the features of its rows with --features F.npz")
		}
		z, err := data.ReadMatrix(c.In, "embedding")
		if err != nil {
			return nil, err
		}
		if n, _ := z.Dims(); n != rows {
			return nil, data.Inputf(c.In, "embedding has %d rows and the predictions have %d; they must have the same", n, rows)
		}
		if copies != nil {
			z = data.RowsOf(z, copies)
		}
		return z, nil
	}
	x, z, err := principal(c.Features, rows, c.In, copies)
	if err != nil {
		return nil, err
	}
	e.Features = x
	e.Names, err = data.ReadFeatureNames(c.Features)
	return z, err
}

// principal is the features at path (N×M), of the rows of the predictions in the file named
// beside, and their principal components (N×P).
func principal(path string, rows int, predictions string, copies []int) (x, z *mat.Dense, err error) {
	key := ""
	for _, name := range []string{"features", "test_features", "embedding"} {
		has, err := data.HasArray(path, name)
		if err != nil {
			return nil, nil, err
		}
		if has {
			key = name
			break
		}
	}
	if key == "" {
		return nil, nil, data.Inputf(path, "has no features, test_features or embedding")
	}
	if x, err = data.ReadMatrix(path, key); err != nil {
		return nil, nil, err
	}
	if n, _ := x.Dims(); n != rows {
		return nil, nil, data.Inputf(path, "%s has %d rows and the predictions in %s have %d; they must be of the same rows", key, n, filepath.Base(predictions), rows)
	}
	if copies != nil {
		x = data.RowsOf(x, copies)
	}
	embed, err := data.FitEmbedding(x, 0)
	if err != nil {
		return nil, nil, err
	}
	return x, embed.Apply(x), nil
}

// printedRegions is how many regions are printed at most; all are in the files.
const printedRegions = 12

// report prints the verdict, what could be saved, and the regions.
func (c *diagnoseCmd) report(t *terminal, d *metrics.Diagnosis) error {
	g := d.Recoverable.NLL
	recoverable := fmt.Sprintf("recoverable: %.4f nats a row by the predictions alone (at least %.4f), %.4f more by the latent space (at least %.4f)",
		g.Global.Value, g.Global.Low, g.Local.Value, g.Local.Low)
	wide := width(t.out)
	if err := t.printf("%s\n\n%s\n\n", strings.Join(broken(d.Verdict, wide), "\n"), strings.Join(broken(recoverable, wide), "\n")); err != nil {
		return err
	}
	list := &table{columns: []column{
		{head: "rows"}, {head: "class"}, {head: "confidence", drop: 2}, {head: "frequency", drop: 3}, {head: "gap"},
		{head: "simultaneous", drop: 5}, {head: "p"}, {head: "detectable", drop: 4}, {head: "nats"}, {head: "where", left: true, wrap: true},
	}}
	line := func(r metrics.Region) {
		class := "top"
		if r.Class != nil {
			class = cmp.Or(r.ClassName, fmt.Sprint(*r.Class))
		}
		list.add(words(fmt.Sprint(r.Size)), words(class), decimals(r.Confidence, 3), decimals(r.Frequency, 3), words(fmt.Sprintf("%+.3f", r.Gap)),
			words(fmt.Sprintf("%+.3f to %+.3f", r.Low, r.High)), decimals(r.P, 3), decimals(r.Detectable, 3), words(fmt.Sprintf("%+.4f", r.RecoverableNLL)), words(r.Describe))
	}
	for _, r := range d.Regions[:min(printedRegions, len(d.Regions))] {
		line(r)
	}
	for _, r := range append(append(append([]metrics.Region{}, d.Classes...), d.Confidence...), d.Groups...) {
		if r.Wrong {
			line(r)
		}
	}
	if err := t.tables(list); err != nil {
		return err
	}
	return t.printf("\nwrote %s\n", filepath.Join(c.Out, "diagnosis.html"))
}

// picked are the values of these rows; nil of nil.
func picked(values, rows []int) []int {
	if values == nil {
		return nil
	}
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = values[r]
	}
	return out
}
