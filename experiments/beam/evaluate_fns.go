package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"

	"calibra/data"
	"calibra/experiments/cli"
	"calibra/experiments/metrics"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"gonum.org/v1/gonum/mat"
)

// Sums are what is known of some shards: totals and anchors, or kernel sums, as bytes of
// package metrics; nil where there are none.
type Sums struct {
	Totals, Anchors, Kernel []byte
	Failed                  Outcomes
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

// read reads a shard; a *data.InputError says what is wrong with it, such as another shape
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
	case in.Weights != nil || in.Parts != nil:
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

// embedding says it in words.
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
	totals, err := metrics.NewTotals(f.E.Like.Classes, s, u, f.E.Seed)
	if err != nil {
		return sums, err
	}
	if err := totals.Add(r.LogProbs, r.Labels, r.first); err != nil {
		return sums, data.Inputf(shard.Path, "%w", err)
	}
	if sums.Totals, err = totals.MarshalBinary(); err != nil || r.embedding == nil {
		return sums, err
	}
	anchors := metrics.NewAnchors(f.E.Anchors, f.E.Seed)
	if err := anchors.Add(r.LogProbs, r.Labels, r.embedding, s, r.first); err != nil {
		return sums, data.Inputf(shard.Path, "%w", err)
	}
	sums.Anchors, err = anchors.MarshalBinary()
	return sums, err
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
	var anchors metrics.Anchors
	if err := anchors.UnmarshalBinary(all.Anchors); err != nil {
		return err
	}
	s, _, err := f.E.Settings()
	if err != nil {
		return err
	}
	r, err := f.E.read(ctx, shard)
	if err != nil { // it could be read before
		return fmt.Errorf("%s has changed: %w", shard.Path, err)
	}
	kernel := metrics.NewLocalTotals(&anchors, f.E.Like.Classes)
	if err := kernel.Add(&anchors, r.LogProbs, r.Labels, r.embedding, s); err != nil {
		return fmt.Errorf("%s: %w", shard.Path, err)
	}
	var sums Sums
	if sums.Kernel, err = kernel.MarshalBinary(); err != nil {
		return err
	}
	emit(shard.Number, sums)
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
	if a.Totals, err = merged(a.Totals, b.Totals, func(x, y *metrics.Totals) error { return x.Merge(y) }); err != nil {
		return a, err
	}
	if a.Kernel, err = merged(a.Kernel, b.Kernel, func(x, y *metrics.LocalTotals) error { return x.Merge(y) }); err != nil {
		return a, err
	}
	a.Anchors, err = merged(a.Anchors, b.Anchors, func(x, y *metrics.Anchors) error { x.Merge(y); return nil })
	return a, err
}

// binary is a sum that travels as bytes.
type binary[T any] interface {
	*T
	MarshalBinary() ([]byte, error)
	UnmarshalBinary([]byte) error
}

// merged is the sum of both, nil being none.
func merged[T any, P binary[T]](a, b []byte, add func(x, y P) error) ([]byte, error) {
	if len(a) == 0 {
		return b, nil
	}
	if len(b) == 0 {
		return a, nil
	}
	x, y := P(new(T)), P(new(T))
	if err := x.UnmarshalBinary(a); err != nil {
		return nil, err
	}
	if err := y.UnmarshalBinary(b); err != nil {
		return nil, err
	}
	if err := add(x, y); err != nil {
		return nil, err
	}
	return x.MarshalBinary()
}

// writeSumsFn writes the sums of all shards, the kernel's among them, as JSON to a file that the program which runs the
// pipeline reads.
type writeSumsFn struct{ Path string }

func (f *writeSumsFn) ProcessElement(ctx context.Context, all Sums, kernels func(*Sums) bool) error {
	var kernel Sums
	if kernels(&kernel) {
		all.Kernel = kernel.Kernel
	}
	return storeJSON(ctx, f.Path, all)
}

// report is what the sums say.
func (s Sums) report() (*metrics.Report, error) {
	var totals metrics.Totals
	if err := totals.UnmarshalBinary(s.Totals); err != nil {
		return nil, err
	}
	r, err := totals.Report()
	if err != nil || s.Kernel == nil {
		return r, err
	}
	var anchors metrics.Anchors
	var local metrics.LocalTotals
	if err := errors.Join(anchors.UnmarshalBinary(s.Anchors), local.UnmarshalBinary(s.Kernel)); err != nil {
		return nil, err
	}
	return r, r.AddLocal(&anchors, &local, &totals)
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
