package method_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/run"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// silent is a calibrator that says nothing, or of one row alone.
type silent struct{ rows int }

func (silent) Fit(context.Context, *data.Set, *data.Set, *rand.Rand) error { return nil }

func (s silent) Predict(*data.Set) (*data.Predictions, error) {
	if s.rows == 0 {
		return nil, nil
	}
	return data.NewPredictions(mat.NewDense(1, 1, nil), &data.Set{})
}

func (silent) State() (layers.State, error) { return layers.State{}, nil }

func (silent) Restore(layers.State) error { return nil }

// TestPartsThatCannotJoin: what a catalog cannot hold is told in a sentence, before any command runs.
func TestPartsThatCannotJoin(t *testing.T) {
	made := func(*method.Options) layers.Stateful { return silent{} }
	row := func([]float64, int) float64 { return 0 }
	for says, part := range map[string]method.Part{
		`a method named "vq" already`:        method.Method{Name: "vq", New: made},
		`a method cannot be named "a,b"`:     method.Method{Name: "a,b", New: made},
		`a method cannot be named ""`:        method.Method{New: made},
		"the method mine has no New":         method.Method{Name: "mine"},
		`a rule named "adam" already`:        method.Rule{Name: "adam", New: func(*method.RuleSettings) optim.Rule { return nil }},
		"the rule mine needs New":            method.Rule{Name: "mine"},
		`two metrics with the key "nll"`:     method.Metric{Key: "nll", Row: row},
		`a raw source cannot be named "a:b"`: method.RawSource{Name: "a:b"},
		"the raw source mine has no Open":    method.RawSource{Name: "mine"},
		"part 1 is nil":                      nil,
	} {
		if _, err := method.JoinCatalog(part); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not that %s", err, says)
		}
	}
}

// TestPartsThatGiveNothing: a method or a rule from outside that makes nothing, and a calibrator that
// says nothing, are named.
func TestPartsThatGiveNothing(t *testing.T) {
	nothing := method.Rule{Name: "nothing", New: func(*method.RuleSettings) optim.Rule { return nil }}
	catalog := method.NewCatalog(nothing)
	vq, err := catalog.Find("vq")
	if err != nil {
		t.Fatal(err)
	}
	errors := map[string]error{}
	_, _, errors["the New of the rule nothing gives no rule"] = vq.Build(method.Options{Catalog: catalog, Values: method.Values{"optim.rule": "nothing"}})
	mine := method.Method{Name: "mine", New: func(*method.Options) layers.Stateful { return nil }}
	_, _, errors["the New of the method mine gives no calibrator"] = mine.Build(method.Options{})
	x := &data.Set{Logits: mat.NewDense(3, 1, nil)}
	_, errors["the Predict of silent gives neither"] = run.Predict(silent{}, x)
	_, errors["the Predict of silent gives 1 rows for 3"] = run.Predict(silent{1}, x)
	_, errors["the State of silent has no weights"] = layers.NewModel("mine", silent{})
	for says, err := range errors {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("the error is %v, not that %s", err, says)
		}
	}
}

// TestOutside: a part from outside has a part in every cell that names it, and metrics in all.
func TestOutside(t *testing.T) {
	mine := method.OnLogits("mine", "a map", layers.Identity{})
	whole := mine
	whole.Name, whole.StopsEarly = "whole", false
	rule := method.Rule{Name: "stepper", New: func(*method.RuleSettings) optim.Rule { return optim.SGD{Rate: 1} }}
	c := method.NewCatalog(mine, whole, rule)
	for _, of := range []struct {
		name, set string
		parts     int
	}{{"vq", "", 2}, {"mine", "", 3}, {"mine", "optim.rule=stepper", 4}, {"vq", "calibrate.rule=stepper", 3}, {"pool", "pool.members=forest,whole", 3}} {
		values, err := method.ParseValues(of.set)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := c.Outside(of.name, method.Options{Catalog: c, Values: values, Features: 64})
		if err != nil || len(parts) != of.parts {
			t.Errorf("%s %s: %d parts, not %d, %v", of.name, of.set, len(parts), of.parts, err)
		}
	}
}
