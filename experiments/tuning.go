package experiments

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"
)

// Budget is how many candidates a tuned method chooses among at most, its defaults, the
// first of them, included. It is the same for every method.
const Budget = 4

// Tried is the method that tries the candidates of m, most often itself.
func (c *Catalog) Tried(m Method) (Method, error) {
	if m.TriedOn == "" {
		return m, nil
	}
	return c.Find(m.TriedOn)
}

// Candidates that several methods have.
var (
	codebooks = []Values{{}, {slotsKey: "16"}, {slotsKey: "256"}, {codewordsKey: "16"}}
	slotsOnly = []Values{{}, {slotsKey: "16"}, {slotsKey: "32"}, {slotsKey: "256"}}
	nets      = []Values{{}, {"net.hidden": "64", "net.dropout": "0.3"}, {"net.hidden": "256", "net.dropout": "0.3"}, {"net.hidden": "32", "net.dropout": "0.5"}}
)

// listed is a candidate for each value of a key.
func listed(key string, values ...string) []Values {
	return data.Each(values, func(v string) Values { return Values{key: v} })
}

// product is a candidate for each pair of values of two keys.
func product(key string, values []string, other string, others []string) (out []Values) {
	for _, v := range values {
		for _, w := range others {
			out = append(out, Values{key: v, other: w})
		}
	}
	return out
}

// trial is calibration rows as they are parted to try settings: a stratified fifth is held out, and of the others a method
// that stops early stops by a tenth.
type trial struct {
	fitted, stop, held *data.Set // stop is nil of a method that does not
}

func (s Spec) trial(method Method, cal *data.Set) trial {
	parts := cal.Stratify([]float64{0.72, 0.08, 0.2}, rand.New(rand.NewPCG(s.Seed, 6)))
	t := trial{held: cal.Rows(parts[2])}
	if method.StopsEarly {
		t.stop = cal.Rows(parts[1])
	} else {
		parts[0] = slices.Sorted(slices.Values(slices.Concat(parts[0], parts[1])))
	}
	t.fitted = cal.Rows(parts[0])
	return t
}

// loss is the mean NLL on the rows held out after the Spec's fit of the method to the others, the at-th try of its seed.
func (t trial) loss(ctx context.Context, s Spec, method Method, at int) (float64, error) {
	options, err := s.options(t.fitted, nil)
	if err != nil {
		return 0, err
	}
	model, _, err := method.Build(options)
	if err != nil {
		return 0, err
	}
	if err := model.Fit(ctx, t.fitted, t.stop, rand.New(rand.NewPCG(s.Seed, uint64(100+at)))); err != nil {
		return 0, err
	}
	return layers.HeldOutLoss(model, t.held)
}

// tune is the Spec with the settings that have the lowest NLL in a [trial] of the method, or of that which it is tried on.
// Ties and candidates that cannot be fitted are as [layers.Choose] has them; failed describes the latter.
func (s Spec) tune(ctx context.Context, method Method, cal *data.Set) (tuned Spec, failed string, err error) {
	s.Tune = false
	all := method.Candidates
	if len(all) < 2 {
		return s, "", nil
	}
	tryer := s
	if method.TriedOn != "" {
		if method, err = s.Catalog.Tried(method); err != nil {
			return s, "", err
		}
		set, _ := method.own(s.Catalog, s.values())
		tryer.Method, tryer.Set = method.Name, set.String()
	}
	rows, alike := s.trial(method, cal), slices.Repeat([]float64{1}, len(all))
	choice, err := layers.Choose(ctx, len(all), func(at int) (Spec, float64, error) {
		ctx := optim.Piece(ctx, "try "+cmp.Or(all[at].String(), "the defaults"), at, alike...)
		loss, err := rows.loss(ctx, tryer.With(all[at]), method, at)
		return s.With(all[at]), loss, err
	})
	if err != nil {
		return s, "", fmt.Errorf("tune %s: %w", s.Method, err)
	}
	return choice.Of, choice.Failed, nil
}
