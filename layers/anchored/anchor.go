package anchored

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Anchor is the classifier's own head at its best temperature T, p̂ = softmax(logits/T),
// on a latent space that a [layers.Codebook] divides. Where [layers.Divide] replaces the head by one
// that sees codewords alone, an anchored map starts from what the original head knows,
// and the codes only say where to correct it. A map that corrects nothing is
// temperature scaling.
//
// No gradient passes the quantizer, so the codebook is learned without a head and
// without labels: passes of its moving averages over batches of 128 rows.
type Anchor struct {
	Slots    int // w, a divisor of M; 0: 64
	Codebook layers.Codebook
	Passes   int // over the calibration rows; 0: 10

	sizes layers.Sizes
	// the codebook's, anchor/temperature (1), anchor/centre (1, the mean of the logits),
	// anchor/support (w·K), and the mean and standard deviation of the features,
	// anchor/mean and anchor/sd (M)
	weights *graph.Weights
}

var _ layers.Base = (*Anchor)(nil)

// codebookBatch is how many rows one step of the moving averages sees.
const codebookBatch = 128

// Fit finds T and the codebook, and counts what supports each codeword. It needs
// features, logits and labels.
func (a *Anchor) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	var t layers.Temperature
	if err := t.Fit(ctx, cal, nil, rng); err != nil {
		return err
	}
	book, sizes, err := a.Codebook.Over(cal, a.Slots)
	if err != nil {
		return err
	}
	a.sizes = sizes
	if a.sizes.Classes != cal.Classes() {
		return fmt.Errorf("layers: the calibration rows have labels of %d classes and logits of %d", a.sizes.Classes, cal.Classes())
	}
	w := graph.NewWeights(tensor.Float64)
	book.Init(w, cal.Features, a.sizes.Features/a.sizes.Slots, rng)
	w.AddState("anchor/temperature", []float64{t.T()}, 1)
	n, c := cal.Logits.Dims()
	w.AddState("anchor/centre", []float64{mat.Sum(cal.Logits) / float64(n*c)}, 1)
	w.AddState("anchor/support", make([]float64, a.sizes.Slots*a.sizes.Codewords), a.sizes.Slots*a.sizes.Codewords)
	scale := data.FitStandardizer(cal.Features)
	w.AddState("anchor/mean", scale.Mean, a.sizes.Features)
	w.AddState("anchor/sd", scale.SD, a.sizes.Features)
	a.weights = w.As(tensor.Float32)
	if err := a.learn(ctx, book, cal, rng); err != nil {
		return err
	}
	codes, err := a.codes(cal)
	if err != nil {
		return err
	}
	support := a.weights.Tensor("anchor/support").Float32s()
	for at, k := range codes {
		support[at%a.sizes.Slots*a.sizes.Codewords+int(k)]++
	}
	return nil
}

