package studies

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/optim"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// The paper trains by Adam with this rate, this decay and batches of 128 rows.
const (
	paperRate  = 1e-3
	paperDecay = 1e-3
	paperBatch = 128
)

// decayed is a problem whose loss has a weight decay λ of the training added, λ/2 ‖θ‖². A fit then goes to the minimum
// θ_λ of this sum, with the sandwich of the sum about it,
//
//	θ_λ = θ* − λ H⁺θ* + O(λ²),
//
// so that its error about θ* is the root of |M(θ_λ) − M(θ*)|² + tr(D S_λ Dᵀ)/N.
type decayed struct {
	*problem
	weights []float64
	truth   theory.Limit
	blocks  []int // whose errors are small enough for first-order theory at the least N of the training
}

// trainingSizes are N of the training, a tenth of which is held out.
func trainingSizes(s theory.Settings) []int {
	return choose(s, []int{3e3, 1e4, 3e4}, []int{3e3, 1e4, 3e4, 1e5})
}

func newDecayed(s theory.Settings) (*decayed, error) {
	d := theory.Fast()
	d.Decades = 1 // of rarer codewords the paper's decay leaves nothing: see study gauge
	x := &decayed{problem: newProblem(s, d, s.RNG(70))}
	var err error
	if x.truth, err = x.population(x.model, x.law(0)); err != nil {
		return nil, err
	}
	x.weights = x.truth.Weights
	x.truth.Predict(x.target)
	for k, predicted := range x.truth.Predicted {
		if predicted <= theory.UsablePart*math.Sqrt(float64(trainingSizes(s)[0]))*x.target.Size(k, x.Theta) {
			x.blocks = append(x.blocks, k)
		}
	}
	if x.blocks == nil {
		return nil, fmt.Errorf("theory: %d rows are too few for first-order theory of any codeword: take another seed", trainingSizes(s)[0])
	}
	return x, nil
}

// limit is θ_λ with the sandwich there. A decay balances the factors, so that nothing is left free.
func (x *decayed) limit(model theory.Model, decay float64) (theory.Limit, error) {
	penalized, theta := &quadratic{Model: model, lambda: decay}, slices.Clone(x.Theta)
	if err := theory.Fit(penalized, theory.NullSpace{}, theta, x.weights); err != nil {
		return theory.Limit{}, err
	}
	p, err := theory.NewLimit(penalized, theory.NullSpace{}, theta, x.weights)
	if err == nil {
		p.Occupancy = x.truth.Occupancy
		p.Predict(x.target)
	}
	return p, err
}

// distance is that of the blocks together.
func (x *decayed) distance(theta, reference []float64) float64 {
	return rootOfSquares(x.blocks, func(k int) float64 { return x.target.Distance(k, theta, reference) })
}

// sampling is the error of the blocks together that the sandwich predicts about a limit.
func (x *decayed) sampling(p theory.Limit, N int) float64 {
	return rootOfSquares(x.blocks, func(k int) float64 { return p.Predicted[k] }) / math.Sqrt(float64(N))
}

// bias is how far a limit is from the truth.
func (x *decayed) bias(p theory.Limit) float64 { return x.distance(p.Theta, x.Theta) }

func rootOfSquares(blocks []int, of func(k int) float64) float64 {
	var squares float64
	for _, k := range blocks {
		squares += numeric.Square(of(k))
	}
	return math.Sqrt(squares)
}

// smallDecay is λ of the derivative of the limits: small enough for terms of second order to be.
const smallDecay = 1e-6

// derivative compares limits of small decays, at λ and at 2λ, with −H⁺θ*, as the largest gap over codewords in parts of
// it: the two leave an error of λ².
func (x *decayed) derivative(r *theory.Report, once, twice theory.Limit) {
	response := numeric.Product(x.truth.Inverse, x.Theta)
	far := 0.0
	for k := range x.target.Blocks() {
		predicted := numeric.Product(x.target.Jacobian(k, x.Theta), response)
		gap := slices.Clone(predicted)
		floats.AddScaled(gap, -1.5/smallDecay, x.target.Of(k, x.Theta))
		floats.AddScaled(gap, 2/smallDecay, x.target.Of(k, once.Theta))
		floats.AddScaled(gap, -0.5/smallDecay, x.target.Of(k, twice.Theta))
		far = math.Max(far, floats.Norm(gap, 2)/floats.Norm(predicted, 2))
	}
	r.Below("decay-linear", "derivative of the limits in λ, gap to the formula's in parts of it, largest",
		theory.Exact(far), 0.01, "0: θ'(0) = −H⁺θ*")
}

