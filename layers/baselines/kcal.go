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
// The optimizer, which the authors leave open, is that of every net here: Adam with
// rate 1e-3, at most 100 epochs, early stopping on the validation rows' log loss
// over all calibration rows. It needs features and labels; of the logits it takes
// only their number.
type KCal struct {
	Dimensions int            // d; 0: 32
	Bandwidth  float64        // h₀, that it trains with; 0: 1
	Folds      int            // of the cross-validation that chooses h; 0: 20
	Optim      optim.Settings // nil Rule: Adam{}; Batch 0: 64

	Result optim.Result // of the last Fit
	time   time.Duration

	sizes  layers.Sizes
	w      *graph.Weights
	memory *memory
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
	start := time.Now()
	defer func() { m.time = time.Since(start) }()
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	if cal.Features == nil {
		return fmt.Errorf("baselines: fit KCal: the calibration rows have no features")
	}
	d := m.Dimensions
	if d == 0 {
		d = 32
	}
	if d < 1 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d dimensions make no kernel; choose at least 1", d)}
	}
	w := projection(data.FitStandardizer(cal.Features), d, rng).As(tensor.Float32)
	problem, err := m.problem(w, cal, val, sizes, d, rng)
	if err != nil {
		return wrap("KCal", err)
	}
	s := m.Optim
	if s.Batch == 0 {
		s.Batch = 64
	}
	result, fitErr := optim.Minimize(ctx, problem, s, rng)
	if fitErr != nil && ctx.Err() == nil {
		return wrap("KCal", fitErr)
	}
	points, err := project(w, cal)
	if err != nil {
		return wrap("KCal", err)
	}
	memory := newMemory(points, d, cal.Labels, sizes.Classes)
	h := m.h0()
	if fitErr == nil {
		h = memory.bandwidth(ctx, float64(d), h, cmp.Or(m.Folds, kcalFolds), rng)
		fitErr = ctx.Err()
	}
	addMemory(w, "memory", memory)
	w.AddState("kernel/bandwidth", []float64{h}, 1)
	m.sizes, m.w, m.memory, m.Result = sizes, w, memory, result
	return wrap("KCal", fitErr)
}

// h0 is h₀.
func (m *KCal) h0() float64 { return cmp.Or(m.Bandwidth, kcalBandwidth) }

// problem is the training loss and, with val, the validation loss.
func (m *KCal) problem(w *graph.Weights, cal, val *data.Set, sizes layers.Sizes, d int, rng *rand.Rand) (optim.Problem, error) {
	features, err := standardized(w, cal)
	if err != nil {
		return optim.Problem{}, err
	}
	order, begins, classes, weighed := backgroundTables(cal.Labels, sizes.Classes)
	labels, number := graph.Labels(cal.Labels), graph.Labels(upTo(cal.Len()))
	seed := rng.Uint64()
	p := optim.Problem{Rows: cal.Len(), Loss: graph.NewObjective(withClock(w), func(b *graph.Builder) *gorgonia.Node {
		background := b.Apply(op.Background(seed), b.Table("order", order), b.Table("begins", begins), b.Table("classes", classes), tick(b))
		queries := describeProjection(b, b.Take("features", features))
		points := describeProjection(b, b.Apply(op.Take(), b.Table("features", features), background))
		kernel := b.Apply(op.OmitSelf(), b.Apply(op.Gaussian(1/(float64(d)*m.h0())), queries, points), b.Take("number", number), background)
		sums := b.MatMul(kernel, b.Table("weighed", weighed)) // B×C
		return b.NLL(b.LogSoftmax(b.Apply(op.FlooredLog(2, kcalFloor), sums)), b.Take("labels", labels))
	})}
	if val != nil {
		if err := judges(val, sizes); err != nil {
			return optim.Problem{}, err
		}
		p.Validation = func(s graph.Session) (float64, error) {
			if err := s.Fetch(); err != nil {
				return 0, err
			}
			points, err := project(w, cal)
			if err != nil {
				return 0, err
			}
			queries, err := project(w, val)
			if err != nil {
				return 0, err
			}
			memory := newMemory(points, d, cal.Labels, sizes.Classes)
			return logLoss(memory.estimate(queries, 1/(float64(d)*m.h0()), nil), val.Labels), nil
		}
	}
	return p, nil
}

// backgroundTables are what op.Background draws from, and the J×C weights of what it
// draws: n_k / (rows drawn of class k) in column k.
func backgroundTables(labels []int, classes int) (order, begins, of, weighed *tensor.Dense) {
	rows := upTo(len(labels))
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
	return graph.Labels(rows), graph.Labels(starts), graph.Labels(drawn), graph.Tensor(tensor.Float32, y, len(drawn), classes)
}

