package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/stat"
)

type quickstartCmd struct {
	Seed uint64 `default:"0" help:"Seed of everything (${default})."`
	Out  string `default:"runs/quickstart" type:"path" placeholder:"DIR" help:"Directory for the run of stacked and for results.csv (${default})."`
	JSON bool   `help:"Print the results as JSON."`
}

func (quickstartCmd) Help() string {
	return `Trains a small network on the embedded UCI Letter Recognition data (20,000 rows,
26 classes) until it is accurate and overconfident, then calibrates it three ways: by
temperature scaling, by the paper's calibrator, whose w is chosen on validation rows, and
by the mixture that calibra recommends.

Example:

  calibra quickstart
  calibra quickstart --seed 1 --out runs/letter`
}

// Methods of the quickstart, what each is, and the w that vq chooses from.
var (
	quickMethods = []struct{ name, line string }{
		{"nc", "the network as it is"},
		{"ts", "temperature scaling"},
		{"vq", "the paper's calibrator, w = %d"},
		{"stacked", "maps of the original logits, mixed"},
	}
	quickSlots = []int{32, 64, 128}
)

func (c *quickstartCmd) Run(ctx context.Context, t *terminal) error {
	undo, err := experiments.PrepareDir(c.Out, experiments.RunGroup, append(experiments.RunFiles, "results.csv")...)
	if err != nil {
		return err
	}
	defer undo()
	fail := func(err error) error {
		if ctx.Err() != nil { // err tells of weights that are kept, in memory
			return fmt.Errorf("the quickstart was not finished and nothing was written: %w", ctx.Err())
		}
		return err
	}
	problem, err := experiments.EncodeTable(ctx, data.Letter(), experiments.MLPs[0], c.Seed, t.stage("train the network"))
	if err != nil {
		return fail(err)
	}
	src := problem.Source
	var runs []*experiments.Run
	for _, method := range quickMethods {
		m, err := experiments.MethodByName(method.name)
		if err != nil {
			return fail(err)
		}
		spec := experiments.Spec{Method: method.name, Data: "letter", Split: m.Split(), Seed: c.Seed}
		if method.name == "vq" {
			if spec, err = c.chooseSlots(ctx, t, spec, src); err != nil {
				return fail(err)
			}
		}
		run, err := spec.Fit(ctx, src, t.stage)
		if err != nil {
			return fail(err)
		}
		runs = append(runs, run)
	}
	last, list := runs[len(runs)-1], quickTable(runs)
	out := data.NewFolder(c.Out, experiments.RunGroup)
	defer out.Discard()
	for _, add := range []func() error{
		func() error { return last.Add(out) },
		func() error { return out.WriteFile("results.csv", list.csv) },
		out.Commit,
	} {
		if err := add(); err != nil {
			out.Discard()
			return fail(err)
		}
	}
	found, err := c.found(ctx, last, runs[1])
	if err != nil {
		return err
	}
	if c.JSON {
		return t.json(map[string]any{"results": list.objects(), "found": found, "out": c.Out})
	}
	if err := t.printf("UCI letter: %d calibration rows, %d test rows, %d classes\n\n", src.Cal.Len(), src.Test.Len(), src.Classes); err != nil {
		return err
	}
	if err := t.tables(list); err != nil {
		return err
	}
	return t.printf("\n%s;\nwrote that run to %s\n", found, c.Out)
}

// chooseSlots is spec with the w of the least NLL on the validation rows.
func (c *quickstartCmd) chooseSlots(ctx context.Context, t *terminal, spec experiments.Spec, src *data.Source) (best experiments.Spec, err error) {
	unjudged := *src
	unjudged.Test = nil
	least := 0.
	for _, w := range quickSlots {
		tried, err := spec.With(experiments.Values{"codebook.slots": strconv.Itoa(w)})
		if err != nil {
			return spec, err
		}
		run, err := tried.Fit(ctx, &unjudged, t.stage)
		if err != nil {
			return spec, err
		}
		p, err := run.Model.Predict(run.Source.Val)
		if err != nil {
			return spec, err
		}
		m, err := metrics.Measure(ctx, p.LogProbs, p.Labels, nil, metrics.Settings{})
		if err != nil {
			return spec, err
		}
		if nll := m.Values[metrics.NLL]; best.Method == "" || nll < least {
			best, least = tried, nll
		}
	}
	return best, nil
}

// quickTable is one line for each run.
func quickTable(runs []*experiments.Run) *table {
	t := &table{columns: []column{
		{head: "method", left: true}, {head: "what it is", key: "what", left: true}, {head: "NLL", key: "nll"}, {head: "ACC", key: "accuracy"},
		{head: "ECE", key: "ece"}, {head: "LCE", key: "lce"}, {head: "MLCE", key: "mlce", drop: 1},
	}}
	for i, r := range runs {
		line := quickMethods[i].line
		if strings.Contains(line, "%d") {
			line = fmt.Sprintf(line, r.Spec.Slots())
		}
		v := r.Outcome.Metrics.Values
		t.add(words(r.Spec.Method), words(line), decimals(v[metrics.NLL], 4), decimals(v[metrics.Accuracy], 4),
			decimals(v[metrics.ECE], 5), decimals(v[metrics.LCE], 5), decimals(v[metrics.MLCE], 4))
	}
	return t
}

// found says in one line what calibration by run is worth beside that by reference.
func (c *quickstartCmd) found(ctx context.Context, run, reference *experiments.Run) (string, error) {
	a, b := run.Outcome.Metrics.NLL, reference.Outcome.Metrics.NLL
	test, err := metrics.Compare(ctx, a, b, rand.New(rand.NewPCG(c.Seed, 6)))
	if err != nil {
		return "", err
	}
	ours, theirs := stat.Mean(a, nil), stat.Mean(b, nil)
	return fmt.Sprintf("%s: NLL %.3f, %.0f %% below temperature scaling, p ≤ %.2g", run.Spec.Method, ours, 100*(1-ours/theirs), test.PValue), nil
}
