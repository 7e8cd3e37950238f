package baselines

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// similarityMap is the network that Local Nets and the published kernel baseline share:
//
//	a = Dropout(ReLU(W₁ (z − c) + b₁))
//	s = W_s a + b_s + α_s ⊙ pca(z) + β_s
//
// with c the mean of the calibration rows' features (as in package layers) and the similarity s in as many dimensions
// as pca(z) has, 50 as a rule. α and β are single numbers for C ≤ 10 and vectors beyond. α starts at 1; β and all
// matrices start at N(0, 0.01²), the biases b at U(−1/√in, 1/√in) as torch.nn.Linear does.
//
// As a map it is the kernel estimate P₁ among the rows of a batch, which its fit is
// judged by; whoever predicts by it has an estimate over all calibration rows.
type similarityMap struct {
	width   int     // of a
	dropout float64 // rate
	sigma   float64 // σ of the kernel
}

// newSimilarity has the width and the dropout of the published nets where none is given:
// those of CIFAR-10 up to 10 classes, those of CIFAR-100 beyond.
func newSimilarity(hidden int, dropout *float64, sigma float64, classes int) (similarityMap, error) {
	m := similarityMap{cmp.Or(hidden, 64), 0.3, cmp.Or(sigma, publishedSigma)}
	if classes > 10 {
		m.width, m.dropout = cmp.Or(hidden, 128), 0.5
	}
	if dropout != nil {
		m.dropout = *dropout
	}
	if m.width < 1 || !(m.dropout >= 0 && m.dropout < 1) {
		return m, &layers.SettingError{Reason: fmt.Sprintf("a hidden layer of %d units with dropout %v cannot be trained; choose at least 1 unit and a dropout in [0, 1)", m.width, m.dropout)}
	}
	return m, nil
}

// Init has the embedding of no rows, see [similarityMap.begin].
func (m similarityMap) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, p := graph.NewWeights(tensor.Float64), components(s)
	addLinear(w, "hidden", s.Features, m.width, rng)
	addLinear(w, "similarity", m.width, p, rng)
	addBlend(w, "similarity", p, s.Classes, rng)
	addEmbedding(w, s)
	w.AddExact(hiddenCentre, make([]float64, s.Features), s.Features)
	return w, nil
}

// begin is what a network that has the similarity starts with on the rows of a fit.
func (similarityMap) begin(cal *data.Set, s layers.Sizes, net layers.Map, rng *rand.Rand) (*graph.Weights, error) {
	w, err := net.Init(s, rng)
	if err != nil {
		return nil, err
	}
	if err := fitEmbedding(w, cal); err != nil {
		return nil, err
	}
	w.SetValues(hiddenCentre, w.Float64s("embedding/mean"))
	return w, nil
}

// hiddenCentre is c.
const hiddenCentre = "hidden/centre"

func addLinear(w *graph.Weights, name string, in, out int, rng *rand.Rand) {
	w.Add(name+"/weight", graph.Normals(in*out, 0, 0.01, rng), in, out)
	w.Add(name+"/bias", graph.Uniforms(out, 1/math.Sqrt(float64(in)), rng), out)
}

func addBlend(w *graph.Weights, name string, dims, classes int, rng *rand.Rand) {
	if classes <= 10 {
		dims = 1
	}
	w.Add(name+"/scale", ones(dims), dims)
	w.Add(name+"/shift", graph.Normals(dims, 0, 0.01, rng), dims)
}

// Inputs are z − c, pca(z) and, of labelled rows, 1[y = k].
func (similarityMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	pca, err := embed(w, v.Set)
	if err != nil {
		return nil, err
	}
	in := map[string]mat.Matrix{"features": layers.Less(v.Set.Features, w.Float64s(hiddenCentre)), "pca": pca}
	if x := v.Set; x.Labels != nil {
		in["onehot"] = (&data.Set{Labels: x.Labels, Soft: x.Soft}).Targets(v.LogProbs.RawMatrix().Cols)
	}
	return in, nil
}

// hidden describes a before dropout (B×H).
func (similarityMap) hidden(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.Apply(op.ReLU(2), b.Linear("hidden", in.Input(b, "features")))
}

// noisy describes a (B×H).
func (m similarityMap) noisy(b *graph.Builder, in layers.Batch, noise layers.Noise) *gorgonia.Node {
	return b.Apply(op.Dropout(m.dropout, noise.Seed), m.hidden(b, in), noise.Step)
}

// similarity describes s (B×P) of a.
func (similarityMap) similarity(b *graph.Builder, in layers.Batch, a *gorgonia.Node) *gorgonia.Node {
	return blend(b, "similarity", a, in.Input(b, "pca"))
}

// similarities describes s (B×P) as it is predicted.
func (m similarityMap) similarities(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return m.similarity(b, in, m.hidden(b, in))
}

// estimate describes P₁ (B×C) of a.
func (m similarityMap) estimate(b *graph.Builder, in layers.Batch, a *gorgonia.Node) *gorgonia.Node {
	return neighbourhood(b, m.similarity(b, in, a), in.Input(b, "onehot"), in.Kinds(b), in.Weights(b), m.sigma)
}

// LogProbs is log P₁, P₁ clipped at 1e-8.
func (m similarityMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return clipped(b, m.estimate(b, in, m.hidden(b, in)))
}

// NoisyLoss is the cross-entropy of P₁.
func (m similarityMap) NoisyLoss(b *graph.Builder, in layers.Batch, _ int, noise layers.Noise) *gorgonia.Node {
	return b.NLL(clipped(b, m.estimate(b, in, m.noisy(b, in, noise))), in.Labels(b))
}

// blend describes W a + b + α ⊙ x + β.
func blend(b *graph.Builder, name string, a, x *gorgonia.Node) *gorgonia.Node {
	scale, shift := b.Weight(name+"/scale"), b.Weight(name+"/shift")
	if width := b.Dim(x, 1); b.Dim(scale, 0) != width {
		scale, shift = b.Apply(op.Spread(width), scale), b.Apply(op.Spread(width), shift)
	}
	return b.AddRow(b.Plus(b.Linear(name, a), b.Apply(op.TimesRow(), x, scale)), shift)
}

// neighbourhood describes the kernel estimate P₁ = wY (B×C) of the similarities s
// (B×P) within the batch,
//
//	w_ij ∝ v_j exp(−‖s_j − s_i‖² / (2σ² + 1e-6)) ,  w_ij = 0 of equal rows, as w_ii
//
// normalized and clamped as op.Shares does; onehot is Y (B×C), kinds those of the rows (B) and weights v (B; nil: 1
// each).
func neighbourhood(b *graph.Builder, s, onehot, kinds, weights *gorgonia.Node, sigma float64) *gorgonia.Node {
	kernel := b.Apply(op.OmitSelf(), b.Apply(op.Gaussian(kernelConstant(sigma)), s, s), kinds, kinds)
	if weights != nil {
		kernel = b.Apply(op.TimesRow(), kernel, weights)
	}
	return b.MatMul(b.Apply(op.Shares(), kernel), onehot)
}

// kernelConstant is c in exp(−c‖·‖²).
func kernelConstant(sigma float64) float64 { return 1 / (2*sigma*sigma + 1e-6) }

// publishedSigma is σ of the published nets.
const publishedSigma = 10

// clipped describes log P₁, P₁ clipped at 1e-8.
func clipped(b *graph.Builder, p1 *gorgonia.Node) *gorgonia.Node {
	return b.Apply(op.FlooredLog(2, 1e-8), p1)
}
