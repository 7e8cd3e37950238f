package baselines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/layers/trees"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Forest are bagged extremely randomized trees (Geurts, Ernst and Wehenkel 2006) on the features and the classifier's
// log-probabilities, [z, ℓ], pooled with the classifier itself:
//
//	p = (G p′ + 1/C)/(G + 1) ,  log p′ = w₀ βℓ + w₁ log q + constant ,  q = (50 f + 1/C)/51
//
// f are the shares of the classes in the leaves of a row, the mean over the trees ([trees.Growth]), and β is found by
// maximum likelihood on all rows. Leaves are of one row or few, so f remembers labels; w ≥ 0 is therefore found by the
// calibration rows' f of the trees that saw no row of their group (out of bag, Breiman 1996), with [layers.LogLinear].
// Rows that are equal in z and ℓ are in one group, as are those that the set's groups join, and groups are drawn into
// bags as one. Where hardly a row is wrong, β and w grow without bound; the rule of succession by the number of groups
// G keeps p from 0 ([layers.Succession]).
//
// Trees see z less the middle of each column's range, in single precision; values of ℓ that rounding can have moved
// apart are one value. It ignores validation rows. It is whole or not there: interrupted it keeps nothing.
type Forest struct {
	Trees int // at most; 0: 300. There are fewer where their file would be larger than 20 MB

	// forest/nodes and /thresholds as [trees.Forest.Nodes] has them, /shares (K×C) where there are leaves of several
	// classes, and exactly forest/inverse_temperature (1), /pool (2), /centre (M) and /groups (1, G)
	kept
	forest *trees.Forest
	held   *mat.Dense // N×C, see HeldOut
	stages []layers.Stage
}

var (
	_ layers.Stateful = (*Forest)(nil)
	_ layers.HeldOut  = (*Forest)(nil)
	_ layers.Staged   = (*Forest)(nil)
	_ layers.Embedder = (*Forest)(nil)
)

// smoothing is as how many votes of trees f counts beside one that is shared out among the classes. It is no number of
// the trees: from 10 to 300 the loss is the same to .2 %.
const smoothing = 50

// lowestSeen is ℓ as trees see it of a class that cannot be.
const lowestSeen = -data.MaskDepth

// Fit learns from cal, which needs features.
func (m *Forest) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	m.kept, m.forest, m.held, m.stages = kept{}, nil, nil, nil
	start := time.Now()
	if m.Trees < 0 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d trees make no forest", m.Trees)}
	}
	sizes, l, err := logProbsToFit(cal, withFeatures)
	if err != nil {
		return wrap("a forest", err)
	}
	centre, err := middles(cal.Features)
	if err != nil {
		return wrap("a forest", err)
	}
	var t layers.Temperature
	if err := t.Fit(ctx, &data.Set{Logits: l, Labels: cal.Labels, Weights: cal.Weights, Soft: cal.Soft}, nil, nil); err != nil {
		return wrap("a forest", err)
	}
	sample := trees.NewSample(cal.Len(), sizes.Features+sizes.Classes, seenByTrees(cal.Features, centre, settled(l, tiesOf(cal))), cal, sizes.Classes)
	forest, err := (trees.Growth{Trees: m.Trees, Seed: rng.Uint64()}).Forest(work.Span(ctx, "grow trees", 0, 0.9), sample)
	if err != nil {
		return fmt.Errorf("a forest, interrupted: %w", err)
	}
	work.Report(ctx, 0.9, "weigh them by rows out of bag")
	members := forestMembers(l, 1/t.T(), forest.OutOfBag(sample))
	pool, err := layers.LogLinear(members, aimsOf(cal), layers.WeightPrior{})
	if err != nil {
		return wrap("a forest", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("a forest, interrupted: %w", err)
	}
	m.kept, m.forest = kept{sizes, forestWeights(forest, 1/t.T(), pool, centre, sample.Groups())}, forest
	m.held = layers.Succession(layers.Pool(members, pool), sample.Groups())
	m.stages = []layers.Stage{{Name: "grow", Time: time.Since(start), Result: optim.Result{
		Status: optim.Stationary, Validation: math.NaN(), GradientNorm: math.NaN(), Loss: cal.MeanNLL(m.held, math.Inf(-1)),
		Ended: fmt.Sprintf("%d trees of %.1f MB, of weight %.2f beside %.2f of the classifier", forest.Len(), float64(forest.Bytes())/1e6, pool[1], pool[0]),
	}}}
	return nil
}

