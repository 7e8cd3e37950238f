package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Divide is the paper's stage 1: [Codes] over the w slots of the frozen
// features, and a linear head (head/weight M×C, head/bias C) on the quantized
// vector, trained together. The encoder is frozen, so no gradient passes the
// quantizer.
//
// It needs features and labels; logits are not looked at.
type Divide struct {
	Slots    int            // w, a divisor of M; 0: 64
	Codebook Codes          // nil: Codebook{}
	Floor    *float64       // least p̂ of the head, below 1/C; 0: none; nil: 1e-8, as published
	Optim    optim.Settings // nil Rule: Adam with weight decay 1e-3

	// Result of the last Fit.
	Result optim.Result

	took    time.Duration
	sizes   Sizes
	weights *graph.Weights
}

var (
	_ Quantizing = (*Divide)(nil)
	_ Staged     = (*Divide)(nil)
)

// EvaluationBatch is the batch size of predictions and validation.
const EvaluationBatch = 1024

// Fit draws the codebook from cal's slots and trains it with the head.
func (d *Divide) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	began := time.Now()
	defer func() { d.took = time.Since(began) }()
	sizes, err := d.codes().Over(cal, d.Slots)
	if err != nil {
		return err
	}
	if floor, most := math.Exp(d.floor()), 1/float64(sizes.Classes); floor >= most {
		return &SettingError{fmt.Sprintf("a floor (head.floor) of %.3g under the probabilities of %d classes; choose one below %.3g",
			floor, sizes.Classes, most)}
	}
	d.sizes = sizes
	w, err := StartCodes(d.codes(), cal, d.sizes, rng)
	if err != nil {
		return err
	}
	held, err := d.heldOut(cal, val, w.Dtype())
	if err != nil {
		return err
	}
	// As torch.nn.Linear: U(−1/√M, 1/√M).
	bound := 1 / math.Sqrt(float64(d.sizes.Features))
	w.Add("head/weight", graph.Uniforms(d.sizes.Features*d.sizes.Classes, bound, rng), d.sizes.Features, d.sizes.Classes)
	w.Add("head/bias", graph.Uniforms(d.sizes.Classes, bound, rng), d.sizes.Classes)
	d.weights = w

	fitted, err := targetOf(cal, d.sizes.Classes, w.Dtype())
	if err != nil {
		return err
	}
	problem := optim.Problem{Rows: cal.Len(), Loss: d.objective(cal, fitted)}
	if val != nil {
		features := NewFeatures(val.Features, w)
		loss := graph.NewFunction(d.weights, func(b *graph.Builder) gorgonia.Nodes {
			codes := assign(b, d.codes(), features.Take(b, "features"), d.sizes)
			return gorgonia.Nodes{meanNLL(b, d.head(b, codes), held)}
		})
		problem.Validation = func(s graph.Session) (float64, error) { return s.Mean(loss, val.Len(), EvaluationBatch) }
	}
	if d.Result, err = optim.Minimize(ctx, problem, decayed(d.Optim), rng); err != nil {
		return fmt.Errorf("divide: %w", err)
	}
	return nil
}

// heldOut is what validation rows are judged by, which must look like those of cal.
func (d *Divide) heldOut(cal, val *data.Set, dt tensor.Dtype) (held target, err error) {
	if val == nil {
		return held, nil
	}
	if val.Features == nil {
		return held, fmt.Errorf("layers: the validation rows have no features to divide")
	}
	if err := reach(largest(val.Features), largest(cal.Features), d.sizes); err != nil {
		return held, err
	}
	return targetOf(val, d.sizes.Classes, dt)
}

func (d *Divide) Stages() []Stage { return []Stage{{"divide", d.Result, d.took}} }

// codes are how the space is divided.
func (d *Divide) codes() Codes { return cmp.Or[Codes](d.Codebook, Codebook{}) }

// objective is the head's loss on quantized rows of x; committing a step moves the
// codewords toward them.
func (d *Divide) objective(x *data.Set, fitted target) *graph.Objective {
	features, weights := NewFeatures(x.Features, d.weights), WeightsOf(x, d.weights.Dtype())
	return graph.NewObjective(d.weights, func(b *graph.Builder) *gorgonia.Node {
		z := features.Take(b, "features")
		codes := assign(b, d.codes(), z, d.sizes).Weighed(b, weights)
		d.codes().Update(b, z, codes, d.sizes)
		return meanNLL(b, d.head(b, codes), fitted)
	})
}

