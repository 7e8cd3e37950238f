package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/diagnosis"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/verdict"
	"calibra/graph/work"
)

type diagnoseCmd struct {
	In        string `required:"" type:"predictions" placeholder:"P.npz" help:"Predictions, or the folder of a fit: probs, log_probs or logits (N×C), labels (N), and optionally an embedding (N×d), class_names (C) and groups (N). If they are rows for calibra fit, the classifier's own predictions are diagnosed."`
	Features  string `type:"path" placeholder:"F.npz" help:"Features of the same rows: array features, test_features or embedding (N×M) of this file. Regions are found in their principal components and described by feature_names (M), if the file has them."`
	Rows      int    `least:"2" most:"1000000000" default:"50" group:"The search:" help:"Fewest rows of a region, both in the half where it is found and in the half where it is tested (${default})."`
	Codewords int    `least:"2" most:"65536" default:"32" group:"The search:" help:"Largest number of codewords around which regions are searched in each half (${default})."`
	Redraws   int    `least:"19" most:"1000000" default:"999" group:"The search:" help:"How often labels are drawn from the predictions for the p-values (${default})."`
	Seed      uint64 `default:"0" help:"Seed of the halves, the codewords and the draws (${default})."`
	Out       string `required:"" type:"output" placeholder:"DIR" help:"Directory for diagnosis.html and diagnosis.json."`
	AllRows   bool   `group:"The search:" help:"List the rows of all regions: in diagnosis.json even more than 100,000, and with --json at all."`
	JSON      bool   `name:"json" help:"Print the diagnosis as JSON."`

	judgedFlags
	figureFlags
}

func (c *diagnoseCmd) folder() folder { return folder{c.Out, diagnosisGroup, diagnosisFiles} }

func (c *diagnoseCmd) Run(ctx context.Context, t *terminal, methods *method.Catalog) error {
	export, err := c.export("diagnose", "")
	if err != nil {
		return err
	}
	in, e, err := c.read(ctx, t, methods)
	if err != nil {
		return err
	}
	in.told(t, "")
	switch {
	case in.embedding == nil:
		t.note("no regions are searched: nothing says where the rows lie; --features FILE names a file with their features")
	case in.features == "" && in.described == nil:
		t.note("regions are described by directions of the embedding; --features FILE describes them by the columns of a features file")
	}
	size := in.size()
	step := t.divide(ctx, diagnosis.Expected(size.Tested, size.Features, size.Classes), judging(size), drawing(size))
	d, err := in.diagnose(step(0, "diagnose"), e, c.Seed)
	if err != nil {
		return err
	}
	ctx = step(1, "set methods beside the classifier")
	if err := c.together(work.Span(ctx, "", 0, 0), in, d); err != nil {
		return err
	}
	judge := func(fitted *verdict.Verdict) (*verdict.Verdict, error) { return verdict.JudgeDiagnosis(d, fitted), nil }
	v, err := in.verdict(ctx, t, methods, c.Seed, d.Recoverable, judge)
	if err != nil {
		return err
	}
	if in.copies != nil {
		d.Copies = in.copies
	}
	d.Verdict = v
	step(2, "write the page")
	var m *diagnosis.Map
	if in.embedding != nil {
		if m, err = d.Map(in.LogProbs, in.Labels, data.Dense(in.embedding), e); err != nil {
			return asUsage(err)
		}
	}
	text, err := json.Marshal(c.listed(d))
	if err == nil {
		text, err = t.noted(text)
	}
	if err != nil {
		return fmt.Errorf("write the diagnosis: %w", err)
	}
	page, err := c.page(in, d, v, m)
	if err == nil {
		err = c.write(text, page)
	}
	if err == nil {
		err = export.Write(page.Drawings())
	}
	if err != nil {
		return err
	}
	switch {
	case !c.JSON:
		t.document(page)
		return t.closing(strings.ReplaceAll(d.Found, "\n", "; "), filepath.Join(relative(c.Out), "diagnosis.html"))
	case c.AllRows:
		return t.json(d)
	}
	return t.json(withoutRows(d))
}

