package baselines

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/work"
	"calibra/layers"
	"calibra/layers/trees"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Boosted are boosted residuals: trees of the features and the classifier's scores, each
// grown on the residuals of the trees before it (Friedman 2001),
//
//	posterior = softmax(βℓ + η Σ_r v_r(z, βℓ))
//
// MCGrad (Tax et al. 2025) calibrates two classes in this way; the form for C classes is ours. A
// tree has C outputs, with the gradient w(p − y) and the curvature w p(1 − p) in all of them; w is
// the row's weight and y its label, 1 in its class, or the shares of a soft label. As in MCGrad, β
// is found by maximum likelihood before the first tree, a leaf has a least curvature, and the loss
// of a stratified fifth of the rows, held out, gives the number of trees; all rows are then fitted
// with as many. Each tree uses a random part of the columns.
type Boosted struct {
	Rounds int     // trees at most; 0: 200
	Depth  int     // 0: 4
	Rate   float64 // η; 0: 0.2

	kept  // boosted/inverse_temperature (1), boosted/columns, /edges (R×D), /values (R·2^D×C)
	trees []*trees.Tree
}

var _ layers.Stateful = (*Boosted)(nil)

// boostedPatience is how many trees without a lower held-out loss end the search.
const boostedPatience = 15

// Fit learns from cal, which needs features. It is whole or not there: interrupted it keeps
// nothing.
func (m *Boosted) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	sizes, err := sizesOf(cal, withFeatures)
	if err != nil {
		return wrap("boosted residuals", err)
	}
	if m.Rounds < 0 || m.Depth < 0 || m.Depth > 8 || m.Rate < 0 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d trees of depth %d at a rate of %g cannot be grown; choose a depth from 1 to 8 and positive numbers", m.Rounds, m.Depth, m.Rate)}
	}
	parts := cal.Stratify([]float64{0.8, 0.2}, rng)
	seed := rng.Uint64()
	all, err := m.boosting(cal, sizes, seed)
	if err != nil {
		return wrap("boosted residuals", err)
	}
	rounds := 0
	if len(parts[0]) > 0 && len(parts[1]) > 0 {
		if rounds, err = m.search(work.Span(ctx, "search for the number of trees", 0, 0.5), cal.Rows(parts[0]), cal.Rows(parts[1]), sizes, seed); err != nil {
			return wrap("boosted residuals", err)
		}
	}
	fitting := work.Span(ctx, "", 0.5, 1)
	for r := range rounds {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("boosted residuals, interrupted at tree %d: %w", r, err)
		}
		work.Report(fitting, float64(r)/float64(rounds), "trees of all rows")
		all.grow()
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("boosted residuals, interrupted: %w", err)
	}
	m.kept, m.trees = kept{sizes, boostedWeights(sizes, all.beta, all.trees)}, all.trees
	return nil
}

// boosting are rows with the scores that the trees so far give them.
type boosting struct {
	Boosted
	aims    *data.Set
	equal   ties
	beta    float64
	said    *mat.Dense // ℓ, N×C
	x       *mat.Dense // N×(M+C), what the trees see: z and βℓ
	scores  *mat.Dense // N×C
	g, h    *mat.Dense // N×C, of the losses at the scores
	bins    *trees.Bins
	columns *rand.Rand
}

// boosting starts rows to be fitted, at their own β; the seed draws the columns.
func (m *Boosted) boosting(rows *data.Set, s layers.Sizes, seed uint64) (*boosting, error) {
	l, err := logProbsOf(rows, s)
	if err != nil {
		return nil, err
	}
	n, c := l.Dims()
	b := &boosting{
		Boosted: Boosted{Depth: m.Depth, Rate: cmp.Or(m.Rate, 0.2)}, aims: rows, equal: tiesOf(rows), said: l,
		x: mat.NewDense(n, s.Features+c, nil), g: mat.NewDense(n, c, nil), h: mat.NewDense(n, c, nil), columns: rand.New(rand.NewPCG(seed, 0)),
	}
	for i := range n {
		row := b.x.RawRowView(i)[:s.Features]
		copy(row, data.Row(rows.Features, i, row))
	}
	b.start(math.Exp(bisectInverse(l, rows)))
	return b, nil
}

// lowestSeen is βℓ as trees see it of a class that cannot be.
const lowestSeen = -data.MaskDepth

