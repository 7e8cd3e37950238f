package anchored

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Anchor is the classifier's own head at its best temperature T, p̂ = softmax(logits/T),
// on a latent space that [layers.Codes] divide. Where [layers.Divide] replaces the head by one
// that sees codewords alone, an anchored map starts from what the original head knows,
// and the codes only determine where to correct it. A map that corrects nothing is
// temperature scaling.
//
// No gradient passes the quantizer, so the codebook is learned without a head and
// without labels: passes of its moving averages over batches of 128 rows.
type Anchor struct {
	Slots    int          // w, a divisor of M; 0: 64
	Codebook layers.Codes // nil: layers.Codebook{}
	Passes   int          // over the calibration rows, of codes that move; 0: 10

	sizes layers.Sizes
	// the codebook's, anchor/temperature (1), anchor/centre (1, the mean of the logits),
	// and the mean and standard deviation of the features, anchor/mean and anchor/sd (M)
	weights *graph.Weights
}

var _ layers.Base = (*Anchor)(nil)

// codebookBatch is how many rows one step of the moving averages sees.
const codebookBatch = 128

// Fit finds T and the codebook. It needs
// features, logits and labels.
func (a *Anchor) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	_, _, err := a.fit(ctx, cal, rng)
	return err
}

// fit is Fit, and gives the codes of cal, with their shares if they have any.
func (a *Anchor) fit(ctx context.Context, cal *data.Set, rng *rand.Rand) (codes []int32, shares []float32, err error) {
	var t layers.Temperature
	if err := t.Fit(ctx, cal, nil, rng); err != nil {
		return nil, nil, err
	}
	sizes, err := a.book().Over(cal, a.Slots)
	if err != nil {
		return nil, nil, err
	}
	a.sizes = sizes
	if a.sizes.Classes != cal.Classes() {
		return nil, nil, fmt.Errorf("layers: the calibration rows have labels of %d classes and logits of %d", a.sizes.Classes, cal.Classes())
	}
	w, err := layers.StartCodes(a.book(), cal, a.sizes, rng)
	if err != nil {
		return nil, nil, err
	}
	w.AddState("anchor/temperature", []float64{t.T()}, 1)
	w.AddState("anchor/centre", []float64{centreOf(cal)}, 1)
	scale := data.FitWeighted(cal.Features, cal.Weights)
	w.AddExact("anchor/mean", scale.Mean, a.sizes.Features)
	w.AddState("anchor/sd", scale.SD, a.sizes.Features)
	a.weights = w
	if err := a.learn(ctx, cal, rng); err != nil {
		return nil, nil, err
	}
	return a.codes(cal)
}

// centreOf is the mean logit of the rows by their weights, of the classes that can be.
func centreOf(cal *data.Set) (centre float64) {
	logits, total := data.LogProbs(cal.Logits), cal.Total()
	for i := range cal.Len() {
		sum, classes := 0.0, 0
		for _, l := range logits.RawRowView(i) {
			if !data.Masked(l) {
				sum, classes = sum+l, classes+1
			}
		}
		centre += cal.Weight(i) / total * sum / float64(classes)
	}
	return centre
}

// book is how the space is divided.
func (a *Anchor) book() layers.Codes { return cmp.Or[layers.Codes](a.Codebook, layers.Codebook{}) }

