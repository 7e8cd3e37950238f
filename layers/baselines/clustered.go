package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Clustered is clustered calibration (Lavi et al. 2025, arXiv:2510.19328): clusters of a
// representation, a parametric calibrator in each, and a soft mixture of them, shrunk towards one
// calibrator of all rows.
//
//	posterior = Σ_k r_k(z) softmax(x + (v + v_k) ⊙ x + b + b_k) ,  r(z) = softmax_k(−‖z − c_k‖²/τ)
//
// Its authors' program and tables could not be had, only the method's outline, which is the
// sentence above. What they left open is ours:
//   - z are the 50 leading principal components of the standardized features, c_k their k-means
//     centres, and τ is the mean over the rows of how much nearer the nearest centre is than the
//     next, in squared distance;
//   - the calibrators are structured vector scaling, x the smoothed log-probabilities of
//     [StructuredVector]; v and b are penalized as there, by (C/n)(‖v‖² + ‖b‖²), and each cluster's
//     own part by λ(C/n)(‖v_k‖² + ‖b_k‖²), so that λ → ∞ is structured vector scaling;
//   - λ is chosen by the loss of a stratified fifth of the rows held out.
//
// All weights start at 0 and minimize the mean NLL together.
type Clustered struct {
	Clusters  int       // 0: 8
	Strengths []float64 // that λ is chosen among; nil: 0.1, 1, 10 and 100
	Optim     optim.LBFGS

	Fitted
}

var _ layers.Stateful = (*Clustered)(nil)

// Fit learns from cal, which needs features; there is nothing to stop early.
func (m *Clustered) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	return wrap("clustered calibration", m.fitClusters(ctx, cal, rng))
}

func (m *Clustered) fitClusters(ctx context.Context, cal *data.Set, rng *rand.Rand) error {
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	strengths := m.Strengths
	if strengths == nil {
		strengths = []float64{0.1, 1, 10, 100}
	}
	if m.Clusters < 0 || len(strengths) == 0 || !(slices.Min(strengths) > 0) {
		return &layers.SettingError{Reason: fmt.Sprintf("%d clusters shrunk by %v cannot be fitted; choose positive numbers", m.Clusters, strengths)}
	}
	e, err := fitEmbedding(cal)
	if err != nil {
		return err
	}
	z := e.Apply(cal.Features)
	draw := func(most int) (slots *mat.Dense, weights []float64) {
		rows := rng.Perm(cal.Len())[:min(cal.Len(), most)]
		return data.RowsOf(z, rows), picked(cal.Weights, rows)
	}
	centres := layers.KMeans{}.Place(draw, min(cmp.Or(m.Clusters, 8), cal.Len()), rng)
	c := clustering{sizes, e, clustersAt(centres, gapOf(z, centres))}
	strength, err := m.choose(optim.Span(ctx, "choose the strength", 0, 0.7), cal, c, strengths, rng)
	if err != nil {
		return err
	}
	return m.fitStrength(optim.Span(ctx, "", 0.7, 1), cal, c, strength)
}

// choose is the strength with the least loss of rows held out.
func (m *Clustered) choose(ctx context.Context, cal *data.Set, c clustering, strengths []float64, rng *rand.Rand) (float64, error) {
	return strongest(cal, strengths, rng, func(fitted *data.Set, i int) (layers.Calibrator, error) {
		of, all := &Clustered{Optim: m.Optim}, float64(len(strengths))
		part := optim.Span(ctx, fmt.Sprintf("strength %g", strengths[i]), float64(i)/all, float64(i+1)/all)
		return of, of.fitStrength(part, fitted, c, strengths[i])
	})
}

// strongest is the strength whose fit to four fifths of the rows, stratified, loses least on the others;
// where the rows are too few for that, the largest.
func strongest(cal *data.Set, strengths []float64, rng *rand.Rand, fit func(fitted *data.Set, i int) (layers.Calibrator, error)) (float64, error) {
	best, least := slices.Max(strengths), math.Inf(1)
	parts := cal.Stratify([]float64{0.8, 0.2}, rng)
	if len(strengths) == 1 || len(parts[0]) == 0 || len(parts[1]) == 0 {
		return best, nil
	}
	fitted, held := cal.Rows(parts[0]), cal.Rows(parts[1])
	for i, strength := range strengths {
		of, err := fit(fitted, i)
		if err != nil {
			return 0, err
		}
		p, err := of.Predict(held)
		if err != nil {
			return 0, err
		}
		if loss := held.MeanNLL(p.LogProbs, math.Inf(-1)); loss < least {
			best, least = strength, loss
		}
	}
	return best, nil
}

// fitStrength fits the calibrators of given clusters.
func (m *Clustered) fitStrength(ctx context.Context, cal *data.Set, c clustering, strength float64) error {
	l, err := logProbsOf(cal, c.sizes)
	if err != nil {
		return err
	}
	c.sizes.Counts, c.sizes.Weighed = layers.SizesOf(cal).Counts, layers.SizesOf(cal).Weighed
	w := c.weights()
	w.Tensor("structured/log_inverse_temperature").Float64s()[0] = bisectInverse(l, cal)
	return m.fit(ctx, clusteredMap{clusters: c.near.count(), strength: strength}, cal, w, m.Optim)
}

// Restore sets them.
func (m *Clustered) Restore(s layers.State) error {
	if !s.Weights.Has("clusters/bias") {
		return fmt.Errorf("baselines: the model has no clusters")
	}
	return m.restore(clusteredMap{clusters: s.Weights.Tensor("clusters/bias").Shape().TotalSize()}, s)
}