// together says, where nothing is called wrong by itself, whether all rows together are, by the tests of evaluate.
func (c *diagnoseCmd) together(ctx context.Context, in *judged, d *diagnosis.Diagnosis) error {
	if len(d.Wrong()) > 0 {
		return nil
	}
	r, err := metrics.MeasureWith(ctx, in.LogProbs, in.Labels, nil, in.counting(), metrics.Uncertainty{Replicates: metrics.None, Redraws: 199}, rand.New(rand.NewPCG(c.Seed, 0)))
	if err != nil {
		return asUsage(err)
	}
	ratio, err := metrics.NewLikelihoodRatio(in.LogProbs, in.Labels, in.counting(), rand.New(rand.NewPCG(c.Seed, 5)))
	if err != nil {
		return asUsage(err)
	}
	shown := ""
	const share = 5 // of the level, so that these and the marks of the page raise few false alarms together
	if n := r.Noise[metrics.ECE]; n.Exceeded(d.Level, share) {
		shown = fmt.Sprintf("class-wise ECE is %.5f (%.5f if calibrated, p %s)", r.Values[metrics.ECE], n.Mean, verdict.PAmong(n.PValue, r.Uncertainty.Redraws))
	} else if ratio != nil && ratio.PValue < d.Level/share {
		shown = fmt.Sprintf("the likelihood ratio test shows miscalibration (p %s)", verdict.P(ratio.PValue))
	}
	if shown != "" {
		d.Found = "wrong by little, and nowhere in particular: " + shown + ", but no region, class, confidence or group is wrong by more than chance among all that were tested"
	}
	return nil
}

// read reads the predictions, where they lie, and how they are to be examined.
func (c *diagnoseCmd) read(ctx context.Context, t *terminal, methods *method.Catalog) (in *judged, e diagnosis.Examination, err error) {
	if in, err = c.judged(ctx, t, methods, c.In, c.Features, c.Seed); err != nil {
		return nil, e, err
	}
	if e, err = in.examination(); err != nil {
		return nil, e, err
	}
	e.Search, e.Redraws = diagnosis.SearchSettings{Codewords: c.Codewords, Rows: c.Rows}, c.Redraws
	return in, e, nil
}

// listedRows are written of all regions together, unless all are asked for.
const listedRows = 100_000

// listed is the diagnosis as it is written: without the rows of its regions where they are too many.
func (c *diagnoseCmd) listed(d *diagnosis.Diagnosis) *diagnosis.Diagnosis {
	rows := 0
	for _, r := range slices.Concat(d.Regions, d.Groups, d.Named) {
		rows += r.Size
	}
	if c.AllRows || rows <= listedRows {
		return d
	}
	return withoutRows(d)
}

// withoutRows is the diagnosis without the rows of its regions.
func withoutRows(d *diagnosis.Diagnosis) *diagnosis.Diagnosis {
	short := *d
	short.Regions, short.Groups, short.Named = diagnosis.WithoutRows(d.Regions), diagnosis.WithoutRows(d.Groups), diagnosis.WithoutRows(d.Named)
	return &short
}

// diagnosisGroup is the disk.Folder group of a diagnosis, and diagnosisFiles are its files.
const diagnosisGroup = "diagnose"

var diagnosisFiles = []string{"diagnosis.html", "diagnosis.json"}

// page is the diagnosis as a page, with what the predictions look like.
func (c *diagnoseCmd) page(in *judged, d *diagnosis.Diagnosis, v *verdict.Verdict, m *diagnosis.Map) (*report.Document, error) {
	name := filepath.Base(c.In)
	head, err := provenance(report.Fact{Name: "Data", Value: name})
	if err != nil {
		return nil, err
	}
	portrait, card, err := in.pictured(v)
	if err != nil {
		return nil, err
	}
	page := report.Diagnosis("Where is it wrong? "+name, head, d, v, m, portrait)
	page.Card = card
	return page, nil
}

func (c *diagnoseCmd) write(text []byte, page *report.Document) error {
	to := disk.NewFolder(c.Out, diagnosisGroup)
	defer to.Discard()
	to.WriteBytes("diagnosis.json", append(text, '\n'))
	to.WriteFile("diagnosis.html", page.WriteHTML)
	return to.Commit()
}
