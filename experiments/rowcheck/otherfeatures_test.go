package rowcheck_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/rowcheck"

	"gonum.org/v1/gonum/mat"
)

// described are n rows of so many features, with logits that depend on the first of them: on its square alone where
// curved, so that no line predicts them.
func described(n, features int, curved bool, rng *rand.Rand) *data.Set {
	x, logits := mat.NewDense(n, features, nil), mat.NewDense(n, 3, nil)
	for i := range n {
		row := x.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		s := row[0]
		if curved {
			s = s*s - 1
		}
		logits.SetRow(i, []float64{2 * s, rng.NormFloat64() / 2, -1e20}) // a class that cannot be
	}
	return &data.Set{Features: x, Logits: logits}
}

// shuffled are the rows with the features of others.
func shuffled(x *data.Set, rng *rand.Rand) *data.Set {
	out := *x
	out.Features = data.Select(x.Features, rng.Perm(x.Len()))
	return &out
}

func TestOtherFeatures(t *testing.T) {
	for _, problem := range []struct {
		name     string
		features int
		curved   bool
	}{{"linear", 3, false}, {"curved", 1, true}} {
		rng := rand.New(rand.NewPCG(1, 2))
		cal, test := described(200, problem.features, problem.curved, rng), described(120, problem.features, problem.curved, rng)
		for name, told := range map[string]struct {
			cal, test *data.Set
			text      string
		}{
			"neither":          {cal, test, ""},
			"calibration rows": {shuffled(cal, rng), test, "the features of the calibration rows look like those of other rows"},
			"test rows":        {cal, shuffled(test, rng), "the features of the test rows look like those of other rows"},
			"both":             {shuffled(cal, rng), shuffled(test, rng), "the logits of the calibration rows do not depend on their features"},
			"no test rows":     {shuffled(cal, rng), nil, "the logits of the calibration rows do not depend on their features"},
			"few rows":         {shuffled(cal, rng).Rows([]int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), nil, ""},
		} {
			text := rowcheck.OtherFeatures(told.cal, told.test)
			if told.text == "" && text != "" || !strings.HasPrefix(text, told.text) {
				t.Errorf("%s, %s: %q", problem.name, name, text)
			}
		}
	}
}
