package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

type applyCmd struct {
	Model string `required:"" type:"model" placeholder:"DIR" help:"Directory that calibra fit wrote, or a model.safetensors."`
	In    string `required:"" type:"input" placeholder:"F.npz" help:"Rows to predict: a features file with test_features and test_logits (as far as the method needs them), or other data, as for fit."`
	Out   string `required:"" type:"output" placeholder:"P.npz" help:"File to write: probs (N×C) of the test rows in the order of the file, with their labels and the embedding of the fit if the rows have labels and features. A name that ends in .parquet, .arrow or .feather gets a table."`

	JSON bool `help:"Print what was done as JSON: notes and, where the rows have labels, the verdict on these."`

	applyFlags
	inputFlags
	tableFlags
	encoderFlag
}

func (c *applyCmd) files() []string { return []string{c.Out} }

func (c *applyCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	if err := data.CheckArrays(c.Out); err != nil {
		return err
	}
	held, err := disk.Hold(modelFile(c.Model)) // the model and its embedding are read one after the other
	if err != nil {
		return err
	}
	defer held.Release()
	m, err := c.load(methods, held)
	if err != nil {
		return err
	}
	if !source.Registry(methods.RawSources()).Makes(c.In) && c.Encoder == "" && c.LongTail == 0 {
		if done, err := c.streamed(ctx, t, m); done || err != nil {
			return err
		}
	}
	shift, err := c.shift(m)
	if err != nil {
		return err
	}
	src, err := c.open(ctx, t, methods, m, shift)
	if err != nil {
		return err
	}
	p, err := m.predict(c.In, 0, src.Test)
	if err != nil {
		return err
	}
	if err := sameClasses(src.Path, src.Test.Classes(), src.Test.Labels, p.LogProbs.RawMatrix().Cols); err != nil {
		return err
	}
	p.ClassNames = m.file.Names.Classes
	p.Take(src.Test)
	embedded, notice, err := embedding(m.embedding, src)
	if err != nil {
		return err
	}
	held.Release()
	asked, err := c.beside(ctx, t, m, src, p)
	if err != nil {
		return err
	}
	priors, err := c.reweigh(ctx, t, m, shift, p)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := disk.WriteArrays(c.Out, slices.Concat(p.Arrays(), embedded, asked, priors)...); err != nil {
		return err
	}
	seen := newLabelled(p.Labels, p.LogProbs.RawMatrix().Cols)
	seen.add(0, src.Test, p.LogProbs)
	return c.closing(ctx, t, m, src.Test.Len(), notice, p, seen)
}

// load loads the model of the flags from the held files.
func (c *applyCmd) load(methods *method.Catalog, held *disk.Held) (m saved, err error) {
	path := modelFile(c.Model)
	m.embedding = held.Path(filepath.Join(filepath.Dir(path), "embedding.npz"))
	path = held.Path(path)
	if m.model, m.method, err = methods.Load(path); err != nil {
		return m, err
	}
	if err := c.check(m.model); err != nil {
		return m, err
	}
	m.file, err = layers.ReadModel(path)
	return m, err
}

// beside are the intervals and sets that were asked for.
func (c *applyCmd) beside(ctx context.Context, t *terminal, m saved, src *data.Source, p *data.Predictions) (arrays []data.Array, err error) {
	if c.Intervals != nil {
		if arrays, err = c.intervals(ctx, t, m, src); err != nil {
			return nil, err
		}
	}
	if c.Sets == nil {
		return arrays, nil
	}
	made, err := sets(t, m.model, m.method, src, p, *c.Sets)
	return append(arrays, made...), err
}

// saved is a model that calibra fit wrote.
type saved struct {
	model     layers.Stateful
	method    method.Method
	file      *layers.Model
	embedding string // its file, which may not be there
}

// needs are the arrays of test rows that it reads.
func (m saved) needs() []string {
	return data.Each(m.method.Needs, func(key string) string { return "test_" + key })
}

// predict returns its predictions for rows of the file in, the first of them row lo there.
func (m saved) predict(in string, lo int, x *data.Set) (*data.Predictions, error) {
	p, err := run.Predict(m.model, x)
	if err == nil { // a method from outside may have looked at none of them
		p, err = data.NewPredictions(p.LogProbs, x)
	}
	if err != nil {
		return nil, data.Inputf(in, "%w", data.At(err, lo))
	}
	return p, nil
}