// decayLaw is λ at N rows. All are the paper's at the least N of the study's samples.
type decayLaw struct {
	key, name, theory string
	exponent          float64
}

var decayLaws = []decayLaw{
	{"fixed", "λ = 1e-3", "that of √(bias² + variance/N), near 0: the bias stays", 0},
	{"root", "λ ∝ N^(−1/2)", "that of √(bias² + variance/N), to −1/2: both fall alike", -0.5},
	{"inverse", "λ ∝ 1/N", "that of √(bias² + variance/N), below −1/2 until the bias is gone", -1},
}

// leastDecayed is the least N of the samples that are fitted to the minimum.
const leastDecayed = 1e5

func (l decayLaw) at(N int) float64 {
	return paperDecay * math.Pow(float64(N)/leastDecayed, l.exponent)
}

// minima are the minima of samples under a law of the decay.
type minima struct {
	*decayed
	law decayLaw
	*theory.Trials
	limits             []theory.Limit // of each size
	aboutTruth, errors [][]float64    // of each size and sample: the distance from the truth and from the limit
	lost               []string
}

func (x *decayed) minima(ctx context.Context, law decayLaw) (*minima, error) {
	m := &minima{decayed: x, law: law}
	sizes := []int{leastDecayed, 10 * leastDecayed, 100 * leastDecayed}
	m.Trials = x.Draws(x.weights, sizes, choose(x.Settings, 64, 160), 71)
	m.What = law.name
	for _, N := range m.Sizes {
		limit, err := x.limit(x.model.Cheapest(), law.at(N))
		if err != nil {
			return nil, err
		}
		m.limits = append(m.limits, limit)
	}
	tables, losses, err := m.Measure(ctx, x.model.Cheapest(), 2, func(model theory.Model, at theory.Trial) ([]float64, error) {
		limit := m.limits[at.Size].Theta
		theta := slices.Clone(limit)
		err := theory.Fit(&quadratic{Model: model, lambda: law.at(at.N)}, theory.NullSpace{}, theta, m.Draw(at))
		return []float64{x.distance(theta, x.Theta), x.distance(theta, limit)}, err
	})
	m.aboutTruth, m.errors, m.lost = tables[0], tables[1], losses
	return m, err
}

// report adds the rows of a law: the slope of the error about the truth and, of a fixed decay, that about its limit.
func (m *minima) report(r *theory.Report, figure *theory.Figure) {
	predicted := figure.Against(m.law.name, "√(bias² + variance/N)", len(m.Sizes), func(i int) (float64, theory.Estimate, float64) {
		N := m.Sizes[i]
		return float64(N), theory.RMS(m.aboutTruth[i]), math.Hypot(m.bias(m.limits[i]), m.sampling(m.limits[i], N))
	})
	slopes := m.Slopes(m.RNG(72), m.aboutTruth, m.errors)
	last, second := len(m.Sizes)-1, numeric.Square(m.sampling(m.limits[0], m.Sizes[0]))/math.Log(100)
	r.Near("decay-"+m.law.key, "slope in N of the error about the true M_k, "+m.law.name, slopes[0],
		numeric.Line(numeric.Logs(predicted.X), numeric.Logs(predicted.Y)), 0.005+second, m.law.theory)
	of := fmt.Sprintf(" at N = %g, ", float64(m.Sizes[last])) + m.law.name
	r.Record("decay-"+m.law.key+"-ratio", "error about the true M_k/sandwich without decay"+of,
		theory.RMS(m.aboutTruth[last]).Over(m.sampling(m.truth, m.Sizes[last])), "1 where the decay costs nothing")
	if m.law.exponent == 0 {
		r.Near("decay-limit", "slope in N of the error about the limit of the penalized loss, "+m.law.name,
			slopes[1], -0.5, 0.005+second, "−1/2")
		sampling := m.sampling(m.limits[last], m.Sizes[last])
		r.Ratio("decay-limit-ratio", "observed/sandwich RMSE about this limit"+of,
			theory.RMS(m.errors[last]).Over(sampling), 1, 0.01+numeric.Square(sampling), "1")
	}
}

// The epochs by which a fit at rest is judged: of so many batches, after so many epochs, over so many.
const (
	restBatches = 78
	restAfter   = 20
	restOver    = 20
)

// rests are what the steps of a fixed rate leave of the gradient of the penalized loss, at the ends of epochs about the
// optimum of a sample: the root of its mean square, measured, and by the linear dynamics.
type rests struct {
	optima   []theory.Limit // of each sample
	measured []float64
}

