package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
	"calibra/graph/work"
)

type evaluateCmd struct {
	In        string `required:"" type:"predictions" placeholder:"P.npz" help:"Predictions, or the folder of a fit: probs, log_probs or logits (N×C), labels (N, or N×C probabilities), and optionally an embedding (N×d) for the local metrics and weights (N). Or a table with a column prob_NAME, or NAME, for each class. If they are rows for calibra fit, the classifier's own predictions are measured."`
	Embedding string `placeholder:"KEY" group:"Local metrics:" help:"Array of the file to measure local errors in (embedding, if the file has it)."`
	Features  string `type:"path" placeholder:"F.npz" help:"Measure local errors in the principal components of these features of the same rows: array features, test_features or embedding (N×M) of the file."`

	MetricFlags

	Binning string `default:"width" enum:"width,quantile" placeholder:"width|quantile" group:"Metrics:" help:"Bins of equal width, or with about the same number of rows (quantile) (${default})."`
	Folds   *int   `placeholder:"K" most:"10000" help:"Number of folds: each row is corrected by fits to the other K−1 folds. If given, the interval is widened because these fits share rows. 0 leaves corrections out (5; 0 for more than 256 classes or fewer than 50 rows)."`

	WholeGroups bool `help:"With --folds: keep rows that share a group (the array groups) in one fold, and count a group as one observation."`

	Anchors int    `most:"1000000000" default:"0" placeholder:"N" group:"Local metrics:" help:"With more rows than N, measure local errors at a sample of N rows only, each against all rows. The sample is stratified by confidence. LCE then has a standard error, and MLCE is the largest error in the sample. 0 measures at all rows; the time grows with their square (${default})."`
	JSON    bool   `name:"json" help:"Print the report as JSON."`
	HTML    string `name:"html" type:"path" placeholder:"F.html" help:"Write the report with its figures as one HTML page."`

	judgedFlags
	figureFlags
	deviceFlag

	unmeasured string // why nothing is said of what a correction would gain, "" where it is
}

func (c *evaluateCmd) Run(ctx context.Context, t *terminal, catalog *method.Catalog) error {
	settings, uncertainty, err := c.settings()
	if err != nil {
		return err
	}
	figures, err := c.export("evaluate", "")
	if err != nil {
		return err
	}
	if settings.Executor, err = c.executor(); err != nil {
		return err
	}
	in, err := c.read(ctx, t, catalog)
	if err != nil {
		return err
	}
	in.told(t, c.Embedding)
	if repeated := run.ReadRepeated(c.In); repeated != nil {
		warnOf(t, "repeated_rows", c.In, repeated.String())
	}
	if c.HTML != "" {
		if err := disk.CheckFile(c.page()); err != nil {
			return err
		}
	}
	settings.Own = catalog.Metrics()
	r, err := c.measure(ctx, t, in, settings, uncertainty)
	if err != nil {
		return err
	}
	v, err := c.verdict(ctx, t, catalog, in, r)
	if err != nil {
		return err
	}
	if v != nil {
		v.Notes = &t.said
	}
	return c.show(t, in, r, v, figures)
}

