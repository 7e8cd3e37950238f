package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
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
	var all Sums
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	if all.Totals != nil {
		r, err := all.report()
		if err != nil {
			return err
		}
		if err := print(out, r, all.Failed.All, flags.JSON); err != nil {
			return err
		}
	}
	return failures(all.Failed.All, len(shards), "shards")
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

// pipeline counts the shards and writes the sums to path:
//
//	shards ─► count ─► each shard once ─► sum ──────┬──────────► write
//	   └────────► kernel sums of the anchors ◄──────┤               ▲
//	                     └─► each shard once ─► sum ────────────────┘
func (e *Evaluation) pipeline(shards []Shard, path string) *beam.Pipeline {
	p, s := beam.NewPipelineWithRoot()
	rows := beam.Reshuffle(s, beam.CreateList(s, shards))
	counted := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, beam.ParDo(s, &countFn{*e}, rows)))
	all := beam.Combine(s, &sumFn{}, counted)
	kernel := beam.ParDo(s, &onceFn{}, beam.GroupByKey(s, beam.ParDo(s, &kernelFn{*e}, rows, beam.SideInput{Input: all})))
	beam.ParDo0(s, &writeSumsFn{path}, all, beam.SideInput{Input: beam.Combine(s, &sumFn{}, kernel)})
	return p
}

// print prints a report, with what failed.
func print(out io.Writer, r *metrics.Report, failed []Outcome, asJSON bool) error {
	if asJSON {
		return printJSON(out, r, failed)
	}
	fmt.Fprintf(out, "%d rows, %d classes, protocol %s\n\n", r.Rows, r.Classes, r.Protocol)
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "metric\tvalue\t95 % interval\tnoise floor\tp calibrated\t")
	for _, m := range r.Measured() {
		interval, noise, p := "", "", ""
		if !math.IsNaN(m.Interval.Low) {
			interval = fmt.Sprintf("%.5f – %.5f", m.Interval.Low, m.Interval.High)
		}
		if n := m.Noise; n != nil {
			noise, p = fmt.Sprintf("%.5f ± %.5f", n.Mean, n.SD), fmt.Sprintf("%.3f", n.PValue)
		}
		fmt.Fprintf(t, "%s\t%.5f\t%s\t%s\t%s\t\n", m.Title, m.Value, interval, noise, p)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if r.Anchors != nil {
		fmt.Fprintf(out, "\nLCE at %d rows, standard error %.5f\n", r.Anchors.Rows, r.Anchors.SE)
	}
	if missing := r.Missing(); missing != "" {
		fmt.Fprintln(out, missing)
	}
	return nil
}

func printJSON(out io.Writer, r *metrics.Report, failed []Outcome) error {
	report, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if len(failed) > 0 {
		text, err := json.Marshal(failed)
		if err != nil {
			return err
		}
		report = append(append(append(bytes.TrimSuffix(report, []byte("}")), `,"failed":`...), text...), '}')
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, report, "", "  "); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, indented.String())
	return err
}
