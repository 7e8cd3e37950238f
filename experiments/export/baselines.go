package export

import (
	"math"

	"calibra/graph"
	"calibra/layers"
	"calibra/layers/baselines"

	"gonum.org/v1/gonum/mat"
)

// logProbs is ℓ, the log-softmax of the logits, at least baselines.LogFloor.
func (g *network) logProbs(s layers.Sizes) string {
	return g.larger(g.logSoftmax(g.logits(s.Classes)), g.scalar(baselines.LogFloor))
}

// floored is log(e^ℓ + 1e-12).
func (g *network) floored(l string) string {
	return g.log(g.add(g.exp(l), g.scalar(baselines.ProbabilityFloor)))
}

// linear is x·W + b of the weights name/weight and name/bias.
func (g *network) linear(w *graph.Weights, name, x string) string {
	weight := w.Tensor(name + "/weight").Shape()
	return g.add(g.matMul(x, table(g, w.Float64s(name+"/weight"), weight...)), g.vector(w, name+"/bias"))
}

// vector is a weight of one axis.
func (g *network) vector(w *graph.Weights, name string) string {
	v := w.Float64s(name)
	return table(g, v, len(v))
}

// oneVsRest is σ(s_k) divided by their sum, in logarithms.
func (g *network) oneVsRest(scores string) string {
	return g.logSoftmax(g.negative(g.softplus(g.negative(scores))))
}

func (g *network) vectorScaling(w *graph.Weights, s layers.Sizes) string {
	scaled := g.times(g.floored(g.logProbs(s)), g.vector(w, "vector/scale"))
	return g.logSoftmax(g.add(scaled, g.vector(w, "vector/bias")))
}

func (g *network) dirichletMap(w *graph.Weights, s layers.Sizes) string {
	return g.logSoftmax(g.linear(w, "dirichlet", g.floored(g.logProbs(s))))
}

func (g *network) structured(w *graph.Weights, s layers.Sizes) string {
	beta := math.Exp(w.Float64s("structured/log_inverse_temperature")[0])
	n := w.Float64s("structured/rows")[0]
	q := g.exp(g.logSoftmax(g.times(g.logProbs(s), g.scalar(beta))))
	x := g.log(g.add(g.times(q, g.scalar(1-1/(n+1))), g.scalar(1/((n+1)*float64(s.Classes)))))
	return g.logSoftmax(g.add(x, g.linear(w, "structured", x)))
}

func (g *network) platt(w *graph.Weights, s layers.Sizes) string {
	return g.oneVsRest(g.linear(w, "platt", g.exp(g.logProbs(s))))
}

func (g *network) beta(w *graph.Weights, s layers.Sizes) string {
	l := g.logProbs(s)
	failure := g.negative(g.log(g.add(g.subtract(g.scalar(1), g.exp(l)), g.scalar(baselines.ProbabilityFloor))))
	scores := g.times(g.floored(l), g.exp(g.vector(w, "beta/success")))
	scores = g.add(scores, g.times(failure, g.exp(g.vector(w, "beta/failure"))))
	return g.oneVsRest(g.add(scores, g.vector(w, "beta/bias")))
}

// tempered is the log-softmax of the logits divided by T.
func (g *network) tempered(s layers.Sizes, t float64) string {
	return g.logSoftmax(g.over(g.logits(s.Classes), g.scalar(t)))
}

func (g *network) localTemperature(w *graph.Weights, s layers.Sizes) string {
	z := g.embedding(w, s)
	variances := w.Float64s("embedding/variances")
	sd := make([]float64, len(variances))
	for j, v := range variances {
		sd[j] = math.Sqrt(max(v, 1e-12))
	}
	z = g.over(z, table(g, sd, len(sd)))
	weight := table(g, w.Float64s("temperature/weight"), len(sd), 1)
	logT := g.add(g.matMul(z, weight), g.vector(w, "temperature/log")) // N×1
	return g.logSoftmax(g.times(g.logProbs(s), g.exp(g.negative(logT))))
}

// embedding is the principal components of the standardized features (N×P). A feature
// that did not vary is 0.
func (g *network) embedding(w *graph.Weights, s layers.Sizes) string {
	features := g.cast(g.input("features", s.Features), double)
	axes := w.Tensor("embedding/axes").Shape()
	scaled := mat.NewDense(axes[0], axes[1], w.Float64s("embedding/axes"))
	for j, sd := range w.Float64s("embedding/sd") {
		for k := range axes[1] {
			if sd > 0 {
				scaled.Set(j, k, scaled.At(j, k)/sd)
			} else {
				scaled.Set(j, k, 0)
			}
		}
	}
	centred := g.subtract(features, g.vector(w, "embedding/mean"))
	return g.matMul(centred, table(g, scaled.RawMatrix().Data, axes...))
}

// localNets is the head of Local Nets: u = W_c a + b_c + α ⊙ logits + β, the logits at
// most 38 decades below their largest.
func (g *network) localNets(w *graph.Weights, s layers.Sizes) string {
	a := g.node("Relu", []string{g.linear(w, "hidden", g.cast(g.input("features", s.Features), double))})
	logits := g.logits(s.Classes)
	first := g.node("ArgMax", []string{logits}, integer("axis", 1), integer("keepdims", 1))
	top := g.node("GatherElements", []string{logits, first}, integer("axis", 1))
	logits = g.larger(logits, g.add(top, g.scalar(baselines.LogFloor)))
	own := g.add(g.times(logits, g.vector(w, "scores/scale")), g.vector(w, "scores/shift"))
	return g.logSoftmax(g.add(g.linear(w, "scores", a), own))
}

// lastLayer is softmax(ℓ + Δᵀℓ + Vᵀz + b) of the standardized features z.
func (g *network) lastLayer(w *graph.Weights, s layers.Sizes) string {
	l := g.floored(g.logProbs(s))
	z := g.subtract(g.cast(g.input("features", s.Features), double), g.vector(w, "norm/mean"))
	z = g.over(z, g.vector(w, "norm/sd"))
	seen := g.matMul(z, table(g, w.Float64s("last/features"), s.Features, s.Classes))
	return g.logSoftmax(g.add(g.add(l, g.linear(w, "last/logits", l)), seen))
}

// ensemble is the logarithm of w₁ softmax(ℓ/T) + w₂ softmax(ℓ) + w₃/C.
func (g *network) ensemble(w *graph.Weights, s layers.Sizes) string {
	l, share := g.logProbs(s), w.Float64s("ensemble/weight")
	scaled := g.exp(g.logSoftmax(g.over(l, g.scalar(w.Float64s("ensemble/temperature")[0]))))
	p := g.add(g.times(scaled, g.scalar(share[0])), g.times(g.exp(l), g.scalar(share[1])))
	return g.log(g.add(p, g.scalar(share[2]/float64(s.Classes))))
}
