package baselines

import (
	"context"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Kernel is the paper's "KC": the similarity network of Local Nets trained with
// λ = 0, that is on the cross-entropy of the kernel estimate alone, and predicting
// by that kernel over all calibration rows. The published run predicted over the
// validation rows. The method of Lin et al. is [KCal].
//
// It needs features and labels; of the logits it takes only their number.
type Kernel struct {
	Hidden  int            // width of the hidden layer; 0: 64 for C ≤ 10, else 128
	Dropout *float64       // nil: 0.3 for C ≤ 10, else 0.5
	Sigma   float64        // σ of the kernel; 0: 10
	Optim   optim.Settings // nil Rule: Adam{}; Batch 0: 1024

	Result optim.Result // of the last Fit
	time   time.Duration

	net    similarityNet
	w      *graph.Weights // with the state memory/… and kernel/sigma (1)
	memory *memory
}

var (
	_ layers.Stateful = (*Kernel)(nil)
	_ layers.Similar  = (*Kernel)(nil)
)

// Fit trains on cal, stops early on val, and remembers cal.
func (m *Kernel) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	start := time.Now()
	defer func() { m.time = time.Since(start) }()
	sigma := orDefault(m.Sigma, publishedSigma)
	t := netTrainer{hidden: m.Hidden, dropout: m.Dropout, settings: m.Optim,
		loss: func(b *graph.Builder, n similarityNet, a *gorgonia.Node, t *netTables) *gorgonia.Node {
			p1 := neighbourhood(b, n.similarity(b, a, t), b.Take("onehot", t.onehot), b.Take("number", t.number), sigma)
			return kernelCrossEntropy(b, p1, b.Take("labels", t.labels))
		}}
	net, w, result, fitErr := t.fit(ctx, cal, val, rng)
	if w == nil {
		return wrap("the kernel", fitErr)
	}
	s, p, err := net.embed(cal, w)
	if err != nil {
		return wrap("the kernel", err)
	}
	m.memory = newMemory(s, p, cal.Labels, net.Sizes.Classes)
	addMemory(w, "memory", m.memory)
	w.AddState("kernel/sigma", []float64{sigma}, 1)
	m.net, m.w, m.Result = net, w, result
	return wrap("the kernel", fitErr)
}

// Predict is the kernel estimate over the remembered rows.
func (m *Kernel) Predict(x *data.Set) (*data.Predictions, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	s, _, err := m.net.embed(x, m.w)
	if err != nil {
		return nil, err
	}
	sigma := m.w.Float64s("kernel/sigma")[0]
	return predictions(m.memory.estimate(s, kernelConstant(sigma), nil), x.Labels)
}

// Similarity is the similarity s of each row of x (N×P).
func (m *Kernel) Similarity(x *data.Set) (*mat.Dense, error) { return embedding(m.net, m.w, x) }

// Stages tells how the fit ended.
func (m *Kernel) Stages() []layers.Stage {
	return []layers.Stage{{Name: "train", Result: m.Result, Time: m.time}}
}

// State is the network, its sizes and the remembered rows.
func (m *Kernel) State() (layers.State, error) { return netState(m.net, m.w) }

// Restore sets them.
func (m *Kernel) Restore(s layers.State) error {
	net, err := restoreNet(s, false, func(n similarityNet) map[string]tensor.Shape {
		rows := total(n.Sizes.Counts)
		return map[string]tensor.Shape{"memory/points": {rows, components(n.Sizes)}, "memory/labels": {rows}, "kernel/sigma": {1}}
	})
	if err != nil {
		return err
	}
	memory, err := readMemory(s.Weights, "memory", net.Sizes.Classes)
	if err != nil {
		return err
	}
	m.net, m.w, m.memory = net, s.Weights, memory
	return nil
}