// measure measures the predictions, with what corrections would recover.
func (c *evaluateCmd) measure(ctx context.Context, t *terminal, in *Judged, settings metrics.Settings, uncertainty metrics.Uncertainty) (*metrics.Report, error) {
	p, embedding := in.Predictions, in.Embedding
	if embedding == nil {
		if err := c.needless(); err != nil {
			return nil, err
		}
	}
	ctx, bar := t.steps(ctx, 0)
	defer bar.clear()
	settings.Rows, settings.Soft, settings.Groups = p.Counting(), p.Soft, c.whole(p)
	var recovered *metrics.Recovered
	if c.WholeGroups && p.Groups.Of == nil {
		return nil, data.Inputf(c.In, "has no groups to keep whole; add the array groups, one for each row, or leave out --whole-groups")
	}
	if folds := c.folds(t, in); folds > 0 {
		recovery := diagnosis.Recovery{Folds: folds, Groups: c.whole(p), Rows: p.Counting(), Soft: p.Soft}
		var err error
		if recovered, err = diagnosis.Recover(work.Span(ctx, "correct", 0, 0.5), p.LogProbs, p.Labels, embedding, recovery, c.rng()); err != nil {
			return nil, asUsage(err)
		}
		if c.Folds != nil {
			recovered.Ties.Folds = folds
		}
	}
	from := 0.
	if recovered != nil {
		from = 0.5
	}
	r, err := metrics.Evaluate(work.Span(ctx, "", from, 1), p.LogProbs, p.Labels, embedding, settings, uncertainty, c.rng())
	bar.clear()
	if err != nil {
		return nil, asUsage(err)
	}
	t.warnUnmeasured(r)
	if in.copies != nil {
		r.Copies = in.copies
		r.Weightless -= in.copies.Rows
	}
	r.Recovered, r.Sets, r.ByClass, r.ByGroup, r.Multicalibration = recovered, in.sets, in.classes, in.groups, in.multi
	if r.LikelihoodRatio, err = metrics.NewLikelihoodRatio(p.LogProbs, p.Labels, in.counting(), rand.New(rand.NewPCG(c.Seed, 5))); err != nil {
		return nil, asUsage(err)
	}
	return r, nil
}

// warnUnmeasured warns of metrics from outside that are NaN, which no table has.
func (t *terminal) warnUnmeasured(r *metrics.Report) {
	for _, o := range r.Own {
		if math.IsNaN(o.Value) {
			t.warn("not_measured", "warning: the metric %s is NaN on these rows and is left out", o.Key)
		}
	}
}

// show writes what was measured, and prints it.
func (c *evaluateCmd) show(t *terminal, in *Judged, r *metrics.Report, v *verdict.Verdict, figures report.Export) error {
	d, err := c.document(in, r, v)
	if err != nil {
		return err
	}
	if err := figures.Write(d.Drawings()); err != nil {
		return err
	}
	if c.HTML != "" {
		if err := c.writePage(d); err != nil {
			return err
		}
	}
	if c.JSON {
		if v != nil {
			r.Verdict = v
		}
		return t.json(r)
	}
	t.document(d)
	found := fmt.Sprintf("NLL %.4f, accuracy %.4f", r.Values[metrics.NLL], r.Values[metrics.Accuracy])
	if n := r.Noise[metrics.TopECE]; n != nil {
		found += fmt.Sprintf("; ECE is %.1f times its noise floor", r.Values[metrics.TopECE]/n.Mean)
	}
	var wrote []string
	for _, path := range []string{c.Figures, c.HTML} {
		if path != "" {
			wrote = append(wrote, relative(path))
		}
	}
	return t.closing(found, wrote...)
}

func (c *evaluateCmd) rng() *rand.Rand { return rand.New(rand.NewPCG(c.Seed, 0)) }

// recoverableClasses is up to how many classes the recoverable loss is measured unless the user
// sets it: its corrections have C² numbers, which few rows teach nothing.
const recoverableClasses = 256

// folds are those of the recoverable loss, 0 where it is not measured.
func (c *evaluateCmd) folds(t *terminal, in *Judged) int {
	rows, classes := in.LogProbs.Dims()
	for _, weight := range in.Weights {
		if weight == 0 {
			rows--
		}
	}
	if in.copies != nil {
		rows = in.copies.Counted
	}
	switch {
	case c.Folds != nil && *c.Folds == 0:
		c.unmeasured = "--folds 0 leaves it out"
		return 0
	case c.Folds != nil:
		return *c.Folds
	case rows < diagnosis.FewestRecoverableRows:
		c.unmeasured = diagnosis.TooFew(rows) + " (--folds 2 measures it nevertheless)"
	case classes > recoverableClasses:
		c.unmeasured = fmt.Sprintf("of %d classes its corrections have %d numbers (--folds 5 measures it nevertheless)", classes, classes*classes)
	default:
		return 5
	}
	t.note("The recoverable loss is left out: %s.", c.unmeasured)
	return 0
}

// whole are the groups that folds keep whole, nil where they need not.
func (c *evaluateCmd) whole(p *data.Predictions) []int {
	if !c.WholeGroups {
		return nil
	}
	return p.Groups.Of
}