// clustering is what a fit is given: the sizes of its rows, and where the clusters lie.
type clustering struct {
	sizes layers.Sizes
	e     *data.Embedding
	near  clusters
}

// clusters are log r(z) up to a number of each row: zW + b with W = 2cᵀ/τ and b = −‖c‖²/τ.
type clusters struct {
	weight *mat.Dense // P×K
	bias   []float64  // K
}

func (c clusters) count() int { return len(c.bias) }

// gapOf is the mean over the rows of z of how much nearer the nearest centre is than the next.
func gapOf(z, centres *mat.Dense) float64 {
	k, _ := centres.Dims()
	if k < 2 {
		return 1
	}
	n, _ := z.Dims()
	gaps := make([]float64, n)
	eachRow(n, func(i int) {
		apart := make([]float64, k)
		for j := range apart {
			d := floats.Distance(z.RawRowView(i), centres.RawRowView(j), 2)
			apart[j] = d * d
		}
		slices.Sort(apart)
		gaps[i] = apart[1] - apart[0]
	})
	if gap := floats.Sum(gaps) / float64(n); gap > 0 {
		return gap
	}
	return 1 // all rows are one, or lie between two centres
}

// clustersAt are those of centres (K×P) and τ.
func clustersAt(centres *mat.Dense, tau float64) clusters {
	k, p := centres.Dims()
	c := clusters{mat.NewDense(p, k, nil), make([]float64, k)}
	c.weight.Scale(2/tau, centres.T())
	for j := range c.bias {
		row := centres.RawRowView(j)
		c.bias[j] = -floats.Dot(row, row) / tau
	}
	return c
}

// clusteredMap has weights clustered/all/scale (C, v), clustered/all/bias (C, b) and, of each
// cluster k, clustered/k/scale (C, v_k) and clustered/k/bias (C, b_k); as state clusters/weight
// (P×K), clusters/bias (K), the embedding and what [smoothedInput] needs. Its inputs are x and z.
type clusteredMap struct {
	clusters int
	strength float64
}

func (c clustering) weights() *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	for _, name := range (clusteredMap{clusters: c.near.count()}).parts() {
		w.Add(name+"/scale", make([]float64, c.sizes.Classes), c.sizes.Classes)
		w.Add(name+"/bias", make([]float64, c.sizes.Classes), c.sizes.Classes)
	}
	p, k := c.near.weight.Dims()
	w.AddState("clusters/weight", slices.Clone(c.near.weight.RawMatrix().Data), p, k)
	w.AddState("clusters/bias", slices.Clone(c.near.bias), k)
	addEmbedding(w, c.e)
	addSmoothing(w, c.sizes)
	return w
}

// parts are the names of v and b, and of each cluster's.
func (m clusteredMap) parts() []string {
	names := []string{"clustered/all"}
	for k := range m.clusters {
		names = append(names, fmt.Sprintf("clustered/%d", k))
	}
	return names
}

func (m clusteredMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	if s.Features == 0 {
		return nil, fmt.Errorf("baselines: clusters need features")
	}
	blank := clusters{mat.NewDense(components(s), m.clusters, nil), make([]float64, m.clusters)}
	return clustering{s, blankEmbedding(s), blank}.weights(), nil
}

func (clusteredMap) featureMean() string { return "embedding/mean" }

// Inputs are x and z.
func (clusteredMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	in, err := smoothedInput{}.Inputs(v, w)
	if err != nil {
		return nil, err
	}
	in["components"], err = embed(w, v.Set)
	return in, err
}

// InputsONNX are x and z.
func (clusteredMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	in, err := smoothedInput{}.InputsONNX(g, v, w)
	if err != nil {
		return nil, err
	}
	in["components"] = embedONNX(g, v.Sizes, w)
	return in, nil
}

// leastMixed is the least probability that a mixture returns.
const leastMixed = 1e-300

func (m clusteredMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	x, z := in.Input(b, "smoothed"), in.Input(b, "components")
	near := b.LogSoftmax(b.AddRow(b.MatMul(z, b.Weight("clusters/weight")), b.Weight("clusters/bias"))) // B×K, log r
	c := b.Dim(x, 1)
	all := b.AddRow(b.Plus(x, b.Apply(op.TimesRow(), x, b.Weight("clustered/all/scale"))), b.Weight("clustered/all/bias"))
	var mixed *gorgonia.Node
	for k, name := range m.parts()[1:] {
		own := b.AddRow(b.Plus(all, b.Apply(op.TimesRow(), x, b.Weight(name+"/scale"))), b.Weight(name+"/bias"))
		only := make([]float64, m.clusters*c) // K×C, of which row k is 1
		copy(only[k*c:], ones(c))
		share := b.MatMul(near, b.Table(name, graph.Tensor(b.Dtype(), only, m.clusters, c)))
		p := b.Apply(op.Exp(2), b.Plus(b.LogSoftmax(own), share)) // r_k softmax
		if mixed != nil {
			p = b.Plus(mixed, p)
		}
		mixed = p
	}
	return b.LogSoftmax(b.Apply(op.FlooredLog(2, leastMixed), mixed))
}

func (m clusteredMap) Loss(b *graph.Builder, in layers.Batch, n int) *gorgonia.Node {
	loss := layers.NLL(b, m, in)
	each := float64(b.Dim(in.LogProbs, 1)) / float64(n)
	for i, name := range m.parts() {
		strength := each
		if i > 0 {
			strength *= m.strength
		}
		loss = b.Plus(loss, layers.Penalty(b, name+"/scale", strength))
		loss = b.Plus(loss, layers.Penalty(b, name+"/bias", strength))
	}
	return loss
}
