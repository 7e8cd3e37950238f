package work

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A long computation reports to its context where it is, so that whoever waits can be shown what goes on and how much
// of it is left. It divides itself into parts, of parts in turn: [Piece], [Span] and [Parts] give the contexts of
// parts, [Report] names what goes on in one. Without [WithProgress] nothing is observed.

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
	if ctx = orBackground(ctx); observe == nil {
		return ctx
	}
	return context.WithValue(ctx, progressKey{}, &progress{whole: observe, to: 1})
}

// partOf is the part of the whole that a context is of, nil where nobody observes.
func partOf(ctx context.Context) *progress {
	t, _ := orBackground(ctx).Value(progressKey{}).(*progress)
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

// Report reports that a share of ctx's part is done, and what goes on in it.
func Report(ctx context.Context, done float64, format string, args ...any) {
	if t := partOf(ctx); t != nil {
		t.whole(append(slices.Clip(t.doing), fmt.Sprintf(format, args...)), t.from+(t.to-t.from)*done, t.to)
	}
}

// reported is how far [Parts] are, which go on side by side; nil where nobody observes.
type reported struct {
	Parts
	whole  *progress
	total  float64 // of all costs
	lock   sync.Mutex
	behind []float64 // of each part's cost, and the sum
	sum    float64
}

func (p Parts) reported(ctx context.Context) *reported {
	t := partOf(ctx)
	if t == nil {
		return nil
	}
	if p.Costs == nil {
		p.Costs = slices.Repeat([]float64{1}, p.N)
	}
	r := &reported{Parts: p, whole: t, behind: make([]float64, p.N)}
	for _, cost := range p.Costs {
		r.total += cost
	}
	return r
}

// context is that of part k.
func (r *reported) context(ctx context.Context, k int) context.Context {
	if r == nil {
		return ctx
	}
	part := &progress{to: 1, doing: r.doing(k), whole: func(doing []string, from, _ float64) { r.reach(k, doing, from) }}
	return context.WithValue(ctx, progressKey{}, part)
}

func (r *reported) ended(k int) {
	if r != nil {
		r.reach(k, r.doing(k), 1)
	}
}

// doing is what goes on while part k does.
func (r *reported) doing(k int) []string {
	if r.What == "" {
		return r.whole.doing
	}
	return append(slices.Clip(r.whole.doing), fmt.Sprintf("%s %d of %d", r.What, k+1, r.N))
}

// reach reports that a share of part k is done.
func (r *reported) reach(k int, doing []string, share float64) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if more := share*r.Costs[k] - r.behind[k]; more > 0 {
		r.behind[k] += more
		r.sum += more
	}
	width := (r.whole.to - r.whole.from) / r.total
	r.whole.whole(doing, r.whole.from+width*r.sum, r.whole.from+width*min(r.total, r.sum+r.Costs[k]))
}

// orBackground is the empty context instead of nil.
func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
