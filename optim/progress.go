package optim

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
)

// A long computation reports to its context where it is, so that whoever waits can be shown what goes on and how much of
// it is left. It divides itself into parts, of parts in turn: [Piece], [Span] and [Abreast] are the contexts of parts,
// [ReportProgress] names what goes on in one. Without [WithProgress] nothing is observed.

// progress is an observer, and the part of the whole that a context is of.
type progress struct {
	whole    func(doing []string, from, to float64)
	doing    []string // from the outermost part to the innermost
	from, to float64  // of the whole
}

// progressKey is the key of a context's part.
type progressKey struct{}

// WithProgress is a context whose computations report where they are: what goes on, from the outermost part to the
// innermost, and that the part which goes on takes the whole from one share of its work to another. observe may be
// called by several goroutines at once, and must not block.
func WithProgress(ctx context.Context, observe func(doing []string, from, to float64)) context.Context {
	if ctx == nil {
		ctx = context.Background()
	}
	if observe == nil {
		return ctx
	}
	return context.WithValue(ctx, progressKey{}, &progress{whole: observe, to: 1})
}

// partOf is the part of the whole that a context is of, nil where nobody observes.
func partOf(ctx context.Context) *progress {
	if ctx == nil {
		return nil
	}
	t, _ := ctx.Value(progressKey{}).(*progress)
	return t
}

// Span is the context of a part of ctx's computation that takes it from one share of its work to another, and reports
// that it begins. A part may have no name.
func Span(ctx context.Context, what string, from, to float64) context.Context {
	t := partOf(ctx)
	if t == nil {
		return ctx
	}
	width := t.to - t.from
	part := &progress{whole: t.whole, doing: t.doing, from: t.from + from*width, to: t.from + to*width}
	if what != "" {
		part.doing = append(slices.Clip(t.doing), what)
	}
	part.whole(part.doing, part.from, part.to)
	return context.WithValue(ctx, progressKey{}, part)
}

// Piece is the context of the i-th part of several, and reports that it begins. costs, in any unit, are the times of
// the parts; a part that does not exist has 0.
func Piece(ctx context.Context, what string, i int, costs ...float64) context.Context {
	var before, all float64
	number, of := 1, 0
	for k, c := range costs {
		all += c
		if c > 0 {
			of++
		}
		if k < i {
			before += c
			number = of + 1
		}
	}
	if all == 0 {
		return ctx
	}
	if of > 1 && costs[i] > 0 {
		what = fmt.Sprintf("step %d of %d, %s", number, of, what)
	}
	return Span(ctx, what, before/all, (before+costs[i])/all)
}

// Abreast are the contexts of n parts that take alike and go on side by side.
func Abreast(ctx context.Context, what string, n int) []context.Context {
	contexts := slices.Repeat([]context.Context{ctx}, n)
	t := partOf(ctx)
	if t == nil {
		return contexts
	}
	var lock sync.Mutex
	behind := make([]float64, n) // of each part
	for k := range contexts {
		part := &progress{to: 1, doing: append(slices.Clip(t.doing), fmt.Sprintf("%s %d of %d", what, k+1, n))}
		part.whole = func(doing []string, from, _ float64) {
			lock.Lock()
			defer lock.Unlock()
			behind[k] = max(behind[k], from)
			var all float64
			for _, share := range behind {
				all += share
			}
			width := t.to - t.from
			t.whole(doing, t.from+width*all/float64(n), t.from+width*min(1, (all+1)/float64(n)))
		}
		contexts[k] = context.WithValue(ctx, progressKey{}, part)
	}
	return contexts
}

// ReportProgress reports that a share of ctx's part is done, and what goes on in it.
func ReportProgress(ctx context.Context, what string, done float64) {
	if t := partOf(ctx); t != nil {
		t.whole(append(slices.Clip(t.doing), what), t.from+(t.to-t.from)*done, t.to)
	}
}

// report reports the last epoch or iteration, of so many at most, and which share of the fit is behind it.
func (r *Result) report(ctx context.Context, unit string, of int, done float64) {
	if partOf(ctx) == nil {
		return
	}
	p := r.Curve[len(r.Curve)-1]
	text := fmt.Sprintf("%s %d of at most %d, loss %.4f", unit, p.Epoch, of, p.Loss)
	if !math.IsNaN(p.Validation) {
		text += fmt.Sprintf(", validation %.4f", p.Validation)
	}
	ReportProgress(ctx, text, done)
}

// expected is how many epochs a fit should run in all. One that still improves is expected to go on for as long again,
// and then for its patience; as that runs out, it is expected to end with it.
func (e Epoch) expected(patience int) float64 {
	if math.IsNaN(e.Validation) {
		return float64(e.Of)
	}
	waited := float64(e.Number-e.Best) / float64(patience)
	return min(float64(e.Of), float64(e.Best)*(2-waited)+float64(patience))
}