// middles are the middles of the columns' ranges (M).
func middles(x mat.Matrix) ([]float64, error) {
	n, m := x.Dims()
	least, most, buffer := slices.Repeat([]float64{math.Inf(1)}, m), slices.Repeat([]float64{math.Inf(-1)}, m), make([]float64, m)
	for i := range n {
		for j, v := range data.Row(x, i, buffer) {
			if v-v != 0 {
				return nil, fmt.Errorf("feature %d of row %d is %v", j, i, v)
			}
			least[j], most[j] = min(least[j], v), max(most[j], v)
		}
	}
	for j, v := range least {
		least[j] = v/2 + most[j]/2
	}
	return least, nil
}

// settled is ℓ with one number for values that are one.
func settled(l *mat.Dense, equal ties) *mat.Dense {
	n, c := l.Dims()
	out := mat.DenseCopyOf(l)
	work.Each(c, 1, func(k int) {
		p := make([]float64, n)
		for i := range p {
			p[i] = math.Exp(l.At(i, k))
		}
		for _, v := range equal.values(p) {
			for _, i := range v.rows {
				if v.lo < v.hi {
					out.Set(i, k, math.Log(v.middle()))
				}
			}
		}
	})
	return out
}

// seenByTrees are the rows [z − centre, ℓ], with the least number in place of −∞.
func seenByTrees(z mat.Matrix, centre []float64, l *mat.Dense) trees.Rows {
	return func(dst []float32, i int) {
		for j, c := range centre {
			dst[j] = float32(min(max(z.At(i, j)-c, -math.MaxFloat32), math.MaxFloat32))
		}
		for k, v := range l.RawRowView(i) {
			dst[len(centre)+k] = float32(max(v, lowestSeen))
		}
	}
}

// forestMembers are βℓ and log q, of frequencies f (N×C) that they overwrite, −∞ of classes that cannot be.
func forestMembers(l *mat.Dense, beta float64, f *mat.Dense) []*mat.Dense {
	var scaled mat.Dense
	scaled.Scale(beta, l)
	c := float64(f.RawMatrix().Cols)
	f.Apply(func(i, k int, v float64) float64 {
		if data.Masked(l.At(i, k)) {
			return math.Inf(-1)
		}
		return math.Log((smoothing*v + 1/c) / (smoothing + 1))
	}, f)
	return []*mat.Dense{layers.Renormalize(&scaled), f}
}

// forestWeights are what Fit found.
func forestWeights(f *trees.Forest, beta float64, pool, centre []float64, groups int) *graph.Weights {
	w := graph.NewWeights(tensor.Float32)
	columns, thresholds := f.Nodes()
	w.AddState("forest/nodes", columns, len(columns))
	if len(thresholds) > 0 {
		w.AddState("forest/thresholds", thresholds, len(thresholds))
	}
	if f.Shares != nil {
		k, c := f.Shares.Dims()
		w.AddState("forest/shares", f.Shares.RawMatrix().Data, k, c)
	}
	w.AddExact("forest/inverse_temperature", []float64{beta}, 1)
	w.AddExact("forest/pool", pool, len(pool))
	w.AddExact("forest/centre", centre, len(centre))
	w.AddExact("forest/groups", []float64{float64(groups)}, 1)
	return w
}

// groups is G.
func (m *Forest) groups() int { return int(m.number("forest/groups")) }

