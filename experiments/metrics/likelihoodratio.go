package metrics

import (
	"errors"
	"math"
	"math/rand/v2"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// LikelihoodRatio tests whether predictions p are calibrated against what vector scaling of them can say,
//
//	H0: p        H1: softmax(v ⊙ log p + b) ,  b_0 = 0
//
// by twice the logarithm of the ratio of their likelihoods, which under H0 is χ² with 2C − 1 degrees of freedom where
// every class has enough rows. Else p is that of the score test, which asks the same by the first step from H0, against
// labels redrawn from p. It is the question of Guthrie & Franck (2024)
// of two classes and of Vennos, Xing & Franck (2026, arXiv 2602.18573, MCLLO) of several; their maps scale log-odds
// against one class, C − 1 of them, and vector scaling each class, so that no class is another's base. Weights count as
// their effective number of rows. What no v and b can mend, such as an error in one region, it does not see.
type LikelihoodRatio struct {
	Statistic float64 `json:"statistic"`
	Degrees   int     `json:"degrees_of_freedom"`
	PValue    float64 `json:"p"`                 // of calibrated predictions
	Redraws   int     `json:"redraws,omitempty"` // behind p; 0: it is of χ²
	NLL       float64 `json:"nll"`
	Fitted    float64 `json:"nll_fitted"` // of these rows under H1, which was fitted to them
}

const (
	// rowsPerDegree are needed for χ² to hold about.
	rowsPerDegree = 5
	// eventsOfChiSquared is how large Σ_i p_ic (1 − p_ic) must be of each class c for χ² to hold. From 12 on the test
	// at 5 % rejected 4 to 8 % of calibrated draws, with 2 to 6 it rejected 11 to 19 %.
	eventsOfChiSquared = 12
	// ratioRedraws are those of the labels where it is less.
	ratioRedraws = 99
	// mostRatioClasses bound the matrix of (2C − 1)² second derivatives.
	mostRatioClasses = 256
)

// NewLikelihoodRatio tests predictions (N×C). It is nil with fewer than five rows per degree of freedom or more than 256
// classes. It uses Rows and Soft of s.
func NewLikelihoodRatio(logProbs *mat.Dense, labels []int, s Settings, rng *rand.Rand) (*LikelihoodRatio, error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, err
	}
	f := &scaling{binned: b, log: b.Bounded()}
	degrees := 2*b.Classes - 1
	rows := b.Effective()
	if rows < float64(rowsPerDegree*degrees) || b.Classes > mostRatioClasses {
		return nil, nil
	}
	before, fitted := f.ratio()
	r := &LikelihoodRatio{Statistic: 2 * rows * (before - fitted), Degrees: degrees, NLL: before, Fitted: fitted}
	if f.rarest()*rows/b.Total() >= eventsOfChiSquared {
		r.PValue = distuv.ChiSquared{K: float64(degrees)}.Survival(r.Statistic)
	} else {
		r.Redraws = ratioRedraws
		r.PValue = f.redrawn(rng)
	}
	return r, nil
}

// identity is x under H0.
func (f *scaling) identity() []float64 {
	x := make([]float64, 2*f.Classes-1)
	for c := range f.Classes {
		x[c] = 1
	}
	return x
}

// ratio is the loss under H0 and the least under H1.
func (f *scaling) ratio() (before, fitted float64) {
	const enough = 1e-14 // nats a row that the last step may promise, twice what is left
	x := f.identity()
	before = f.loss(x)
	estimate.Newton{Steps: newtonSteps, Enough: enough, Value: f.loss, Derivatives: f.derivatives}.Minimize(x)
	return before, min(before, f.loss(x))
}

// rarest is the least of Σ_i w_i p_ic (1 − p_ic) over the classes.
func (f *scaling) rarest() float64 {
	least := math.Inf(1)
	for c := range f.Classes {
		sum := 0.
		for i := range f.N {
			p := math.Exp(f.log.At(i, c))
			sum += f.W(i) * p * (1 - p)
		}
		least = min(least, sum)
	}
	return least
}

