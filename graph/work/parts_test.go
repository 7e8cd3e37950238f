package work

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestParts: all parts are done once, in order if one by one, never more at a time than asked for.
func TestParts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for atOnce, want := range map[int]int32{0: 4, 1: 1, 3: 3} {
		var now, most atomic.Int32
		done := make([]atomic.Int32, 20)
		err := Parts{N: len(done), AtOnce: atOnce}.Do(t.Context(), func(_ context.Context, k int) error {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			if done[k].Add(1); atOnce == 1 && k > 0 && done[k-1].Load() == 0 {
				t.Errorf("part %d comes before the one before it", k)
			}
			time.Sleep(time.Millisecond)
			now.Add(-1)
			return nil
		})
		if err != nil || most.Load() > want {
			t.Errorf("%d at once: %d at a time, %v", atOnce, most.Load(), err)
		}
		for k := range done {
			if n := done[k].Load(); n != 1 {
				t.Errorf("%d at once: part %d is done %d times", atOnce, k, n)
			}
		}
	}
}

// TestPartsShareThreads: parts within parts have the threads that are left, and give them back as each worker ends.
func TestPartsShareThreads(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for atOnce, want := range map[int]int{1: 4, 2: 2, 4: 1, 8: 1} {
		begun, told := make(chan bool), make(chan bool)
		var left atomic.Int32
		err := Parts{N: atOnce, AtOnce: atOnce}.Do(t.Context(), func(_ context.Context, k int) error {
			if k > 0 {
				begun <- true
				<-told
				return nil
			}
			for range atOnce - 1 {
				<-begun
			}
			if n := Threads(); n != want {
				t.Errorf("%d threads for each of %d", n, atOnce)
			}
			close(told)
			for start := time.Now(); Threads() < 4 && time.Since(start) < 10*time.Second; {
				time.Sleep(time.Millisecond)
			}
			left.Store(int32(Threads()))
			return nil
		})
		if err != nil || left.Load() != 4 || Threads() != 4 {
			t.Errorf("%d at once: %d threads for the last, %d afterwards, %v", atOnce, left.Load(), Threads(), err)
		}
	}
}

// TestPartsEnd: the first error, a panic or the caller cancels the parts that go on, and no more begin.
func TestPartsEnd(t *testing.T) {
	wrong := errors.New("wrong")
	for _, atOnce := range []int{1, 4} {
		for name, end := range map[string]func(cancel func()) error{
			"wrong":    func(func()) error { return wrong },
			"panic":    func(func()) error { panic("in a part") },
			"canceled": func(cancel func()) error { cancel(); return nil },
		} {
			ctx, cancel := context.WithCancel(t.Context())
			var begun atomic.Int32
			var err error
			func() {
				defer func() {
					if p := recover(); p != nil {
						err = errors.New(fmt.Sprint("panic: ", p.(*Panic).Value))
					}
				}()
				err = Parts{N: 1000, AtOnce: atOnce}.Do(ctx, func(ctx context.Context, k int) error {
					begun.Add(1)
					if k == 7 {
						return end(cancel)
					}
					if k > 7 {
						<-ctx.Done()
						return ctx.Err()
					}
					return nil
				})
			}()
			cancel()
			if err == nil || !strings.Contains(err.Error(), name) || int(begun.Load()) > 7+atOnce {
				t.Errorf("%d at once, %s: %v after %d parts", atOnce, name, err, begun.Load())
			}
		}
	}
	if Threads() != runtime.GOMAXPROCS(0) {
		t.Errorf("%d threads afterwards", Threads())
	}
}

// TestPartsReport: parts that go on side by side add up to the whole by their costs.
func TestPartsReport(t *testing.T) {
	var said []string
	ctx := WithProgress(t.Context(), func(doing []string, from, to float64) {
		said = append(said, fmt.Sprintf("%s %.3f %.3f", strings.Join(doing, ": "), from, to))
	})
	err := Parts{What: "fold", N: 2, Costs: []float64{1, 3}, AtOnce: 1}.Do(Piece(ctx, "fit", 2, 1, 0, 1), func(ctx context.Context, k int) error {
		Report(ctx, 0.5, "epoch %d", k)
		return nil
	})
	want := `step 2 of 2, fit 0.500 1.000
step 2 of 2, fit: fold 1 of 2: epoch 0 0.562 0.688
step 2 of 2, fit: fold 1 of 2 0.625 0.750
step 2 of 2, fit: fold 2 of 2: epoch 1 0.812 1.000
step 2 of 2, fit: fold 2 of 2 1.000 1.000`
	if got := strings.Join(said, "\n"); err != nil || got != want {
		t.Errorf("%v, they report\n%s", err, got)
	}
}

// TestBeat: it beats until it is stopped, which passes on a panic.
func TestBeat(t *testing.T) {
	beats := make(chan bool, 1)
	stop := Beat(time.Millisecond, func() {
		select {
		case beats <- true:
		default:
		}
	})
	<-beats
	<-beats
	stop()
	stop = Beat(time.Millisecond, func() { beats <- true; panic("in a beat") })
	<-beats
	defer func() {
		if p, ok := recover().(*Panic); !ok || p.Value != "in a beat" {
			t.Errorf("it panics with %v", p)
		}
	}()
	time.Sleep(10 * time.Millisecond)
	stop()
}