// open reads the rows for a model, and warns where they do not look like those that it was fitted to.
func (c *applyCmd) open(ctx context.Context, t *terminal, methods *method.Catalog, m saved, shift *layers.LabelShift) (*data.Source, error) {
	spec, err := encodedFor(c.Model)
	if err != nil {
		return nil, err
	}
	if fitted := cmp.Or(spec.Encoder, source.MLPs[0].Name); c.Encoder != "" && c.Encoder != fitted {
		return nil, data.Inputf(c.Model, "was fitted to what the encoder %s makes; leave --encoder out", fitted)
	}
	src, err := c.tableFlags.open(ctx, t, methods, c.In, spec.Seed, m.file.Names, c.scores(), spec.Encoder)
	if err != nil {
		return nil, err
	}
	warnUnread(t, c.In, src.Unread)
	if err := src.Require(m.needs()...); err != nil {
		return nil, err
	}
	as, err := c.readAs(t, src.Test.Judge(), m)
	if err != nil {
		return nil, err
	}
	src.Floor = m.file.Floor
	if err := src.Settle(as); err != nil {
		return nil, err
	}
	if err := c.differ(t, c.In, c.held(t, m, shift, src.Test)); err != nil {
		return nil, err
	}
	if far := m.file.Profile.Far(src.Test); far != "" {
		t.warn("far", "warning: %s", far)
	}
	return src, nil
}

// modelFile is the file of the model that arg names, a directory that calibra fit wrote or
// the file itself.
func modelFile(arg string) string {
	if filepath.Ext(arg) == ".safetensors" {
		return arg
	}
	return filepath.Join(arg, "model.safetensors")
}

// embedding is the array embedding (N×P) of the test rows, in which evaluate measures
// locally: that of the fit, kept in the file at path, or else one fitted to the calibration
// rows of the same file. Without either there is none, and notice states it.
func embedding(path string, src *data.Source) (arrays []data.Array, notice string, err error) {
	if src.Test.Features == nil {
		return nil, "", nil
	}
	var e *data.Embedding
	switch _, missing := os.Stat(path); {
	case missing == nil:
		_, m := src.Test.Features.Dims()
		e, notice, err = keptEmbedding(path, m)
	case src.Cal != nil && src.Cal.Features != nil:
		cal := src.Cal.ForFit()
		e, err = data.FitWeightedEmbedding(cal.Features, cal.Weights, 0)
	default:
		notice = "no embedding, since neither " + path + " nor cal_features is there"
	}
	if e == nil || err != nil {
		return nil, notice, err
	}
	return []data.Array{{Name: "embedding", Value: e.Apply(src.Test.Features)}}, "", nil
}

// keptEmbedding is the embedding of a fit for rows of so many features; nil, with a notice, where the
// fit's had others.
func keptEmbedding(path string, features int) (e *data.Embedding, notice string, err error) {
	if e, err = data.ReadEmbedding(path); err != nil {
		return nil, "", err
	}
	if n, _ := e.Axes.Dims(); n != features {
		return nil, fmt.Sprintf("no embedding, since the model was fitted on %d features", n), nil
	}
	return e, "", nil
}

// sameClasses returns an *InputError if the test logits of the file, so many columns wide (0: there are none), or its
// labels are of other classes than the model, which a method that reads no logits would not notice.
func sameClasses(path string, wide int, labels []int, classes int) error {
	if wide > 0 && wide != classes {
		return data.Inputf(path, "test_logits has %d columns and the model was fitted on %d classes", wide, classes)
	}
	if i := data.InvalidLabel(labels, classes); i >= 0 {
		return data.Inputf(path, "test_labels holds %d at row %d and the model was fitted on %d classes", labels[i], i, classes)
	}
	return nil
}

// applyFlags set what calibra apply writes besides the predictions.
type applyFlags struct {
	NewPriors string   `type:"priors" placeholder:"FILE|estimate" help:"Reweigh the probabilities where the classes are more or less frequent than in the calibration rows: by a csv with the columns class and prior, or by priors estimated from these rows. Warns if the rows differ in another way."`
	Intervals *float64 `placeholder:"0.9" group:"Intervals and prediction sets:" help:"Also write intervals of this level around each probability: lower and upper (N×C). Every map that is fitted row by row has them (vq, dc, vector, maps of your own …), corrected, and ensembles of these."`
	Sets      *float64 `placeholder:"0.9" group:"Intervals and prediction sets:" help:"Also write prediction sets that hold the label with this probability: sets (N×C, 1 if a class is in) with a guarantee in each region, sets_marginal with a guarantee over all rows, and sets_region (N). They need val_* rows in the file, or its calibration rows."`
	TwoStage  bool     `group:"Intervals and prediction sets:" help:"With --intervals: count the error of the quantized head too, which was fitted to the same rows as the map. It needs matrices of (M+1)·C + P rows for M features, C classes and the P weights of the map (2KC + C of vq); at most 7000."`
}

