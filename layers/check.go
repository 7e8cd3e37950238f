package layers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/graphtest"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// NameOf is the name of a map or a calibrator in errors: its String or, without one, the name of its type.
func NameOf(part any) string {
	if s, ok := part.(fmt.Stringer); ok {
		return s.String()
	}
	t := reflect.TypeOf(part)
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == nil {
		return "nil"
	}
	return cmp.Or(t.Name(), t.String())
}

// about is err with the name of the part that it is about.
func about(kind string, part any, err error) error {
	if err == nil || strings.Contains(err.Error(), " "+NameOf(part)) { // a weight's name follows a quote
		return err
	}
	return fmt.Errorf("layers: the %s %s: %w", kind, NameOf(part), err)
}

// lawful is how far two answers may lie from each other that a law makes one: both compute the same in float64, of
// log p̂ that are equal but for one more rounding (1e-16).
const lawful = 1e-9

// CheckMap checks a Map on 6 random rows of 3 classes, in a space of 4 slots with 5 codewords, at weights
// drawn away from its start, and tells the first fault in a sentence:
//
//   - Init gives finite weights, and the same from one seed
//   - LogProbs gives a finite number for each row and class, each row a distribution, and twice the same
//   - a number added to all logits of a row changes nothing, nor does how deep a class is masked
//   - the loss reads each learned weight, and its gradient agrees with central differences
//
// A map with inputs of another base is checked by [CheckMapOn], an op of its own in float32 too by graphtest.Op.
func CheckMap(m Map, rng *rand.Rand) error {
	if m == nil || rng == nil {
		return errors.New("layers: there is no map to check, or no random numbers to do it with")
	}
	const rows, c = 6, 3
	s := Sizes{Classes: c, Features: 8, Slots: 4, Codewords: 5, Counts: []float64{3, 2, 1}}
	x := &data.Set{
		Features: mat.NewDense(rows, s.Features, graph.Normals(rows*s.Features, 0, 1, rng)),
		Logits:   mat.NewDense(rows, c, graph.Normals(rows*c, 0, 2, rng)),
		Labels:   make([]int, rows),
	}
	for i := range x.Labels {
		x.Labels[i] = rng.IntN(c)
	}
	var codes []int32
	for range rows * s.Slots {
		codes = append(codes, int32(rng.IntN(s.Codewords)))
	}
	with := func(change func(row, class int, logit float64) float64) *View {
		changed := *x
		changed.Logits = mat.NewDense(rows, c, nil)
		changed.Logits.Apply(change, x.Logits)
		return &View{LogProbs: data.LogProbs(changed.Logits), Codes: codes, Set: &changed}
	}
	view := with(func(_, _ int, l float64) float64 { return l })
	if err := CheckMapOn(m, view, x.Labels, s, 0.3, rng); err != nil {
		return err
	}
	w, err := displaced(m, s, 0.3, rng)
	if err != nil {
		return about("map", m, err)
	}
	masked := func(depth float64) *View {
		return with(func(i, j int, l float64) float64 {
			if i%2 == 0 && j == (x.Labels[i]+1)%c {
				return depth
			}
			return l
		})
	}
	for _, law := range []struct {
		a, b *View
		says string
	}{
		{view, with(func(i, _ int, l float64) float64 { return l + float64(i) - 2.5 }), "a number added to all logits of a row"},
		{masked(-1000), masked(math.Inf(-1)), "the depth at which a class is masked"},
	} {
		p, err := posterior(m, law.a, w, s)
		if err != nil {
			return about("map", m, err)
		}
		q, err := posterior(m, law.b, w, s)
		if err != nil {
			return about("map", m, err)
		}
		if d := farthest(p, q); !(d <= lawful) {
			return fmt.Errorf("layers: the map %s: %s moves a probability by %.2g, and it means nothing: read in.LogProbs, which is normalized and without masks, and not the logits", NameOf(m), law.says, d)
		}
	}
	return nil
}

// CheckMapOn is CheckMap, but for what it does with logits, on a view of labelled rows. Spread is how far from the
// start each weight is moved, as a standard deviation: at the start itself receivers and senders, or whatever a map
// starts alike, would have gradients alike.
func CheckMapOn(m Map, v *View, labels []int, s Sizes, spread float64, rng *rand.Rand) error {
	if m == nil || v == nil || v.LogProbs == nil || rng == nil {
		return errors.New("layers: there is no map, no rows or no random numbers to check with")
	}
	return about("map", m, checkOn(m, v, labels, s, spread, rng))
}

func checkOn(m Map, v *View, labels []int, s Sizes, spread float64, rng *rand.Rand) error {
	seed := rng.Uint64()
	start := func() *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
	w, err := displaced(m, s, spread, start())
	if err != nil {
		return err
	}
	again, err := displaced(m, s, spread, start())
	if err != nil {
		return err
	}
	for _, name := range w.Names() {
		if !again.Has(name) || !slices.Equal(w.Float64s(name), again.Float64s(name)) {
			return fmt.Errorf("two Inits of one seed give weight %q two values; draw by the rng that Init is given alone", name)
		}
	}
	p, err := posterior(m, v, w, s)
	if err != nil {
		return err
	}
	q, err := posterior(m, v, w, s)
	if err != nil {
		return err
	}
	if !slices.Equal(p.RawMatrix().Data, q.RawMatrix().Data) {
		return errors.New("two calls of LogProbs on the same rows give two answers; draw nothing in it")
	}
	if len(w.Learned()) == 0 {
		return nil
	}
	rows, err := v.RowsFor(m, w, s)
	if err != nil {
		return err
	}
	rows = rows.Labelled(graph.Labels(labels))
	return graphtest.Gradient(w, len(labels), func(b *graph.Builder) *gorgonia.Node { return lossOf(b, m, rows.Batch(b), rows.n) })
}

