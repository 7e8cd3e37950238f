package baselines

import (
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

// DensityAware is density-aware calibration (Tomani, Waseda, Shen and Cremers 2023): a temperature
// that grows with the distance from the rows that were seen,
//
//	posterior = softmax(ℓ/T(x)) ,  T(x) = t (a + Σ_l w_l s_l(x)) ,  w ≥ 0
//
// s_l is the squared distance to the K-th nearest row in layer l, between rows divided by their
// lengths. As published, w and a are those of the least loss, T is at least 1e-20, and a search
// starts with T = t·a; t is the best temperature of all rows, so that the identity and temperature
// scaling are among what can be found.
//
// What differs, and why:
//   - the layers are the features and ℓ: a features file has no more of them;
//   - the rows that were seen are the calibration rows, each and its equals left out of its own neighbours, in
//     place of the training rows, which nobody has here;
//   - the loss is the NLL, the default of the authors' program, whose runs set squared errors;
//     a second calibrator behind it, as in those runs, is left to whoever wants one;
//   - K is the distance that the paper names. The published program queries its index for K
//     distances, nearest first, and takes the one K places from the end: the nearest.
type DensityAware struct {
	Neighbours int          // K; 0: 50
	Method     optim.Method // nil: L-BFGS

	kept // density/temperature (1, t), /intercept (1, a), /weight (2, w), /features (N×M), /logits (N×C), /neighbours (1)
}

var _ layers.Stateful = (*DensityAware)(nil)

// kthDistance is the squared distance to the farthest of the nearest.
func kthDistance(nearest largest) float64 {
	if len(nearest) == 0 {
		return 0 // the only calibration row has no neighbour to be far from
	}
	return nearest[0]
}

// densityLayers are the layers in which distances are taken.
var densityLayers = []string{"density/features", "density/logits"}

// Fit learns from cal, which needs features; there is nothing to stop early.
func (m *DensityAware) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	sizes, l, err := logProbsToFit(cal, withFeatures)
	if err != nil {
		return wrap("density-aware calibration", err)
	}
	w := graph.NewWeights(tensor.Float64)
	scores, err := m.distances(ctx, w, cal.Kinds(), data.Dense(cal.Features), unmask(mat.DenseCopyOf(l), 0))
	if err != nil {
		return err
	}
	temperature := math.Exp(-bisectInverse(l, cal))
	l.Scale(1/temperature, l)
	var fitted Fitted
	if err := fitted.fit(ctx, densityMap{}, &data.Set{Features: scores, Logits: l, Labels: cal.Labels, Weights: cal.Weights, Soft: cal.Soft}, nil, m.Method, rng); err != nil {
		return wrap("density-aware calibration", err)
	}
	found := fitted.Weights()
	slopes := found.Float64s("density/root")
	floats.Mul(slopes, slopes)
	w.AddState("density/temperature", []float64{temperature}, 1)
	w.AddState("density/intercept", found.Float64s("density/intercept"), 1)
	w.AddState("density/weight", slopes, len(slopes))
	m.kept = kept{sizes, w}
	return nil
}

// distances are those of the rows to their neighbours in each layer, whose points w keeps.
func (m *DensityAware) distances(ctx context.Context, w *graph.Weights, kinds []int, layers ...*mat.Dense) (*mat.Dense, error) {
	rows, _ := layers[0].Dims()
	scores := mat.NewDense(rows, len(layers), nil)
	for j, z := range layers {
		near, err := newProximity(z, m.Neighbours)
		if err != nil {
			return nil, err
		}
		near.say = kthDistance
		own, err := near.own(ctx, kinds)
		if err != nil {
			return nil, wrap("density-aware calibration", err)
		}
		scores.SetCol(j, own)
		n, p := near.points.Dims()
		w.AddState(densityLayers[j], near.points.RawMatrix().Data, n, p)
		if j == 0 {
			w.AddState("density/neighbours", []float64{float64(near.k)}, 1)
		}
	}
	return scores, nil
}

// leastTemperature bounds T(x)/t from below, as published.
const leastTemperature = 1e-20

// densityMap is softmax(ℓ/(a + Σ_l u_l² s_l)), ℓ divided by t before and s the features of its rows.
// Its weights are density/root (L×1, u) and density/intercept (1, a).
type densityMap struct{}

func (densityMap) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("density/root", slices.Repeat([]float64{0.1}, s.Features), s.Features, 1) // where it is 0 it would stay
	w.Add("density/intercept", []float64{1}, 1)
	return w, nil
}

// Inputs are s.
func (densityMap) Inputs(v *layers.View, _ *graph.Weights) (map[string]mat.Matrix, error) {
	return map[string]mat.Matrix{"distances": v.Set.Features}, nil
}

func (densityMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	l, s := in.LogProbs, in.Input(b, "distances")
	root := b.Weight("density/root")
	t := b.AddRow(b.MatMul(s, b.Times(root, root)), b.Weight("density/intercept")) // B×1
	inverse := b.Apply(op.Exp(2), b.Apply(op.Scale(2, -1), b.Apply(op.FlooredLog(2, leastTemperature), t)))
	return b.LogSoftmax(b.Times(l, in.EachClass(b, inverse)))
}

// Predict divides ℓ by the temperature of each row.
func (m *DensityAware) Predict(x *data.Set) (*data.Predictions, error) {
	l, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	t := slices.Repeat([]float64{m.number("density/intercept")}, x.Len())
	for j, z := range []*mat.Dense{data.Dense(x.Features), unmask(mat.DenseCopyOf(l), 0)} {
		near := proximity{m.matrix(densityLayers[j]), int(m.number("density/neighbours")), kthDistance}
		for i, s := range near.of(z) {
			t[i] += m.w.Float64s("density/weight")[j] * s
		}
	}
	all := m.number("density/temperature")
	for i, row := range rowsOf(l) {
		by := max(t[i], leastTemperature)
		for k := range row {
			row[k] = row[k] / all / by
		}
	}
	return data.NewPredictions(layers.LogSoftmax(l), x)
}

// ONNX returns why there is no network.
func (*DensityAware) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

// Restore sets the temperature's weights and the rows that distances are taken to.
func (m *DensityAware) Restore(s layers.State) error {
	of, err := readKept(s, func(of layers.Sizes) map[string]tensor.Shape {
		n := firstAxis(s.Weights, densityLayers[0])
		return map[string]tensor.Shape{
			"density/temperature": {1}, "density/intercept": {1}, "density/weight": {2}, "density/neighbours": {1},
			"density/features": {n, of.Features}, "density/logits": {n, of.Classes},
		}
	})
	if err != nil {
		return err
	}
	if k, t := of.number("density/neighbours"), of.number("density/temperature"); !(k >= 1) || k != math.Trunc(k) || k > math.MaxInt32 || !(t > 0) {
		return fmt.Errorf("baselines: a temperature of %v by %v neighbours makes no calibrator", t, k)
	}
	m.kept = of
	return nil
}
