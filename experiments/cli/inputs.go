package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/verdict"
	"calibra/layers"

	"github.com/alecthomas/kong"

	"gonum.org/v1/gonum/floats"
)

// scoresFlags say what the numbers of the classifier are, which a command otherwise judges by their looks.
type scoresFlags struct {
	Scores        data.Scores `xor:"scores" placeholder:"WHAT" group:"The rows:" help:"What the classifier's numbers are: logits (before the softmax), probabilities (after it, on any scale), log-probabilities, or one-vs-rest (a probability of each class against the others, divided by the sums of the rows). Without it they are judged by their values, and you are asked where these may be several."`
	Logits        bool        `xor:"scores" group:"The rows:" help:"Short for --scores logits."`
	Probabilities bool        `xor:"scores" group:"The rows:" help:"Short for --scores probabilities."`
}

// inputFlags set what the rows are, where a command would otherwise judge by their looks.
type inputFlags struct {
	scoresFlags
	AcceptShift bool `group:"The rows:" help:"Go on if the test rows look unlike the calibration rows: columns exchanged or on another scale."`
}

// tableFlags are what is known of csv files of raw rows.
type tableFlags struct {
	Label    string      `placeholder:"COLUMN" group:"The rows:" help:"Label column of a csv file (the last)."`
	LongTail thinning    `placeholder:"RHO" group:"The rows:" help:"Thin the classes of raw rows as CIFAR-10-LT: with 100 the last has a hundredth of the rows of the first. The rows that train and calibrate are thinned, those that test stay (not)."`
	Header   data.Header `placeholder:"yes|no" group:"The rows:" help:"Whether the first row of a csv file holds the column names (decided by what the row looks like)."`
}

// thinning is ρ of [data.RawSettings.LongTail], 0 where the flag is not given.
type thinning float64

// UnmarshalText reads a number from 1.
func (r *thinning) UnmarshalText(text []byte) error {
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(v >= 1 && v <= math.MaxFloat64) {
		return fmt.Errorf("%q is not the ratio of the most frequent class to the rarest, 1 or more", text)
	}
	*r = thinning(v)
	return nil
}

// origin is where the rows of arg come from; as is what the user says that logits are, "" for nothing.
func (f *tableFlags) origin(methods *method.Catalog, arg string, as data.Scores) (*source.Origin, error) {
	return source.Registry(methods.RawSources()).Open(arg, f.settings(as))
}

// settings are those that the flags describe.
func (f *tableFlags) settings(as data.Scores) source.Settings {
	return source.Settings{Label: f.Label, Header: f.Header, LongTail: float64(f.LongTail), Scores: as}
}

// said are the flags as a command that reads the same file takes them.
func (f *tableFlags) said() (text string) {
	if f.Label != "" {
		text = " --label " + quoted(f.Label)
	}
	if f.Header != "" {
		text += " --header " + string(f.Header)
	}
	if f.LongTail != 0 {
		text += fmt.Sprintf(" --long-tail %g", f.LongTail)
	}
	return text
}

// said are the flags as a command that reads the same file takes them.
func (f *scoresFlags) said() string {
	if f.scores() == "" {
		return ""
	}
	return " --scores " + string(f.scores())
}

// said are the flags as a command that reads the same file takes them.
func (f *inputFlags) said() string {
	text := f.scoresFlags.said()
	if f.AcceptShift {
		text += " --accept-shift"
	}
	return text
}

// scores is what the flags name, "" if nothing.
func (f *scoresFlags) scores() data.Scores {
	switch {
	case f.Logits:
		return data.Logits
	case f.Probabilities:
		return data.Probabilities
	}
	return f.Scores
}

// settle reads the logits of a fit's rows as what they are, and holds the test rows to the calibration rows.
func (f *inputFlags) settle(t *terminal, src *data.Source, method method.Method) (beside rowcheck.Findings, err error) {
	if err := src.Settle(f.scores()); err != nil {
		return beside, err
	}
	beside = rowcheck.Find(src)
	return beside, f.told(t, src, &beside, method)
}

