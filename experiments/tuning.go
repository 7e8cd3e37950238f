package experiments

import (
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
const Budget = 8

// candidates are the settings that each method chooses among where it is tuned. A method
// that is not listed has nothing to choose.
var candidates = map[string][]Values{
	"vq":    append(codebooks[:6:6], Values{"calibrate.rate": "1e-4"}, Values{"codebook.slots": "128", "calibrate.rate": "1e-4"}),
	"vq-nc": codebooks, "vq-dc": codebooks, "vq-start": codebooks, "vq-centred": codebooks, "vq-random": codebooks, "vq-one": slotsOnly,
	"stacked": codebooks, "auto": codebooks, "stacked-random": codebooks, "stacked-shuffled": codebooks, "stacked-one": slotsOnly,
	"ln": nets, "kc": nets,
	"kc-original": product("kcal.dimensions", []string{"32", "8", "16", "64"}, "optim.rate", []string{"1e-3", "3e-4"}),
	"dc-odir":     listed("odir.strengths", "10,1,1e-1,1e-2,1e-3", "100,10,1", "1,1e-2,1e-4", "1e-3,1e-5,1e-7"),
	"vector":      listed("vector.strength", "0", "1e-2", "1e-1", "1", "10", "100", "1e3", "1e4"),
	"sm":          listed("sm.strength", "1", "1e-2", "3e-2", "1e-1", "3e-1", "3", "10", "30"),
	"new-head":    listed("head.strength", "10", "1e-1", "1", "30", "100", "300", "1e3", "1e4"),
	"pc":          listed("procal.neighbours", "50", "5", "10", "20", "100", "200", "300", "500"),
	"pc-bins":     listed("procal.neighbours", "50", "5", "10", "20", "100", "200", "300", "500"),
	"histogram":   listed("histogram.bins", "15", "2", "3", "5", "8", "10", "20", "30"),
	"spline":      listed("spline.knots", "6", "3", "4", "5", "8", "10", "14", "20"),
	"top-label":   listed("top_label.rows", "50", "10", "20", "30", "100", "200", "300", "500"),
}

// Candidates are the settings that the method chooses among; none where it has nothing to
// choose.
func Candidates(method string) []Values { return candidates[method] }

var (
	codebooks = []Values{
		{}, {"codebook.slots": "16"}, {"codebook.slots": "32"}, {"codebook.slots": "128"}, {"codebook.slots": "256"},
		{"codebook.codewords": "32"}, {"codebook.codewords": "16"}, {"codebook.codewords": "128"},
	}
	slotsOnly = []Values{{}, {"codebook.slots": "16"}, {"codebook.slots": "32"}, {"codebook.slots": "128"}, {"codebook.slots": "256"}}
	nets      = append([]Values{{}}, product("net.hidden", []string{"32", "64", "128", "256"}, "net.dropout", []string{"0.3", "0.5"})[:Budget-1]...)
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
// calibration rows after a fit to the others; of these a method that stops early holds out
// a tenth. Candidates whose slots do not divide the features, and those that cannot be
// fitted, are left out; the first wins a tie.
func (s Spec) tune(ctx context.Context, method Method, cal *data.Set) (Spec, error) {
	s.Tune = false
	all := candidates[method.Name]
	if len(all) < 2 {
		return s, nil
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
		tried, err := s.with(candidate)
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
			best, least = tried, nll
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