// head describes log p̂ (B×C) of the quantized features (B×M) that codes stand for.
func (d *Divide) head(b *graph.Builder, a Assignment) *gorgonia.Node {
	if !d.weights.Has("codebook/codewords") {
		return b.Fail(fmt.Errorf("layers: %s has no codewords, to whose sums a head is fitted; "+
			"take a base that reads codes alone, such as anchored.Anchor", NameOf(d.codes())))
	}
	return b.LogSoftmax(b.Linear("head", a.Quantized(b, d.sizes)))
}

// floor is the least log p̂ of the head.
func (d *Divide) floor() float64 {
	if d.Floor != nil {
		return math.Log(*d.Floor)
	}
	return math.Log(1e-8)
}

// View is the quantized head's log p̂, at least that of Floor, and the codes of each row of x.
func (d *Divide) View(x *data.Set) (*View, error) {
	if err := d.fits(x); err != nil {
		return nil, err
	}
	features := NewFeatures(x.Features, d.weights)
	f := graph.NewFunction(d.weights, func(b *graph.Builder) gorgonia.Nodes {
		return codesOf(b, d.codes(), features.Take(b, "features"), d.sizes, d.head)
	})
	tables, err := f.Tables(x.Len(), EvaluationBatch)
	if err != nil {
		return nil, err
	}
	logProbs := graph.Float64s(tables[1])
	for i, l := range logProbs {
		logProbs[i] = max(l, d.floor())
	}
	v := &View{
		Floor:    d.floor(),
		LogProbs: mat.NewDense(x.Len(), d.sizes.Classes, logProbs),
		Codes:    tables[0].Int32s(),
		codes:    tables[0],
	}
	if len(tables) > 2 {
		v.Shares = sharesIn(tables[2])
	}
	return v, nil
}

// Embed is the quantized features q of each row of x (N×M), as [Quantized].
func (d *Divide) Embed(x *data.Set) (mat.Matrix, error) {
	if err := d.fits(x); err != nil {
		return nil, err
	}
	codes, shares, err := AssignAll(d.codes(), d.weights, x.Features, d.sizes)
	if err != nil {
		return nil, err
	}
	return d.Quantized(&View{Codes: codes, Shares: shares}), nil
}

// Quantized are the features of rows with a view's codes.
func (d *Divide) Quantized(v *View) *Quantized {
	return &Quantized{
		Codes: v.Codes, Shares: v.Shares, Codewords: d.weights.Float64s("codebook/codewords"), Centre: d.weights.Float64s(centreName),
		Slots: d.sizes.Slots, Width: d.sizes.Features / d.sizes.Slots, CodesOf: d.sizes.CodesOf(),
	}
}

// fits returns an error unless the features of x can be divided.
func (d *Divide) fits(x *data.Set) error {
	switch {
	case d.weights == nil:
		return ErrUnfitted
	case x.Features == nil:
		return fmt.Errorf("layers: the rows have no features to divide")
	}
	if _, m := x.Features.Dims(); m != d.sizes.Features {
		return fmt.Errorf("layers: the rows have %d features, the model was fitted on %d", m, d.sizes.Features)
	}
	return d.codes().Reach(LessCentre(x.Features, d.weights), d.weights, d.sizes)
}

// Sizes has all of C, M, w, K and the class counts.
func (d *Divide) Sizes() Sizes { return d.sizes }

// State is the sizes, the codebook and the head.
func (d *Divide) State() (State, error) { return StateOf(d.sizes, d.weights) }

// Restore sets sizes, codebook and head.
func (d *Divide) Restore(s State) error {
	sizes, err := ReadSizes(s.Config)
	if err != nil {
		return err
	}
	m, c := sizes.Features, sizes.Classes
	weights, err := RestoreCodes(d.codes(), s.Weights, sizes, map[string]tensor.Shape{"head/weight": {m, c}, "head/bias": {c}})
	if err != nil {
		return err
	}
	d.sizes, d.weights, d.Slots = sizes, weights, sizes.Slots
	return nil
}

// Ridge is λ of the penalty ½λ‖θ‖² that the head was fitted with; an error where its weight
// decay is none.
func (d *Divide) Ridge() (float64, error) { return ridgeOf("head", d.Optim) }

// ridgeOf is λ of what was fitted so.
func ridgeOf(what string, s optim.Settings) (float64, error) {
	ridge, err := optim.Ridge(decayed(s).Rule)
	if err != nil {
		return 0, fmt.Errorf("layers: the penalty of the %s: %w", what, err)
	}
	return ridge, nil
}

// decayed is s with the paper's rule, Adam with coupled weight decay 1e-3, unless
// another is asked for.
func decayed(s optim.Settings) optim.Settings {
	s.Rule = cmp.Or[optim.Rule](s.Rule, optim.Adam{WeightDecay: 1e-3})
	return s
}
