package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"calibra/data"
	"calibra/experiments/cli"
	"calibra/experiments/metrics"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Evaluation is what is measured; its fields travel to the workers.
type Evaluation struct {
	cli.MetricFlags
	Embedding string `placeholder:"KEY" help:"Array of the shards to measure locally in; embedding, if it is there, when none is named."`
	Anchors   int    `default:"200" placeholder:"N" help:"Rows at which LCE is measured, a random sample, each against all rows; 0 for none (${default})."`

	Like Shape `kong:"-"` // that all shards have
}

// Shape is what the shards of one evaluation have in common, and the first that has it, "" as
// long as none is known.
type Shape struct {
	Path       string
	Classes    int
	Dimensions int // of the embedding, 0 without one
}

// evaluateFlags are those of calibra-beam evaluate.
type evaluateFlags struct {
	In string `required:"" placeholder:"PATTERN" help:"Predictions, as calibra evaluate reads them: a file or a pattern of shards."`
	Evaluation
	JSON bool `name:"json" help:"Print the report as JSON."`
	tempFlag
}

const evaluateHelp = `Measure predictions, shard by shard.

  calibra-beam evaluate --in 'predictions/part-*.npz'
  calibra-beam evaluate --in 'gs://bucket/part-*.parquet' --anchors 1000 --json`

// evaluate measures predictions.
func evaluate(ctx context.Context, args []string, out io.Writer) error {
	var flags evaluateFlags
	if err := parse("evaluate", evaluateHelp, &flags, args, out); err != nil {
		return err
	}
	e := flags.Evaluation
	if e.Anchors < 0 || e.Anchors == 1 {
		return data.Inputf("", "--anchors is %d; it must be 0, for none, or at least 2", e.Anchors)
	}
	s, u, err := e.Settings()
	if err != nil {
		return err
	}
	shards, err := list(ctx, flags.In)
	if err != nil {
		return err
	}
	if err := e.look(ctx, shards); err != nil {
		return err
	}
	if _, err := metrics.NewTotals(e.Like.Classes, s, u, e.Seed); err != nil {
		return data.Inputf("", "%w", err)
	}
	text, err := result(ctx, flags.Temp, func(path string) *beam.Pipeline { return e.pipeline(shards, path) })
	if err != nil {
		return err
	}
	var judged struct {
		Report json.RawMessage
		Failed []Outcome
	}
	if err := json.Unmarshal(text, &judged); err != nil {
		return err
	}
	if judged.Report == nil {
		return failures(judged.Failed, len(shards), "shards")
	}
	if err := print(out, judged.Report, judged.Failed, flags.JSON); err != nil {
		return err
	}
	return failures(judged.Failed, len(shards), "shards")
}

// look finds what the shards have in common by the first that can be read.
func (e *Evaluation) look(ctx context.Context, shards []Shard) error {
	var first error
	for _, shard := range shards {
		r, err := e.read(ctx, shard)
		if err == nil {
			e.Like = r.shape
			return nil
		}
		if ctx.Err() != nil {
			return err
		}
		if first == nil {
			first = err
		}
	}
	return fmt.Errorf("none of %d shards can be read; the first: %w", len(shards), first)
}

// pipeline counts the shards and writes the report to path:
//
//	shards ─► count ─► each shard once ─► sum ──────┬──────────► report
//	   └────────► kernel sums of the anchors ◄──────┤               ▲
//	                     └─► each shard once ─► sum ────────────────┘
func (e *Evaluation) pipeline(shards []Shard, path string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	rows := beam.Reshuffle(s, beam.CreateList(s, shards))
	counted := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, beam.ParDo(s, &countFn{*e}, rows)))
	all := beam.Combine(s, &sumFn{}, counted)
	kernel := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, beam.ParDo(s, &kernelFn{*e}, rows, beam.SideInput{Input: all})))
	beam.ParDo0(s, &reportFn{*e, path}, all, beam.SideInput{Input: beam.Combine(s, &sumFn{}, kernel)})
	return p
}

// print prints a report, with what failed.
func print(out io.Writer, report json.RawMessage, failed []Outcome, asJSON bool) error {
	if asJSON {
		return printJSON(out, report, failed)
	}
	var r measuredReport
	if err := json.Unmarshal(report, &r); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d rows, %d classes, protocol %s\n\n", r.Rows, r.Classes, r.Protocol)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "metric\tvalue\t95 % interval\tnoise floor\tp calibrated\t")
	for m := range metrics.Metrics {
		v, ok := r.Metrics[m.String()]
		if !ok {
			continue
		}
		interval, noise, p := "", "", ""
		if len(v.CI) == 2 {
			interval = fmt.Sprintf("%.5f – %.5f", v.CI[0], v.CI[1])
		}
		if v.Noise != nil {
			noise, p = fmt.Sprintf("%.5f ± %.5f", v.Noise.Mean, v.Noise.SD), fmt.Sprintf("%.3f", v.Noise.PValue)
		}
		fmt.Fprintf(t, "%s\t%.5f\t%s\t%s\t%s\t\n", m.Title(), v.Value, interval, noise, p)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Anchors != nil {
		fmt.Fprintf(out, "\nLCE at %d rows, standard error %.5f\n", r.Anchors.Rows, r.Anchors.SE)
	}
	if r.Missing != "" {
		fmt.Fprintf(out, "%s\n", r.Missing)
	}
	return nil
}

// measuredReport is what is printed of a report.
type measuredReport struct {
	Rows, Classes     int
	Protocol, Missing string
	Metrics           map[string]struct {
		Value float64
		CI    []float64
		Noise *metrics.Noise
	}
	Anchors *metrics.AnchorSample
}

func printJSON(out io.Writer, report json.RawMessage, failed []Outcome) error {
	if len(failed) > 0 {
		text, err := json.Marshal(failed)
		if err != nil {
			return err
		}
		report = append(append(append(bytes.TrimSuffix(bytes.Clone(report), []byte("}")), `,"failed":`...), text...), '}')
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, report, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out, indented.String())
	return err
}
