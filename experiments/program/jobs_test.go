package program_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"calibra/experiments/program"
)

// TestSideBySide: all work is done once, never more at a time than asked for, in order if
// one by one; a cancelled one begins no more.
func TestSideBySide(t *testing.T) {
	for _, jobs := range []int{1, 3} {
		var now, most atomic.Int32
		var order []int
		err := program.SideBySide(t.Context(), 20, jobs, func(int) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			now.Add(-1)
		}, func(i int) { order = append(order, i) })
		if err != nil || int(most.Load()) > jobs {
			t.Errorf("%d jobs: %d at a time, %v", jobs, most.Load(), err)
		}
		if jobs > 1 {
			slices.Sort(order)
		}
		for i, k := range order {
			if i != k || len(order) != 20 {
				t.Fatalf("%d jobs: ended %v", jobs, order)
			}
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	begun := 0
	err := program.SideBySide(ctx, 20, 1, func(int) {
		if begun++; begun == 3 {
			cancel()
		}
	}, nil)
	if !errors.Is(err, context.Canceled) || begun != 3 {
		t.Errorf("after cancelling at 3, %d were begun: %v", begun, err)
	}
}
