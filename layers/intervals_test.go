package layers

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// outsideBase is a base that embeds none of this package's, and forwards what intervals and
// reports need.
type outsideBase struct{ of *Divide }

func (o outsideBase) Fit(ctx context.Context, cal, val *data.Set, rng *rand.Rand) error {
	return o.of.Fit(ctx, cal, val, rng)
}
func (o outsideBase) View(x *data.Set) (*View, error) { return o.of.View(x) }
func (o outsideBase) Sizes() Sizes                    { return o.of.Sizes() }
func (o outsideBase) State() (State, error)           { return o.of.State() }
func (o outsideBase) Restore(s State) error           { return o.of.Restore(s) }
func (o outsideBase) Stages() []Stage                 { return []Stage{{"outside", o.of.Result, 0}} }
func (o outsideBase) Quantized(v *View) *Quantized    { return o.of.Quantized(v) }
func (o outsideBase) Ridge() (float64, error)         { return o.of.Ridge() }

// plainBase has no more than a Base must.
type plainBase struct{ Base }

// A base from elsewhere has its stages in the report, its codes read and its head's error
// counted, as Divide has.
func TestBasesFromElsewhere(t *testing.T) {
	own, _ := fittedBilinear(t)
	short := optim.Settings{Epochs: 10}
	divide := func() *Divide { return &Divide{Slots: 4, Codebook: Codebook{Codewords: 5}, Optim: short} }
	cal, x := blobs(600, 1), blobs(50, 4)
	fit := func(base Base) *Trained {
		c := Train(base, Bilinear{}, short)
		if err := c.Fit(t.Context(), cal, blobs(100, 2), newRand(3)); err != nil {
			t.Fatal(err)
		}
		return c
	}
	other := fit(outsideBase{divide()})
	if s := other.Stages(); len(s) != 2 || s[0].Name != "outside" || s[0].Result.Epochs != 10 || s[1].Name != "calibrate" {
		t.Errorf("the stages are %+v", s)
	}
	if s := own.Stages(); len(s) != 2 || s[0].Name != "divide" || s[0].Time <= 0 {
		t.Errorf("the stages of Divide are %+v", s)
	}
	_, want, err := own.Read(x)
	if err != nil {
		t.Fatal(err)
	}
	if _, got, err := other.Read(x); err != nil || got == nil || !mat.Equal(got, want) {
		t.Errorf("the regions are not read: %v", err)
	}
	type bounds = func(BoundedInStages) (lower, upper *mat.Dense, err error)
	for name, of := range map[string]bounds{
		"one stage":  func(c BoundedInStages) (_, _ *mat.Dense, _ error) { return c.Bounds(t.Context(), cal, x, 0.9) },
		"two stages": func(c BoundedInStages) (_, _ *mat.Dense, _ error) { return c.BoundsOfStages(t.Context(), cal, x, 0.9) },
	} {
		lower, upper, err := of(own)
		if err != nil {
			t.Fatal(err)
		}
		l, u, err := of(other)
		if err != nil || !mat.Equal(l, lower) || !mat.Equal(u, upper) {
			t.Errorf("%s: the bounds on a base from elsewhere differ: %v", name, err)
		}
	}
	plain := fit(plainBase{divide()})
	if s := plain.Stages(); len(s) != 1 || s[0].Name != "calibrate" {
		t.Errorf("a base without stages has %+v", s)
	}
	if _, got, err := plain.Read(x); err != nil || got != nil {
		t.Errorf("a base without regions has %v, %v", got, err)
	}
	if _, _, err := plain.Bounds(t.Context(), cal, x, 0.9); err != nil {
		t.Error(err)
	}
	if _, _, err := plain.BoundsOfStages(t.Context(), cal, x, 0.9); err == nil {
		t.Error("the error of a head that nobody tells of is counted")
	}
}

func TestUnbounded(t *testing.T) {
	if err := Train(&Divide{}, Bilinear{}, optim.Settings{}).Unbounded(); !errors.Is(err, ErrUnfitted) {
		t.Errorf("before Fit: %v", err)
	}
	if err := Fitted(&Divide{}, Identity{}, graph.NewWeights(tensor.Float64)).Unbounded(); err == nil || errors.Is(err, ErrUnfitted) {
		t.Errorf("of a map without weights: %v", err)
	}
}
