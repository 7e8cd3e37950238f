package method_test

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"calibra/data/synthetic"
	"calibra/experiments/method"
	"calibra/graph"
	"calibra/layers"
)

// counting is an executor that counts what is fitted on it.
type counting struct{ fits, gradients int }

func (c *counting) Fit(o *graph.Objective, m graph.Optimizer, rows, batch int) (graph.Session, error) {
	c.fits++
	return graph.CPU.Fit(o, m, rows, batch)
}

func (c *counting) Gradients(o *graph.Objective, rows int) (graph.Gradients, error) {
	c.gradients++
	return graph.CPU.Gradients(o, rows)
}

// The ways of the guide's table "What is learned, and how", as its first column has them.
const (
	bySteps      = "by steps"
	byAllRows    = "over all rows"
	byClosedForm = "in closed form"
	byCounting   = "otherwise"
)

// wayOf is how the method learns: what it asks of an executor, and else whether it tells the gradient of a graph at its
// end.
func wayOf(t *testing.T, m method.Method) string {
	t.Helper()
	rng, c := rand.New(rand.NewPCG(1, 1)), &counting{}
	cal, _ := synthetic.NewCubic(synthetic.Settings{Features: 8, Classes: 3}, rng).Draw(200, rng)
	model, _, err := m.Build(method.Options{Features: 8, Executor: c})
	if err == nil {
		err = model.Fit(t.Context(), cal, nil, rng)
	}
	if err != nil {
		t.Fatalf("%s: %v", m.Name, err)
	}
	staged, _ := model.(layers.Staged)
	switch {
	case c.fits > 0:
		return bySteps
	case c.gradients > 0:
		return byAllRows
	case staged != nil && slices.ContainsFunc(staged.Stages(), func(s layers.Stage) bool { return s.Result.Optimum != nil }):
		return byClosedForm
	}
	return byCounting
}

// TestGuideSaysHowMethodsLearn: the guide's table has each method once, in the row of how it is fitted.
func TestGuideSaysHowMethodsLearn(t *testing.T) {
	guide, err := os.ReadFile("../results/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	for line := range strings.Lines(string(guide)) {
		cells := strings.Split(line, " | ")
		way := strings.TrimPrefix(cells[0], "| ")
		if !slices.Contains([]string{bySteps, byAllRows, byClosedForm, byCounting}, way) {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ", ") {
			name = strings.Trim(name, "`")
			if said[name] != "" {
				t.Errorf("the guide has %s twice", name)
			}
			said[name] = way
		}
	}
	for _, m := range method.All {
		if way := wayOf(t, m); said[m.Name] != way {
			t.Errorf("%s is fitted %q, the guide says %q; put it into that row of What is learned, and how "+
				"in experiments/results/guide.md", m.Name, way, said[m.Name])
		}
		delete(said, m.Name)
	}
	if len(said) > 0 {
		t.Errorf("the guide has methods that are none: %v", said)
	}
}