// check refuses flags that make no sense, or not for this model.
func (f *applyFlags) check(model layers.Stateful) error {
	bounded, one := model.(layers.Bounded)
	_, both := model.(layers.BoundedInStages)
	outside := func(level *float64) bool { return level != nil && !(*level > 0 && *level < 1) }
	switch {
	case f.NewPriors != "" && (f.Intervals != nil || f.Sets != nil):
		return data.Inputf("", "--new-priors changes the probabilities and not their intervals or sets; leave out --intervals and --sets")
	case f.TwoStage && f.Intervals == nil:
		return data.Inputf("", "--two-stage widens intervals: give --intervals 0.9 too")
	case f.Intervals != nil && !one:
		return data.Inputf("", "--intervals is known for maps (such as vq, dc, vector or one of your own), for corrected and for ensembles of these only; of a pool fit its member corrected")
	case f.Intervals != nil && bounded.Unbounded() != nil:
		return data.Inputf("", "--intervals: %w", bounded.Unbounded())
	case f.TwoStage && !both:
		return data.Inputf("", "--two-stage is not known for this model; give --intervals alone")
	case outside(f.Intervals):
		return data.Inputf("", "--intervals has the level %g; it must lie between 0 and 1", *f.Intervals)
	case outside(f.Sets):
		return data.Inputf("", "--sets has the level %g; it must lie between 0 and 1", *f.Sets)
	}
	return nil
}

// streamed applies the model to a batch of rows at a time and writes its predictions for them, so
// that memory holds one batch however many rows there are. It reports whether it could: not
// where the output or the input is a table and where it takes the calibration rows of the same
// file. The bytes are those of all rows at once.
func (c *applyCmd) streamed(ctx context.Context, t *terminal, m saved) (bool, error) {
	if c.NewPriors != "" || c.Intervals != nil || c.Sets != nil || data.IsTable(c.Out) {
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
	j := &applied{stream: s, path: c.In, model: m, far: m.file.Profile.Watch(), sample: layers.NewSample(s.Rows), room: atOnce}
	return true, c.write(ctx, t, j)
}

// write writes the model's predictions for the rows of a stream.
func (c *applyCmd) write(ctx context.Context, t *terminal, j *applied) error {
	s, m := j.stream, j.model
	seen, err := s.Judge(ctx)
	if err != nil {
		return err
	}
	as, err := c.readAs(t, seen, m)
	if err != nil {
		return err
	}
	s.Floor = m.file.Floor
	if err := s.Settle(as); err != nil {
		return err
	}
	head, err := j.head(ctx)
	if err != nil {
		return err
	}
	classes, err := j.classes(head)
	if err != nil {
		return err
	}
	j.labelled = *newLabelled(s.Labels, classes)
	arrays := []data.Array{{Name: "probs", Value: data.Streamed(s.Rows, classes, func(write func([]float64) error) error {
		if err := j.predict(ctx, write); err != nil {
			return j.note(err)
		}
		return j.note(c.differ(t, c.In, m.file.Profile.Compare(j.sample)))
	})}}
	p := &data.Predictions{Labels: s.Labels, Soft: s.Soft, Weights: s.Weights, Groups: s.Groups, ClassNames: m.file.Names.Classes}
	embedded, notice, err := j.embedding(ctx)
	if err != nil {
		return err
	}
	err = disk.WriteNPZ(c.Out, slices.Concat(arrays, p.Beside(), embedded)...)
	if far := j.far.String(); far != "" {
		t.warn("far", "warning: %s", far)
	}
	var input *data.InputError
	if errors.As(j.err, &input) { // no matter of the file that is written
		return j.err
	}
	if err != nil {
		return err
	}
	return c.closing(ctx, t, m, s.Rows, notice, p, &j.labelled)
}

// applied is a stream on its way through a model.
type applied struct {
	stream   *data.Stream
	path     string
	model    saved
	far      *layers.Far
	sample   *layers.Sample
	labelled labelled
	room     int               // for rows, in bytes
	first    *data.Predictions // of the first batch
	embed    *data.Embedding   // of the rows as they are predicted; nil: they are read once more
	embedded []float64         // what it made of them
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

// head is the first batch as it is in the file.
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

// classes predicts the first batch, which gives C, and holds logits and labels against it.
func (j *applied) classes(head *data.Set) (_ int, err error) {
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
		j.labelled.add(lo, x, p.LogProbs)
		if j.embed != nil {
			j.embedded = append(j.embedded, j.embed.Apply(x.Features).RawMatrix().Data...)
		}
		var probs mat.Dense
		probs.Apply(func(_, _ int, v float64) float64 { return math.Exp(v) }, p.LogProbs)
		n, _ := probs.Dims()
		work.Report(ctx, float64(lo+n)/float64(j.stream.Rows), "apply: row %d of %d", lo+n, j.stream.Rows)
		return write(probs.RawMatrix().Data)
	})
}

// embedding is the array embedding of all rows, or why there is none. It is made while the rows are predicted where all
// of it has room in memory, and else of the rows read once more, as the file has its arrays one behind the other.
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
	if size := s.Rows * components; 8*size <= j.room {
		j.embed, j.embedded = e, make([]float64, 0, size)
	}
	return []data.Array{{Name: "embedding", Value: data.Streamed(s.Rows, components, func(write func([]float64) error) error {
		if j.embed != nil {
			return write(j.embedded)
		}
		return j.note(s.Each(ctx, j.batch(), true, func(_ int, x *data.Set) error {
			return write(e.Apply(x.Features).RawMatrix().Data)
		}))
	})}}, "", nil
}
