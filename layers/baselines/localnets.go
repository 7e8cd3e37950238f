package baselines

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// LocalNets (Barbera et al. 2025) trains a new head u together with a similarity s,
//
//	a = Dropout(ReLU(W₁ (z − c) + b₁)) ,  s = W_s a + b_s + α_s ⊙ pca(z) + β_s
//	u = W_c a + b_c + α_c ⊙ logits + β_c
//
// with c the mean of the features, such that the head's P₂ = softmax(u) agrees with the kernel estimate P₁ of its batch
// in s,
//
//	λ·JS(P₁, P₂) + CE(P₁, y) ,  λ = 1
//
// by Adam with rate 1e-3 and no weight decay over batches of 1024. Validation, if
// there is any, is by the same loss within batches of the validation rows, without
// dropout. It predicts P₂. It needs features, logits and labels.
type LocalNets struct {
	Hidden  int          // width of the hidden layer; 0: 64 for C ≤ 10, else 128
	Dropout *float64     // nil: 0.3 for C ≤ 10, else 0.5
	Sigma   float64      // σ of the kernel; 0: 10
	Lambda  float64      // λ; 0: 1
	Method  optim.Method // nil: Adam{} in batches of 1024, as where Settings name no rule or batch

	Fitted
}

var (
	_ layers.Stateful = (*LocalNets)(nil)
	_ layers.Similar  = (*LocalNets)(nil)
)

// Fit trains on cal and stops early on val.
func (m *LocalNets) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	sizes, err := sizesOf(cal, toEmbed)
	if err != nil {
		return wrap("Local Nets", err)
	}
	net, err := newSimilarity(m.Hidden, m.Dropout, m.Sigma, sizes.Classes)
	if err != nil {
		return err
	}
	of := localNetsMap{net, cmp.Or(m.Lambda, 1)}
	start, err := net.begin(cal, sizes, of, rng)
	if err != nil {
		return wrap("Local Nets", err)
	}
	m.byMinibatches(of, start, 1024, m.Method)
	return wrap("Local Nets", m.Trained.Fit(ctx, cal, val, rng))
}

// Unbounded says why there are no intervals.
func (*LocalNets) Unbounded() error {
	return errors.New("layers: intervals are of a map fitted to each row by itself, and Local Nets are fitted to like rows together")
}

// Predict is log softmax(u), normalized in float64.
func (m *LocalNets) Predict(x *data.Set) (*data.Predictions, error) {
	u, err := m.matrix(x, func(b *graph.Builder, in layers.Batch) *gorgonia.Node {
		return in.Mask(b, localNetsMap{}.scores(b, in))
	})
	if err == nil {
		layers.Remask(u.RawMatrix().Data)
		err = normalize(u)
	}
	if err != nil {
		return nil, err
	}
	return data.NewPredictions(u, x)
}

// Similarity is the similarity s of each row of x (N×P).
func (m *LocalNets) Similarity(x *data.Set) (*mat.Dense, error) {
	return m.matrix(x, similarityMap{}.similarities)
}

func (m *LocalNets) Restore(s layers.State) error {
	return m.restore(localNetsMap{similarityMap: similarityMap{width: firstAxis(s.Weights, "hidden/bias")}}, s)
}

// localNetsMap is similarityMap with the head u.
type localNetsMap struct {
	similarityMap
	lambda float64
}

func (m localNetsMap) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.similarityMap.Init(s, rng)
	if err == nil {
		addLinear(w, "scores", m.width, s.Classes, rng)
		addBlend(w, "scores", s.Classes, s.Classes, rng)
	}
	return w, err
}

// Inputs are those of the similarity and the logits.
func (m localNetsMap) Inputs(v *layers.View, w *graph.Weights) (map[string]mat.Matrix, error) {
	in, err := m.similarityMap.Inputs(v, w)
	if err == nil {
		in["logits"] = v.LogProbs
	}
	return in, err
}

// InputsONNX are those that the head u reads, the features and the logits.
func (localNetsMap) InputsONNX(g *onnx.Network, v *layers.ONNXView, w *graph.Weights) (map[string]onnx.Value, error) {
	z := g.Sub(g.Features(v.Sizes.Features), onnx.Table(g, w.Float64s(hiddenCentre), 1, v.Sizes.Features))
	return map[string]onnx.Value{"features": z, "logits": v.LogProbs}, nil
}

// scores describes u (B×C).
func (m localNetsMap) scores(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return blend(b, "scores", m.hidden(b, in), in.Input(b, "logits"))
}

func (m localNetsMap) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(m.scores(b, in))
}

// Loss is λ·JS(P₁, P₂) + CE(P₁, y).
func (m localNetsMap) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	return m.loss(b, in, m.hidden(b, in))
}

// NoisyLoss is that with dropout.
func (m localNetsMap) NoisyLoss(b *graph.Builder, in layers.Batch, _ int, noise layers.Noise) *gorgonia.Node {
	return m.loss(b, in, m.noisy(b, in, noise))
}

func (m localNetsMap) loss(b *graph.Builder, in layers.Batch, a *gorgonia.Node) *gorgonia.Node {
	p1 := m.estimate(b, in, a)
	p2 := b.Apply(op.Exp(2), b.LogSoftmax(in.Mask(b, blend(b, "scores", a, in.Input(b, "logits")))))
	weights := in.Weights(b)
	if weights == nil {
		rows := b.Dim(p1, 0)
		weights = b.Table("even weights", graph.Tensor(b.Dtype(), ones(rows), rows))
	}
	js := b.Apply(op.Scale(0, m.lambda), b.Apply(op.JensenShannon(), p1, p2, weights))
	return b.Plus(js, b.NLL(clipped(b, p1), in.Labels(b)))
}

// byMinibatches sets how f is trained: m from start, by Adam{} in batches of that size where the method is nil or
// leaves them open.
func (f *Fitted) byMinibatches(m layers.Map, start *graph.Weights, batch int, method optim.Method) {
	if s, steps := cmp.Or[optim.Method](method, optim.Settings{}).(optim.Settings); steps {
		s.Rule, s.Batch = cmp.Or[optim.Rule](s.Rule, optim.Adam{}), cmp.Or(s.Batch, batch)
		method = s
	}
	judge := f.Judge
	f.Trained = *layers.Train(&original{}, m, method)
	f.Name, f.Start, f.Judge = "train", start, judge
}

// matrix is what describe computes for each row of x.
func (f *Fitted) matrix(x *data.Set, describe func(*graph.Builder, layers.Batch) *gorgonia.Node) (*mat.Dense, error) {
	t, err := f.Of(x, describe)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(x.Len(), t.Shape()[1], graph.Float64s(t)), nil
}

// firstAxis is the length of a weight's first axis, 0 where there is none.
func firstAxis(w *graph.Weights, name string) int {
	if !w.Has(name) || w.Tensor(name).Dims() == 0 {
		return 0
	}
	return w.Tensor(name).Shape()[0]
}
