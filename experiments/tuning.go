package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Budget is how many candidates a tuned method chooses among at most, its defaults, the
// first of them, included. It is the same for every method.
const Budget = 4

// candidates are the settings that each method chooses among where it is tuned. A method
// that is not listed has nothing to choose.
var candidates = map[string][]Values{
	"vq":    {{}, {"calibrate.rate": "1e-4"}, {"codebook.slots": "16"}, {"codebook.slots": "256", "calibrate.rate": "1e-4"}},
	"vq-nc": codebooks, "vq-dc": codebooks, "vq-start": codebooks, "vq-centred": codebooks, "vq-random": codebooks, "vq-one": slotsOnly,
	"stacked": codebooks, "auto": codebooks, "stacked-random": codebooks, "stacked-shuffled": codebooks, "stacked-one": slotsOnly,
	"ln": nets, "kc": nets,
	"kc-original": product("kcal.dimensions", []string{"32", "8"}, "optim.rate", []string{"1e-3", "3e-4"}),
	"dc-odir":     listed("odir.strengths", "10,1,1e-1,1e-2,1e-3", "100,10,1", "1,1e-2,1e-4", "1e-3,1e-5,1e-7"),
	"vector":      listed("vector.strength", "0", "1", "100", "1e4"),
	"sm":          listed("sm.strength", "1", "1e-2", "1e-1", "10"),
	"new-head":    listed("head.strength", "10", "1", "100", "1e3"),
	"pc":          listed("procal.neighbours", "50", "10", "200", "500"),
	"pc-bins":     listed("procal.neighbours", "50", "10", "200", "500"),
	"histogram":   listed("histogram.bins", "15", "5", "10", "30"),
	"spline":      listed("spline.knots", "6", "4", "10", "20"),
	"top-label":   listed("top_label.rows", "50", "20", "100", "300"),
}

// triedOn is the method that tries the candidates of another which is many fits itself: its
// quantized part, since w and K are all that they differ in.
var triedOn = map[string]string{
	"stacked": "vq-nc", "auto": "vq-nc", "stacked-shuffled": "vq-nc", "stacked-random": "vq-random", "stacked-one": "vq-one",
}

// Candidates are the settings that the method chooses among; none where it has nothing to
// choose.
func Candidates(method string) []Values { return candidates[method] }

// TriedOn is the method that tries the candidates of method, most often itself.
func TriedOn(method string) string { return cmp.Or(triedOn[method], method) }

var (
	codebooks = []Values{{}, {"codebook.slots": "16"}, {"codebook.slots": "256"}, {"codebook.codewords": "16"}}
	slotsOnly = []Values{{}, {"codebook.slots": "16"}, {"codebook.slots": "32"}, {"codebook.slots": "256"}}
	nets      = []Values{{}, {"net.hidden": "64", "net.dropout": "0.3"}, {"net.hidden": "256", "net.dropout": "0.3"}, {"net.hidden": "32", "net.dropout": "0.5"}}
)

// listed is a candidate for each value of a key.
func listed(key string, values ...string) (out []Values) {
	for _, v := range values {
		out = append(out, Values{key: v})
	}
	return out
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

// with is the Spec under the candidate's settings, in place of its own.
func (s Spec) with(candidate Values) (Spec, error) {
	set, err := ParseValues(s.Set)
	if err != nil {
		return s, err
	}
	rest := Values{}
	for key, text := range candidate {
		switch key {
		case "codebook.slots":
			s.Slots, err = strconv.Atoi(text)
		case "codebook.codewords":
			s.Codewords, err = strconv.Atoi(text)
		default:
			rest[key] = text
		}
		if err != nil {
			return s, err
		}
	}
	s.Set = set.With(rest).String()
	return s, nil
}

// tune is the Spec with the settings that have the lowest NLL on a stratified fifth of the
// calibration rows after a fit of the method, or of that which it is [TriedOn], to the others;
// of these a method that stops early holds out a tenth. Candidates whose slots do not divide the features, and those that cannot be
// fitted, are left out; the first wins a tie.
func (s Spec) tune(ctx context.Context, method Method, cal *data.Set) (Spec, error) {
	s.Tune = false
	all := candidates[method.Name]
	if len(all) < 2 {
		return s, nil
	}
	tryer := s
	if tryer.Method = TriedOn(method.Name); tryer.Method != method.Name {
		var err error
		if method, err = s.Catalog.Find(tryer.Method); err != nil {
			return s, err
		}
		tryer.Set = ""
	}
	rng := rand.New(rand.NewPCG(s.Seed, 6))
	parts := data.Stratify(cal.Labels, []float64{0.72, 0.08, 0.2}, rng)
	var stop *data.Set
	if method.StopsEarly {
		stop = cal.Rows(parts[1])
	} else {
		parts[0] = slices.Sorted(slices.Values(slices.Concat(parts[0], parts[1])))
	}
	fitted, held := cal.Rows(parts[0]), cal.Rows(parts[2])
	best, least := s, math.Inf(1)
	var failed error
	for k, candidate := range all {
		tried, err := tryer.with(candidate)
		if err != nil {
			return s, err
		}
		if cal.Features != nil && method.Divides && tried.Slots > 0 {
			if _, m := cal.Features.Dims(); m%tried.Slots != 0 {
				continue
			}
		}
		nll, err := tried.heldOut(ctx, method, fitted, stop, held, rand.New(rand.NewPCG(s.Seed, uint64(100+k))))
		if ctx.Err() != nil {
			return s, err
		}
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		if nll < least {
			least = nll
			if best, err = s.with(candidate); err != nil {
				return s, err
			}
		}
	}
	if math.IsInf(least, 1) {
		return s, fmt.Errorf("tune %s: no candidate could be fitted: %w", s.Method, failed)
	}
	return best, nil
}

// heldOut is the mean NLL on held after a fit to cal.
func (s Spec) heldOut(ctx context.Context, method Method, cal, val, held *data.Set, rng *rand.Rand) (float64, error) {
	options, err := s.options(cal, nil)
	if err != nil {
		return 0, err
	}
	model, _, err := method.Build(options)
	if err != nil {
		return 0, err
	}
	if err := model.Fit(ctx, cal, val, rng); err != nil {
		return 0, err
	}
	p, err := model.Predict(held)
	if err != nil {
		return 0, err
	}
	var sum float64
	for i, y := range held.Labels {
		sum -= max(p.LogProbs.At(i, y), metrics.LeastLogProb)
	}
	return sum / float64(held.Len()), nil
}
