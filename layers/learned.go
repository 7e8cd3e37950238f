package layers

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Learned are [Soft] codes whose codewords and temperature minimize the loss of what they are for:
// from k-means on, Adam moves c, log τ and a table h together,
//
//	posterior = softmax(base + Σ_i Σ_k e_ik(z) h_ik) ,  e_i = softmax_k(−‖z⁽ⁱ⁾ − c_k‖²/τ) ,
//
// with the prior h = σ u/√w, u ~ N(0, 1), of σ = 8. The base is that of [Leaf]. A stratified fifth
// of the rows decides when to stop, and whether to move at all. The table is thrown away: whoever
// reads the codes fits his own. Once learned, a slot has the m nearest codewords alone.
type Learned struct {
	Codewords int     // K; 0: 64
	Nearest   int     // m; 0: 8
	Softness  float64 // that τ starts from, as of Soft; 0: 1

	words
}

var _ Supervised = Learned{}

// learnedSpread is σ, learnedEpochs how many epochs there are at most.
const (
	learnedSpread = 8
	learnedEpochs = 10
)

// soft is where the codes start.
func (c Learned) soft() Soft {
	return Soft{Of: Fixed{Codewords: c.Codewords, Place: KMeans{}}, Nearest: c.Nearest, Softness: c.Softness}
}

// Over is that of Soft.
func (c Learned) Over(cal *data.Set, slots int) (Sizes, error) { return c.soft().Over(cal, slots) }

// State is that of Soft.
func (c Learned) State(s Sizes) map[string]tensor.Shape { return c.soft().State(s) }

// Twin is as soft on drawn codewords, with the temperature that this starts from.
func (c Learned) Twin() Codes { return c.soft().Twin() }

// Supervised is true.
func (Learned) Supervised() bool { return true }

// Init starts as Soft does and learns from there.
func (c Learned) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	if err := c.soft().Init(ctx, w, cal, s, rng); err != nil {
		return err
	}
	if s.Nearest > 1 {
		if err := c.learn(ctx, w, cal, s, rng); err != nil {
			return fmt.Errorf("learn the codes: %w", err)
		}
	}
	return nil
}

// learn moves the codewords and the temperature among w.
func (c Learned) learn(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	base, err := withoutCodes(cal, cal.Targets(s.Classes))
	if err != nil {
		return err
	}
	words, tau := w.Tensor("codebook/codewords"), w.Tensor("codebook/temperature")
	if !(tau.Float64s()[0] > 0) {
		return nil // all slots are alike
	}
	moving := graph.NewWeights(tensor.Float64)
	moving.Add("learned/codewords", words.Float64s(), words.Shape()...)
	moving.Add("learned/temperature", []float64{math.Log(tau.Float64s()[0])}, 1)
	moving.Add("learned/table", make([]float64, s.Slots*s.Codewords*s.Classes), s.Slots*s.Codewords, s.Classes)
	moving = moving.As(tensor.Float32)
	parts := cal.Stratify([]float64{0.8, 0.2}, rng)
	of := func(rows []int) *learning {
		return &learning{Learned: c, sizes: s, rows: cal.Rows(rows), base: data.RowsOf(base, rows)}
	}
	fitted, held := of(parts[0]), of(parts[1])
	loss, err := fitted.nll()
	if err != nil {
		return err
	}
	judged, err := held.nll()
	if err != nil {
		return err
	}
	validation := graph.NewFunction(moving, func(b *graph.Builder) gorgonia.Nodes { return gorgonia.Nodes{judged(b)} })
	problem := optim.Problem{
		Rows: len(parts[0]),
		Loss: graph.NewObjective(moving, func(b *graph.Builder) *gorgonia.Node {
			return b.Plus(loss(b), Penalty(b, "learned/table", 1/(2*float64(len(parts[0])))))
		}),
		Validation: func(g graph.Session) (float64, error) {
			return g.Mean(validation, len(parts[1]), EvaluationBatch)
		},
	}
	settings := optim.Settings{Rule: optim.Adam{Rate: 3e-3}, Epochs: learnedEpochs, Patience: 3, KeepStart: true}
	if _, err := optim.Minimize(ctx, problem, settings, rng); err != nil {
		return err
	}
	copy(words.Float64s(), moving.Float64s("learned/codewords"))
	tau.Float64s()[0] = math.Exp(moving.Float64s("learned/temperature")[0])
	return nil
}

// learning are rows with log p of the base.
type learning struct {
	Learned
	sizes Sizes
	rows  *data.Set
	base  *mat.Dense
}

// nll describes the mean loss of the rows that a step takes.
func (l *learning) nll() (func(*graph.Builder) *gorgonia.Node, error) {
	aims, err := targetOf(l.rows, l.sizes.Classes, tensor.Float32)
	features, base := NewFeatures(l.rows.Features, graph.NewWeights(tensor.Float32)), graph.Matrix(tensor.Float32, l.base)
	spread := learnedSpread / math.Sqrt(float64(l.sizes.Slots))
	return func(b *graph.Builder) *gorgonia.Node {
		table := b.Apply(op.Scale(2, spread), b.Weight("learned/table")) // h
		corrected := b.MatMul(l.shares(b, features.Take(b, "features")), table)
		return meanNLL(b, b.LogSoftmax(b.Plus(b.Take("base", base), corrected)), aims)
	}, err
}

// shares describes e (B×wK), of all codewords.
func (l *learning) shares(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	s, c := l.sizes, b.Weight("learned/codewords")
	d := s.Features / s.Slots
	// −‖z − c_k‖² but for ‖z‖², which all codewords of a slot have in common
	norms := b.Apply(op.Reshape(2, -1), b.MatMul(b.Times(c, c), b.Table("learned/ones", ones(b.Dtype(), d, 1))))
	product := b.Apply(op.MatMulNT(), b.Apply(op.Reshape(2, -1, d), z), c)
	near := b.AddRow(b.Apply(op.Scale(2, 2), product), b.Apply(op.Scale(1, -1), norms))
	cold := b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), b.Weight("learned/temperature"))) // 1/τ
	e := b.Apply(op.Exp(2), b.LogSoftmax(b.Apply(op.TimesScalar(), near, cold)))
	return b.Apply(op.Reshape(2, -1, s.Slots*s.Codewords), e)
}
