package baselines

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Kernel is the paper's "KC": the similarity network of Local Nets trained with
// λ = 0, that is on the cross-entropy of the kernel estimate alone, and predicting
// by that kernel over the rows that By names. The method of Lin et al. is [KCal].
//
// It needs features, logits and labels, and learns nothing of the logits.
type Kernel struct {
	Hidden  int          // width of the hidden layer; 0: 64 for C ≤ 10, else 128
	Dropout *float64     // nil: 0.3 for C ≤ 10, else 0.5
	Sigma   float64      // σ of the kernel; 0: 10
	Method  optim.Method // nil: Adam{} in batches of 1024, as where Settings name no rule or batch
	By      KernelRows   // whose labels it averages

	remembering // kernel/constant is σ
}

// KernelRows are the rows whose labels a [Kernel] averages.
type KernelRows string

const (
	ByCalibration KernelRows = ""           // those that it was trained on
	ByValidation  KernelRows = "validation" // those that stopped the training, as in the published run
	ByAll         KernelRows = "all"        // both
)

// among are those of cal and val.
func (r KernelRows) among(cal, val *data.Set) (*data.Set, error) {
	switch {
	case r == ByCalibration:
		return cal, nil
	case val == nil:
		return nil, &layers.SettingError{
			Reason: "a kernel over validation rows needs some; give --split paper or --split tables",
		}
	case r == ByValidation:
		return val, nil
	}
	return data.Together(cal, val), nil
}

var (
	_ layers.Stateful = (*Kernel)(nil)
	_ layers.Similar  = (*Kernel)(nil)
)

// Fit trains on cal, stops early on val, and remembers the rows of By.
func (m *Kernel) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	by, err := m.By.among(cal, val)
	if err != nil {
		return wrap("the kernel", err)
	}
	sizes, err := sizesOf(cal, toEmbed)
	if err != nil {
		return wrap("the kernel", err)
	}
	net, err := newSimilarity(m.Hidden, m.Dropout, m.Sigma, sizes.Classes)
	if err != nil {
		return err
	}
	start, err := net.begin(cal, sizes, net, rng)
	if err != nil {
		return wrap("the kernel", err)
	}
	m.byMinibatches(net, start, 1024, m.Method)
	fitErr := m.Trained.Fit(ctx, cal, val, rng)
	if m.Weights() == nil {
		return wrap("the kernel", fitErr)
	}
	if err := m.remember(by, net.similarities); err != nil {
		return wrap("the kernel", err)
	}
	m.Weights().AddState("kernel/sigma", []float64{net.sigma}, 1)
	return wrap("the kernel", fitErr)
}

// Predict is the kernel estimate over the remembered rows.
func (m *Kernel) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(x, similarityMap{}.similarities, func(w *graph.Weights) float64 { return kernelConstant(w.Float64s("kernel/sigma")[0]) })
}

// Similarity is the similarity s of each row of x (N×P).
func (m *Kernel) Similarity(x *data.Set) (*mat.Dense, error) {
	return m.matrix(x, similarityMap{}.similarities)
}

// Restore sets the network and the remembered rows.
func (m *Kernel) Restore(s layers.State) error {
	return m.restoreMemory(similarityMap{width: firstAxis(s.Weights, "hidden/bias")}, s, firstAxis(s.Weights, "embedding/variances"), "kernel/sigma")
}

// remembering is a map of rows to points, and a kernel estimate from those of the
// calibration rows.
type remembering struct {
	Fitted
	memory *memory
}

// Unbounded says why there are no intervals.
func (*remembering) Unbounded() error {
	return errors.New("layers: intervals are of a map that predicts each row by itself, and this method averages the labels of like calibration rows")
}

// remember keeps the points of labelled rows, also among the weights.
func (r *remembering) remember(cal *data.Set, points describe) error {
	t, err := r.Of(cal, points)
	if err != nil {
		*r = remembering{}
		return err
	}
	r.memory = newMemory(float32s(t), t.Shape()[1], aimsOf(cal), cal.Classes())
	labels := make([]float64, cal.Len())
	for i, y := range cal.Labels {
		labels[i] = float64(y)
	}
	r.Weights().AddState("memory/points", graph.Float64s(t), t.Shape()...)
	r.Weights().AddState("memory/labels", labels, len(labels))
	if cal.Weights != nil {
		r.Weights().AddState("memory/weights", cal.Weights, len(labels))
	}
	if cal.Soft != nil {
		r.Weights().AddState("memory/shares", cal.Soft.RawMatrix().Data, len(labels), cal.Classes())
	}
	return nil
}

// describe describes the points of a batch (B×d).
type describe = func(*graph.Builder, layers.Batch) *gorgonia.Node

// predict is the estimate by the kernel exp(−c‖·‖²) with c of the weights.
func (r *remembering) predict(x *data.Set, points describe, c func(*graph.Weights) float64) (*data.Predictions, error) {
	t, err := r.Of(x, points)
	if err != nil {
		return nil, err
	}
	return predictions(r.memory.estimate(float32s(t), c(r.Weights()), nil), x)
}

// ONNX returns why there is no network.
func (*remembering) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

// restoreMemory reads weights of m, the memory of points in d dimensions and one number.
func (r *remembering) restoreMemory(m layers.Map, s layers.State, d int, number string) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	kept, rest := s.Weights.Split(func(name string) bool { return strings.HasPrefix(name, "memory/") || name == number })
	rows, shapes := firstAxis(kept, "memory/labels"), map[string]tensor.Shape{}
	shapes["memory/points"], shapes["memory/labels"], shapes[number] = tensor.Shape{rows, d}, tensor.Shape{rows}, tensor.Shape{1}
	if kept.Has("memory/weights") {
		shapes["memory/weights"] = tensor.Shape{rows}
	}
	if kept.Has("memory/shares") {
		shapes["memory/shares"] = tensor.Shape{rows, sizes.Classes}
	}
	if err := kept.Require(shapes); err != nil {
		return err
	}
	aims := &data.Set{}
	if aims.Labels, err = readLabels(kept.Float64s("memory/labels"), sizes.Classes); err != nil {
		return err
	}
	if kept.Has("memory/weights") {
		aims.Weights = kept.Float64s("memory/weights")
	}
	if kept.Has("memory/shares") {
		aims.Soft = mat.NewDense(rows, sizes.Classes, kept.Float64s("memory/shares"))
	}
	if err := r.restore(m, layers.State{Config: s.Config, Weights: rest}); err != nil {
		return err
	}
	r.Weights().Join(kept)
	r.memory = newMemory(float32s(kept.Tensor("memory/points")), d, aims, sizes.Classes)
	return nil
}
