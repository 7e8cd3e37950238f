package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"reflect"
	"text/tabwriter"

	"calibra/data"
	"calibra/experiments/cli"
	"calibra/experiments/metrics"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"gonum.org/v1/gonum/mat"
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
	all, err := decodeSums(text)
	if err != nil {
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
		if len(failed) > 0 {
			r.Failed = failed
		}
		text, err := json.MarshalIndent(r, "", "  ")
		if err == nil {
			_, err = fmt.Fprintf(out, "%s\n", text)
		}
		return err
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

// Sums are what is known of some shards: totals and anchors, or kernel sums; nil where there are none.
type Sums struct {
	Totals  *metrics.Totals
	Anchors *metrics.Anchors
	Kernel  *metrics.LocalTotals
	Failed  Outcomes
}

// rows are those of one shard.
type rows struct {
	*cli.Judged
	embedding *mat.Dense // nil without
	first     uint64     // the number of the first
	shape     Shape
}

// mostRows bounds the rows of a shard, so that no two rows have one number.
const mostRows = 1 << 40

// read reads a shard; a *data.InputError names what is wrong with it, such as another shape
// than that of the other shards.
func (e *Evaluation) read(ctx context.Context, shard Shard) (*rows, error) {
	dir, err := os.MkdirTemp("", "calibra-beam-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path, err := fetched(ctx, shard.Path, dir)
	if err != nil {
		return nil, err
	}
	in, err := cli.ReadJudged(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case in.Weights != nil || in.Soft != nil:
		return nil, data.Inputf(path, "has weights that are no whole numbers, or soft labels, and shards count rows; multiply the weights by one number and round, which makes copies of rows")
	case e.Anchors > 0:
		if err := in.Embed(e.Embedding); err != nil {
			return nil, err
		}
	}
	r := &rows{Judged: in, embedding: data.Dense(in.Embedding), first: uint64(shard.Number) * mostRows, shape: Shape{Path: shard.Path, Classes: in.LogProbs.RawMatrix().Cols}}
	if r.embedding != nil {
		r.shape.Dimensions = r.embedding.RawMatrix().Cols
	}
	return r, r.shape.goes(path, e.Like)
}

// goes returns an *InputError for the file at path unless its shape is that of the other, if there is one.
func (s Shape) goes(path string, other Shape) error {
	switch {
	case other.Path == "":
	case s.Classes != other.Classes:
		return data.Inputf(path, "has %d classes and %s has %d; shards of one evaluation must have the same", s.Classes, other.Path, other.Classes)
	case s.Dimensions != other.Dimensions:
		return data.Inputf(path, "has %s and %s has %s; shards of one evaluation must have the same", s.embedding(), other.Path, other.embedding())
	}
	return nil
}

// embedding describes it in words.
func (s Shape) embedding() string {
	if s.Dimensions == 0 {
		return "no embedding"
	}
	return fmt.Sprintf("an embedding of %d dimensions", s.Dimensions)
}

// countFn counts the rows of a shard and samples anchors.
type countFn struct{ E Evaluation }

func (f *countFn) ProcessElement(ctx context.Context, shard Shard, emit func(int64, Sums)) error {
	sums, err := f.count(ctx, shard)
	one, err := outcome(shard.Number, shard.Path, err)
	if err != nil {
		return err
	}
	if one.Error != "" {
		sums = Sums{Failed: Outcomes{[]Outcome{one}}}
	}
	emit(shard.Number, sums)
	return nil
}

func (f *countFn) count(ctx context.Context, shard Shard) (sums Sums, err error) {
	s, u, err := f.E.Settings()
	if err != nil {
		return sums, err
	}
	r, err := f.E.read(ctx, shard)
	if err != nil {
		return sums, err
	}
	if sums.Totals, err = metrics.NewTotals(f.E.Like.Classes, s, u, f.E.Seed); err != nil {
		return sums, err
	}
	if err := sums.Totals.Add(r.LogProbs, r.Labels, r.first); err != nil {
		return sums, data.Inputf(shard.Path, "%w", err)
	}
	if r.embedding == nil {
		return sums, nil
	}
	sums.Anchors = metrics.NewAnchors(f.E.Anchors, f.E.Seed)
	if err := sums.Anchors.Add(r.LogProbs, r.Labels, r.embedding, s, r.first); err != nil {
		return sums, data.Inputf(shard.Path, "%w", err)
	}
	return sums, nil
}

// kernelFn sums the kernel between the anchors and the rows of a shard that was counted.
type kernelFn struct{ E Evaluation }

func (f *kernelFn) ProcessElement(ctx context.Context, shard Shard, all Sums, emit func(int64, Sums)) error {
	for _, failed := range all.Failed.All {
		if failed.Number == shard.Number {
			return nil
		}
	}
	if all.Anchors == nil {
		return nil
	}
	s, _, err := f.E.Settings()
	if err != nil {
		return err
	}
	r, err := f.E.read(ctx, shard)
	if err != nil { // it could be read before
		return fmt.Errorf("%s has changed: %w", shard.Path, err)
	}
	kernel := metrics.NewLocalTotals(all.Anchors, f.E.Like.Classes)
	if err := kernel.Add(all.Anchors, r.LogProbs, r.Labels, r.embedding, s); err != nil {
		return fmt.Errorf("%s: %w", shard.Path, err)
	}
	emit(shard.Number, Sums{Kernel: kernel})
	return nil
}

// onceFn takes one of the sums of each shard: a runner that lost a worker may deliver them
// again.
type onceFn struct{}

func (onceFn) ProcessElement(_ int64, same func(*Sums) bool, emit func(Sums)) {
	var one Sums
	if same(&one) {
		emit(one)
	}
}

// sumFn adds up.
type sumFn struct{}

func (sumFn) MergeAccumulators(a, b Sums) (Sums, error) {
	a.Failed = collectFn{}.MergeAccumulators(a.Failed, b.Failed)
	var err error
	if a.Totals, err = merged(a.Totals, b.Totals, (*metrics.Totals).Merge); err != nil {
		return a, err
	}
	if a.Kernel, err = merged(a.Kernel, b.Kernel, (*metrics.LocalTotals).Merge); err != nil {
		return a, err
	}
	a.Anchors, err = merged(a.Anchors, b.Anchors, func(x, y *metrics.Anchors) error { x.Merge(y); return nil })
	return a, err
}

// merged is a with b added to it, nil being none.
func merged[T any](a, b *T, add func(x, y *T) error) (*T, error) {
	switch {
	case a == nil:
		return b, nil
	case b == nil:
		return a, nil
	}
	return a, add(a, b)
}

// writeSumsFn writes the sums of all shards, the kernel's among them, to a file that the program which runs the
// pipeline reads.
type writeSumsFn struct{ Path string }

func (f *writeSumsFn) ProcessElement(ctx context.Context, all Sums, kernels func(*Sums) bool) error {
	var kernel Sums
	if kernels(&kernel) {
		all.Kernel = kernel.Kernel
	}
	return storeGob(ctx, f.Path, all)
}

// report is computed from the sums.
func (s Sums) report() (*metrics.Report, error) {
	r, err := s.Totals.Report()
	if err != nil || s.Kernel == nil {
		return r, err
	}
	return r, r.AddLocal(s.Anchors, s.Kernel, s.Totals)
}

func encodeSums(s Sums) ([]byte, error)    { return encoded(s) }
func decodeSums(text []byte) (Sums, error) { return decoded[Sums](text) }

func init() {
	beam.RegisterCoder(reflect.TypeFor[Sums](), encodeSums, decodeSums)
	register.DoFn3x1[context.Context, Shard, func(int64, Sums), error](&countFn{})
	register.DoFn4x1[context.Context, Shard, Sums, func(int64, Sums), error](&kernelFn{})
	register.DoFn3x0[int64, func(*Sums) bool, func(Sums)](&onceFn{})
	register.DoFn3x1[context.Context, Sums, func(*Sums) bool, error](&writeSumsFn{})
	register.Combiner1[Sums](&sumFn{})
	register.Emitter2[int64, Sums]()
	register.Emitter1[Sums]()
	register.Iter1[Sums]()
}
