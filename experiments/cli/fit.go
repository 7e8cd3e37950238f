package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/export"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/experiments/study"
	"calibra/experiments/verdict"
	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/optim"
)

type fitCmd struct {
	In     string       `required:"" type:"input" placeholder:"F.npz" help:"Rows to calibrate and test: a features file, or data that a network is trained on first: letter, satellite, digits, a labelled csv, a MedMNIST npz or a CIFAR archive."`
	Method string       `placeholder:"NAME" help:"Method to fit (${recommended}; ${instead}). calibra methods lists them."`
	Split  data.Holdout `placeholder:"paper|tables|none" group:"Validation:" help:"Where validation rows come from: 10 % of the calibration rows (paper), 10 % of the test rows (tables), or none. Without this flag: paper for methods that stop early, none for the others."`
	Seed   uint64       `default:"0" help:"Seed of the split, the initial weights and the batches (${default})."`
	Out    string       `required:"" type:"output" placeholder:"DIR" help:"Directory for the model, config.json, metrics.json, predictions.npz, report.html and, after training in epochs, curves.csv."`

	ONNX string `name:"onnx" type:"output" placeholder:"F.onnx" help:"Also write the model as a network in ONNX, in float64, as calibra export --numbers float64 does."`
	JSON bool   `help:"Print the results as JSON."`

	inputFlags
	tableFlags
	encoderFlag
	settingFlags
	deviceFlag
	boardFlag
	figureFlags
}

func (c *fitCmd) files() []string { return []string{c.ONNX} }
func (c *fitCmd) folder() folder  { return folder{c.Out, run.Group, run.Files} }

