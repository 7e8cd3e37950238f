package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
)

type evaluateCmd struct {
	In        string `required:"" type:"predictions" placeholder:"P.npz" help:"Predictions, or the folder of a fit: probs, log_probs or logits (N×C), labels (N, or N×C probabilities), and optionally an embedding (N×d) for the local metrics and weights (N). Or a table with a column prob_NAME, or NAME, for each class. If they are rows for calibra fit, the classifier's own predictions are measured."`
	Embedding string `placeholder:"KEY" group:"Local metrics:" help:"Array of the file to measure local errors in (embedding, if the file has it)."`
	Features  string `type:"path" placeholder:"F.npz" help:"Measure local errors in the principal components of these features of the same rows: array features, test_features or embedding (N×M) of the file."`

	Protocol   metrics.Protocol `default:"tables" placeholder:"tables|formula" group:"Metrics:" help:"Definitions of the metrics: those behind the paper's tables, or the formulas of its appendix (${default})."`
	Bandwidth  *float64         `placeholder:"10" xor:"bandwidth" group:"Local metrics:" help:"Bandwidth γ of the Gaussian kernel, in the embedding's units (10)."`
	Epsilon    *float64         `placeholder:"SHARE" xor:"bandwidth" group:"Local metrics:" help:"Give each row a bandwidth of its own in place of --bandwidth: the distance within which this share of the other rows lies."`
	Bins       int              `most:"100000" default:"15" group:"Metrics:" help:"Number of bins between 0 and 1 (${default})."`
	SmallBin   *int             `most:"1000000000" placeholder:"20" group:"Local metrics:" help:"Under protocol tables, local bins with this many rows or fewer are skipped; 0 skips none (20; the paper uses 10 for ConvNeXt and ViT)."`
	Weights    string           `default:"uniform" enum:"uniform,frequency" placeholder:"uniform|frequency" group:"Metrics:" help:"Weights of the classes: all equal (uniform), or as frequent as the labels (frequency) (${default})."`
	Redraws    int              `most:"100000" default:"50" help:"How often labels are drawn from the predictions for the noise floor; 0 for none (${default})."`
	Replicates int              `most:"100000" default:"200" help:"Number of bootstrap replicates for the intervals; 0 for none (${default})."`
	Seed       uint64           `default:"0" help:"Seed of everything that is drawn at random (${default})."`

	Binning string `default:"width" enum:"width,quantile" placeholder:"width|quantile" group:"Metrics:" help:"Bins of equal width, or with about the same number of rows (quantile) (${default})."`
	Folds   *int   `placeholder:"K" most:"10000" help:"Number of folds: each row is corrected by fits to the other K−1 folds. If given, the interval is widened because these fits share rows. 0 leaves corrections out (5; 0 for more than 256 classes or fewer than 50 rows)."`

	WholeGroups bool `help:"With --folds: keep rows that share a group (the array groups) in one fold, and count a group as one observation."`

	Anchors int    `most:"1000000000" default:"0" placeholder:"N" group:"Local metrics:" help:"With more rows than N, measure local errors at a sample of N rows only, each against all rows. The sample is stratified by confidence. LCE then has a standard error, and MLCE is the largest error in the sample. 0 measures at all rows; the time grows with their square (${default})."`
	JSON    bool   `name:"json" help:"Print the report as JSON."`
	HTML    string `name:"html" type:"output" placeholder:"F.html" help:"Write the report with its figures as one HTML page."`

	judgedFlags
	figureFlags
	deviceFlag

	unmeasured string // why nothing is said of what a correction would gain, "" where it is
}

func (c *evaluateCmd) files() []string { return []string{c.page()} }

// beside is what a fit says of its predictions, in the folder of the file that is judged.
func (c *evaluateCmd) beside() string { return filepath.Join(filepath.Dir(c.In), "metrics.json") }

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
	r, step, err := c.measure(ctx, t, in, settings, uncertainty)
	if err != nil {
		return err
	}
	v, err := c.verdict(step, t, catalog, in, r)
	if err != nil {
		return err
	}
	step(3, "write the page")
	return c.show(t, in, r, v, figures)
}

