package baselines

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// LocalNets (Barbera et al. 2025) trains a new head u together with a similarity s,
//
//	a = Dropout(ReLU(W₁ z + b₁)) ,  s = W_s a + b_s + α_s ⊙ pca(z) + β_s
//	u = W_c a + b_c + α_c ⊙ logits + β_c
//
// such that the head's P₂ = softmax(u) agrees with the kernel estimate P₁ of its batch
// in s,
//
//	λ·JS(P₁, P₂) + CE(P₁, y) ,  λ = 1
//
// by Adam with rate 1e-3 and no weight decay over batches of 1024. Validation, if
// there is any, is by the same loss within batches of the validation rows, without
// dropout. It predicts P₂. It needs features, logits and labels.
type LocalNets struct {
	Hidden  int            // width of the hidden layer; 0: 64 for C ≤ 10, else 128
	Dropout *float64       // nil: 0.3 for C ≤ 10, else 0.5
	Sigma   float64        // σ of the kernel; 0: 10
	Lambda  float64        // λ; 0: 1
	Optim   optim.Settings // nil Rule: Adam{}; Batch 0: 1024

	Result optim.Result // of the last Fit
	time   time.Duration

	net similarityNet
	w   *graph.Weights
}

var (
	_ layers.Stateful = (*LocalNets)(nil)
	_ layers.Similar  = (*LocalNets)(nil)
)

// Fit trains on cal and stops early on val.
func (m *LocalNets) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) (err error) {
	start := time.Now()
	defer func() { m.time = time.Since(start) }()
	sigma, lambda := orDefault(m.Sigma, publishedSigma), orDefault(m.Lambda, 1)
	t := netTrainer{hidden: m.Hidden, dropout: m.Dropout, settings: m.Optim, scores: true,
		loss: func(b *graph.Builder, n similarityNet, a *gorgonia.Node, t *netTables) *gorgonia.Node {
			p1 := neighbourhood(b, n.similarity(b, a, t), b.Take("onehot", t.onehot), b.Take("number", t.number), sigma)
			p2 := b.Apply(op.Exp(2), b.LogSoftmax(n.scores(b, a, t)))
			js := b.Apply(op.Scale(0, lambda), b.Apply(op.JensenShannon(), p1, p2))
			return b.Plus(js, kernelCrossEntropy(b, p1, b.Take("labels", t.labels)))
		}}
	m.net, m.w, m.Result, err = t.fit(ctx, cal, val, rng)
	return wrap("Local Nets", err)
}