func (c *fitCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	named := c.Method != ""
	c.Split = c.split(c.Split)
	if !named {
		c.Method = methods.Recommended().Name
	}
	method, err := methods.Find(c.Method)
	if err != nil {
		return err
	}
	c.Method = method.Name
	figures, err := c.export("fit", "")
	if err := cmp.Or(err, checkONNX(c.ONNX)); err != nil {
		return err
	}
	settings, err := c.values(methods, []string{c.Method})
	if err != nil {
		return err
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	src, err := c.open(ctx, t, methods, c.In, c.Seed, data.Names{}, c.scores(), c.Encoder)
	if err != nil {
		return c.kept(err)
	}
	warnUnread(t, c.In, src.Unread)
	if !named {
		other, values, why := methods.Recommend(src, c.Split)
		if why != "" {
			if settings, err = c.values(methods, []string{other.Name}); err != nil {
				return err
			}
			called := other.Name
			if values != nil {
				set := values.With(settings[called])
				settings[called], called = set, called+" with "+set.String()
			}
			t.warn("method", "%s has %s that the default method %s needs; %s is fitted in its place", filepath.Base(c.In), why, method.Name, called)
		}
		method, c.Method = other, other.Name
	}
	beside, err := c.settle(t, src, method)
	if err != nil {
		return err
	}
	warnRareClasses(t, src)
	noteWeighing(t, method, src)
	board, err := c.board().Begin(filepath.Base(c.Out))
	if err != nil {
		return err
	}
	run, step, err := c.fit(ctx, t, run.Spec{Catalog: methods, Executor: executor, Encoder: c.Encoder}, src, settings[c.Method], board.Observer())
	if err != nil {
		return err
	}
	run.Beside = beside
	return cmp.Or(c.finish(step, t, run, figures), board.Fitted(run))
}

// finish evaluates the run, writes it, and prints it.
func (c *fitCmd) finish(step division, t *terminal, run *run.Run, figures report.Export) error {
	f, err := c.find(step, t, run)
	if err != nil {
		if unwritten := run.Write(c.Out); unwritten != nil {
			return unwritten
		}
		return fmt.Errorf("the model is in %s, without its page: %w", c.Out, err)
	}
	if err := cmp.Or(c.write(run, f.page), figures.Write(f.page.Drawings())); err != nil {
		return err
	}
	if err := c.network(t, run); err != nil {
		return err
	}
	t.note("%s", c.notice)
	for _, s := range run.Stages {
		t.note("%s: %s, %.1f s", s.Name, s.Result, s.Time.Seconds())
		if s.Result.Best == 0 && s.Result.Status == optim.Stalled {
			t.warn("stalled", "warning: no step lowered the loss of %s, which stays as it started; try another optim.rule, or a smaller optim.rate", c.Method)
		}
	}
	if text := run.Unreached(); text != "" {
		t.warn("unreached", "warning: %s", text)
	}
	if text := run.Undivided(); text != "" {
		t.warn("undivided", "warning: %s", text)
	}
	if c.JSON {
		if !run.Judged() {
			t.note("%s", c.unjudged(run))
		}
		return t.json(c.json(run, f))
	}
	return c.print(t, run, f)
}

// fit fits the method of the flags to the source, the first of the parts into which it divides what is left of the
// command.
func (c *fitCmd) fit(ctx context.Context, t *terminal, spec run.Spec, src *data.Source, values method.Values, observe method.Observer) (
	*run.Run, division, error) {
	spec.Method, spec.Data, spec.Split, spec.Seed = c.Method, filepath.Base(c.In), c.Split, c.Seed
	if c.Split == "" {
		method, _ := spec.Catalog.Find(c.Method)
		spec.Split = method.Split()
	}
	if err := spec.Use(values); err != nil {
		return nil, nil, err
	}
	step := t.divide(ctx, fitting(spec, source.SizeOf(src))...)
	run, err := spec.Fit(step(0, "fit"), src, observe)
	if errors.Is(err, context.Canceled) && run != nil {
		if told := c.kept(err); told != err {
			return nil, nil, told
		}
		return nil, nil, c.interrupted(run, err)
	}
	return run, step, err
}

// write writes the run with its page.
func (c *fitCmd) write(fitted *run.Run, page *report.Document) error {
	out := disk.NewFolder(c.Out, run.Group)
	defer out.Discard()
	fitted.Add(out)
	out.WriteFile(run.Page, page.WriteHTML)
	return out.Commit()
}

// network writes the model as a network, where that is asked for; of a method that has none, a warning says why.
func (c *fitCmd) network(t *terminal, run *run.Run) error {
	if c.ONNX == "" {
		return nil
	}
	var file bytes.Buffer
	err := export.Write(&file, export.Float64, c.Method, run.Model)
	if refused := new(data.InputError); errors.As(err, &refused) {
		t.warn("network", "no network is written: %v", refused)
		return nil
	}
	if err != nil {
		return err
	}
	return disk.WriteFile(c.ONNX, func(out io.Writer) error { _, err := out.Write(file.Bytes()); return err })
}

// kept is the error, and, after an interruption, states that an earlier model is as it was.
func (c *fitCmd) kept(err error) error {
	if _, statErr := os.Stat(filepath.Join(c.Out, "model.safetensors")); !errors.Is(err, context.Canceled) || statErr != nil {
		return err
	}
	return fmt.Errorf("%w; the model that was in %s before is kept", err, c.Out)
}

// interrupted keeps what the fit had learned when it was interrupted, and is the error that
// states it, or why nothing was kept.
func (c *fitCmd) interrupted(run interface{ Write(dir string) error }, interruption error) error {
	switch err := run.Write(c.Out); {
	case errors.Is(err, layers.ErrUnfitted):
		return fmt.Errorf("%s was not fitted yet and nothing was written: %w", c.Method, context.Canceled)
	case err != nil:
		return fmt.Errorf("%w; the model as far as it was learned is lost: %w", interruption, err)
	}
	return fmt.Errorf("%w; the model as far as it was learned is in %s", interruption, c.Out)
}

// findings are what a fit found, besides the run.
type findings struct {
	ranking  *report.Table // of its candidates, nil where it has none
	together []string      // what is said of all together
	beside   *weighed      // nil where nothing is to be set beside
	page     *report.Document
}

// find computes what the fit found.
func (c *fitCmd) find(step division, t *terminal, run *run.Run) (f findings, err error) {
	members := layers.MembersOf(run.Model)
	if m, ok := members[0].(anchored.Mixer); ok {
		f.ranking = rankingTable(m.Ranks(), m.Shares())
		nll, standardError := m.Loss()
		f.together = []string{fmt.Sprintf("the held-out NLL of %s is %.4f ± %.4f, at temperature %.3f", c.Method, nll, standardError, m.T())}
		if kept := run.Kept(); kept != "" {
			t.warn("classifier_kept", "%s", kept)
		}
		whose := ""
		if len(members) > 1 {
			whose = fmt.Sprintf(" of the first of %d members", len(members))
			f.together = append(f.together, "these are the candidates"+whose)
		}
		f.ranking.Caption = "What calibration rows that were held out say of each part" + whose + "."
	}
	if run.Judged() {
		t.warnUnmeasured(run.Outcome.Metrics)
		d, err := place(step(1, "find where the classifier is wrong"), run.Spec.Catalog, run.Source, c.In, placedRows)
		if err != nil {
			return f, err
		}
		var g *metrics.Recovered
		if d != nil {
			g = d.Recoverable
		}
		ctx := step(2, "measure before and after, with noise floors")
		if f.beside, err = weigh(ctx, run, g); err != nil {
			return f, err
		}
		if f.beside != nil {
			v := f.beside.verdict
			v.Locate(d)
			if v.Notes = &t.said; v.Say == verdict.CannotTell {
				study.CrossFit(v, c.said(), labelledRows(ctx, c.In))
			} else {
				v.Commands = c.next(run.Spec.Catalog, v)
			}
			method, _ := run.Spec.Catalog.Find(c.Method)
			v.Doubt(run.Beside.Doubts(readsFeatures(method))...)
		}
	}
	step(3, "write the page")
	f.page, err = c.document(run, f)
	return f, err
}

// fitted is what a fit found, as JSON.
type fitted struct {
	Method  string           `json:"method"`
	Out     string           `json:"out"`
	Results map[string]any   `json:"results,omitempty"`
	Floored *metrics.Floored `json:"floored,omitempty"`
	Logits  data.Scores      `json:"logits,omitempty"` // what they hold, where these are divided by their sums
	rowcheck.Findings
	Both       []map[string]any    `json:"before_and_after,omitempty"`
	Verdict    *verdict.Verdict    `json:"verdict,omitempty"`
	Candidates []map[string]any    `json:"candidates,omitempty"`
	Kept       string              `json:"classifier_kept,omitempty"`
	Fits       []run.StageOptimum  `json:"fits,omitempty"`
	Residuals  []run.StageResidual `json:"residuals,omitempty"`
}

// json is what the fit found, as JSON.
func (c *fitCmd) json(run *run.Run, f findings) fitted {
	out := fitted{Method: c.Method, Out: data.Line(c.Out), Findings: run.Beside, Kept: run.Kept(), Fits: run.Optima(), Residuals: run.Residuals()}
	if run.Judged() {
		out.Results, out.Floored = runTable(run).Objects()[0], run.Outcome.Metrics.Floored
	}
	if run.Source.Scores.Normalized() {
		out.Logits = run.Source.Scores
	}
	if f.beside != nil {
		out.Both, out.Verdict = f.beside.objects(), f.beside.verdict
	}
	if f.ranking != nil {
		out.Candidates = f.ranking.Objects()
	}
	return out
}

// print prints the findings.
func (c *fitCmd) print(t *terminal, run *run.Run, f findings) error {
	t.document(f.page)
	if !run.Judged() {
		if f.page.Terminal != nil {
			t.printf("\n")
		}
		return t.printf("%s\n", c.unjudged(run))
	}
	v := run.Outcome.Metrics.Values
	return t.closing(fmt.Sprintf("%s: NLL %.4f, accuracy %.4f on %d test rows", c.Method, v[metrics.NLL], v[metrics.Accuracy], run.Source.Test.Len()),
		"model, metrics, predictions and report.html to "+relative(c.Out))
}

// unjudged says what a fit wrote whose test rows have no labels, or are none.
func (c *fitCmd) unjudged(run *run.Run) string {
	if run.Outcome == nil {
		return fmt.Sprintf("wrote the model to %s; %s has no test rows to judge it on", c.Out, filepath.Base(c.In))
	}
	return fmt.Sprintf("wrote the model and the predictions of %d test rows to %s; %s has no labels of them, so metrics are left out", run.Source.Test.Len(), c.Out, filepath.Base(c.In))
}

// said are the rows as another command takes them.
func (c *fitCmd) said() string {
	return quoted(relative(c.In)) + c.inputFlags.said() + c.tableFlags.said() + c.encoderFlag.said()
}

// next are the commands that follow from a fit whose rows can tell: those that fit and apply the method to use, the
// last alone where it is this one, and where there is none, that which tries others.
func (c *fitCmd) next(methods *method.Catalog, v *verdict.Verdict) (commands []string) {
	in := c.said()
	switch use := v.ToUse(); use {
	case verdict.Classifier:
		fitted := ""
		if names := usual(methods); !slices.Contains(names, c.Method) {
			fitted = " --methods " + strings.Join(append(names, c.Method), ",")
		}
		return []string{"calibra compare --in " + in + fitted + " --out runs/compare"}
	case c.Method:
		commands = []string{study.Apply(in, quoted(relative(c.Out)))}
	default:
		commands = study.Commands(in, run.Spec{Method: use, Seed: c.Seed}, 0)
	}
	return remedy(v, commands)
}

// warnUnread names the arrays of a file that nothing reads.
func warnUnread(t *terminal, path, unread string) {
	if unread != "" {
		t.warnAs(verdict.Note{Key: "unread", Text: unread}, fmt.Sprintf("warning: of %s %s", filepath.Base(path), unread))
	}
}

// warnRareClasses names the classes that no calibration row has, or hardly any.
func warnRareClasses(t *terminal, src *data.Source) {
	if src.Cal == nil || src.Cal.Labels == nil {
		return
	}
	if empty := src.RareClasses(0, 0); len(empty) > 0 {
		t.warn("empty_classes", "warning: no calibration row is of class %s; their probabilities cannot be calibrated", classNames(src, empty))
	}
	const few = 3
	if rare := src.RareClasses(1, few); len(rare) > 0 {
		t.warn("rare_classes", "warning: at most %d calibration rows each are of class %s; a method that learns by class gives their rows too little "+
			"probability; if these classes matter, add rows of them or take ts", few, classNames(src, rare))
	}
}

// classNames are the first ten of these classes by their names, or numbers, and how many more there are.
func classNames(src *data.Source, classes []int) string {
	const most = 10
	shown := classes[:min(most, len(classes))]
	names := fmt.Sprint(shown)
	if known := src.Cal.Names.Classes; known != nil {
		names = strings.Join(data.Each(shown, func(class int) string { return known[class] }), ", ")
	}
	if len(classes) > most {
		names += fmt.Sprintf(" and %d more of %d classes", len(classes)-most, src.Classes)
	}
	return names
}