// redrawn is the p-value of gᵀ(∇²)⁻¹g at H0 by labels redrawn from the predictions, whose ∇² is that of any labels.
func (f *scaling) redrawn(rng *rand.Rand) float64 {
	gradient, hessian := f.derivatives(f.identity())
	var factor mat.Cholesky
	for !factor.Factorize(hessian) { // of predictions that are all certain it is 0
		for k := range gradient {
			hessian.SetSym(k, k, hessian.At(k, k)+1)
		}
	}
	expected := floats.AddTo(make([]float64, len(gradient)), gradient, f.observedSums(f.binned))
	score := func(b *binned) float64 {
		g := mat.NewVecDense(len(expected), floats.SubTo(make([]float64, len(expected)), expected, f.observedSums(b)))
		var step mat.VecDense
		if err := factor.SolveVecTo(&step, g); err != nil && !errors.As(err, new(mat.Condition)) {
			panic(err)
		}
		return mat.Dot(g, &step)
	}
	labels := f.redraw(ratioRedraws, rng)
	scores := make([]float64, len(labels))
	work.Each(len(labels), 1, func(k int) {
		scores[k] = score(f.under(checked.Truth{Label: labels[k].all(f.N)}))
	})
	return tail(score(f.binned), scores, func(x float64) float64 { return x })
}

// observedSums are Σ_i w_i q_ic (ℓ_ic, 1) of the labels of b, less its part of b_0, over Σ w: the part of −∇ that is
// theirs.
func (f *scaling) observedSums(b *binned) []float64 {
	sums := make([]float64, 2*f.Classes-1)
	for i := range f.N {
		b.EachShare(i, func(y int, q float64) {
			q *= f.W(i) / f.Total()
			if sums[y] += q * f.log.At(i, y); y > 0 {
				sums[f.Classes+y-1] += q
			}
		})
	}
	return sums
}

// scaling is the mean NLL of softmax(v ⊙ ℓ + b), of x = (v_0 … v_{C−1}, b_1 … b_{C−1}).
type scaling struct {
	*binned
	log *mat.Dense // ℓ, N×C
}

// row writes the log-probabilities of row i.
func (f *scaling) row(i int, x, out []float64) {
	c := f.Classes
	for k, l := range f.log.RawRowView(i) {
		if out[k] = x[k] * l; k > 0 {
			out[k] += x[c+k-1]
		}
	}
	floats.AddConst(-floats.LogSumExp(out), out)
}

func (f *scaling) loss(x []float64) float64 {
	var sum float64
	out := make([]float64, f.Classes)
	for i := range f.N {
		f.row(i, x, out)
		f.EachShare(i, func(y int, q float64) { sum -= f.W(i) * q * out[y] })
	}
	return sum / f.Total()
}

// newtonSteps bounds the steps; a dozen are usual, and more where the least lies at infinity, where a step gains ever
// less.
const newtonSteps = 60

// derivatives are the gradient and, with Q the N×(2C − 1) rows of √w (p ∘ ℓ, p) without p_0, the Hessian
//
//	∇² = Σ_i w_i Σ_c p_ic (ℓ_ic, 1)(ℓ_ic, 1)ᵀ  on the pairs (v_c, b_c)  −  QᵀQ .
func (f *scaling) derivatives(x []float64) (gradient []float64, hessian *mat.SymDense) {
	c, n, total := f.Classes, len(x), f.Total()
	gradient, hessian = make([]float64, n), mat.NewSymDense(n, nil)
	q, p := mat.NewDense(f.N, n, nil), make([]float64, c)
	for i := range f.N {
		f.row(i, x, p)
		w, l, to := f.W(i)/total, f.log.RawRowView(i), q.RawRowView(i)
		root := math.Sqrt(w)
		for k := range p {
			e := math.Exp(p[k])
			r := w * (e - f.Share(i, k))
			gradient[k] += r * l[k]
			to[k] = root * e * l[k]
			hessian.SetSym(k, k, hessian.At(k, k)+w*e*l[k]*l[k])
			if k > 0 {
				at := c + k - 1
				gradient[at] += r
				to[at] = root * e
				hessian.SetSym(at, at, hessian.At(at, at)+w*e)
				hessian.SetSym(k, at, hessian.At(k, at)+w*e*l[k])
			}
		}
	}
	var product mat.Dense
	product.Mul(q.T(), q)
	trace := 0.0
	for i := range n {
		for j := i; j < n; j++ {
			hessian.SetSym(i, j, hessian.At(i, j)-product.At(i, j))
		}
		trace += hessian.At(i, i)
	}
	for i := range n { // lest a direction in which nothing changes stop the others
		hessian.SetSym(i, i, hessian.At(i, i)+1e-12*trace)
	}
	return gradient, hessian
}
