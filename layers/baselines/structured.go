package baselines

import (
	"cmp"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/blas"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Structured matrix scaling (Berta et al. 2025, arXiv:2511.03685), with the
// defaults of its authors' library probmetrics:
//
//  1. an inverse temperature β = e^u, u ∈ [−16, 16], where the likelihood's
//     gradient g = mean_i(Σ_k ℓ_ik softmax(βℓ_i)_k − ℓ_iy) is 0; theirs is 30 bisections near
//  2. q′ = (1 − 1/(n+1)) softmax(βℓ) + 1/((n+1)C) ,  x = log q′
//  3. posterior = softmax(x + Δx + b), Δ and b started at 0, minimizing
//     mean NLL + (C/n)‖b‖² + (C/n) Σ_k Δ_kk² + (C(C−1)/n) Σ_{k≠l} Δ_kl²
//
// The last is strictly convex in Δ and b; its optimum is found by Newton's method, to an ∞-norm of
// the gradient of 1e-6: at the 1e-5 of its authors probabilities are up to 1e-4 from the optimum's.
//
// The strength multiplies the three penalties, 0: 1, as published; a nil method is Newton's.
func Structured(method optim.Method, strength float64) *Smooth {
	of := structuredMap{strength: strength}
	begin := func(cal *data.Set, w *graph.Weights) (optim.Method, error) {
		l, err := beginSmoothing(cal, w)
		if err != nil {
			return nil, err
		}
		smooth(l, w)
		loss := newStructuredLoss(l, aimsOf(cal), cmp.Or(strength, 1))
		return curved{loss, cmp.Or[optim.Method](method, optim.Newton{})}, nil
	}
	return &Smooth{title: "structured matrix scaling", of: of, begin: begin}
}

// beginSmoothing sets u and gives ℓ of the rows.
func beginSmoothing(cal *data.Set, w *graph.Weights) (*mat.Dense, error) {
	_, l, err := logProbsToFit(cal)
	if err == nil {
		w.SetValues("structured/log_inverse_temperature", []float64{bisectInverse(l, cal)})
	}
	return l, err
}

// bisectInverse is step 1: u.
func bisectInverse(l *mat.Dense, aims *data.Set) float64 {
	gradients := make([]float64, aims.Len())
	u, _ := optim.Bisect{Low: -16, High: 16, Tolerance: 1e-12}.Find(0, func(u float64) (float64, error) {
		beta := math.Exp(u)
		work.Ranges(aims.Len(), rowsAtOnce, func(lo, hi int) {
			e := make([]float64, l.RawMatrix().Cols)
			for i := lo; i < hi; i++ {
				row := l.RawRowView(i)
				copy(e, row)
				floats.AddConst(-floats.Max(row), e)
				floats.Scale(beta, e)
				blas.ExpNegative(e, e)
				sum, dot := 0.0, 0.0
				for k, v := range row {
					if !data.Masked(v) {
						sum, dot = sum+e[k], dot+v*e[k]
					}
				}
				gradients[i] = dot / sum
				for k, q := range aims.Shares(i) {
					gradients[i] -= q * row[k]
				}
				gradients[i] *= aims.Weight(i)
			}
		})
		return floats.Sum(gradients) / aims.Total(), nil
	})
	return u
}

// structuredMap has weights structured/weight (C×C, Δᵀ), structured/bias (C) and as
// state u and N, structured/log_inverse_temperature (1) and structured/rows (1). Its
// input is x.
type structuredMap struct {
	strength float64 // 0: 1

	smoothedInput
}

func (structuredMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("structured/weight", make([]float64, s.Classes*s.Classes), s.Classes, s.Classes)
	w.Add("structured/bias", make([]float64, s.Classes), s.Classes)
	addSmoothing(w, s)
	return w, nil
}

// addSmoothing adds u and N.
func addSmoothing(w *graph.Weights, s layers.Sizes) {
	w.AddState("structured/log_inverse_temperature", []float64{0}, 1)
	w.AddState("structured/rows", []float64{float64(s.Rows())}, 1)
}

// smoothedInput is step 2, by the state that addSmoothing adds.
type smoothedInput struct{}

func (smoothedInput) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	l := mat.DenseCopyOf(v.LogProbs)
	smooth(l, w)
	return map[string]mat.Matrix{"smoothed": l}, nil
}

func (smoothedInput) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	beta, n := math.Exp(w.Float64s("structured/log_inverse_temperature")[0]), w.Float64s("structured/rows")[0]
	q := g.Softmax(g.Mul(v.LogProbs, g.Scalar(beta)))
	uniform := g.Scalar(1 / ((n + 1) * float64(v.Sizes.Classes)))
	return map[string]onnx.Value{"smoothed": g.Unmasked(g.Log(g.Add(g.Mul(q, g.Scalar(1-1/(n+1))), uniform)), 0)}, nil
}