// projection is Π's weights: projection/in (M×d), projection/bias (d) and
// projection/out (d×d), started as torch.nn.Linear does, and the moments of BN.
func projection(scale *data.Standardizer, d int, rng *rand.Rand) *graph.Weights {
	features := len(scale.Mean)
	w := graph.NewWeights(tensor.Float64)
	in, out := 1/math.Sqrt(float64(features)), 1/math.Sqrt(float64(d))
	w.Add("projection/in/weight", graph.Uniforms(features*d, in, rng), features, d)
	w.Add("projection/in/bias", graph.Uniforms(d, in, rng), d)
	w.Add("projection/out", graph.Uniforms(d*d, out, rng), d, d)
	w.AddState("norm/mean", scale.Mean, features)
	w.AddState("norm/sd", scale.SD, features)
	return w
}

// describeProjection describes Π of standardized features (B×d).
func describeProjection(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	v := b.Linear("projection/in", z)
	return b.Plus(v, b.MatMul(b.Apply(op.ELU(2), v), b.Weight("projection/out")))
}

// standardized is BN(z) of x's rows.
func standardized(w *graph.Weights, x *data.Set) (*tensor.Dense, error) {
	scale := data.Standardizer{Mean: w.Float64s("norm/mean"), SD: w.Float64s("norm/sd")}
	if err := requireFeatures(x, len(scale.Mean)); err != nil {
		return nil, err
	}
	return graph.Matrix(tensor.Float32, scale.Apply(x.Features)), nil
}

// project is Π of x's rows, row by row.
func project(w *graph.Weights, x *data.Set) ([]float32, error) {
	z, err := standardized(w, x)
	if err != nil {
		return nil, err
	}
	var points []float32
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{describeProjection(b, b.Take("features", z))}
	})
	err = f.Each(x.Len(), layers.EvaluationBatch, func(_ int, out []gorgonia.Value) error {
		points = append(points, out[0].(*tensor.Dense).Float32s()...)
		return nil
	})
	return points, err
}

// bandwidth is h, to h₀/100, by golden section for the cross-validated log loss of
// the points. It gives up, with the best h so far, when ctx is cancelled.
func (m *memory) bandwidth(ctx context.Context, d, h0 float64, among int, rng *rand.Rand) float64 {
	folds := make([]int, len(m.labels))
	for i, at := range rng.Perm(len(folds)) {
		folds[at] = i % min(among, len(folds))
	}
	loss := func(h float64) float64 { return logLoss(m.estimate(m.points, 1/(d*h), folds), m.labels) }
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

// logLoss is −mean log p[y], p floored at 1e-10.
func logLoss(p *mat.Dense, labels []int) float64 {
	var sum float64
	for i, y := range labels {
		sum -= math.Log(max(p.At(i, y), kcalFloor))
	}
	return sum / float64(len(labels))
}

// Predict is the kernel estimate over the remembered rows.
func (m *KCal) Predict(x *data.Set) (*data.Predictions, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	points, err := project(m.w, x)
	if err != nil {
		return nil, err
	}
	h := m.w.Float64s("kernel/bandwidth")[0]
	return predictions(m.memory.estimate(points, 1/(float64(m.memory.d)*h), nil), x.Labels)
}

// Similarity is Π of each row of x (N×d).
func (m *KCal) Similarity(x *data.Set) (*mat.Dense, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	points, err := project(m.w, x)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(x.Len(), m.memory.d, float64s(points)), nil
}

// Stages tells how the fit ended.
func (m *KCal) Stages() []layers.Stage {
	return []layers.Stage{{Name: "train", Result: m.Result, Time: m.time}}
}

// State is Π, h and the remembered rows.
func (m *KCal) State() (layers.State, error) { return stateOf(m.sizes, m.w) }

// Restore sets them.
func (m *KCal) Restore(s layers.State) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	if !s.Weights.Has("projection/out") || s.Weights.Tensor("projection/out").Dims() != 2 || sizes.Features < 1 {
		return fmt.Errorf("baselines: the model has no projection of features")
	}
	if err := requireLength(s.Weights, "norm/mean", sizes.Features); err != nil {
		return err
	}
	d := s.Weights.Tensor("projection/out").Shape()[0]
	blank := &data.Standardizer{Mean: make([]float64, sizes.Features), SD: make([]float64, sizes.Features)}
	want := projection(blank, d, rand.New(rand.NewPCG(0, 0))).Shapes()
	rows := total(sizes.Counts)
	want["memory/points"], want["memory/labels"], want["kernel/bandwidth"] = tensor.Shape{rows, d}, tensor.Shape{rows}, tensor.Shape{1}
	if err := s.Weights.Require(want); err != nil {
		return err
	}
	memory, err := readMemory(s.Weights, "memory", sizes.Classes)
	if err != nil {
		return err
	}
	m.sizes, m.w, m.memory = sizes, s.Weights, memory
	return nil
}
