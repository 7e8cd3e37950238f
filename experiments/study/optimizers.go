package study

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
)

const optimizersName = "optimizers"

// optimizersStudy fits methods whose least loss is known by every rule.
var optimizersStudy = Study{
	Name: optimizersName, Line: "methods by every optimizer on one objective: which reach the optimum, and how much an early stop costs",
	Grid:       always(optimizerGrid()),
	Vary:       []Field{byMethod, byRule},
	Judging:    run.Judging{Anchors: 1000},
	Views:      []View{optimizersTable},
	Statements: optimizerStatements,
	Files:      []File{{"results.csv", (*Findings).writeOptimizers}},
}

// budget is that of every rule of steps.
const budget = " optim.epochs=200 optim.patience=200 optim.schedule=cosine"

// optimizerGrid is each method by L-BFGS to 1e-10, by its own way, by every rule of steps with one budget, and as
// published.
func optimizerGrid() (specs []run.Spec) {
	steps := []string{"adam optim.rate=1e-2", "nadam optim.rate=1e-2", "lion optim.rate=1e-2", "sgd optim.momentum=0.9 optim.rate=1e-1"}
	for _, m := range []string{"ts", "vector", "sm", "sv", "dc", "beta", "ps", "local-ts"} {
		ways := []string{"optim.rule=lbfgs optim.gradient=1e-10", map[string]string{"ts": "optim.rule=bisection", "sm": "optim.rule=newton optim.gradient=1e-10"}[m]}
		for _, rule := range steps {
			ways = append(ways, "optim.rule="+rule+budget)
		}
		if m == "ts" || m == "dc" {
			specs = append(specs, run.Spec{Method: m + asPublished})
		}
		for _, set := range ways {
			if set != "" {
				values, err := method.ParseValues(set)
				if err != nil {
					panic("study: " + err.Error())
				}
				specs = append(specs, run.Spec{Method: m, Set: values.String()})
			}
		}
	}
	return specs
}

// withRules is the grid with the rules from outside, each after the others of a method; one of steps has the rate of
// the others where it has a rate.
func withRules(grid []run.Spec, c *method.Catalog) (specs []run.Spec) {
	for i, spec := range grid {
		specs = append(specs, spec)
		if strings.HasSuffix(spec.Method, asPublished) || i+1 < len(grid) && grid[i+1].Method == spec.Method {
			continue
		}
		for _, r := range c.RulesFromOutside() {
			ways := []string{"", budget + " optim.rate=1e-2", budget}
			if r.New != nil {
				ways = ways[1:]
			}
			for _, set := range ways {
				values, err := method.ParseValues("optim.rule=" + r.Name + set)
				spec.Set, spec.Catalog = values.String(), c
				if err == nil && spec.Possible() {
					specs = append(specs, spec)
					break
				}
			}
		}
	}
	return specs
}

// asPublished ends the name of a method that keeps the optimizer of the published code.
const asPublished = "-published"

// byRule distinguishes rows by the optimizer.
var byRule = Field{"optim.rule", func(s run.Spec) string {
	return cmp.Or(s.Value("optim.rule"), strings.TrimPrefix(asPublished, "-"))
}}

// ofStage is a number of the last stage of a fit.
func ofStage(title string, number func(Stage) *float64) quantity {
	return quantity{title: title, value: func(r *Result) float64 {
		if n := len(r.Stages); n > 0 {
			return known(number(r.Stages[n-1]))
		}
		return nan
	}}
}

var (
	lossReached     = ofStage("loss", func(s Stage) *float64 { return s.Loss })
	gradientReached = ofStage("gradient", func(s Stage) *float64 { return s.Gradient })
	epochsRun       = ofStage("epochs", func(s Stage) *float64 { n := float64(s.Epochs); return &n })
)

// objective is what several optimizers minimize: one method's on the rows of one seed.
type objective struct {
	data, encoder, method string
	seed                  uint64
}

func objectiveOf(s run.Spec) objective {
	return objective{s.Data, s.Encoder, strings.TrimSuffix(s.Method, asPublished), s.Seed}
}

// aboveOptimum is how far a loss ends above that of L-BFGS to 1e-10, and the test NLL above that there.
func (f *Findings) aboveOptimum() (loss, nll quantity) {
	optima := map[objective]*Result{}
	for _, r := range f.Results {
		if r != nil && r.Spec.Value("optim.rule") == "lbfgs" {
			optima[objectiveOf(r.Spec)] = r
		}
	}
	above := func(title string, of quantity) quantity {
		return quantity{title: title, value: func(r *Result) float64 {
			best := optima[objectiveOf(r.Spec)]
			if best == nil {
				return nan
			}
			return of.value(r) - of.value(best)
		}}
	}
	return above("above the optimum", lossReached), above("test NLL lost", sharedMetric(metrics.NLL))
}