// smooth replaces ℓ (N×C) by x, 0 of a class that cannot be.
func smooth(l *mat.Dense, w *graph.Weights) {
	beta := math.Exp(w.Float64s("structured/log_inverse_temperature")[0])
	n := w.Float64s("structured/rows")[0]
	work.Each(l.RawMatrix().Rows, rowsAtOnce, func(i int) {
		row := l.RawRowView(i)
		floats.Scale(beta, row)
		floats.AddConst(-floats.LogSumExp(row), row)
		for k, v := range row {
			if row[k] = 0; !data.Masked(v) {
				row[k] = math.Log((1-1/(n+1))*math.Exp(v) + 1/((n+1)*float64(len(row))))
			}
		}
	})
}

func (structuredMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	x := in.Input(b, "smoothed")
	return b.LogSoftmax(b.Plus(x, b.Linear("structured", x)))
}

func (m structuredMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	nll := layers.NLL(b, m, in)
	c, strength := b.Dim(in.LogProbs, 1), cmp.Or(m.strength, 1)
	each := structuredStrengths(c, n, strength)[:c*c]
	delta := b.Weight("structured/weight")
	weighted := b.Times(b.Times(delta, delta), b.Table("structured/penalty", graph.Tensor(tensor.Float64, each, c, c)))
	loss := b.Plus(nll, b.Apply(op.Sum(2), weighted))
	return b.Plus(loss, layers.Penalty(b, "structured/bias", strength*float64(c)/float64(n)))
}

// structuredLoss is the loss of [structuredMap] with its curvature, in closed form, as a
// function of Δᵀ and b laid end to end (C²+C): [multinomial] of W = I + Δᵀ and b, plus a
// strength times the square of each entry. The graph of structuredMap.Loss is its
// specification. The penalty of most entries is far above the likelihood's curvature, so that
// the diagonal of ∇²f is nearly all of it and Newton's method takes a few products, where
// L-BFGS first has to learn the strengths.
type structuredLoss struct {
	*multinomial
	strengths []float64 // of each entry

	at        []float64 // W and b
	curvature []float64 // the diagonal of ∇²f where it was taken last
}

// newStructuredLoss is that of inputs x (N×C), where Δ and b are 0.
func newStructuredLoss(x *mat.Dense, aims *data.Set, strength float64) *structuredLoss {
	c, n := x.RawMatrix().Cols, max(1, int(math.Round(aims.Effective())))
	f := &structuredLoss{
		multinomial: newMultinomial(x, aims), strengths: structuredStrengths(c, n, strength),
		at: make([]float64, c*c+c), curvature: make([]float64, c*c+c),
	}
	f.Gradient(f.curvature, make([]float64, c*c+c)) // for P
	f.Renew()
	return f
}

// structuredStrengths are those of the penalties, of each entry of Δᵀ and b: C/n on the
// diagonal and of b, C(C−1)/n off the diagonal.
func structuredStrengths(c, n int, strength float64) []float64 {
	each := make([]float64, c*c+c)
	for i := range c * c {
		each[i] = strength * float64(c) * float64(c-1) / float64(n)
	}
	for k := range c {
		each[k*c+k] = strength * float64(c) / float64(n)
		each[c*c+k] = strength * float64(c) / float64(n)
	}
	return each
}

// Gradient is f and ∇f.
func (f *structuredLoss) Gradient(grad, x []float64) float64 {
	copy(f.at, x)
	for k, c := 0, f.x.RawMatrix().Cols; k < c; k++ {
		f.at[k*c+k]++
	}
	loss := f.gradient(grad, f.at)
	for i, s := range f.strengths {
		loss += s * x[i] * x[i]
		grad[i] += 2 * s * x[i]
	}
	return loss
}

// Product is ∇²f·v.
func (f *structuredLoss) Product(dst, v []float64) {
	f.product(dst, v)
	for i, s := range f.strengths {
		dst[i] += 2 * s * v[i]
	}
}

// Precondition divides by the diagonal of ∇²f.
func (f *structuredLoss) Precondition(dst, r []float64) { floats.DivTo(dst, r, f.curvature) }

// Renew takes that diagonal at P as it is now.
func (f *structuredLoss) Renew() error {
	f.diagonal(f.curvature)
	for i, s := range f.strengths {
		f.curvature[i] += 2 * s
	}
	return nil
}