// displaced are the weights of m in float64, those learned moved from their start by N(0, spread²).
func displaced(m Map, s Sizes, spread float64, rng *rand.Rand) (*graph.Weights, error) {
	w, err := StartMap(m, s, rng)
	if err != nil {
		return nil, err
	}
	w = w.As(tensor.Float64)
	for _, name := range w.Learned() {
		x := w.Tensor(name).Float64s()
		for i := range x {
			x[i] += spread * rng.NormFloat64()
		}
	}
	return w, nil
}

// posterior is m's for the rows of a view (N×C), in log-probabilities. A number that is not finite is an error that
// names the op that first gave one.
func posterior(m Map, v *View, w *graph.Weights, s Sizes) (*mat.Dense, error) {
	rows, err := v.RowsFor(m, w, s)
	if err != nil {
		return nil, err
	}
	f := rows.Function(w, LogProbsOf(m))
	out, err := f.Of(graph.Rows(0, rows.n))
	if err != nil {
		return nil, err
	}
	for at, l := range graph.Float64s(out[0]) {
		if l-l != 0 {
			program, err := f.Program(rows.n)
			if err != nil {
				return nil, err
			}
			return nil, fmt.Errorf("row %d, class %d has the log-probability %v, from %s", at/s.Classes, at%s.Classes, l, program.NonFinite())
		}
	}
	return rows.Posterior(m, w)
}

// farthest is the largest difference of two probabilities, given by their logarithms.
func farthest(p, q *mat.Dense) (most float64) {
	for i, l := range p.RawMatrix().Data {
		most = max(most, math.Abs(math.Exp(l)-math.Exp(q.RawMatrix().Data[i])))
	}
	return most
}

// CheckCalibrator fits what build makes, a new calibrator at each call, to 120 random rows of 3 classes with 8
// features, and tells the first law in a sentence that it breaks:
//
//   - before Fit it predicts nothing
//   - each row's probabilities are finite and sum to 1
//   - one seed gives one model, to the last bit
//   - a model that was saved and restored predicts the same
func CheckCalibrator(build func() Stateful, rng *rand.Rand) error {
	if build == nil || rng == nil {
		return errors.New("layers: there is nothing that makes a calibrator to check, or no random numbers")
	}
	c := build()
	if c == nil {
		return errors.New("layers: there is no calibrator to check")
	}
	return about("calibrator", c, checkCalibrator(c, build, rng))
}

func checkCalibrator(c Stateful, build func() Stateful, rng *rand.Rand) (err error) {
	defer graph.Recover(&err)
	cal, val, test := threeClasses(120, rng), threeClasses(60, rng), threeClasses(60, rng)
	if _, err := c.Predict(test); err == nil {
		return errors.New("it predicts before it is fitted; return layers.ErrUnfitted")
	}
	seed := rng.Uint64()
	of := func(c Stateful) (*mat.Dense, error) {
		if err := c.Fit(context.Background(), cal, val, rand.New(rand.NewPCG(seed, 0))); err != nil {
			return nil, err
		}
		return answered(c, test)
	}
	first, err := of(c)
	if err != nil {
		return err
	}
	second, err := of(build())
	if err != nil {
		return err
	}
	if !mat.Equal(first, second) {
		return errors.New("two fits of one seed predict differently; draw by the rng that Fit is given alone")
	}
	state, err := c.State()
	if err != nil {
		return err
	}
	restored := build()
	if err := restored.Restore(state); err != nil {
		return fmt.Errorf("its own State is not restored: %w", err)
	}
	third, err := answered(restored, test)
	if err != nil {
		return err
	}
	if !mat.Equal(first, third) {
		return errors.New("what is restored of its State predicts differently")
	}
	return nil
}

// answered are the log-probabilities of x, each row a distribution.
func answered(c Stateful, x *data.Set) (*mat.Dense, error) {
	p, err := c.Predict(x)
	switch {
	case err != nil:
		return nil, err
	case p == nil || p.LogProbs == nil:
		return nil, errors.New("Predict gives neither predictions nor an error")
	}
	if n, k := p.LogProbs.Dims(); n != x.Len() || k != x.Classes() {
		return nil, fmt.Errorf("Predict gives %d rows of %d classes for %d of %d", n, k, x.Len(), x.Classes())
	}
	for i := range x.Len() {
		sum := 0.0
		for _, l := range p.LogProbs.RawRowView(i) {
			sum += math.Exp(l)
		}
		if !(math.Abs(sum-1) <= lawful) {
			return nil, fmt.Errorf("the probabilities of row %d sum to %.10g, not 1; end with layers.Renormalize", i, sum)
		}
	}
	return p.LogProbs, nil
}

// threeClasses are n rows of three Gaussian classes in 8 dimensions, with the logits of a classifier that is too sure.
func threeClasses(n int, rng *rand.Rand) *data.Set {
	z := mat.NewDense(n, 8, nil)
	s := &data.Set{Features: z, Logits: mat.NewDense(n, 3, nil), Labels: make([]int, n)}
	for i := range n {
		y := i % 3
		s.Labels[i] = y
		for j := range 8 {
			v := rng.NormFloat64()
			if j%3 == y {
				v += 1.5
			}
			z.Set(i, j, v)
			s.Logits.Set(i, j%3, s.Logits.At(i, j%3)+3*v)
		}
	}
	return s
}
