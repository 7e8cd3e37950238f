package main

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"testing"
	"time"
)

// Every op of one type stops; and what does not is counted by its kind.
func TestOps(t *testing.T) {
	c, n := &campaign{ctx: context.Background()}, &count{until: time.Now().Add(time.Hour)}
	ops(c, n, rand.New(rand.NewPCG(1, 0)))
	if n.wrong() != 0 || n.Done != n.Goal || n.Done < 300 {
		t.Errorf("%d of %d attacks, %d failures", n.Done, n.Goal, n.wrong())
	}
	n = &count{}
	stops(n, "nothing said", "lone", func() error { return nil })
	stops(n, "no name", "lone", func() error { return errors.New("write it for both float types") })
	stops(n, "a panic", "lone", func() error { panic("lone") })
	stops(n, "memory", "lone", func() error {
		v, kept := within[float64](1, 4)
		clear(v.Data().([]float64)[3:])
		return kept(nil)
	})
	if want := map[string]int{"wrong exits": 2, "traces": 1, "destroyed inputs": 1}; !maps.Equal(n.failures, want) {
		t.Errorf("counted %v, not %v", n.failures, want)
	}
}
