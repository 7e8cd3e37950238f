package layers

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"

	"calibra/data"
)

// remembers is a Stateful that knows the number of rows it was fitted to.
type remembers struct {
	Stateful
	rows int
	stop context.CancelFunc // called by Fit
}

func (c *remembers) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	if c.stop != nil {
		c.stop()
	}
	c.rows = cal.Len()
	return ctx.Err()
}

func (c *remembers) State() (State, error) {
	if c.rows == 0 {
		return State{}, ErrUnfitted
	}
	return State{}, nil
}

// chooser is remembers, and says whose choice it took.
type chooser struct {
	remembers
	by Calibrator
}

func (c *chooser) Redraw(ctx context.Context, chosen Calibrator, cal, val *data.Set, rng *rand.Rand) error {
	c.by = chosen
	return c.Fit(ctx, cal, val, rng)
}

// TestEnsembleInterrupted keeps no member of an earlier fit to other rows.
func TestEnsembleInterrupted(t *testing.T) {
	first := &remembers{}
	e := Ensemble{Members: []Stateful{first, &remembers{}, &remembers{}, &remembers{}}}
	if err := e.Fit(t.Context(), &data.Set{Labels: make([]int, 9)}, nil, rand.New(rand.NewPCG(1, 0))); err != nil || e.fitted != 4 {
		t.Fatal(e.fitted, err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	first.stop = stop
	if err := e.Fit(ctx, &data.Set{Labels: make([]int, 5)}, nil, rand.New(rand.NewPCG(1, 0))); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if e.fitted == 0 {
		t.Error("nothing is kept of the member that was being fitted")
	}
	for _, m := range e.Members[:e.fitted] {
		if n := m.(*remembers).rows; n != 5 {
			t.Errorf("a member of %d rows is kept", n)
		}
	}
}

// TestEnsembleSharesTheChoice of the first member, which alone chooses.
func TestEnsembleSharesTheChoice(t *testing.T) {
	all := []*chooser{{}, {}, {}}
	e := Ensemble{Members: []Stateful{all[0], all[1], all[2]}}
	if err := e.Fit(t.Context(), &data.Set{Labels: make([]int, 9)}, nil, rand.New(rand.NewPCG(1, 0))); err != nil {
		t.Fatal(err)
	}
	if all[0].by != nil || all[1].by != Calibrator(all[0]) || all[2].by != Calibrator(all[0]) {
		t.Errorf("choices of %p are %v, %v and %v", all[0], all[0].by, all[1].by, all[2].by)
	}
}
