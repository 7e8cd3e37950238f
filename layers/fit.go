package layers

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// lossOf describes the loss that m is fitted to.
func lossOf(b *graph.Builder, m Map, in Batch, rows int) *gorgonia.Node {
	if c, ok := m.(Costed); ok {
		return c.Loss(b, in, rows)
	}
	return NLL(b, m, in)
}

// NLL describes the mean negative log-likelihood of m's output.
func NLL(b *graph.Builder, m Map, in Batch) *gorgonia.Node {
	return b.NLL(LogProbsOf(m)(b, in), in.Labels(b))
}

// LogProbsOf describes m's output for a batch (B×C), a distribution over the classes that can be; the builder
// fails where it is something else.
func LogProbsOf(m Map) func(b *graph.Builder, in Batch) *gorgonia.Node {
	return func(b *graph.Builder, in Batch) *gorgonia.Node {
		if m == nil {
			return b.Fail(errors.New("layers: there is no map"))
		}
		if b.Err() != nil {
			return nil
		}
		p := m.LogProbs(b, in)
		switch {
		case b.Err() != nil:
			return nil
		case p == nil:
			return b.Fail(fmt.Errorf("layers: the LogProbs of %s gives no node", NameOf(m)))
		case !slices.Equal(p.Shape(), in.LogProbs.Shape()):
			return b.Fail(fmt.Errorf("layers: the LogProbs of %s is of shape %v, not %v: one for each row and class", NameOf(m), p.Shape(), in.LogProbs.Shape()))
		case in.Shares != nil && b.Reads(p, in.Codes) && !b.Reads(p, in.Shares):
			return b.Fail(fmt.Errorf("layers: the LogProbs of %s reads codes and not their shares; read in.Mass, in.TableSum or in.Shares, or take one codeword for each slot", NameOf(m)))
		}
		if in.Masks == nil {
			return p
		}
		return b.LogSoftmax(in.Mask(b, p)) // of the other classes
	}
}

// StartMap are the weights that m starts with; all numbers are finite. A fault of its Init is an error with the
// name of the map.
func StartMap(m Map, s Sizes, rng *rand.Rand) (w *graph.Weights, err error) {
	if m == nil {
		return nil, errors.New("layers: there is no map")
	}
	defer func() { err = about("map", m, err) }()
	defer graph.Recover(&err)
	w, err = m.Init(s, rng)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return nil, fmt.Errorf("layers: the Init of %s gives no weights; a map without any gives graph.NewWeights(tensor.Float64)", NameOf(m))
	}
	for _, name := range w.Names() {
		for i, v := range w.Float64s(name) {
			if v-v != 0 {
				return nil, fmt.Errorf("layers: the Init of %s gives weight %q %v at position %d", NameOf(m), name, v, i)
			}
		}
	}
	return w, nil
}

// Objective is the loss of a map with weights w on labelled rows, which every method that
// learns by gradient minimizes.
func Objective(m Map, w *graph.Weights, rows *Rows) *graph.Objective {
	return graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node { return lossOf(b, m, rows.Batch(b), rows.Effective()) })
}

// PenalizedNLL describes the mean negative log-likelihood of m with c·Σ x² of some weights.
func PenalizedNLL(b *graph.Builder, m Map, in Batch, c float64, weights ...string) *gorgonia.Node {
	loss := NLL(b, m, in)
	for _, name := range weights {
		loss = b.Plus(loss, Penalty(b, name, c))
	}
	return loss
}

// Penalty describes c·Σ x² of a weight.
func Penalty(b *graph.Builder, weight string, c float64) *gorgonia.Node {
	x := b.Weight(weight)
	if b.Err() != nil {
		return nil
	}
	return b.Apply(op.Scale(0, c), b.Apply(op.Sum(x.Dims()), b.Times(x, x)))
}

// rowsFor puts what the map reads of a set into memory of the type of w, beside the base's view of it.
func (t *Trained) rowsFor(x *data.Set, w *graph.Weights) (*Rows, *View, error) {
	view, err := t.viewOf(x)
	if err != nil {
		return nil, nil, err
	}
	rows, err := view.RowsFor(t.Map, w, t.Base.Sizes())
	return rows, view, err
}

// labelled are the rows of a set with its labels.
func (t *Trained) labelled(x *data.Set, w *graph.Weights) (*Rows, error) {
	aims, err := targetOf(x, t.Base.Sizes().Classes, w.Dtype()) // first: inputs of the map may go by the labels
	if err != nil {
		return nil, err
	}
	rows, _, err := t.rowsFor(x, w)
	if err != nil {
		return nil, err
	}
	return rows.aiming(aims), nil
}

// RowsFor is Rows with the inputs of m, in the type of its weights.
func (v *View) RowsFor(m Map, w *graph.Weights, s Sizes) (*Rows, error) {
	with := *v
	if m, ok := m.(Informed); ok {
		own, err := m.Inputs(v, w)
		if err != nil {
			return nil, err
		}
		with.Inputs = maps.Clone(own)
		maps.Copy(with.Inputs, v.Inputs)
	}
	return with.Rows(w.Dtype(), s), nil
}

// Weights are the weights of the map, nil before Fit.
func (t *Trained) Weights() *graph.Weights { return t.weights }

// Noise is the randomness of a step: every draw is a function of both fields.
type Noise struct {
	Seed uint64         // of the fit
	Step *gorgonia.Node // how many steps were before (1)
}

// noisyObjective is Objective, or for a Noisy map its loss with noise.
func noisyObjective(m Map, w *graph.Weights, rows *Rows, rng *rand.Rand) *graph.Objective {
	noisy, ok := m.(Noisy)
	if !ok {
		return Objective(m, w, rows)
	}
	seed := rng.Uint64()
	clock := graph.NewWeights(w.Dtype())
	clock.AddState("clock", []float64{0}, 1)
	return graph.NewObjective(graph.NewWeights(w.Dtype()).Join(w, clock), func(b *graph.Builder) *gorgonia.Node {
		now := b.Weight("clock")
		b.Update("clock", b.Plus(now, b.Table("clock/step", graph.Tensor(w.Dtype(), []float64{1}, 1))))
		return noisy.NoisyLoss(b, rows.Batch(b), rows.Effective(), Noise{seed, now})
	})
}