// needless is the error of a flag that only works with an embedding, nil if it was not given.
func (c *evaluateCmd) needless() error {
	if c.Anchors == 0 {
		return nil
	}
	return data.Inputf("", "%s has no array embedding, which --anchors needs; name another array by --embedding, or leave --anchors out", c.In)
}

// settings turns the flags into settings, in which 0 means the default.
func (c *evaluateCmd) settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	switch {
	case c.Anchors < 0 || c.Anchors == 1:
		return s, u, data.Inputf("", "--anchors is %d; it must be 0, for all rows, or at least 2", c.Anchors)
	case c.Embedding != "" && c.Features != "":
		return s, u, data.Inputf("", "--embedding and --features both name where to measure locally; give one of them")
	case c.WholeGroups && (c.Folds == nil || *c.Folds == 0):
		return s, u, data.Inputf("", "--whole-groups is about folds; give --folds 5 too")
	case c.Folds != nil && (*c.Folds < 0 || *c.Folds == 1):
		return s, u, data.Inputf("", "--folds is %d; there must be two or more, or 0 for none", *c.Folds)
	}
	if s, u, err = c.Settings(); err != nil {
		return s, u, err
	}
	s.Anchors, s.AnchorSeed = c.Anchors, c.Seed
	if c.Binning == metrics.Quantile.String() {
		s.Binning = metrics.Quantile
	}
	return s, u, nil
}

// read reads the predictions, and where they are measured locally, from one and the same file.
func (c *evaluateCmd) read(ctx context.Context, t *terminal, catalog *method.Catalog) (*Judged, error) {
	held, err := disk.Hold(c.In)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	in, err := c.judged(ctx, t, catalog, c.In, c.Seed)
	if err != nil {
		return nil, err
	}
	if c.Features != "" || in.described != nil && c.Embedding == "" {
		var d *data.Described
		if d, err = in.describe(c.Features); err == nil {
			in.count(d.Features)
		}
	} else if err = in.Embed(c.Embedding); err == nil {
		in.count(in.Embedding)
	}
	if err != nil {
		return nil, err
	}
	if in.sets, err = in.coverage(); err != nil {
		return nil, err
	}
	return in, in.byName()
}

// asUsage marks an error of what sees only input and flags as the user's to mend, but not
// an interruption.
func asUsage(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return data.Inputf("", "%w", err)
}

// besidesTables are what was found besides the tables, a line each.
func besidesTables(r *metrics.Report) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if !math.IsNaN(r.SmoothECE) {
		say("%s", smoothText(r))
	}
	if g := r.Recovered; g != nil {
		text := fmt.Sprintf("recoverable NLL: %s nats a row by the predictions alone (at least %s)", metrics.Signed(g.NLL.Global.Value, 5), metrics.Signed(g.NLL.Global.Low, 5))
		if g.LocalNLL != nil {
			text += fmt.Sprintf(", %s more by the embedding (at least %s)", metrics.Signed(g.NLL.Local.Value, 5), metrics.Signed(g.NLL.Local.Low, 5))
		}
		say("%s", text)
		if shared := g.Ties.String(); shared != "" {
			say("%s", shared)
		}
	}
	if l := r.LikelihoodRatio; l != nil {
		say("likelihood ratio test of calibration against vector scaling: χ² %.2f with %d degrees of freedom (p %s)", l.Statistic, l.Degrees, verdict.P(l.PValue))
	}
	if r.Multicalibration != nil {
		say("%s", multicalibrationText(r.Multicalibration))
	}
	if a := r.Anchors; a != nil {
		say("LCE is measured at %d of %d rows, with a standard error of %.2g; its interval is of that error alone, and MLCE is the largest of these rows", a.Rows, r.Rows, a.SE)
	}
	if missing := r.Missing(); missing != "" {
		say("%s", missing)
	}
	if r.Floored.Much() {
		say("%s", flooredText(r.Floored, r.Rows))
	}
	if lce, ece := r.Values[metrics.LCE], r.Values[metrics.ECE]; math.Abs(lce-ece) < sameError*ece {
		say("LCE is class-wise ECE here: in this embedding every row is near every other at bandwidth %g; a smaller --bandwidth looks closer", r.Settings.Bandwidth)
	}
	return lines
}

