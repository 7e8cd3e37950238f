package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"

	"calibra/data"
	"calibra/experiments"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// streamed applies the model to a batch of rows at a time and writes what it says of them, so
// that memory holds one batch however many rows there are. It tells whether it could: not
// where the output or the input is a table, where it takes the calibration rows of the same
// file, and where the predictions of a row depend on the others. The bytes are those of all
// rows at once.
func (c *applyCmd) streamed(ctx context.Context, t *terminal, m saved) (bool, error) {
	_, together := m.model.(experiments.Together)
	if c.Intervals != nil || c.Sets != nil || together || data.IsTable(c.Out) {
		return false, nil
	}
	if _, err := os.Stat(m.embedding); err != nil {
		return false, nil
	}
	s, err := data.OpenStream(c.In, "test", m.file.Names)
	if s == nil || err != nil {
		return false, err
	}
	defer s.Close()
	warnUnread(t, c.In, s.Unread)
	if err := s.Require(m.needs()...); err != nil {
		return true, err
	}
	j := &applied{stream: s, path: c.In, model: m, far: m.file.Inputs.Watch(), sample: layers.NewSample(s.Rows), progress: t.progress(), room: atOnce}
	defer j.progress.clear()
	return true, c.write(ctx, t, j)
}

// write writes what the model says of the rows of a stream.
func (c *applyCmd) write(ctx context.Context, t *terminal, j *applied) error {
	s, m := j.stream, j.model
	raw, err := j.head(ctx)
	if err != nil {
		return err
	}
	if s.Scores, err = c.fitted(c.In, m.file.Scores, data.ScoresOf(raw.Logits)); err != nil {
		return err
	}
	classes, err := j.classes(ctx)
	if err != nil {
		return err
	}
	arrays := []data.Array{{Name: "probs", Value: &data.Streamed{Rows: s.Rows, Columns: classes, Each: func(write func([]float64) error) error {
		if err := j.predict(ctx, write); err != nil {
			return j.note(err)
		}
		return j.note(c.differ(t, c.In, m.file.Inputs.Compare(j.sample)))
	}}}}
	p := &data.Predictions{Labels: s.Labels, ClassNames: m.file.Names.Classes}
	p.Take(&data.Set{Weights: s.Weights, Soft: s.Soft})
	embedded, notice, err := j.embedding(ctx)
	if err != nil {
		return err
	}
	err = data.WriteNPZ(c.Out, slices.Concat(arrays, p.Beside(), embedded)...)
	j.progress.clear()
	if far := j.far.String(); far != "" {
		t.warn("warning: %s", far)
	}
	var input *data.InputError
	if errors.As(j.err, &input) { // no matter of the file that is written
		return j.err
	}
	if err != nil {
		return err
	}
	return t.printf("wrote %s: %d rows by %s%s\n", c.Out, s.Rows, m.method.Name, notice)
}

// applied is a stream on its way through a model.
type applied struct {
	stream   *data.Stream
	path     string
	model    saved
	far      *layers.Far
	sample   *layers.Sample
	progress *progress
	room     int               // for rows, in bytes
	first    *data.Predictions // of the first batch
	err      error             // that ended a pass
}

// atOnce is about how many bytes of rows are in memory at a time.
const atOnce = 32 << 20

// batch is how many rows these are, in whole batches of the graphs, so that their products
// are of the same rows as when all are there.
func (j *applied) batch() int {
	bytes := 4*j.stream.Width + 48*j.stream.Classes
	return layers.EvaluationBatch * max(1, j.room/(max(bytes, 1)*layers.EvaluationBatch))
}

func (j *applied) note(err error) error {
	j.err = err
	return err
}

// errEnough ends a pass.
var errEnough = errors.New("enough")

// head is the first batch, its logits read by the stream's scores.
func (j *applied) head(ctx context.Context) (first *data.Set, err error) {
	err = j.stream.Each(ctx, j.batch(), false, func(_ int, x *data.Set) error {
		first = x
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return first, err
}

// classes predicts the first batch, which tells C, and holds logits and labels against it.
func (j *applied) classes(ctx context.Context) (int, error) {
	head, err := j.head(ctx)
	if err != nil {
		return 0, err
	}
	if j.first, err = j.model.predict(j.path, 0, head); err != nil {
		return 0, err
	}
	_, classes := j.first.LogProbs.Dims()
	return classes, sameClasses(j.path, j.stream.Classes, j.stream.Labels, classes)
}

// predict writes the probabilities of all rows.
func (j *applied) predict(ctx context.Context, write func([]float64) error) error {
	return j.stream.Each(ctx, j.batch(), false, func(lo int, x *data.Set) (err error) {
		j.far.Add(x)
		j.sample.Add(x)
		p := j.first
		if lo > 0 {
			if p, err = j.model.predict(j.path, lo, x); err != nil {
				return err
			}
		}
		j.first = nil
		var probs mat.Dense
		probs.Apply(func(_, _ int, v float64) float64 { return math.Exp(v) }, p.LogProbs)
		n, _ := probs.Dims()
		j.progress.at(float64(lo+n), float64(j.stream.Rows), fmt.Sprintf("apply: row %d of %d", lo+n, j.stream.Rows))
		return write(probs.RawMatrix().Data)
	})
}

// embedding is the array embedding of all rows, or why there is none.
func (j *applied) embedding(ctx context.Context) (arrays []data.Array, notice string, err error) {
	s := j.stream
	if s.Width == 0 {
		return nil, "", nil
	}
	e, notice, err := keptEmbedding(j.model.embedding, s.Width)
	if e == nil || err != nil {
		return nil, notice, err
	}
	_, components := e.Axes.Dims()
	return []data.Array{{Name: "embedding", Value: &data.Streamed{Rows: s.Rows, Columns: components, Each: func(write func([]float64) error) error {
		return j.note(s.Each(ctx, j.batch(), true, func(_ int, x *data.Set) error {
			return write(e.Apply(x.Features).RawMatrix().Data)
		}))
	}}}}, "", nil
}