// learn moves the codebook toward the slots of cal.
func (a *Anchor) learn(ctx context.Context, book layers.Codebook, cal *data.Set, rng *rand.Rand) error {
	passes := cmp.Or(a.Passes, 10)
	n := cal.Len()
	size := min(codebookBatch, n)
	b := graph.NewBuilder(a.weights, size)
	z := layers.NewFeatures(cal.Features).Take(b, "features")
	book.Update(b, z, book.Assign(b, z))
	step, err := b.Compile()
	if err != nil {
		return err
	}
	order := graph.Rows(0, n)
	for range passes {
		rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		for lo := 0; lo+size <= n; lo += size { // the rest has its turn in another pass
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("interrupted while the codebook was learned: %w", err)
			}
			copy(b.RowNumbers(), order[lo:])
			if err := step.Run(); err != nil {
				return err
			}
			if err := step.Commit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// codes are those of each row of x (N×w).
func (a *Anchor) codes(x *data.Set) ([]int32, error) {
	if x.Features == nil {
		return nil, fmt.Errorf("layers: the rows have no features to divide")
	}
	if _, m := x.Features.Dims(); m != a.sizes.Features {
		return nil, fmt.Errorf("layers: the rows have %d features, the model was fitted on %d", m, a.sizes.Features)
	}
	if err := a.Codebook.Reach(x.Features, a.weights, a.sizes); err != nil {
		return nil, err
	}
	features := layers.NewFeatures(x.Features)
	f := graph.NewFunction(a.weights, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{a.Codebook.Assign(b, features.Take(b, "features"))}
	})
	tables, err := f.Tables(x.Len(), layers.EvaluationBatch)
	if err != nil {
		return nil, err
	}
	return tables[0].Int32s(), nil
}

// What maps on an Anchor see besides log p̂ and codes.
const (
	// supportInput is mean_i log(1 + N_i), N_i being the calibration rows whose i-th slot
	// has this row's codeword (B×1).
	supportInput = "support"
	// logitsInput are the logits at temperature T, less their mean over the calibration
	// rows (B×C).
	logitsInput = "logits"
	// wordsInput are the codewords as each slot sees them, standardized by its features
	// ((w·K)×d), the same for all rows.
	wordsInput = "words"
)

// View is log p̂ at temperature T, the codes, and the inputs above.
func (a *Anchor) View(x *data.Set) (*layers.View, error) {
	switch {
	case a.weights == nil:
		return nil, layers.ErrUnfitted
	case x.Logits == nil:
		return nil, fmt.Errorf("layers: the rows have no logits to calibrate")
	case x.Classes() != a.sizes.Classes:
		return nil, fmt.Errorf("layers: the rows have logits of %d classes, the model was fitted on %d", x.Classes(), a.sizes.Classes)
	}
	codes, err := a.codes(x)
	if err != nil {
		return nil, err
	}
	t, centre := a.weights.Float64s("anchor/temperature")[0], a.weights.Float64s("anchor/centre")[0]
	logits := mat.DenseCopyOf(x.Logits)
	logits.Apply(func(_, _ int, l float64) float64 { return (l - centre) / t }, logits)
	counts, slots := a.weights.Float64s("anchor/support"), a.sizes.Slots
	support := make([]float64, x.Len())
	for at, k := range codes {
		support[at/slots] += math.Log1p(counts[at%slots*a.sizes.Codewords+int(k)]) / float64(slots)
	}
	return &layers.View{
		LogProbs: layers.LogSoftmax(logits), Codes: codes,
		Inputs: map[string]*mat.Dense{supportInput: mat.NewDense(x.Len(), 1, support), logitsInput: logits},
		Tables: map[string]*mat.Dense{wordsInput: a.words()},
	}, nil
}

// words are the codewords standardized by the features of each slot ((w·K)×d).
func (a *Anchor) words() *mat.Dense {
	k, d := a.sizes.Codewords, a.sizes.Features/a.sizes.Slots
	words := mat.NewDense(a.sizes.Slots*k, d, nil)
	c, mean, sd := a.weights.Float64s("codebook/codewords"), a.weights.Float64s("anchor/mean"), a.weights.Float64s("anchor/sd")
	for at := range a.sizes.Slots * k {
		slot := at / k * d
		for j := range d {
			if sd[slot+j] > 0 {
				words.Set(at, j, (c[at%k*d+j]-mean[slot+j])/sd[slot+j])
			}
		}
	}
	return words
}

// Sizes has all of C, M, w, K and the class counts.
func (a *Anchor) Sizes() layers.Sizes { return a.sizes }

// State is the sizes, the temperature and the codebook.
func (a *Anchor) State() (layers.State, error) {
	if a.weights == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	config, err := json.Marshal(a.sizes)
	return layers.State{Config: config, Weights: a.weights}, err
}

// Restore sets them.
func (a *Anchor) Restore(s layers.State) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	width, err := sizes.SlotWidth()
	if err != nil {
		return err
	}
	m, w, k := sizes.Features, sizes.Slots, sizes.Codewords
	err = s.Weights.Require(map[string]tensor.Shape{
		"codebook/codewords": {k, width}, "codebook/counts": {k}, "codebook/sums": {k, width},
		"anchor/temperature": {1}, "anchor/centre": {1}, "anchor/support": {w * k},
		"anchor/mean": {m}, "anchor/sd": {m},
	})
	if err != nil {
		return err
	}
	a.sizes, a.weights = sizes, s.Weights
	a.Slots, a.Codebook.Codewords = w, k
	return nil
}