// rowsText is how many rows count, as about how many of one weight they do, and how many do not.
func rowsText(r *metrics.Report) string {
	var more []string
	if r.Effective > 0 {
		more = append(more, fmt.Sprintf("weights: %d rows count as about %.0f", r.Rows, r.Effective))
	}
	if r.Weightless > 0 {
		more = append(more, fmt.Sprintf("%d more have weight 0", r.Weightless))
	}
	if more == nil {
		return fmt.Sprintf("%d rows", r.Rows)
	}
	return fmt.Sprintf("%d rows (%s)", r.Rows, strings.Join(more, "; "))
}

// copiesText is a sentence of the copies among the rows, "" without.
func copiesText(r *metrics.Report) string {
	if r.Copies == nil {
		return ""
	}
	return fmt.Sprintf(" %s.", r.Copies)
}

// sameError is how near LCE lies to class-wise ECE, relative to it, where the kernel does not tell rows apart.
const sameError = .01

// measuredTable is a row for each number that was measured: its value and, as far as they were asked for, its interval, its
// noise floor, the floor's 95th percentile, what the metric exceeds it by, and how likely that is of calibrated predictions.
func measuredTable(r *metrics.Report, head string, measured []metrics.Measured) *report.Table {
	intervals, floors := r.Uncertainty.Replicates > 0, r.Uncertainty.Redraws > 0
	t := &report.Table{Labels: []string{head}, Values: report.Heads("value")}
	if intervals {
		t.Values = append(t.Values, report.Head{Text: "95 % interval", Drop: 1})
	}
	if intervals && floors {
		t.Values = append(t.Values, report.Head{Text: "of many rows", Drop: 2})
	}
	if floors {
		t.Values = append(t.Values, report.Head{Text: "noise floor"}, report.Head{Text: "95th pct", Drop: 3}, report.Head{Text: "excess", Drop: 2}, report.Head{Text: "p calibrated"})
	}
	for _, m := range measured {
		texts := []any{metrics.Fixed(m.Value, 5)}
		if intervals {
			texts = append(texts, intervalText(m.Interval, 5))
		}
		if intervals && floors {
			texts = append(texts, intervalText(m.Many, 5))
		}
		if n := m.Noise; n != nil {
			texts = append(texts, fmt.Sprintf("%.5f ± %.5f", n.Mean, n.SD), fmt.Sprintf("%.5f", n.P95), metrics.Signed(n.Excess, 5), verdict.PAmong(n.PValue, r.Uncertainty.Redraws))
		}
		for len(texts) < len(t.Values) { // it has no floor
			texts = append(texts, "")
		}
		t.Add("", report.Row{Labels: []string{m.Title}, Cells: report.Texts(texts...)})
	}
	return t
}

// intervalText is an interval in so many decimals, "" where there is none.
func intervalText(i metrics.Interval, decimals int) string {
	if math.IsNaN(i.Low) {
		return ""
	}
	return metrics.Fixed(i.Low, decimals) + " – " + metrics.Fixed(i.High, decimals)
}

// smoothText is the smooth calibration error in a line.
func smoothText(r *metrics.Report) string {
	text := fmt.Sprintf("smooth ECE %.5f", r.SmoothECE)
	if i := r.SmoothInterval; !math.IsNaN(i.Low) {
		text += fmt.Sprintf(" (95 %% %.5f to %.5f)", i.Low, i.High)
	}
	if n := r.SmoothNoise; n != nil {
		text += fmt.Sprintf(", floor %.5f (p %s)", n.Mean, verdict.PAmong(n.PValue, r.Uncertainty.Redraws))
	}
	return text
}