// Predict pools what the trees of each row say with the classifier.
func (m *Forest) Predict(x *data.Set) (*data.Predictions, error) {
	l, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	f := m.forest.Frequencies(x.Len(), m.seen(x, l))
	members := forestMembers(l, m.number("forest/inverse_temperature"), f)
	p := layers.Pool(members, m.w.Float64s("forest/pool"))
	return data.NewPredictions(layers.Succession(p, m.groups()), x)
}

// Embed gives the rows of x in the space of the trees, where those that share leaves are near ([trees.Forest.Embed],
// N×128).
func (m *Forest) Embed(x *data.Set) (mat.Matrix, error) {
	l, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	return m.forest.Embed(x.Len(), m.seen(x, l)), nil
}

// seen are the rows of x as the trees see them, of log-probabilities l.
func (m *Forest) seen(x *data.Set, l *mat.Dense) trees.Rows {
	return seenByTrees(x.Features, m.w.Float64s("forest/centre"), l)
}

// HeldOut are the log-probabilities of the rows of the last Fit by the trees that saw no row of their group.
func (m *Forest) HeldOut() *mat.Dense { return m.held }

// Stages tell how many trees the last Fit grew, and what they weigh.
func (m *Forest) Stages() []layers.Stage { return m.stages }

// ONNX adds the trees in single precision, and the pool.
func (m *Forest) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.w == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	classes, pool := m.sizes.Classes, m.w.Float64s("forest/pool")
	l := g.Logits(classes)
	z := g.Sub(g.Features(m.sizes.Features), onnx.Table(g, m.w.Float64s("forest/centre"), 1, m.sizes.Features))
	votes := m.forest.ONNX(g, g.Cast(g.Concat(1, z, g.Unmasked(l, lowestSeen)), onnx.Single))
	q := g.Add(g.Mul(votes, g.Scalar(smoothing/float64(m.forest.Len())/(smoothing+1))), g.Scalar(1/float64(classes)/(smoothing+1)))
	said := g.Mul(l, g.Scalar(pool[0]*m.number("forest/inverse_temperature")))
	p := g.Softmax(g.Add(said, g.Mul(g.Log(q), g.Scalar(pool[1]))))
	return onnx.Outputs{LogProbs: layers.SuccessionONNX(g, p, m.groups(), classes), Classes: classes}, nil
}

// Restore sets the trees and their pool.
func (m *Forest) Restore(s layers.State) error {
	of, err := readKept(s, func(sizes layers.Sizes) map[string]tensor.Shape {
		shapes := map[string]tensor.Shape{
			"forest/inverse_temperature": {1}, "forest/pool": {2}, "forest/centre": {sizes.Features}, "forest/groups": {1},
			"forest/nodes": {firstAxis(s.Weights, "forest/nodes")},
		}
		if s.Weights.Has("forest/thresholds") {
			shapes["forest/thresholds"] = tensor.Shape{firstAxis(s.Weights, "forest/thresholds")}
		}
		if s.Weights.Has("forest/shares") {
			shapes["forest/shares"] = tensor.Shape{firstAxis(s.Weights, "forest/shares"), sizes.Classes}
		}
		return shapes
	})
	if err != nil {
		return err
	}
	var thresholds []float64
	if of.w.Has("forest/thresholds") {
		thresholds = of.w.Float64s("forest/thresholds")
	}
	var shares *mat.Dense
	if of.w.Has("forest/shares") {
		shares = of.matrix("forest/shares")
	}
	classes, nodes := of.sizes.Classes, of.w.Float64s("forest/nodes")
	forest, err := trees.ReadForest(of.sizes.Features+classes, classes, nodes, thresholds, shares)
	if err != nil {
		return fmt.Errorf("baselines: the model's %w", err)
	}
	m.kept, m.forest, m.held, m.stages = of, forest, nil, nil
	return nil
}