func (x *decayed) rests(ctx context.Context) (*rests, error) {
	t := x.Draws(x.weights, []int{restBatches * paperBatch}, choose(x.Settings, 16, 40), 73)
	type rest struct {
		optimum theory.Limit
		left    float64
	}
	all, _, err := theory.RunTrials(ctx, t, x.model.Cheapest(), func(model theory.Model, at theory.Trial) (of rest, err error) {
		rows := rowsOf(t.Draw(at), at.N, at.Rand)
		here := &theory.Loss{Model: &quadratic{Model: model, lambda: paperDecay}, Weights: weightsOf(x.Table, rows)}
		theta := slices.Clone(x.Theta)
		here.Fit(theory.NullSpace{}, theta)
		if here.Err != nil {
			return of, here.Err
		}
		if of.optimum, err = theory.NewLimit(here.Model, theory.NullSpace{}, theta, here.Weights); err != nil {
			return of, err
		}
		var squares []float64
		_, _, err = tableFit{
			Map: paper, Table: x.Table, Model: model, Rows: rows, Start: theta,
			By: optim.Settings{
				Rule: optim.Adam{Rate: paperRate, WeightDecay: paperDecay}, Batch: paperBatch, Epochs: restAfter + restOver,
			},
			Observe: func(epoch int, theta []float64) {
				if epoch > restAfter {
					_, grad := here.Gradient(theta)
					squares = append(squares, floats.Dot(grad, grad))
				}
			},
		}.run(ctx, at.Rand)
		of.left = math.Sqrt(numeric.Mean(squares))
		return of, cmp.Or(err, here.Err)
	})
	of := &rests{}
	for _, one := range all {
		if one.optimum.Theta != nil { // else its sample has no minimum
			of.optima, of.measured = append(of.optima, one.optimum), append(of.measured, one.left)
		}
	}
	return of, err
}

// report compares what is left by a rate with what it is.
func (of *rests) report(r *theory.Report, rate float64) {
	ratios := data.Each(data.UpTo(len(of.measured)), func(i int) float64 {
		return of.measured[i] / restingGradient(of.optima[i], rate, paperBatch, restBatches)
	})
	r.Ratio("rest",
		fmt.Sprintf("gradient that steps of rate %g leave at an optimum, N = %d: measured/predicted", paperRate, restBatches*paperBatch),
		theory.MeanOf(ratios), 1, 0.05, "1: linear dynamics of Adam under batches that go through all rows")
	const more = 10
	left := restingGradient(of.optima[0], rate, paperBatch, more*restBatches)
	r.Record("rest-more", fmt.Sprintf("… predicted at %d times as many rows, in parts of √(tr J/N)", more),
		theory.Exact(left/math.Sqrt(of.optima[0].Scores.Trace()/(more*restBatches*paperBatch))), "0 at an optimum")
	r.Record("rest-size", "… in parts of √(tr J/N)", theory.MeanOf(data.Each(data.UpTo(len(of.measured)), func(i int) float64 {
		return of.measured[i] / math.Sqrt(of.optima[i].Scores.Trace()/(restBatches*paperBatch))
	})), "0 at an optimum")
}

// restingGradient is the root mean square of the gradient at the ends of epochs, by the linear dynamics of Adam about
// an optimum. There Adam divides by D = diag √(J_ii/B). With ξ_t the noise of batch t, of covariance J/B, and momentum
// β,
//
//	m ← β m + (1−β)(H δ + ξ_t),  δ ← δ − η D⁻¹ m,  gradient H δ,
//
// in the eigenbasis of D^(−1/2) H D^(−1/2). The batches of an epoch go through all rows, so that their noise sums to 0,
// and a mode keeps of it how unevenly it weighs them.
func restingGradient(p theory.Limit, rate float64, batch, batches int) float64 {
	n := len(p.Theta)
	divisor := data.Each(data.UpTo(n), func(i int) float64 { return math.Sqrt(p.Scores.At(i, i) / float64(batch)) })
	scaled := func(m mat.Matrix, power float64) *mat.SymDense {
		out := mat.NewSymDense(n, nil)
		for i := range n {
			for j := i; j < n; j++ {
				out.SetSym(i, j, m.At(i, j)*math.Pow(divisor[i]*divisor[j], power))
			}
		}
		return out
	}
	values, vectors := estimate.Spectrum(scaled(p.Hessian, -0.5))
	noise := estimate.Congruence(scaled(p.Scores, -0.5), vectors)
	lengths := estimate.Congruence(scaled(mat.NewDiagDense(n, slices.Repeat([]float64{1}, n)), 0.5), vectors)
	modes := data.Each(values, func(value float64) []float64 { return afterNoise(value, rate, batches) })
	var total float64
	for i := range n {
		for j := range n {
			spread := noise.At(i, j) / float64(batch) * unevenness(modes[i], modes[j], batches)
			total += values[i] * values[j] * lengths.At(i, j) * spread
		}
	}
	return math.Sqrt(total)
}

