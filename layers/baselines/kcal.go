package baselines

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// KCal is kernel calibration as its authors have it (Lin, Trivedi and Sun 2023):
//
//	Π(z) = v + W₂ ELU(v) ,  v = W₁ BN(z) + c                       d = 32
//	p_k(x) = Σ_j K_j 1[y_j = k] / Σ_j K_j ,  K_j = exp(−mean_l (Π(x) − Π(z_j))_l² / h)
//
// Π is trained at h₀ = 1 by the log loss of batches of 64 queries against a
// background drawn for each batch, at most 20 rows of each class, a row counting
// n_k/(rows drawn of its class) and none for itself. Then h is found by golden
// section on [h₀/10, 10 h₀] for the 20-fold cross-validated log loss of the
// calibration rows, over all of which it predicts. Where no row is near (ΣK ≤ 1e-10)
// the prior is predicted.
//
// BN standardizes with the moments of all calibration rows rather than of a batch,
// so that rows do not depend on their batch; its scale and shift are W₁'s and c's.
// The authors leave the optimizer open; it is the same for every network here: Adam with
// rate 1e-3, at most 100 epochs, early stopping on the validation rows' log loss
// over all calibration rows. It needs features and labels, and only the number of
// logits.
type KCal struct {
	Dimensions int          // d; 0: 32
	Bandwidth  float64      // h₀, that it trains with; 0: 1
	Folds      int          // of the cross-validation that chooses h; 0: 20
	Method     optim.Method // nil: Adam{} in batches of 64, as where Settings name no rule or batch

	remembering
	took time.Duration
}

var (
	_ layers.Stateful = (*KCal)(nil)
	_ layers.Similar  = (*KCal)(nil)
)

const (
	kcalBackground = 20  // rows of each class
	kcalFolds      = 20  // of the cross-validation
	kcalBandwidth  = 1.0 // h₀
	// What a class's kernel sum is floored at in training, where a query may be far
	// from all of the background.
	kcalFloor = 1e-10
)

// Fit trains Π, chooses h, and remembers cal.
func (m *KCal) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	began := time.Now()
	defer func() { m.took = time.Since(began) }()
	sizes, err := sizesOf(cal, withFeatures)
	if err != nil {
		return wrap("KCal", err)
	}
	of := projectionMap{cmp.Or(m.Dimensions, 32), cmp.Or(m.Bandwidth, kcalBandwidth), newBackground(aimsOf(cal), sizes.Classes)}
	if of.d < 1 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d dimensions make no kernel; choose at least 1", of.d)}
	}
	m.Judge = func() (float64, error) {
		points, err := m.Of(cal, of.project)
		if err != nil {
			return 0, err
		}
		queries, err := m.Of(val, of.project)
		if err != nil {
			return 0, err
		}
		memory := newMemory(points.Float32s(), of.d, aimsOf(cal), sizes.Classes)
		return logLoss(memory.estimate(queries.Float32s(), of.constant(), nil), val), nil
	}
	start, err := of.Init(sizes, rng)
	if err != nil {
		return wrap("KCal", err)
	}
	setStandardizer(start, data.FitStandardizer(cal.Features))
	m.byMinibatches(of, start, 64, m.Method)
	fitErr := m.Trained.Fit(ctx, cal, val, rng)
	if m.Weights() == nil {
		return wrap("KCal", fitErr)
	}
	if err := m.remember(cal, of.project); err != nil {
		return wrap("KCal", err)
	}
	h := of.h
	if fitErr == nil {
		h = m.memory.bandwidth(ctx, float64(of.d), h, cal.Kinds(), cmp.Or(m.Folds, kcalFolds), rng)
		fitErr = ctx.Err()
	}
	m.Weights().AddState("kernel/bandwidth", []float64{h}, 1)
	return wrap("KCal", fitErr)
}

// projectionMap is Π. As a map it is the kernel estimate among the rows of a batch; its
// fit has that of a batch against the background.
type projectionMap struct {
	d          int
	h          float64
	background background
}

// constant is c in exp(−c‖·‖²).
func (m projectionMap) constant() float64 { return 1 / (float64(m.d) * m.h) }

// Init has projection/in (M×d), projection/bias (d) and projection/out (d×d), started
// as torch.nn.Linear does, and the moments of BN.
func (m projectionMap) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	features, d := s.Features, m.d
	w := graph.NewWeights(tensor.Float64)
	in, out := 1/math.Sqrt(float64(features)), 1/math.Sqrt(float64(d))
	w.Add("projection/in/weight", graph.Uniforms(features*d, in, rng), features, d)
	w.Add("projection/in/bias", graph.Uniforms(d, in, rng), d)
	w.Add("projection/out", graph.Uniforms(d*d, out, rng), d, d)
	addStandardizer(w, s)
	return w, nil
}

// Inputs are BN(z) and, of labelled rows, w 1[y = k].
func (projectionMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	z, err := standardized(v.Set, w)
	if err != nil {
		return nil, err
	}
	in := map[string]mat.Matrix{"features": z}
	if v.Set.Labels != nil {
		in["aims"] = v.Set.Targets(v.LogProbs.RawMatrix().Cols)
	}
	return in, nil
}

// project describes Π of the batch (B×d).
func (m projectionMap) project(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return m.of(b, in.Input(b, "features"))
}

// of describes Π of standardized features (B×d).
func (projectionMap) of(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	v := b.Linear("projection/in", z)
	return b.Plus(v, b.MatMul(b.Apply(op.ELU(2), v), b.Weight("projection/out")))
}

