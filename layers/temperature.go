package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Temperature scaling (Guo et al. 2017): softmax(logits / T) with the T = eᵗ in
// [1e-3, 1e3], or further where logits spread over less than 1 or more than 100, that
// minimizes the negative log-likelihood of the calibration rows, to a derivative by t
// below 1e-12. T = 1 is in that range, so no T is worse than it. There is nothing to stop early: validation rows
// are not looked at, and an interrupted fit keeps nothing.
type Temperature struct {
	// Method is another than bisection; nil: bisection. It starts at T = 1.
	Method optim.Method
	// Prior is the standard deviation s of t ~ N(0, s²); 0: there is no prior, as published. N rows are then fitted by
	//
	//	mean NLL + t²/(2 s² N)
	//
	// the logarithm of the prior's density counted once for all rows. Before any row is seen T lies between e^−s and
	// e^s with a chance of two in three: at s = .2 between .82 and 1.22. At T = 1 the NLL of a row has by t the
	// expected second derivative I = Var_p(log p), the variance of the log-probabilities under themselves. To second
	// order
	//
	//	t = t₀ N/(N + N₀) ,  N₀ = 1/(s² I)
	//
	// with t₀ of no prior: the prior weighs as N₀ rows that say T = 1. Where the classifier is nearly certain, I is
	// small, rows say little of T, and N₀ is large. t lies between 0 and t₀; above 0 the loss is convex there, so t is
	// unique.
	Prior float64

	// Result of the last Fit. It states it if T ends on a bound.
	Result optim.Result

	took time.Duration

	sizes   Sizes
	weights *graph.Weights // temperature/log (1) = t
}

var _ Stateful = (*Temperature)(nil)

// T is the fitted temperature; above 1 the classifier was overconfident.
func (m *Temperature) T() float64 { return math.Exp(m.weights.Float64s("temperature/log")[0]) }

// Fit minimizes over t in float64.
func (m *Temperature) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	if cal.Logits == nil {
		return fmt.Errorf("layers: temperature scaling needs logits of the calibration rows")
	}
	labels, err := targetOf(cal, cal.Classes(), tensor.Float64)
	if err != nil {
		return err
	}
	w := graph.NewWeights(tensor.Float64)
	w.Add("temperature/log", []float64{0}, 1)
	logits := data.LogProbs(cal.Logits)
	rows := (&View{LogProbs: logits}).Rows(tensor.Float64, Sizes{Classes: cal.Classes()})
	loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		// logits · e^(−t)
		in := rows.Batch(b)
		inverse := b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), b.Weight("temperature/log")))
		nll := meanNLL(b, b.LogSoftmax(in.Mask(b, b.Apply(op.TimesScalar(), in.LogProbs, inverse))), labels)
		if m.Prior == 0 {
			return nll
		}
		return b.Plus(nll, Penalty(b, "temperature/log", 1/(2*m.Prior*m.Prior*float64(cal.Len()))))
	})
	least, most := temperatureRange(logits)
	start := time.Now()
	method := cmp.Or[optim.Method](m.Method, optim.Bisect{Low: math.Log(least), High: math.Log(most), Tolerance: 1e-12})
	problem := optim.Problem{Loss: loss, Rows: cal.Len()}
	m.Result, err = optim.Minimize(ctx, problem, method, rng)
	if err != nil {
		return fmt.Errorf("layers: fit temperature: %w", err)
	}
	m.took = time.Since(start)
	w.SetValues("temperature/log", []float64{min(max(w.Float64s("temperature/log")[0], math.Log(least)), math.Log(most))})
	switch w.Float64s("temperature/log")[0] {
	case math.Log(least):
		m.Result.Status, m.Result.Ended = optim.OnBound, fmt.Sprintf("T ends on its lower bound %g: no T is small enough for logits that are never wrong", least)
	case math.Log(most):
		m.Result.Status, m.Result.Ended = optim.OnBound, fmt.Sprintf("T ends on its upper bound %g: no T is large enough, so the logits say less than the class frequencies do", most)
	}
	m.sizes, m.weights = SizesOf(cal), w
	m.Result.Optimum, err = problem.Optimum(ctx, m.Result)
	return err
}

// temperatureRange is where T is looked for: from 1e-3 to 1e3 for logits that spread over
// 1 to 100, the largest less the smallest of a row that is no mask, and as much wider as they
// spread less or more.
func temperatureRange(logits *mat.Dense) (least, most float64) {
	spread := 0.0
	for i := range logits.RawMatrix().Rows {
		row := logits.RawRowView(i)
		top := floats.Max(row)
		for _, l := range row {
			if !data.Masked(l) {
				spread = max(spread, top-l)
			}
		}
	}
	return 1e-3 * max(min(1, spread), 1e-12), 1e3 * min(max(1, spread/100), 1e200)
}

func (m *Temperature) Stages() []Stage { return []Stage{{"minimize", m.Result, m.took}} }

// Predict is log softmax(logits / T).
func (m *Temperature) Predict(x *data.Set) (*data.Predictions, error) {
	if m.weights == nil {
		return nil, ErrUnfitted
	}
	if x.Classes() != m.sizes.Classes {
		return nil, fmt.Errorf("layers: the rows have logits of %d classes, the model was fitted on %d", x.Classes(), m.sizes.Classes)
	}
	var scaled mat.Dense
	scaled.Scale(1/m.T(), data.LogProbs(x.Logits))
	return data.NewPredictions(LogSoftmax(&scaled), x)
}

// State is t and the sizes.
func (m *Temperature) State() (State, error) { return StateOf(m.sizes, m.weights) }

// Restore sets t and the sizes.
func (m *Temperature) Restore(s State) error {
	if err := s.Weights.Require(map[string]tensor.Shape{"temperature/log": {1}}); err != nil {
		return err
	}
	sizes, err := ReadSizes(s.Config)
	if err != nil {
		return err
	}
	m.sizes, m.weights = sizes, s.Weights
	return nil
}
