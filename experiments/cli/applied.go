package cli

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/rowcheck"
	"calibra/experiments/run"
	"calibra/experiments/study"
	"calibra/experiments/verdict"

	"gonum.org/v1/gonum/mat"
)

// mostLabelled are as many rows as a verdict of apply looks at.
const mostLabelled = 10_000

// labelled gathers what the classifier and the model say of rows that have labels, of as many at equal distances as
// have room in memory, and mostLabelled at most.
type labelled struct {
	rows              []int     // which they are, ascending; none without labels
	at                int       // of these are gathered
	classifier, model []float64 // log-probabilities row by row; those of a classifier may be unknown
}

// newLabelled is of the rows of a file.
func newLabelled(labels []int, classes int) *labelled {
	n := len(labels)
	kept := min(n, mostLabelled, max(1, atOnce/(16*classes)))
	return &labelled{rows: data.Each(data.UpTo(kept), func(k int) int { return k * n / kept })}
}

// add takes the wanted rows of a batch, which begins with row lo.
func (l *labelled) add(lo int, x *data.Set, logProbs *mat.Dense) {
	for n, _ := logProbs.Dims(); l.at < len(l.rows) && l.rows[l.at] < lo+n; l.at++ {
		i := l.rows[l.at] - lo
		l.model = append(l.model, logProbs.RawRowView(i)...)
		if x.Logits != nil {
			l.classifier = append(l.classifier, x.Logits.RawRowView(i)...)
		}
	}
}

// set are the rows with what the classifier says of them or, where nobody knows that, the model; nil without labels.
func (l *labelled) set(p *data.Predictions) *data.Set {
	if len(l.rows) == 0 {
		return nil
	}
	x := (&data.Set{Labels: p.Labels, Soft: p.Soft, Weights: p.Weights, Names: data.Names{Classes: p.ClassNames}}).Rows(l.rows)
	if x.Logits = l.matrix(l.classifier); x.Logits == nil {
		x.Logits = l.matrix(l.model)
	}
	return x
}

// matrix is N×C, nil of no numbers.
func (l *labelled) matrix(values []float64) *mat.Dense {
	if values == nil {
		return nil
	}
	return mat.NewDense(len(l.rows), len(values)/len(l.rows), values)
}

// verdict sets the model's predictions for rows beside those of the classifier, as a fit does for its test rows.
func (l *labelled) verdict(ctx context.Context, m saved, x *data.Set) (*verdict.Verdict, error) {
	var runs []study.Weighed
	for _, of := range []struct {
		method   string
		logProbs []float64
	}{{verdict.Classifier, l.classifier}, {m.method.Name, l.model}} {
		if of.logProbs == nil || len(runs) > 0 && of.method == verdict.Classifier {
			continue
		}
		p := &data.Predictions{LogProbs: l.matrix(of.logProbs), Labels: x.Labels}
		p.Take(x)
		none := metrics.Uncertainty{Replicates: metrics.None, Redraws: metrics.None}
		r, err := metrics.MeasureWith(ctx, p.LogProbs, p.Labels, nil, metrics.Settings{Rows: p.Counting(), Soft: x.Soft}, none, rand.New(rand.NewPCG(0, 0)))
		if err != nil {
			return nil, asUsage(err)
		}
		run := &run.Run{Spec: run.Spec{Method: of.method}, Outcome: &run.Outcome{Predictions: p, Metrics: r}}
		runs = append(runs, study.Weighed{Run: run, Title: of.method})
	}
	return study.Weigh(runs), nil
}

// errCheck ends an apply whose verdict is to check the rows.
var errCheck = errors.New("check the rows")

// wrote is what an apply did, as JSON.
type wrote struct {
	Method  string           `json:"method"`
	Rows    int              `json:"rows"`
	Out     string           `json:"out"`
	Verdict *verdict.Verdict `json:"verdict,omitempty"`
	Copies  *rowcheck.Copies `json:"copies,omitempty"` // among the rows with labels
}

// readAs is what rows for the model are read as, with a warning where they seem to be something else.
func (c *applyCmd) readAs(t *terminal, rows *data.Judge, m saved) (data.Scores, error) {
	as, doubt, err := rows.Applied(c.In, c.scores(), m.file.Scores)
	if doubt != "" {
		warnOf(t, "scores", c.In, "test_logits "+doubt)
	}
	return as, err
}

// closing says how many rows were calibrated and, where they have labels, what these say of the predictions: with
// --json all of it, else whether the rows seem to be others than they should be, which is errCheck.
func (c *applyCmd) closing(ctx context.Context, t *terminal, m saved, rows int, notice string, p *data.Predictions, l *labelled) error {
	did := wrote{Method: m.method.Name, Rows: rows, Out: data.Line(c.Out)}
	doubt := ""
	if x := l.set(p); x != nil {
		doubt = rowcheck.OtherLabels("rows", x)
		warnOf(t, "labels", c.In, doubt)
		if x.TestWeights, did.Copies = rowcheck.CountCopies(x); did.Copies != nil {
			warnOf(t, "copies", c.In, did.Copies.String())
		}
		if did.Verdict = (&verdict.Verdict{}); c.JSON {
			var err error
			if did.Verdict, err = l.verdict(ctx, m, x); err != nil {
				return err
			}
		}
		if did.Verdict != nil {
			did.Verdict.Notes = &t.said
		}
		did.Verdict.Doubt(doubt)
	}
	var err error
	if c.JSON {
		c.say(t, "embedding", notice)
		err = t.json(did)
	} else {
		if doubt != "" {
			t.statements([]report.Statement{report.Stated(did.Verdict)})
		}
		if notice != "" {
			notice = "; " + notice
		}
		err = t.closing(fmt.Sprintf("%d rows calibrated by %s%s", rows, m.method.Name, notice), relative(c.Out))
	}
	if err == nil && doubt != "" {
		return fmt.Errorf("%w of %s before you use %s", errCheck, relative(c.In), relative(c.Out))
	}
	return err
}

// say prints a line of what was found, which JSON has as a note; nothing of "".
func (c *applyCmd) say(t *terminal, key, text string) {
	switch {
	case text == "":
	case c.JSON:
		t.said = append(t.said, verdict.Note{Key: key, Text: text})
	default:
		t.printf("%s\n", text)
	}
}
