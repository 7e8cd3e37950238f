package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"calibra/data"
	"calibra/experiments/metrics"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
)

// Evaluation is what is measured; its fields travel to the workers.
type Evaluation struct {
	Protocol                  string
	Bins, SmallBin            int
	Weights                   string
	Bandwidth                 float64
	Redraws, Replicates, Most int // Most anchors
	Seed                      uint64
	Classes                   int
	Embedding                 string // array of the shards, "" without local metrics
}

// settings turns the flags into settings, in which 0 means the default.
func (e *Evaluation) settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	if err := s.Protocol.UnmarshalText([]byte(e.Protocol)); err != nil {
		return s, u, errUsage{err}
	}
	switch e.Weights {
	case "uniform":
	case "frequency":
		s.Weighting = metrics.Frequency
	default:
		return s, u, errUsage{fmt.Errorf("--weights is %q; choose uniform or frequency", e.Weights)}
	}
	s.Bins, s.Bandwidth, s.SmallBin = e.Bins, e.Bandwidth, e.SmallBin
	switch {
	case s.Protocol == metrics.Formula && e.SmallBin < 0:
		s.SmallBin = 0
	case e.SmallBin == 0:
		s.SmallBin = metrics.NoSmallBin
	case e.SmallBin < 0:
		s.SmallBin = 0
	}
	orNone := func(n int) int {
		if n == 0 {
			return metrics.None
		}
		return n
	}
	return s, metrics.Uncertainty{Replicates: orNone(e.Replicates), Redraws: orNone(e.Redraws)}, nil
}

// evaluate measures predictions.
func evaluate(ctx context.Context, args []string, out io.Writer) error {
	var e Evaluation
	flags := flag.NewFlagSet("evaluate", flag.ContinueOnError)
	in := flags.String("in", "", "predictions, as calibra evaluate reads them: a file or a `pattern` of shards")
	asJSON := flags.Bool("json", false, "print the report as JSON")
	temp := flags.String("temp", "", "`directory` that workers and this program see; needed where workers run elsewhere")
	flags.StringVar(&e.Embedding, "embedding", "", "`array` of the shards to measure locally in; embedding, if it is there, when none is named")
	flags.StringVar(&e.Protocol, "protocol", "tables", "tables or formula")
	flags.StringVar(&e.Weights, "weights", "uniform", "weights of the classes: uniform or frequency")
	flags.IntVar(&e.Bins, "bins", 15, "bins of the unit interval")
	flags.IntVar(&e.SmallBin, "small-bin", -1, "local bins of so many rows or fewer are skipped, under the protocol tables; 0 skips none (20)")
	flags.Float64Var(&e.Bandwidth, "bandwidth", 10, "bandwidth of the kernel")
	flags.IntVar(&e.Replicates, "replicates", 200, "bootstrap replicates for the intervals; 0 for none")
	flags.IntVar(&e.Redraws, "redraws", 50, "redraws of the labels for the noise floor; 0 for none")
	flags.IntVar(&e.Most, "anchors", 200, "rows at which LCE is measured; 0 for none")
	flags.Uint64Var(&e.Seed, "seed", 0, "seed of bootstrap, redraws and anchors")
	if err := parse(flags, args); err != nil {
		return err
	}
	if e.Most < 0 {
		return errUsage{fmt.Errorf("--anchors is %d; it must be 0 or more", e.Most)}
	}
	s, u, err := e.settings()
	if err != nil {
		return err
	}
	shards, err := list(ctx, *in)
	if err != nil {
		return err
	}
	if err := e.look(ctx, shards); err != nil {
		return err
	}
	if _, err := metrics.NewTotals(e.Classes, s, u, e.Seed); err != nil {
		return errUsage{err}
	}
	text, err := result(ctx, *temp, func(path string) *beam.Pipeline { return e.pipeline(shards, path) })
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
	if err := print(out, judged.Report, judged.Failed, *asJSON); err != nil {
		return err
	}
	return failures(judged.Failed, len(shards), "shards")
}

// look finds classes and embedding by the first shard that can be read.
func (e *Evaluation) look(ctx context.Context, shards []Shard) error {
	dir, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	asked := e.Embedding != ""
	if !asked {
		e.Embedding = "embedding"
	}
	var first error
	for _, shard := range shards {
		path, err := fetched(ctx, shard.Path, dir)
		var p *data.Predictions
		if err == nil {
			p, err = data.ReadPredictions(path)
		}
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		_, e.Classes = p.LogProbs.Dims()
		_, err = data.ReadMatrix(path, e.Embedding)
		if err != nil && asked {
			return err
		}
		if err != nil || e.Most == 0 {
			e.Embedding = ""
		}
		return nil
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
	type measured struct {
		Value float64
		CI    []float64
		Noise *metrics.Noise
	}
	var r struct {
		Rows, Classes     int
		Protocol, Missing string
		Metrics           map[string]measured
		Anchors           *metrics.AnchorSample
	}
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
