package baselines

import (
	"context"
	"math/rand/v2"
	"sort"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gorgonia.org/tensor"
)

// VennAbers is the inductive Venn–Abers predictor (Vovk, Petej and Fedorova 2015),
// one-vs-rest. Isotonic regression of class k is done twice for a new row: with the row
// among the calibration rows as one of the class, which gives it p₁, and as one of the
// others, which gives it p₀. One of the two is calibrated whatever the rows' law. Their
// value of least regret under the log-loss is
//
//	p_k ∝ p₁/(1 − p₀ + p₁)
//
// and the classes' values are divided by their sum. p_k is never 0 or 1.
type VennAbers struct {
	kept
	lower, upper []steps // p₀ and p₁ of each class by p̂_k
}

var _ layers.Stateful = (*VennAbers)(nil)

// Fit finds p₀ and p₁ between all calibration rows; there is nothing to stop early, and
// interrupted it keeps nothing.
func (m *VennAbers) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	var lower []steps
	sizes, upper, err := eachClass(ctx, cal, func(p []value, hit, weights []float64) (steps, error) {
		below, above := vennAbers(p, hit, weights, tiesOf(cal))
		lower = append(lower, below)
		return above, nil
	})
	if err == nil {
		w := graph.NewWeights(tensor.Float64)
		addSteps(w, "venn_abers/lower", lower)
		addSteps(w, "venn_abers/upper", upper)
		*m = VennAbers{kept{sizes, w}, lower, upper}
	}
	return err
}

// vennAbers is p₀ and p₁ as functions of the score. A row between two scores is, as one of
// the class, pooled like one of the next score, and as one of the others like one of the
// score before, so both functions are constant between scores:
//
//	p₁(v) = that at the least score ≥ v, 1 beyond all
//	p₀(v) = that at the largest score ≤ v, 0 before all
//
// A row that is a calibration row too lies on a step, so a score is as wide as single precision takes it to be, in
// which a network gets the row.
func vennAbers(score []value, hit, weights []float64, t ties) (lower, upper steps) {
	groups := sorted(score, hit, weights)
	for i := range score {
		from, to := reach(score, i, t.singleReach)
		lower.x, lower.y = append(lower.x, from), append(lower.y, groups.with(i, 0))
		upper.x, upper.y = append(upper.x, to), append(upper.y, groups.with(i, 1))
	}
	return lower, upper
}

// scores are n distinct scores in ascending order, with the rows and the rows of the class up
// to each, and the pools of adjacent violators of all prefixes and suffixes.
type scores struct {
	rows, hits []float64 // n + 1, from 0 on
	from, to   []int     // first score of the last pool of the first i + 1, end of the first pool from i on
}

func sorted(score []value, hit, weights []float64) *scores {
	s := &scores{rows: []float64{0}, hits: []float64{0}}
	for i, v := range score {
		rows, hits := s.rows[i], s.hits[i]
		for _, row := range v.rows {
			w := weightOf(weights, row)
			rows += w
			hits += w * hit[row]
		}
		s.rows, s.hits = append(s.rows, rows), append(s.hits, hits)
	}
	n := len(score)
	s.from, s.to = make([]int, n), make([]int, n)
	for i := range n {
		s.from[i] = i
		for s.from[i] > 0 && s.mean(s.from[s.from[i]-1], s.from[i]) >= s.mean(s.from[i], i+1) {
			s.from[i] = s.from[s.from[i]-1]
		}
	}
	for i := n - 1; i >= 0; i-- {
		s.to[i] = i + 1
		for s.to[i] < n && s.mean(i, s.to[i]) >= s.mean(s.to[i], s.to[s.to[i]]) {
			s.to[i] = s.to[s.to[i]]
		}
	}
	return s
}

// mean is that of the rows of scores lo…hi−1.
func (s *scores) mean(lo, hi int) float64 {
	return (s.hits[hi] - s.hits[lo]) / (s.rows[hi] - s.rows[lo])
}

// with is the isotonic regression at score i once a row of that score and target y is
// there too: the pools before and after it stay as they are but for those that it joins.
func (s *scores) with(i int, y float64) float64 {
	lo, hi := i, i+1
	for {
		value := (s.hits[hi] - s.hits[lo] + y) / (s.rows[hi] - s.rows[lo] + 1)
		switch {
		case lo > 0 && s.mean(s.from[lo-1], lo) >= value:
			lo = s.from[lo-1]
		case hi < len(s.to) && value >= s.mean(hi, s.to[hi]):
			hi = s.to[hi]
		default:
			return value
		}
	}
}

// after is the y of the least x ≥ v, or 1.
func (s steps) after(v float64) float64 {
	if i := sort.SearchFloat64s(s.x, v); i < len(s.x) {
		return s.y[i]
	}
	return 1
}

// before is the y of the largest x ≤ v, or 0.
func (s steps) before(v float64) float64 {
	if i := sort.Search(len(s.x), func(i int) bool { return s.x[i] > v }); i > 0 {
		return s.y[i-1]
	}
	return 0
}

// Predict gives the normalized values of least regret.
func (m *VennAbers) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		for k, v := range row {
			p0, p1 := m.lower[k].before(v), m.upper[k].after(v)
			row[k] = p1 / (1 - p0 + p1)
		}
	}
	return predictions(p, x)
}

// ONNX is p₁/(1 − p₀ + p₁) of each class, divided by their sum.
func (m *VennAbers) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.upper == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	p := g.Exp(g.Logits(m.sizes.Classes))
	lower, upper := newStepsONNX(g, m.lower), newStepsONNX(g, m.upper)
	p0 := lower.at(lower.table(func(f steps, i int) float64 { // before
		if i == 0 {
			return 0
		}
		return f.y[i-1]
	}), lower.below("LessOrEqual", p))
	p1 := upper.at(upper.table(func(f steps, i int) float64 { // after
		if i == len(f.y) {
			return 1
		}
		return f.y[i]
	}), upper.below("Less", p))
	merged := g.Div(p1, g.Add(g.Sub(g.Scalar(1), p0), p1))
	return onnx.Outputs{Probabilities: sharesONNX(g, merged, m.sizes.Classes), Classes: m.sizes.Classes}, nil
}

// Restore sets p₀ and p₁ at the scores of all classes.
func (m *VennAbers) Restore(s layers.State) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	below, above := s.Weights.Split(func(name string) bool { return strings.HasPrefix(name, "venn_abers/lower/") })
	lower, err := readSteps(below, "venn_abers/lower", sizes.Classes)
	if err != nil {
		return err
	}
	upper, err := readSteps(above, "venn_abers/upper", sizes.Classes)
	if err != nil {
		return err
	}
	*m = VennAbers{kept{sizes, s.Weights}, lower, upper}
	return nil
}