// Predict is log softmax(u).
func (m *LocalNets) Predict(x *data.Set) (*data.Predictions, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	t, err := m.net.tables(x, m.w)
	if err != nil {
		return nil, err
	}
	c := m.net.Sizes.Classes
	out := mat.NewDense(x.Len(), c, nil)
	f := graph.NewFunction(m.w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{m.net.scores(b, m.net.hidden(b, t), t)}
	})
	err = f.Each(x.Len(), layers.EvaluationBatch, func(lo int, outputs []gorgonia.Value) error {
		copy(out.RawMatrix().Data[lo*c:], graph.Float64s(outputs[0]))
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := normalize(out); err != nil {
		return nil, err
	}
	return data.NewPredictions(out, x.Labels)
}

// Similarity is the similarity s of each row of x (N×P).
func (m *LocalNets) Similarity(x *data.Set) (*mat.Dense, error) { return embedding(m.net, m.w, x) }

// Stages tells how the fit ended.
func (m *LocalNets) Stages() []layers.Stage {
	return []layers.Stage{{Name: "train", Result: m.Result, Time: m.time}}
}

// State is the network and its sizes.
func (m *LocalNets) State() (layers.State, error) { return netState(m.net, m.w) }

// Restore sets them.
func (m *LocalNets) Restore(s layers.State) error {
	net, err := restoreNet(s, true, nil)
	if err != nil {
		return err
	}
	m.net, m.w = net, s.Weights
	return nil
}

// netTrainer fits a similarityNet by minibatches.
type netTrainer struct {
	hidden   int
	dropout  *float64
	settings optim.Settings
	scores   bool
	loss     func(b *graph.Builder, n similarityNet, a *gorgonia.Node, t *netTables) *gorgonia.Node
}

func (r netTrainer) fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) (similarityNet, *graph.Weights, optim.Result, error) {
	fail := func(err error) (similarityNet, *graph.Weights, optim.Result, error) {
		return similarityNet{}, nil, optim.Result{}, err
	}
	sizes, err := sizesOf(cal)
	if err != nil {
		return fail(err)
	}
	width, rate := defaultNet(r.hidden, r.dropout, sizes.Classes)
	if width < 1 || !(rate >= 0 && rate < 1) {
		return fail(&layers.SettingError{Reason: fmt.Sprintf("a hidden layer of %d units with dropout %v cannot be trained; choose at least 1 unit and a dropout in [0, 1)", width, rate)})
	}
	e, err := fitEmbedding(cal)
	if err != nil {
		return fail(err)
	}
	net := similarityNet{Sizes: sizes, Hidden: width, Scores: r.scores}
	w := net.weights(e, rng).As(tensor.Float32)
	train, err := net.tables(cal, w)
	if err != nil {
		return fail(err)
	}
	seed, clocked := rng.Uint64(), withClock(w)
	problem := optim.Problem{Rows: cal.Len(), Loss: graph.NewObjective(clocked, func(b *graph.Builder) *gorgonia.Node {
		a := b.Apply(op.Dropout(rate, seed), net.hidden(b, train), tick(b))
		return r.loss(b, net, a, train)
	})}
	if val != nil {
		if err := judges(val, sizes); err != nil {
			return fail(err)
		}
		held, err := net.tables(val, w)
		if err != nil {
			return fail(err)
		}
		loss := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
			return gorgonia.Nodes{r.loss(b, net, net.hidden(b, held), held)}
		})
		problem.Validation = func(s graph.Session) (float64, error) { return s.Mean(loss, val.Len(), layers.EvaluationBatch) }
	}
	s := r.settings
	if s.Batch == 0 {
		s.Batch = 1024
	}
	result, err := optim.Minimize(ctx, problem, s, rng)
	if err != nil && ctx.Err() == nil {
		return fail(err)
	}
	return net, w, result, err
}

// embedding is s of each row of x as a matrix.
func embedding(net similarityNet, w *graph.Weights, x *data.Set) (*mat.Dense, error) {
	if w == nil {
		return nil, layers.ErrUnfitted
	}
	s, p, err := net.embed(x, w)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(x.Len(), p, float64s(s)), nil
}

func netState(net similarityNet, w *graph.Weights) (layers.State, error) {
	if w == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	config, err := json.Marshal(net)
	return layers.State{Config: config, Weights: w}, err
}

// restoreNet checks a state against the shapes of its network and of more.
func restoreNet(s layers.State, scores bool, more func(similarityNet) map[string]tensor.Shape) (similarityNet, error) {
	var net similarityNet
	if err := json.Unmarshal(s.Config, &net); err != nil {
		return net, fmt.Errorf("baselines: the network's sizes cannot be read: %w", err)
	}
	if err := checkSizes(net.Sizes); err != nil {
		return net, err
	}
	if net.Hidden < 1 || net.Sizes.Features < 1 || net.Scores != scores {
		return net, fmt.Errorf("baselines: %d hidden units on %d features make no such network", net.Hidden, net.Sizes.Features)
	}
	if err := errors.Join(requireLength(s.Weights, "hidden/bias", net.Hidden), requireLength(s.Weights, "embedding/mean", net.Sizes.Features)); err != nil {
		return net, err
	}
	if net.Scores {
		if err := requireLength(s.Weights, "scores/bias", net.Sizes.Classes); err != nil {
			return net, err
		}
	}
	want := net.weights(blankEmbedding(net.Sizes), rand.New(rand.NewPCG(0, 0))).Shapes()
	if more != nil {
		for name, shape := range more(net) {
			want[name] = shape
		}
	}
	return net, s.Weights.Require(want)
}

// orDefault is v, or def where v is the zero of a field.
func orDefault(v, def float64) float64 {
	if v == 0 {
		return def
	}
	return v
}