const (
	momentum     = 0.9  // β of Adam
	littleLeft   = 1e-2 // of the most that a mode had
	restedEpochs = 60   // a mode that needs more has next to no gradient
)

// afterNoise is what a mode of this curvature has left of a unit of noise after 1, 2, … batches, over whole epochs
// until little is left.
func afterNoise(curvature, rate float64, batches int) (left []float64) {
	at, mean, noise := 0.0, 0.0, 1.0
	for range restedEpochs {
		for range batches {
			mean = momentum*mean + (1-momentum)*(curvature*at+noise)
			at -= rate * mean
			noise = 0
			left = append(left, at)
		}
		if math.Abs(at) < littleLeft*floats.Norm(left, math.Inf(1)) {
			break
		}
	}
	return left
}

// unevenness is the covariance of two modes at the end of an epoch under unit noise that sums to 0 over each epoch.
func unevenness(a, b []float64, batches int) (sum float64) {
	T := float64(batches)
	for lo := 0; lo < min(len(a), len(b)); lo += batches {
		x, y := a[lo:][:batches], b[lo:][:batches]
		sum += (floats.Dot(x, y) - floats.Sum(x)*floats.Sum(y)/T) * T / (T - 1)
	}
	return sum
}

// recipe is how a calibrator is trained on N rows, of which a tenth decides when to stop.
type recipe struct {
	key, name string
	settings  func(N int) optim.Settings
}

// recipes are the paper's, and one whose decay falls as 1/N, whose batches grow as N, so that its steps have less
// noise, and which has more patience.
var recipes = []recipe{
	{"paper", "the paper's recipe", func(int) optim.Settings {
		return optim.Settings{
			Rule: optim.Adam{Rate: paperRate, WeightDecay: paperDecay}, Batch: paperBatch, Epochs: 100, Patience: 10,
		}
	}},
	{"growing", "λ = 1/N, batches ∝ N, patience 20", func(N int) optim.Settings {
		return optim.Settings{
			Rule: optim.Adam{Rate: paperRate, WeightDecay: 1 / float64(N)}, Batch: paperBatch * N / 3000, Epochs: 200, Patience: 20,
		}
	}},
}

// What is measured of a fit by a recipe.
const (
	trainedError    = iota // distance from the true M_k, of the blocks together
	trainedGradient        // |∇L_N|/√(tr J/N)
	trainedBound           // ‖θ̂ − θ*‖ in parts of Theorem 1's bound, ‖H⁺‖(√(tr J/N) + ε_N)
	trainedEpochs          // that were run
	newtonError            // distance of Newton's fit to the same rows from the true M_k
	trainedNumbers
)

// fitted are the fits by a recipe, from the paper's start.
type fitted struct {
	*decayed
	recipe
	*theory.Trials
	numbers [][][]float64 // by number, size and sample
}

func (x *decayed) train(ctx context.Context, by recipe) (*fitted, error) {
	t := &fitted{decayed: x, recipe: by}
	t.Trials = x.Draws(x.weights, trainingSizes(x.Settings), choose(x.Settings, 3, 16), 74)
	t.What = by.name
	steepest := numeric.OperatorNorm(x.truth.Inverse)
	tables, _, err := t.Measure(ctx, x.model.Cheapest(), trainedNumbers, func(model theory.Model, at theory.Trial) ([]float64, error) {
		rows := rowsOf(t.Draw(at), at.N, at.Rand)
		held := rows[:at.N/10]
		rows = rows[len(held):]
		theta, result, err := tableFit{
			Map: paper, Table: x.Table, Model: model, By: by.settings(at.N), Rows: rows, Held: held,
		}.run(ctx, at.Rand)
		if err != nil {
			return nil, err
		}
		here := &theory.Loss{Model: model, Weights: weightsOf(x.Table, rows)}
		_, grad := here.Gradient(theta)
		x.gauge.Fix(theta, x.Theta)
		newton := slices.Clone(x.Theta)
		ofNewton := math.NaN() // counts for nothing, as rms reads it
		if theory.Fit(model, x.gauge, newton, here.Weights) == nil {
			ofNewton = x.distance(newton, x.Theta)
		}
		left, sampling := floats.Norm(grad, 2), math.Sqrt(x.truth.Scores.Trace()/float64(len(rows)))
		return []float64{
			x.distance(theta, x.Theta), left / sampling,
			floats.Distance(theta, x.Theta, 2) / (steepest * (sampling + left)), float64(result.Epochs), ofNewton,
		}, here.Err
	})
	t.numbers = tables
	return t, err
}