// start sets the scores to βℓ.
func (b *boosting) start(beta float64) {
	b.beta = beta
	b.scores = mat.DenseCopyOf(b.said)
	b.scores.Scale(beta, b.scores)
	n, c := b.said.Dims()
	_, width := b.x.Dims()
	seen := b.x.Slice(0, n, width-c, width).(*mat.Dense)
	seen.Copy(b.scores)
	unmask(seen, lowestSeen)
	b.bins = nil
}

// loss is the mean of −log p of the labels, by weight; it sets g and h.
func (b *boosting) loss() float64 {
	n := b.aims.Len()
	losses := make([]float64, n)
	work.Each(n, rowsAtOnce, func(i int) {
		s, g, h, w := b.scores.RawRowView(i), b.g.RawRowView(i), b.h.RawRowView(i), b.aims.Weight(i)
		all := floats.LogSumExp(s)
		for k, v := range s {
			p := math.Exp(v - all)
			g[k], h[k] = w*p, w*p*(1-p)
		}
		for y, q := range b.aims.Shares(i) {
			g[y] -= w * q
			losses[i] += w * q * (all - s[y])
		}
	})
	return floats.Sum(losses) / b.aims.Total()
}

// grow adds a tree.
func (b *boosting) grow() *trees.Tree {
	if b.bins == nil {
		b.bins = trees.NewBins(b.x, b.width, b.aims.Weights)
	}
	b.loss()
	_, m := b.x.Dims()
	columns := b.columns.Perm(m)[:max(min(m, 16), m/4)] // of many a part predicts as well
	t := trees.Grow(b.bins, columns, b.g, b.h, trees.Settings{Depth: b.Depth})
	t.Values.Scale(b.Rate, t.Values)
	b.trees = append(b.trees, t)
	b.add(t)
	return t
}

// width is how far apart values of a column that trees see may lie that are one value: of βℓ, as [ties].
func (b *boosting) width(column int, v float64) float64 {
	_, m := b.x.Dims()
	if _, c := b.said.Dims(); column < m-c {
		return 0
	}
	if p := math.Exp(v / b.beta); p > 0 {
		return b.beta * b.equal.width(p) / p
	}
	return 0
}

// add adds a tree's output to the scores.
func (b *boosting) add(t *trees.Tree) {
	work.Each(b.aims.Len(), rowsAtOnce, func(i int) {
		floats.Add(b.scores.RawRowView(i), t.Values.RawRowView(t.Leaf(b.x.RawRowView(i))))
	})
}

// search grows trees on some rows and gives the number with the least loss on others, held out.
func (m *Boosted) search(ctx context.Context, fitted, held *data.Set, s layers.Sizes, seed uint64) (rounds int, err error) {
	fit, err := m.boosting(fitted, s, seed)
	if err != nil {
		return 0, err
	}
	judge, err := m.boosting(held, s, seed)
	if err != nil {
		return 0, err
	}
	judge.start(fit.beta)
	least, most := judge.loss(), cmp.Or(m.Rounds, 200)
	for r := 0; r < most && r-rounds < boostedPatience; r++ {
		if err := ctx.Err(); err != nil {
			return 0, fmt.Errorf("interrupted at tree %d: %w", r, err)
		}
		work.Report(ctx, float64(r)/float64(most), "trees")
		judge.add(fit.grow())
		if loss := judge.loss(); loss < least {
			least, rounds = loss, r+1
		}
	}
	return rounds, nil
}

// boostedWeights are β and the trees. Levels that a tree lacks split column 0 at +∞, so that
// all rows go to the leaf without the level's bit.
func boostedWeights(s layers.Sizes, beta float64, all []*trees.Tree) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	w.AddState("boosted/inverse_temperature", []float64{beta}, 1)
	if len(all) == 0 {
		return w
	}
	depth := 0
	for _, t := range all {
		depth = max(depth, len(t.Columns))
	}
	depth = max(depth, 1)
	var columns, edges, values []float64
	for _, t := range all {
		step := 1 << (depth - len(t.Columns))
		padded := mat.NewDense(1<<depth, s.Classes, nil)
		for leaf := range t.Values.RawMatrix().Rows {
			padded.SetRow(leaf*step, t.Values.RawRowView(leaf))
		}
		values = append(values, padded.RawMatrix().Data...)
		for l := range depth {
			column, edge := 0, math.MaxFloat64
			if l < len(t.Columns) {
				column, edge = t.Columns[l], t.Edges[l]
			}
			columns, edges = append(columns, float64(column)), append(edges, edge)
		}
	}
	w.AddState("boosted/columns", columns, len(all), depth)
	w.AddState("boosted/edges", edges, len(all), depth)
	w.AddState("boosted/values", values, len(all)<<depth, s.Classes)
	return w
}