// told prints what the rows are and what is odd about them for these methods, or is an *InputError where the test rows
// look wrong and that is not accepted.
func (f *inputFlags) told(t *terminal, src *data.Source, beside *rowcheck.Findings, methods ...method.Method) error {
	if src.Scores.Normalized() {
		t.remark("read_as", "%s holds %s: their logarithms are taken (--logits if they are logits)", src.Path, src.ReadAs)
	}
	if src.Order != "" {
		t.remark("classes", "%s: %s", src.Path, src.Order)
	}
	if err := f.differ(t, src.Path, &beside.Comparison); err != nil {
		return err
	}
	warnFound(t, src.Path, beside, slices.ContainsFunc(methods, readsFeatures))
	return nil
}

// warnFound warns of what is odd about the rows of a file; of features where they matter.
func warnFound(t *terminal, path string, beside *rowcheck.Findings, features bool) {
	warnOf(t, "labels", path, beside.Labels)
	warnOf(t, "test_labels", path, beside.TestLabels)
	if features {
		warnOf(t, "features", path, beside.Features)
	}
	if beside.Training != nil {
		warnOf(t, "training_rows", path, beside.Training.String())
	}
	if beside.Repeated != nil {
		warnOf(t, "repeated_rows", path, beside.Repeated.String())
	}
	if beside.Copies != nil {
		warnOf(t, "copies", path, beside.Copies.String())
	}
}

// readsFeatures reports whether a method needs the features of the rows.
func readsFeatures(m method.Method) bool { return slices.Contains(m.Needs, "features") }

// noteWeighing says how a method takes weights that its reference has no form for.
func noteWeighing(t *terminal, m method.Method, src *data.Source) {
	if m.Weighing != "" && src.Cal.ForFit().Weights != nil {
		t.note("%s has no weighted form in its reference: %s", m.Name, m.Weighing)
	}
}

// warnOf warns of the rows of a file; of nothing where text is "".
func warnOf(t *terminal, key, path, text string) {
	if text != "" {
		t.warnAs(verdict.Note{Key: key, Text: text}, fmt.Sprintf("warning: %s: %s", path, text))
	}
}

// differ is an *InputError where the rows do not look like those of the fit, unless that is
// accepted; drift and what is accepted are warnings.
func (f *inputFlags) differ(t *terminal, path string, c *layers.Comparison) error {
	if len(c.Wrong) > 0 && !f.AcceptShift {
		return data.Inputf(path, "%s (--accept-shift if they are right)", strings.Join(c.Wrong, "; or "))
	}
	warnDiffer(t, path, c)
	return nil
}

// warnDiffer warns of rows that do not look like those of the fit.
func warnDiffer(t *terminal, path string, c *layers.Comparison) {
	for _, sentence := range c.Wrong {
		warnOf(t, "shift", path, sentence)
	}
	for _, d := range c.Drift {
		warnOf(t, "drift", path, fmt.Sprint(d))
	}
}

// brought reports whether arg names data of the catalog. A file of that name comes first.
func brought(methods *method.Catalog, arg string) bool {
	_, err := os.Stat(arg)
	return source.Registry(methods.RawSources()).HasData(arg) && errors.Is(err, fs.ErrNotExist)
}

// decodeInput is decodePath for what may name data of the catalog, or begin with it in a list.
func decodeInput(methods *method.Catalog) kong.MapperFunc {
	return decodePathOr(func(word string) bool {
		first, _, _ := strings.Cut(word, ",")
		return brought(methods, first)
	})
}

// decodePathOr is decodePath, but for some words.
func decodePathOr(is func(word string) bool) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		if token := ctx.Scan.Peek(); is(token.String()) {
			target.SetString(ctx.Scan.Pop().String())
			return nil
		}
		return decodePath(ctx, target)
	}
}

// decodeModel is decodePath for a model that fit wrote: a folder that holds one, or its file.
func decodeModel(ctx *kong.DecodeContext, target reflect.Value) error {
	if err := decodePath(ctx, target); err != nil {
		return err
	}
	path := target.String()
	_, absent := os.Stat(path)
	if _, unfitted := os.Stat(modelFile(path)); absent != nil || unfitted == nil {
		return nil // whoever opens it says what else is wrong
	}
	return data.Inputf(path, "holds no model.safetensors; name the folder of a calibra fit, or a model.safetensors (compare keeps no models, and names the command that fits one)")
}

// decodePredictions is decodeInput, and a folder with predictions.npz, as fit writes it, stands for that file.
func decodePredictions(methods *method.Catalog) kong.MapperFunc {
	return func(ctx *kong.DecodeContext, target reflect.Value) error {
		err := decodeInput(methods)(ctx, target)
		file := filepath.Join(target.String(), "predictions.npz")
		if _, absent := os.Stat(file); err == nil && absent == nil {
			target.SetString(file)
		}
		return err
	}
}