// learn moves the codes toward the slots of cal, if they move. The order of the rows is drawn
// either way, so that what follows is drawn alike for all codes.
func (a *Anchor) learn(ctx context.Context, cal *data.Set, rng *rand.Rand) error {
	passes := cmp.Or(a.Passes, 10)
	n := cal.Len()
	size := min(codebookBatch, n)
	b := graph.NewBuilder(a.weights, size)
	z := layers.NewFeatures(cal.Features, a.weights).Take(b, "features")
	a.book().Update(b, z, a.book().Assign(b, z, a.sizes).Weighed(b, layers.WeightsOf(cal, a.weights.Dtype())), a.sizes)
	step, err := b.Compile()
	if err != nil {
		return err
	}
	order := graph.Rows(0, n)
	for range passes {
		rng.Shuffle(n, func(i, j int) { order[i], order[j] = order[j], order[i] })
		if len(step.Updates) == 0 {
			continue
		}
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

// codes are those of each row of x, with their shares if they have any.
func (a *Anchor) codes(x *data.Set) (codes []int32, shares []float32, err error) {
	if x.Features == nil {
		return nil, nil, fmt.Errorf("layers: the rows have no features to divide")
	}
	if _, m := x.Features.Dims(); m != a.sizes.Features {
		return nil, nil, fmt.Errorf("layers: the rows have %d features, the model was fitted on %d", m, a.sizes.Features)
	}
	if err := a.book().Reach(layers.LessCentre(x.Features, a.weights), a.weights, a.sizes); err != nil {
		return nil, nil, err
	}
	return layers.AssignAll(a.book(), a.weights, x.Features, a.sizes)
}

// What maps on an Anchor see besides log p̂ and codes.
const (
	// logitsInput are the logits at temperature T, less their mean over the calibration
	// rows (B×C).
	logitsInput = "logits"
	// featuresInput are the features, standardized (B×M).
	featuresInput = "features"
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
	codes, shares, err := a.codes(x)
	if err != nil {
		return nil, err
	}
	return a.view(x, codes, shares), nil
}

// view is View where the codes of x are known.
func (a *Anchor) view(x *data.Set, codes []int32, shares []float32) *layers.View {
	t, centre := a.weights.Float64s("anchor/temperature")[0], a.weights.Float64s("anchor/centre")[0]
	logits := mat.DenseCopyOf(data.LogProbs(x.Logits))
	logits.Apply(func(_, _ int, l float64) float64 { return (l - centre) / t }, logits)
	return &layers.View{
		LogProbs: layers.LogSoftmax(logits), Codes: codes, Shares: shares,
		Inputs: map[string]mat.Matrix{
			logitsInput: logits, featuresInput: &standardized{x.Features, a.weights.Float64s("anchor/mean"), a.weights.Float64s("anchor/sd")},
		},
	}
}

// ViewONNX is log softmax(logits/T), the codes, and what maps on an Anchor see besides.
func (a *Anchor) ViewONNX(g *onnx.Network) (*layers.ONNXView, error) {
	if a.weights == nil {
		return nil, layers.ErrUnfitted
	}
	s := a.sizes
	v, _, err := layers.CodesONNX(g, a.book(), a.weights, s)
	if err != nil {
		return nil, err
	}
	t, centre := a.weights.Float64s("anchor/temperature")[0], a.weights.Float64s("anchor/centre")[0]
	scaled := g.Div(g.Sub(g.Logits(s.Classes), g.Scalar(centre)), g.Scalar(t))
	v.LogProbs, v.Masks = g.LogSoftmax(scaled), g.Masks()
	mean, over := a.weights.Float64s("anchor/mean"), a.weights.Float64s("anchor/sd")
	for j, sd := range over {
		over[j] = 1 / sd
	}
	z := g.Mul(g.Sub(g.Features(s.Features), onnx.Table(g, mean, 1, s.Features)), onnx.Table(g, over, 1, s.Features))
	v.Inputs = map[string]onnx.Value{logitsInput: scaled, featuresInput: z}
	return v, nil
}

// standardized are the rows of x by mean and standard deviation of each column.
type standardized struct {
	mat.Matrix
	mean, sd []float64
}

var (
	_ data.Rows      = (*standardized)(nil)
	_ layers.Derived = (*standardized)(nil)
)

// From are the rows as they are, with mean and standard deviations.
func (s *standardized) From() (x mat.Matrix, by [][]float64) {
	return s.Matrix, [][]float64{s.mean, s.sd}
}

// At is the number at row i, column j.
func (s *standardized) At(i, j int) float64 { return (s.Matrix.At(i, j) - s.mean[j]) / s.sd[j] }

func (s *standardized) T() mat.Matrix { return mat.Transpose{Matrix: s} }

// Row writes row i to dst.
func (s *standardized) Row(dst []float64, i int) {
	for j, v := range data.Row(s.Matrix, i, dst) {
		dst[j] = (v - s.mean[j]) / s.sd[j]
	}
}

// Sizes has all of C, M, w, K and the class counts.
func (a *Anchor) Sizes() layers.Sizes { return a.sizes }

// State is the sizes, the temperature and the codebook.
func (a *Anchor) State() (layers.State, error) { return layers.StateOf(a.sizes, a.weights) }

func (a *Anchor) Restore(s layers.State) error {
	sizes, err := layers.ReadSizes(s.Config)
	if err != nil {
		return err
	}
	m := sizes.Features
	_, kept := s.Weights.Split(func(name string) bool { return name == "anchor/support" }) // of files of earlier programs
	weights, err := layers.RestoreCodes(a.book(), kept, sizes, map[string]tensor.Shape{
		"anchor/temperature": {1}, "anchor/centre": {1}, "anchor/mean": {m}, "anchor/sd": {m},
	})
	if err != nil {
		return err
	}
	a.sizes, a.weights, a.Slots = sizes, weights, sizes.Slots
	return nil
}