// estimate describes log p of the queries of a batch by points of these kinds and classes, none of a
// query's own kind.
func (m projectionMap) estimate(b *graph.Builder, in layers.Batch, queries, points, kinds, classes *gorgonia.Node) *gorgonia.Node {
	kernel := b.Apply(op.OmitSelf(), b.Apply(op.Gaussian(m.constant()), queries, points), in.Kinds(b), kinds)
	return b.LogSoftmax(b.Apply(op.FlooredLog(2, kcalFloor), b.MatMul(kernel, classes)))
}

func (m projectionMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	points := m.project(b, in)
	return m.estimate(b, in, points, points, in.Kinds(b), in.Input(b, "aims"))
}

// NoisyLoss is the log loss of the batch against a background drawn for it.
func (m projectionMap) NoisyLoss(b *graph.Builder, in layers.Batch, _ int, noise layers.Noise) *gorgonia.Node {
	g := m.background
	rows := b.Apply(op.Background(noise.Seed), b.Table("order", g.order), b.Table("begins", g.begins), b.Table("classes", g.classes), noise.Step)
	queries := m.project(b, in)
	points := m.of(b, b.Apply(op.Take(op.Matrix), in.AllRows(b, "features"), rows))
	classes := b.Table("weighed", g.weighed)
	if g.shares != nil {
		classes = b.Apply(op.Take(op.Matrix), b.Table("shares", g.shares), rows)
	}
	return b.NLL(m.estimate(b, in, queries, points, in.KindsOf(b, rows), classes), in.Labels(b))
}

// background is what op.Background draws from, and the J×C weights of what it draws:
// n_k / (rows drawn of class k) in column k. Of rows with weights and soft labels the N×C numbers
// w_i q_ik n / (rows drawn), n and rows drawn of the class of the row's label, are shares.
type background struct{ order, begins, classes, weighed, shares *tensor.Dense }

func newBackground(aims *data.Set, classes int) background {
	labels := aims.Labels
	rows := data.UpTo(len(labels))
	slices.SortStableFunc(rows, func(i, j int) int { return labels[i] - labels[j] })
	starts, drawn, at := make([]int, classes+1), []int(nil), 0
	var weights []float64
	for k := range classes {
		starts[k] = at
		for at < len(rows) && labels[rows[at]] == k {
			at++
		}
		n := at - starts[k]
		for range min(n, kcalBackground) {
			drawn = append(drawn, k)
			weights = append(weights, float64(n)/float64(min(n, kcalBackground)))
		}
	}
	starts[classes] = at
	y := make([]float64, len(drawn)*classes)
	for j, k := range drawn {
		y[j*classes+k] = weights[j]
	}
	var shares *tensor.Dense
	if !aims.Certain() {
		each := aims.Targets(classes)
		for i, label := range labels {
			n := starts[label+1] - starts[label]
			floats.Scale(float64(n)/float64(min(n, kcalBackground)), each.RawRowView(i))
		}
		shares = graph.Matrix(tensor.Float32, each)
	}
	return background{shares: shares, order: graph.Labels(rows), begins: graph.Labels(starts), classes: graph.Labels(drawn), weighed: graph.Tensor(tensor.Float32, y, len(drawn), classes)}
}

// bandwidth is h, to h₀/100, by golden section for the cross-validated log loss of
// the points, those of one kind (nil: each of its own) in one fold. It gives up, with the best h so
// far, when ctx is cancelled.
func (m *memory) bandwidth(ctx context.Context, d, h0 float64, kinds []int, among int, rng *rand.Rand) float64 {
	if kinds == nil {
		kinds = data.UpTo(len(m.aims.Labels))
	}
	foldOf := make([]int, slices.Max(kinds)+1)
	for i, at := range rng.Perm(len(foldOf)) {
		foldOf[at] = i % min(among, len(foldOf))
	}
	folds := data.Each(kinds, func(kind int) int { return foldOf[kind] })
	loss := func(h float64) float64 { return logLoss(m.estimate(m.points, 1/(d*h), folds), m.aims) }
	const ratio = 0.6180339887498949 // (√5 − 1)/2
	lo, hi := h0/10, 10*h0
	a, b := hi-ratio*(hi-lo), lo+ratio*(hi-lo)
	fa, fb := loss(a), loss(b)
	for hi-lo > h0/100 && ctx.Err() == nil {
		if fa <= fb {
			hi, b, fb = b, a, fa
			a = hi - ratio*(hi-lo)
			fa = loss(a)
		} else {
			lo, a, fa = a, b, fb
			b = lo + ratio*(hi-lo)
			fb = loss(b)
		}
	}
	if fa <= fb {
		return a
	}
	return b
}

// logLoss is −mean log p[y] by weight, p floored at 1e-10.
func logLoss(p *mat.Dense, aims *data.Set) float64 {
	var sum float64
	for i := range aims.Labels {
		for y, q := range aims.Shares(i) {
			sum -= aims.Weight(i) * q * math.Log(max(p.At(i, y), kcalFloor))
		}
	}
	return sum / aims.Total()
}

// Predict is the kernel estimate over the remembered rows.
func (m *KCal) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(x, projectionMap{}.project, func(w *graph.Weights) float64 {
		return projectionMap{d: m.memory.d, h: w.Float64s("kernel/bandwidth")[0]}.constant()
	})
}

// Similarity is Π of each row of x (N×d).
func (m *KCal) Similarity(x *data.Set) (*mat.Dense, error) {
	return m.matrix(x, projectionMap{}.project)
}

// Stages reports how the fit ended, with the time of all of it.
func (m *KCal) Stages() []layers.Stage {
	return []layers.Stage{{Name: "train", Result: m.Result, Time: m.took}}
}

// Restore sets Π, h and the remembered rows.
func (m *KCal) Restore(s layers.State) error {
	d := firstAxis(s.Weights, "projection/out")
	return m.restoreMemory(projectionMap{d: d}, s, d, "kernel/bandwidth")
}