// beside is below which part of its sampling size a gradient counts as that of an optimum (optim.Optimum).
const beside = 0.1

func (t *fitted) report(r *theory.Report, figure *theory.Figure) {
	reached, farthest := 0, 0.0
	measured := theory.Curve{Label: t.recipe.name, Style: theory.Joined}
	newton := theory.Curve{Label: "Newton's method", Style: theory.Joined}
	for i, N := range t.Sizes {
		fitted, of := N-N/10, fmt.Sprintf(", N = %g, ", float64(N))+t.recipe.name
		key := func(name string) string { return fmt.Sprintf("%s-%s-%d", t.recipe.key, name, N) }
		numbers := func(n int) []float64 { return t.numbers[n][i] }
		for j, gradient := range numbers(trainedGradient) {
			if farthest = math.Max(farthest, numbers(trainedBound)[j]); gradient <= beside {
				reached++
			}
		}
		r.Record(key("gradient"), "|∇L_N|/√(tr J/N) where the fit ends"+of, quartiles(numbers(trainedGradient)), "o(1), for ε_N to vanish")
		r.Record(key("error"), "error about the true M_k/sandwich"+of,
			theory.RMS(numbers(trainedError)).Over(t.sampling(t.truth, fitted)), "1 at an optimum")
		r.Record(key("epochs"), "epochs"+of, quartiles(numbers(trainedEpochs)), "")
		if t.recipe.key == recipes[0].key {
			r.Record(fmt.Sprintf("newton-error-%d", N),
				fmt.Sprintf("error about the true M_k/sandwich, N = %g, Newton's method on the same rows", float64(N)),
				theory.RMS(numbers(newtonError)).Over(t.sampling(t.truth, fitted)), "1")
			newton.Add(float64(N), theory.RMS(numbers(newtonError)))
		}
		measured.Add(float64(N), theory.RMS(numbers(trainedError)))
	}
	r.Record(t.recipe.key+"-slope", "slope in N of the error about the true M_k, "+t.recipe.name,
		t.Slopes(t.RNG(75), t.numbers[trainedError])[0], "−1/2, but for ε_N")
	r.Below(t.recipe.key+"-bound", "‖θ̂ − θ*‖/(‖H⁺‖(√(tr J/N) + ε_N)), largest, "+t.recipe.name,
		theory.Exact(farthest), 1, "at most 1: Theorem 1")
	if t.recipe.key == recipes[0].key {
		r.Equal(t.recipe.key+"-reached",
			fmt.Sprintf("fits of %d whose gradient is at most %g of √(tr J/N), %s", t.Total(), beside, t.recipe.name),
			float64(reached), 0, "0: ε_N is no o(N^(−1/2))")
		figure.Curves = append(figure.Curves, newton)
	}
	figure.Curves = append(figure.Curves, measured)
}

func runRecipe(ctx context.Context, s theory.Settings, r *theory.Report) error {
	x, err := newDecayed(s)
	if err != nil {
		return err
	}
	once, onceErr := x.limit(x.model.Cheapest(), smallDecay)
	twice, twiceErr := x.limit(x.model.Cheapest(), 2*smallDecay)
	if err := cmp.Or(onceErr, twiceErr); err != nil {
		return err
	}
	x.derivative(r, once, twice)
	decay := theory.LogLog("decay", "What a weight decay λ does to the rate", "N", "RMSE of M_k about the truth")
	var lost []string
	fits := 0
	for _, law := range decayLaws {
		m, err := x.minima(ctx, law)
		if err != nil {
			return err
		}
		m.report(r, &decay)
		lost, fits = append(lost, m.lost...), fits+m.Total()
	}
	r.Unsettled(lost, fits, theory.LostPart)
	rests, err := x.rests(ctx)
	if err != nil {
		return err
	}
	rests.report(r, paperRate)
	trained := theory.LogLog("trained", "The error of the paper's recipe", "N", "RMSE of M_k about the truth")
	for _, by := range recipes {
		t, err := x.train(ctx, by)
		if err != nil {
			return err
		}
		t.report(r, &trained)
	}
	r.Figures = append(r.Figures, decay, trained)
	return nil
}