// reachedWithin is how close in nats a loss must come to the optimum to have reached it: a thousandth of the least
// difference in NLL that tables print.
const reachedWithin = 1e-6

// optimizersTable shows what each optimizer reached.
var optimizersTable = tables("What each optimizer reached",
	"All optimizers of a method minimize the same loss on the same calibration rows, from the same start. The optimum is the loss of L-BFGS to a gradient of 1e-10 (Newton’s method and bisection, where a method has them, must agree). Rules that go by steps run 200 epochs of batches of 128 rows under a cosine schedule, with a rate of 1e-2 (sgd: 1e-1, momentum .9), rules of other modules among them, and keep the epoch of the least loss. ts-published and dc-published are the published code’s L-BFGS of fixed steps. The test NLL lost is the test NLL minus the optimum's: below 0, stopping early regularizes.",
	func(f *Findings) []*report.Table {
		above, lost := f.aboveOptimum()
		heads := report.Heads("loss", "above the optimum", "gradient", "epochs", "seconds", "test NLL", "test NLL lost")
		heads[0].Drop, heads[2].Drop, heads[3].Drop, heads[4].Drop, heads[5].Arrow = 4, 2, 3, 1, "↓"
		return []*report.Table{f.byRow(f.subjects(), "Means over the seeds. AdamW without decay is Adam.", heads, func(_ *subject, r *row) []report.Cell {
			mean := func(q quantity) float64 { return r.spread(q).Mean }
			return report.Texts(metrics.Fixed(mean(lossReached), 6), scientific(mean(above)), scientific(mean(gradientReached)), metrics.Fixed(mean(epochsRun), 0),
				metrics.Fixed(mean(fitSeconds), 2), metrics.Fixed(mean(sharedMetric(metrics.NLL)), 4), metrics.Signed(mean(lost), 4))
		})}
	})

func scientific(x float64) string {
	if math.IsNaN(x) {
		return "–"
	}
	return fmt.Sprintf("%.1e", x)
}

// optimizerStatements say for each method which optimizers reach the optimum on every seed, and what the others lose.
func optimizerStatements(f *Findings) (all []report.Statement) {
	above, lost := f.aboveOptimum()
	for _, s := range f.subjects() {
		statement := report.Statement{Title: s.Title()}
		reached, short := map[string][]string{}, map[string][]string{}
		var methods []string
		for _, r := range s.rows {
			method, name := objectiveOf(r.spec).method, byRule.Of(r.spec)
			losses := r.values(above)
			if len(losses) == 0 {
				continue
			}
			if reached[method] == nil && short[method] == nil {
				methods = append(methods, method)
			}
			most := 0.0
			for _, x := range losses {
				most = max(most, math.Abs(x))
			}
			if most <= reachedWithin {
				reached[method] = append(reached[method], name)
			} else {
				short[method] = append(short[method], fmt.Sprintf("%s (%s of loss, %s of test NLL)", name, scientific(r.spread(above).Mean), metrics.Signed(r.spread(lost).Mean, 4)))
			}
		}
		for _, method := range methods {
			line := fmt.Sprintf("%s: the optimum is reached by %s", method, strings.Join(reached[method], ", "))
			if short[method] != nil {
				line += "; short of it stop " + strings.Join(short[method], ", ")
			}
			statement.Lines = append(statement.Lines, line+".")
		}
		all = append(all, statement)
	}
	return all
}

// writeOptimizers writes a line for each method, optimizer and seed.
func (f *Findings) writeOptimizers(w io.Writer) error {
	above, lost := f.aboveOptimum()
	var all columns
	all = append(all, column{"rule", func(_ Cell, r *Result) string { return byRule.Of(r.Spec) }})
	for _, c := range []struct {
		name string
		of   quantity
	}{{"loss", lossReached}, {"above_optimum", above}, {"gradient", gradientReached}, {"epochs", epochsRun}, {"seconds", fitSeconds}, {"nll", sharedMetric(metrics.NLL)}, {"nll_lost", lost}} {
		all.add(c.name, c.of.value)
	}
	return f.writeCSV(w, all)
}

// finite is x where it is a number, nil where it is none: files of JSON have no NaN.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