// MetricFlags set what is measured.
type MetricFlags struct {
	Protocol   metrics.Protocol `default:"tables" placeholder:"tables|formula" group:"Metrics:" help:"Definitions of the metrics: those behind the paper's tables, or the formulas of its appendix (${default})."`
	Bandwidth  float64          `default:"10" group:"Local metrics:" help:"Bandwidth γ of the Gaussian kernel, in the embedding's units (${default})."`
	Bins       int              `most:"100000" default:"15" group:"Metrics:" help:"Number of bins between 0 and 1 (${default})."`
	SmallBin   *int             `most:"1000000000" placeholder:"20" group:"Local metrics:" help:"Under protocol tables, local bins with this many rows or fewer are skipped; 0 skips none (20; the paper uses 10 for ConvNeXt and ViT)."`
	Weights    string           `default:"uniform" enum:"uniform,frequency" placeholder:"uniform|frequency" group:"Metrics:" help:"Weights of the classes: all equal (uniform), or as frequent as the labels (frequency) (${default})."`
	Redraws    int              `most:"100000" default:"50" help:"How often labels are drawn from the predictions for the noise floor; 0 for none (${default})."`
	Replicates int              `most:"100000" default:"200" help:"Number of bootstrap replicates for the intervals; 0 for none (${default})."`
	Seed       uint64           `default:"0" help:"Seed of everything that is drawn at random (${default})."`
}

// fewestReplicates is of package metrics: fewer have no 2.5 % quantile.
const fewestReplicates = 40

// Settings turns the flags into settings, in which 0 means the default. A wrong flag
// is an error with the exit code of wrong usage.
func (f *MetricFlags) Settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	switch {
	case !(f.Bandwidth > 0):
		return s, u, data.Inputf("", "--bandwidth is %v; it must be positive", f.Bandwidth)
	case f.Bins < 1:
		return s, u, data.Inputf("", "--bins is %d; there must be at least one", f.Bins)
	case f.Redraws < 0:
		return s, u, data.Inputf("", "--redraws is %d; it must be 0 or more", f.Redraws)
	case f.Replicates < 0 || f.Replicates > 0 && f.Replicates < fewestReplicates:
		return s, u, data.Inputf("", "--replicates is %d; it must be 0, for no intervals, or at least %d", f.Replicates, fewestReplicates)
	case f.SmallBin != nil && *f.SmallBin < 0:
		return s, u, data.Inputf("", "--small-bin is %d; it must be 0 or more", *f.SmallBin)
	}
	s = metrics.Settings{Protocol: f.Protocol, Bins: f.Bins, Bandwidth: f.Bandwidth}
	if f.SmallBin != nil {
		s.SmallBin = cmp.Or(*f.SmallBin, metrics.NoSmallBin)
	}
	if f.Weights == "frequency" {
		s.Weighting = metrics.Frequency
	}
	return s, metrics.Uncertainty{Replicates: cmp.Or(f.Replicates, metrics.None), Redraws: cmp.Or(f.Redraws, metrics.None)}, nil
}

// pictures are the sections of an evaluation with figures; they give the document its card.
func (c *evaluateCmd) pictures(d *report.Document, in *Judged, r *metrics.Report, v *verdict.Verdict) ([]*report.Section, error) {
	p := in.Predictions
	_, classes, err := metrics.Reliability(p.LogProbs, p.Labels, metrics.Settings{Bins: c.Bins, Rows: p.Counting(), Soft: p.Soft})
	if err != nil {
		return nil, err
	}
	seen, err := in.portraits()
	if err != nil {
		return nil, err
	}
	if v != nil {
		d.Card = in.card(v, seen)
	}
	shown := report.Portraits(seen, p.ClassNames)
	shown[0].Figures = append(shown[0].Figures,
		&report.Drawing{Name: "reliability-classes", Caption: "How often any class is right, against its probability, in bins of one width; ECE is their mean gap, and grey bars are their shares of all probabilities.", Figure: report.Reliability("Reliability of all classes", classes)})
	if !math.IsNaN(r.Values[metrics.LCE]) {
		shown = append(shown, &report.Section{Title: "Local calibration", Figures: []*report.Drawing{{Name: "ess-profile",
			Figure:  report.ESSProfile("Local calibration along density", r.Local.ESSProfile(15)),
			Caption: "Local calibration error from rows in sparse places to rows in dense ones, and the noise floor: what a perfectly calibrated model would show."}}})
	}
	return shown, nil
}

// page is where --html goes: a directory gets report.html.
func (c *evaluateCmd) page() string {
	if isDir(c.HTML) {
		return filepath.Join(c.HTML, "report.html")
	}
	return c.HTML
}