// open reads a features file, or makes the rows of other data: features and logits of the first encoder where they are
// raw, trained with the seed. as is what the user says that logits are, "" for nothing, and encoder names another.
func (f *tableFlags) open(ctx context.Context, t *terminal, methods *method.Catalog, arg string, seed uint64, names data.Names, as data.Scores, encoder string) (*data.Source, error) {
	_, absent := os.Stat(arg)
	if !source.Registry(methods.RawSources()).Makes(arg) && *f == (tableFlags{}) && encoder == "" && (data.NamesFeatures(arg) || absent == nil) {
		return data.OpenContext(ctx, arg, names)
	}
	o, err := f.origin(methods, arg, as)
	if err != nil {
		return nil, err
	}
	if o.Encoders != nil {
		t.note("%s holds raw rows%s: a network is trained on some of them, and its outputs for others are calibrated", arg, f.labels(arg, o.Classes()))
	}
	p, err := encoded(ctx, t, methods, o, seed, encoder)
	if err != nil {
		return nil, err
	}
	return p.Source, nil
}

// asSeeds is the one origin of features files that count as seeds.
func asSeeds(ctx context.Context, t *terminal, files []*source.Origin, of []uint64) (*source.Origin, error) {
	o, same, err := source.AsSeeds(ctx, files, of)
	if err != nil {
		return nil, err
	}
	rows := "have the same labels and are taken for the same rows"
	if !same {
		rows = "differ in number or labels and are taken for other rows in each file"
	}
	t.note("the %d files count as seeds %s of %s; their test rows %s", len(files), strings.Trim(fmt.Sprint(of), "[]"), o.Name, rows)
	return o, nil
}

// encoderFlag is of the commands that train a network on raw rows.
type encoderFlag struct {
	Encoder string `placeholder:"NAME" group:"The rows:" help:"Network that is trained on some of the raw rows, by the others of which it is judged: mlp, mlp-shallow, mlp-wide, resmlp, ftt (FT-Transformer, of tables), resnet or resnet-cifar100 (of images), the last three by the paper's recipes (mlp)."`
}

// said is the flag as a command that reads the same rows takes it.
func (f *encoderFlag) said() string {
	if f.Encoder == "" {
		return ""
	}
	return " --encoder " + quoted(f.Encoder)
}

// labels is what raw rows are labelled with, so that a label that was read from another column is noticed.
func (f *tableFlags) labels(arg string, classes []string) string {
	const most = 5
	if len(classes) == 0 {
		return ""
	}
	text := fmt.Sprintf(" of %d classes, %s", len(classes), strings.Join(data.Each(classes[:min(most, len(classes))], data.Line), ", "))
	if len(classes) > most {
		text += " …"
	}
	if f.Label == "" && strings.Contains(filepath.Base(arg), ".csv") {
		text += " (by the last column; --label names another)"
	}
	return text
}

// encoded are the rows of data, by the encoder of that name where they are raw ("": the first), trained with the seed.
// The rest of the command is taken to be what a fit is by default.
func encoded(ctx context.Context, t *terminal, methods *method.Catalog, o *source.Origin, seed uint64, encoder string) (
	*source.Problem, error) {
	if o.Encoders != nil {
		size, err := o.Size(ctx, encoder)
		if err != nil {
			return nil, err
		}
		ctx = t.divide(ctx, shared(o.Training(size, encoder)), floats.Sum(fitting(run.Spec{Catalog: methods, Method: methods.Recommended().Name}, size)))(0, "train the network")
	}
	p, err := o.Load(ctx, seed, encoder, "")
	if err == nil && p.Notice != "" {
		t.warn("raw_rows", "warning: of %s %s", o.Name, p.Notice)
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("the encoder of %s was not trained to its end, and nothing was written: %w", o.Name, context.Canceled)
	}
	return p, err
}

// encodedFor is the Spec that the model was fitted by, whose encoder and seed brought data are read by; the zero Spec
// where the folder does not record it.
func encodedFor(model string) (run.Spec, error) {
	spec, err := run.ReadSpec(filepath.Dir(modelFile(model)))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return spec, err
}