// measure measures the predictions, with what corrections would recover.
func (c *evaluateCmd) measure(ctx context.Context, t *terminal, in *judged, settings metrics.Settings, uncertainty metrics.Uncertainty) (
	*metrics.Report, division, error) {
	p, embedding := in.Predictions, in.embedding
	if embedding == nil && c.Anchors != 0 {
		return nil, nil, data.Inputf("", "%s has no array embedding, which --anchors needs; "+
			"name another array by --embedding, or leave --anchors out", c.In)
	}
	settings.Rows, settings.Soft, settings.Groups = p.Counting(), p.Soft, c.whole(p)
	var recovered *metrics.Recovered
	if c.WholeGroups && p.Groups.Of == nil {
		return nil, nil, data.Inputf(c.In, "has no groups to keep whole; add the array groups, one for each row, or leave out --whole-groups")
	}
	folds, size, placed, from := c.folds(t, in), in.size(), 0., 0.
	if in.source != nil {
		placed = placing(size, placedRows)
	}
	step := t.divide(ctx, evaluating(size), judging(size), placed, drawing(size))
	ctx = step(0, "measure")
	if folds > 0 {
		from = 0.5
		recovery := diagnosis.Recovery{Folds: folds, Groups: c.whole(p), Rows: p.Counting(), Soft: p.Soft}
		var err error
		if recovered, err = diagnosis.Recover(work.Span(ctx, "correct", 0, from), p.LogProbs, p.Labels, embedding, recovery, c.rng()); err != nil {
			return nil, nil, asUsage(err)
		}
		if c.Folds != nil {
			recovered.Ties.Folds = folds
		}
	}
	r, err := metrics.Evaluate(work.Span(ctx, "", from, 1), p.LogProbs, p.Labels, embedding, settings, uncertainty, c.rng())
	if err != nil {
		return nil, nil, asUsage(err)
	}
	t.warnUnmeasured(r)
	if in.copies != nil {
		r.Copies = in.copies
		r.Weightless -= in.copies.Rows
	}
	r.Recovered, r.Sets, r.ByClass, r.ByGroup, r.Multicalibration = recovered, in.sets, in.classes, in.groups, in.multi
	r.LikelihoodRatio, err = metrics.NewLikelihoodRatio(p.LogProbs, p.Labels, in.counting(), rand.New(rand.NewPCG(c.Seed, 5)))
	return r, step, asUsage(err)
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
func (c *evaluateCmd) show(t *terminal, in *judged, r *metrics.Report, v *verdict.Verdict, figures report.Export) error {
	pictures, card, err := c.pictures(in, r, v)
	if err != nil {
		return err
	}
	d := report.Evaluation(in.name(), c.Seed, r, v, pictures)
	d.Card = card
	if err := figures.Write(d.Drawings()); err != nil {
		return err
	}
	if c.HTML != "" {
		if err := c.writePage(in, d); err != nil {
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
	wrote := slices.DeleteFunc([]string{c.Figures, c.HTML}, func(path string) bool { return path == "" })
	return t.closing(found, data.Each(wrote, relative)...)
}

func (c *evaluateCmd) rng() *rand.Rand { return rand.New(rand.NewPCG(c.Seed, 0)) }

// recoverableClasses is up to how many classes the recoverable loss is measured unless the user
// sets it: its corrections have C² numbers, which few rows teach nothing.
const recoverableClasses = 256

// folds are those of the recoverable loss, 0 where it is not measured.
func (c *evaluateCmd) folds(t *terminal, in *judged) int {
	rows, classes := in.LogProbs.Dims()
	rows -= floats.Count(func(weight float64) bool { return weight == 0 }, in.Weights)
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

// settings turns the flags into settings, in which 0 means the default.
func (c *evaluateCmd) settings() (s metrics.Settings, u metrics.Uncertainty, err error) {
	switch {
	case c.Anchors < 0 || c.Anchors == 1:
		return s, u, data.Inputf("", "--anchors is %d; it must be 0, for all rows, or at least 2", c.Anchors)
	case c.Embedding != "" && c.Features != "":
		return s, u, data.Inputf("", "--embedding and --features both name where to measure locally; give one of them")
	case c.WholeGroups && or(c.Folds, 0) == 0:
		return s, u, data.Inputf("", "--whole-groups is about folds; give --folds 5 too")
	case or(c.Folds, 0) < 0 || or(c.Folds, 0) == 1:
		return s, u, data.Inputf("", "--folds is %d; there must be two or more, or 0 for none", *c.Folds)
	case !(or(c.Bandwidth, 10) > 0):
		return s, u, data.Inputf("", "--bandwidth is %v; it must be positive", *c.Bandwidth)
	case !(or(c.Epsilon, .5) > 0 && or(c.Epsilon, .5) < 1):
		return s, u, data.Inputf("", "--epsilon is %v; it must be a share of the rows, between 0 and 1", *c.Epsilon)
	case c.Bins < 1:
		return s, u, data.Inputf("", "--bins is %d; there must be at least one", c.Bins)
	case c.Redraws < 0:
		return s, u, data.Inputf("", "--redraws is %d; it must be 0 or more", c.Redraws)
	case c.Replicates < 0 || c.Replicates > 0 && c.Replicates < metrics.FewestReplicates:
		return s, u, data.Inputf("", "--replicates is %d; it must be 0, for no intervals, or at least %d", c.Replicates, metrics.FewestReplicates)
	case or(c.SmallBin, 0) < 0:
		return s, u, data.Inputf("", "--small-bin is %d; it must be 0 or more", *c.SmallBin)
	}
	s = metrics.Settings{Protocol: c.Protocol, Bins: c.Bins, Anchors: c.Anchors, AnchorSeed: c.Seed}
	s.Bandwidth, s.Epsilon = or(c.Bandwidth, 0), or(c.Epsilon, 0)
	if c.SmallBin != nil {
		s.SmallBin = cmp.Or(*c.SmallBin, metrics.NoSmallBin)
	}
	if c.Weights == "frequency" {
		s.Weighting = metrics.Frequency
	}
	if c.Binning == metrics.Quantile.String() {
		s.Binning = metrics.Quantile
	}
	u = metrics.Uncertainty{Replicates: cmp.Or(c.Replicates, metrics.None), Redraws: cmp.Or(c.Redraws, metrics.None)}
	return s, u, nil
}

// read reads the predictions, and where they are measured locally, from one and the same file.
func (c *evaluateCmd) read(ctx context.Context, t *terminal, catalog *method.Catalog) (*judged, error) {
	held, err := disk.Hold(c.In)
	if err != nil {
		return nil, err
	}
	defer held.Release()
	in, err := c.judged(ctx, t, catalog, c.In, c.Features, c.Seed)
	if err != nil {
		return nil, err
	}
	if _, err := in.lie(c.Embedding); err != nil {
		return nil, err
	}
	if in.sets, err = in.coverage(); err != nil {
		return nil, err
	}
	return in, in.byName()
}

// asUsage marks an error of what sees only input and flags as the user's to mend, but not
// an interruption; nil stays nil.
func asUsage(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return data.Inputf("", "%w", err)
}

// pictures are the sections of an evaluation with figures, and its card, where they go anywhere.
func (c *evaluateCmd) pictures(in *judged, r *metrics.Report, v *verdict.Verdict) (
	sections []*report.Section, card *report.Drawing, err error) {
	if c.Figures == "" && c.HTML == "" {
		return nil, nil, nil
	}
	if sections, card, err = in.pictured(v); err != nil {
		return nil, nil, err
	}
	if !math.IsNaN(r.Values[metrics.LCE]) {
		sections = append(sections, &report.Section{Title: "Local calibration", Figures: []*report.Drawing{{Name: "ess-profile",
			Figure:  report.ESSProfile("Local calibration along density", r.Local.ESSProfile(15)),
			Caption: "Local calibration error from rows in sparse places to rows in dense ones, and the noise floor: what a perfectly calibrated model would show."}}})
	}
	return sections, card, nil
}

// page is where --html goes: a directory gets report.html.
func (c *evaluateCmd) page() string {
	if isDir(c.HTML) {
		return filepath.Join(c.HTML, "report.html")
	}
	return c.HTML
}

// writePage writes the evaluation as one HTML page.
func (c *evaluateCmd) writePage(in *judged, d *report.Document) (err error) {
	from := in.name()
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
	return disk.WriteFile(c.page(), d.WriteHTML)
}

// verdict is what to do with the predictions, nil where they have no NLL.
func (c *evaluateCmd) verdict(step division, t *terminal, methods *method.Catalog, in *judged, r *metrics.Report) (
	*verdict.Verdict, error) {
	judge := func(fitted *verdict.Verdict) (*verdict.Verdict, error) {
		v := verdict.JudgeEvaluation(r, c.unmeasured, fitted)
		var err error
		if v != nil && fitted != nil && fitted.Say == verdict.Use && fitted.Cause != verdict.Shifted {
			var d *diagnosis.Diagnosis
			d, err = place(step(2, "find where the classifier is wrong"), methods, in.source, c.In, placedRows)
			v.Locate(d)
		}
		return v, err
	}
	return in.verdict(step(1, "set methods beside the classifier"), t, methods, c.Seed, r.Recovered, judge)
}