// document is the evaluation.
func (c *evaluateCmd) document(in *Judged, r *metrics.Report, v *verdict.Verdict) (*report.Document, error) {
	d := &report.Document{
		Title: "Evaluation of " + strings.TrimSuffix(filepath.Base(c.In), ".npz"),
		Intro: fmt.Sprintf("%s, %d classes, protocol %s", rowsText(r), r.Classes, r.Protocol),
		Facts: []report.Fact{
			{Name: "Protocol", Value: r.Protocol.String()},
			{Name: "Bins", Value: fmt.Sprintf("%d, %s", r.Settings.Bins, r.Settings.Binning)},
			{Name: "Bandwidth", Value: fmt.Sprintf("%g", r.Settings.Bandwidth)},
			{Name: "Bootstrap replicates", Value: fmt.Sprint(r.Uncertainty.Replicates)},
			{Name: "Redraws of the labels", Value: fmt.Sprint(r.Uncertainty.Redraws)},
			{Name: "Seed", Value: fmt.Sprint(c.Seed)},
		},
	}
	if v != nil {
		d.Verdict = []report.Statement{report.Stated(v)}
	}
	d.Terminal = []report.Part{{Lines: []string{d.Intro}}}
	d.Intro += "." + copiesText(r)
	d.Show(&report.Section{Title: "Metrics", Note: metricsNote, Tables: []*report.Table{measuredTable(r, "metric", r.Measured())}})
	if r.Decomposition != nil {
		d.Show(&report.Section{Title: "Parts of the scores", Note: partsNote, Tables: []*report.Table{measuredTable(r, "part of the score", r.Decomposition.Measured())}})
	}
	d.Show(&report.Section{Title: "What was found", Lines: besidesTables(r)})
	if c.Figures != "" || c.HTML != "" {
		pictures, err := c.pictures(d, in, r, v)
		if err != nil {
			return nil, err
		}
		d.Sections = append(d.Sections, pictures...)
	}
	if r.Sets != nil {
		d.Show(coverageSection(r.Sets))
	}
	if r.Recovered != nil {
		d.Sections = append(d.Sections, &report.Section{Title: "Recoverable loss", Tables: []*report.Table{report.RecoverableTable(r.Recovered)}})
	}
	if r.ByClass != nil {
		d.Show(partsSection("Classes", "class", "How often each class is true and its mean probability; accuracy, confidence and NLL of the rows whose label it is.", r.ByClass))
	}
	if r.ByGroup != nil {
		groups := partsSection("Groups", "group", "The rows of each group; calibrated predictions are right as often as they are confident.", r.ByGroup)
		groups.Tables = append(groups.Tables, multicalibrationTable(r.Multicalibration))
		d.Show(groups)
	}
	return d, nil
}

// writePage writes the evaluation as one HTML page.
func (c *evaluateCmd) writePage(d *report.Document) (err error) {
	from := strings.TrimSuffix(filepath.Base(c.In), ".npz")
	if _, err := os.Stat(c.In); err == nil { // else the program brings the rows
		digest, err := data.Digest(c.In)
		if err != nil {
			return err
		}
		from += ", " + digest
	}
	if d.Head, err = provenance(report.Fact{Name: "Data", Value: from}); err != nil {
		return err
	}
	return disk.WriteFile(c.page(), func(w io.Writer) error { return d.WriteHTML(w) })
}

// metricsNote says what the columns of the metrics are.
const metricsNote = "Intervals are 95 %: Clopper–Pearson of the accuracy, Student's t without skewness of NLL and Brier score (Hall 1992), bootstrap over the rows of the others, which few rows raise: theirs are of the mean over samples of as many rows, and “of many rows” takes the noise floor off. The noise floor is the same metric for labels that are redrawn from the predictions, so that the predictions are perfectly calibrated. p is the chance of a value as extreme under perfect calibration."

// partsNote says what the parts of the scores are.
const partsNote = "Miscalibration is how much isotonic regression of the same rows lowers the score. Uncertainty is the score of the class shares alone, and discrimination is how much lower the recalibrated score is than that (CORP, Dimitriadis et al. 2021). With more than two classes, the Brier score is the sum over the classes, and the recalibrated probabilities of the NLL are divided by their sum."