// Predict adds the trees to the classifier's scores.
func (m *Boosted) Predict(x *data.Set) (*data.Predictions, error) {
	l, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	l.Scale(m.number("boosted/inverse_temperature"), l)
	n, c := l.Dims()
	work.Each(n, rowsAtOnce, func(i int) {
		row, scores := make([]float64, m.sizes.Features+c), l.RawRowView(i)
		copy(row, data.Row(x.Features, i, row[:m.sizes.Features]))
		copy(row[m.sizes.Features:], scores)
		for k, v := range scores {
			if data.Masked(v) {
				row[m.sizes.Features+k] = lowestSeen
			}
		}
		for _, t := range m.trees {
			floats.Add(scores, t.Values.RawRowView(t.Leaf(row)))
		}
	})
	return data.NewPredictions(layers.LogSoftmax(l), x)
}

// ONNX adds the trees to βℓ.
func (m *Boosted) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.w == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	scores := g.Mul(g.Logits(m.sizes.Classes), g.Scalar(m.w.Float64s("boosted/inverse_temperature")[0]))
	out := onnx.Outputs{LogProbs: scores, Classes: m.sizes.Classes}
	if len(m.trees) == 0 {
		return out, nil
	}
	shape := m.w.Tensor("boosted/columns").Shape() // R×D
	rounds, depth := shape[0], shape[1]
	columns, edges := make([]int64, rounds*depth), m.w.Float64s("boosted/edges")
	for at, j := range m.w.Float64s("boosted/columns") {
		columns[at] = int64(j)
	}
	bits := make([]int64, depth)
	for l := range bits {
		bits[l] = 1 << (depth - 1 - l)
	}
	seen := g.Node("Gather", []onnx.Value{g.Concat(1, g.Features(m.sizes.Features), g.Unmasked(scores, lowestSeen)), onnx.Table(g, columns, len(columns))}, onnx.Int("axis", 1))
	above := g.Cast(g.Node("Greater", []onnx.Value{seen, onnx.Table(g, edges, 1, len(edges))}), onnx.Int64)
	leaves := g.Sum(g.Mul(g.Reshape(above, -1, int64(rounds), int64(depth)), onnx.Table(g, bits, depth)), 2, 0) // N×R
	values := onnx.Table(g, m.w.Float64s("boosted/values"), rounds<<depth, m.sizes.Classes)
	out.LogProbs = g.Add(scores, g.TableSum(values, leaves, rounds, 1<<depth))
	return out, nil
}

// Restore sets β and the trees.
func (m *Boosted) Restore(s layers.State) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	shapes := map[string]tensor.Shape{"boosted/inverse_temperature": {1}}
	var all []*trees.Tree
	if s.Weights.Has("boosted/columns") {
		shape := s.Weights.Tensor("boosted/columns").Shape()
		if len(shape) != 2 || shape[0] < 1 || shape[1] < 1 || shape[1] > 8 {
			return errors.New("baselines: the model's trees have no splits that can be read")
		}
		shapes["boosted/columns"], shapes["boosted/edges"] = shape, shape
		shapes["boosted/values"] = tensor.Shape{shape[0] << shape[1], sizes.Classes}
	}
	if err := s.Weights.Require(shapes); err != nil {
		return err
	}
	if len(shapes) > 1 {
		if all, err = readTrees(s.Weights, sizes); err != nil {
			return err
		}
	}
	m.kept, m.trees = kept{sizes, s.Weights}, all
	return nil
}

// readTrees reads what boostedWeights wrote, of weights whose shapes were checked.
func readTrees(w *graph.Weights, s layers.Sizes) (all []*trees.Tree, err error) {
	columns, edges := w.Float64s("boosted/columns"), w.Float64s("boosted/edges")
	shape := w.Tensor("boosted/columns").Shape()
	values := (&kept{w: w}).matrix("boosted/values")
	for r := range shape[0] {
		t := &trees.Tree{Edges: edges[r*shape[1] : (r+1)*shape[1]], Values: values.Slice(r<<shape[1], (r+1)<<shape[1], 0, s.Classes).(*mat.Dense)}
		for _, v := range columns[r*shape[1] : (r+1)*shape[1]] {
			if j := int(v); v != math.Trunc(v) || j < 0 || j >= s.Features+s.Classes {
				return nil, fmt.Errorf("baselines: tree %d of the model splits column %v of %d", r, v, s.Features+s.Classes)
			}
			t.Columns = append(t.Columns, int(v))
		}
		all = append(all, t)
	}
	return all, nil
}
