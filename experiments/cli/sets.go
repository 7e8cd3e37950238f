package cli

import (
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"text/tabwriter"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// sets are the prediction sets of the test rows: arrays sets and sets_marginal (N×C, 1 where
// the class is in the set), sets_region (N) and sets_level (1). Their scores come from the val rows of the file or,
// where it has none, from its cal rows, which the model may have seen; then a warning says so.
func sets(t *terminal, model layers.Stateful, method experiments.Method, src *data.Source, p *data.Predictions, level float64) ([]data.Array, error) {
	rows, part := src.Val, "val"
	if rows == nil {
		rows, part = src.Cal, "cal"
	}
	needs := []string{"test_features", part + "_features", part + "_labels"}
	for _, key := range method.Needs {
		needs = append(needs, part+"_"+key)
	}
	if err := src.Require(needs...); err != nil {
		return nil, err
	}
	if part == "cal" {
		t.warn("warning: the scores of the prediction sets come from the cal rows; if the model was fitted to them, the sets cover less than they say: put labelled rows that it has not seen into val_features, val_logits, val_labels")
	}
	if rows.Weights != nil || rows.Soft != nil {
		return nil, data.Inputf(src.Path, "%s_weights holds weights that are no whole numbers, or %s_labels probabilities of classes, and prediction sets take rows of one class each; multiply the weights by one number and round, or hand over the classes", part, part)
	}
	said, err := experiments.Predict(model, rows)
	if err != nil {
		return nil, data.Inputf(src.Path, "%w", err)
	}
	embed, err := data.FitEmbedding(rows.Features, 0)
	if err != nil {
		return nil, err
	}
	c, err := metrics.NewConformal(said.LogProbs, rows.Labels, embed.Apply(rows.Features), level, rand.New(rand.NewPCG(0, 0)))
	if err != nil {
		return nil, asUsage(err)
	}
	regional, marginal, region := c.Sets(p.LogProbs, embed.Apply(src.Test.Features))
	return []data.Array{
		{Name: "sets", Value: regional}, {Name: "sets_marginal", Value: marginal},
		{Name: "sets_region", Value: region}, {Name: "sets_level", Value: []float64{level}},
	}, nil
}

// coverage measures the prediction sets in the file of the predictions; nil if there are none.
func (j *Judged) coverage() (*metrics.SetCoverage, error) {
	has, err := data.HasArray(j.path, "sets")
	if err != nil || !has {
		return nil, err
	}
	bounds := make([]*mat.Dense, 2)
	for k, key := range []string{"sets", "sets_marginal"} {
		if bounds[k], err = data.ReadMatrix(j.path, key); err != nil {
			return nil, err
		}
	}
	region, err := data.ReadLabels(j.path, "sets_region")
	if err != nil {
		return nil, err
	}
	if at := j.Pieces; at != nil {
		if n := bounds[0].RawMatrix().Rows; at[len(at)-1] >= n || bounds[1].RawMatrix().Rows != n || len(region) != n {
			return nil, data.Inputf(j.path, "has prediction sets of %d rows and fewer or more of others; write the file again", n)
		}
		region, bounds[0], bounds[1] = picked(region, at), data.RowsOf(bounds[0], at), data.RowsOf(bounds[1], at)
	}
	c, err := metrics.Covered(bounds[0], bounds[1], region, j.Labels, j.Weights)
	if err != nil {
		return nil, data.Inputf(j.path, "%w", err)
	}
	return c, nil
}

// printCoverage prints a line for all rows and one for each region.
func printCoverage(out io.Writer, c *metrics.SetCoverage) {
	fmt.Fprintln(out, "\nprediction sets")
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "region\trows\tcoverage\tclasses\tmarginal coverage\tclasses\t")
	line := func(name string, r metrics.Coverage) {
		fmt.Fprintf(w, "%s\t%d\t%.3f ± %.3f\t%.2f\t%.3f\t%.2f\t\n", name, r.Rows, r.Coverage, r.SE, r.Size, r.Marginal, r.MarginalSize)
	}
	line("all", c.All)
	least, leastMarginal := math.Inf(1), math.Inf(1)
	for k, r := range c.Regions {
		if r.Rows > 0 {
			line(fmt.Sprint(k), r)
			least, leastMarginal = min(least, r.Coverage), min(leastMarginal, r.Marginal)
		}
	}
	w.Flush()
	fmt.Fprintf(out, "least covered region: %.3f, by marginal sets %.3f\n", least, leastMarginal)
}
