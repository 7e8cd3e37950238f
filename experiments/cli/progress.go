package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"

	"github.com/schollz/progressbar/v3"
)

// steps shows how far a work is that reports to its context and takes more than two seconds, whether it reports its
// inner steps or not: the step that goes on, what is done in it, and how long the rest should take. It is a bar on a
// terminal, which is taken away at the end, else a line every five seconds, and never wider than the terminal.
type steps struct {
	on     *terminal
	began  time.Time // of the command
	next   time.Time // of a line
	bar    *progressbar.ProgressBar
	mu     sync.Mutex
	pace   pace
	doing  []string // from the outermost step to the innermost
	hidden bool     // until the next report
}

const (
	silence  = 2 * time.Second
	barWidth = 8
	// aroundBar is what package progressbar prints beside description and bar: " 100% ||".
	aroundBar = 12
)

// watch shows how far the command is that reports to the context that it gives, until stop is called. What the command
// prints hides the bar until it reports again.
func (t *terminal) watch(ctx context.Context) (shown context.Context, stop func()) {
	now := time.Now()
	t.bar = &steps{on: t, began: now, next: now.Add(silence), hidden: true, pace: pace{stages: []stage{{0, 1, 0, 0}}}}
	end := work.Beat(time.Second/2, t.bar.show)
	return work.WithProgress(ctx, t.bar.report), func() { end(); t.bar.hide() }
}

// division begins the k-th part of a computation.
type division func(k int, what string) context.Context

// divide divides what is left of the command into parts that should take so many seconds each, 0 where there is none.
func (t *terminal) divide(ctx context.Context, seconds ...float64) division {
	if s := t.bar; s != nil {
		s.mu.Lock()
		from := s.pace.divide(seconds)
		s.mu.Unlock()
		ctx = work.Span(ctx, "", from, 1)
	}
	return func(k int, what string) context.Context { return work.Piece(ctx, what, k, seconds...) }
}

// report takes where the work is.
func (s *steps) report(doing []string, from, to float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doing, s.hidden = doing, false
	s.pace.reach(time.Since(s.began).Seconds(), from, to)
}

// show shows the steps, the outermost first as far as there is room, and what is left.
func (s *steps) show() {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	took := now.Sub(s.began)
	if s.hidden || s.on.quiet || s.bar == nil && took < silence {
		return
	}
	done, left := s.pace.at(took.Seconds())
	text := data.Line(told(s.doing, took, left, s.room()))
	if s.live() {
		if s.bar == nil {
			s.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(s.on.err), progressbar.OptionSetWidth(barWidth),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond))
		}
		s.bar.Describe(clipped(text, s.room()))
		_ = s.bar.Set(int(1000 * done)) // a terminal that cannot be written to shows nothing
	} else if now.After(s.next) {
		s.next = now.Add(5 * time.Second)
		fmt.Fprintf(s.on.err, "%s (%.0f %%)\n", text, 100*done)
	}
}

// hide takes the bar away until the work reports again, so that something can be printed.
func (s *steps) hide() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden = true; s.bar != nil {
		_ = s.bar.Finish()
		s.bar = nil
	}
}

// live reports whether there is a terminal that a bar can move on.
func (s *steps) live() bool { return interactive(s.on.err) && os.Getenv("TERM") != "dumb" }

// room is how long a text may be.
func (s *steps) room() int {
	if !s.live() {
		return width(s.on.err)
	}
	return width(s.on.err) - barWidth - aroundBar
}

// told is a line of a work that goes on: how long it took, what is left where that is known, and what is done. Where it
// is longer than width, it begins with the innermost of the steps that are counted.
func told(doing []string, now time.Duration, left float64, width int) string {
	head := now.Round(time.Second).String()
	all := head
	if left <= mostLeft {
		head = fmt.Sprintf("about %v left", time.Duration(math.Ceil(left))*time.Second)
		all += ", " + head
	}
	all = strings.Join(append([]string{all}, doing...), ": ")
	if utf8.RuneCountInString(all) <= width {
		return all
	}
	for i := len(doing) - 1; i >= 0; i-- {
		if strings.HasPrefix(doing[i], "step ") {
			doing = doing[i:]
			break
		}
	}
	return strings.Join(append([]string{head}, doing...), ": ")
}

// mostLeft are the seconds beyond which an estimate says nothing.
const mostLeft = 1e6

// pace is how fast a command goes on that is told of its shares, in seconds from its beginning.
type pace struct {
	stages   []stage
	from, to float64 // the share that is behind it, and that where the step ends which goes on
	since    float64 // when from was reached
	shown    float64 // the largest share that was
}

// stage is a part of a command: it takes the whole from one share to another, and should take so many seconds.
type stage struct {
	from, to float64
	seconds  float64 // 0: nobody knows
	began    float64 // NaN before
}

// divide replaces the stages behind the step that goes on.
func (p *pace) divide(seconds []float64) (from float64) {
	from = p.to
	before, all := 0., floats.Sum(seconds)
	if all == 0 {
		return from
	}
	p.stages = slices.DeleteFunc(p.stages, func(s stage) bool { return s.to > from+rounding })
	for _, s := range seconds {
		if s > 0 { // the shares are those of work.Piece
			p.stages = append(p.stages, stage{from + before/all*(1-from), from + (before+s)/all*(1-from), s, math.NaN()})
		}
		before += s
	}
	return from
}

// reach records that the work is where a step begins, or goes on in one.
func (p *pace) reach(now, from, to float64) {
	if from > p.from || p.to == 0 {
		p.from, p.since = max(p.from, from), now
	}
	p.to = max(to, p.from)
	for i := range p.stages {
		if s := &p.stages[i]; s.from <= p.from+rounding && math.IsNaN(s.began) {
			s.began = now
		}
	}
}

const (
	// rounding are shares that differ by rounding alone.
	rounding = 1e-9
	// believed is the share of a stage after which what it took counts as much as what was expected.
	believed = 0.1
	// telling is how many seconds a stage should take that says half of what can be said of the pace.
	telling = 1
)

// at is which share is done and how many seconds are left: of the stage that goes on by what it took, of those behind
// it by what they should take, times how much longer than expected the others took, in the geometric mean with one that
// took no longer.
func (p *pace) at(now float64) (done, left float64) {
	sum, weight, rest := 0., 1., 0.
	for i, s := range p.stages {
		slow := math.Exp(sum / weight)
		if math.IsNaN(s.began) {
			rest += s.seconds
			continue
		}
		took, total := now-s.began, 0.
		if i+1 < len(p.stages) && !math.IsNaN(p.stages[i+1].began) {
			took, left = p.stages[i+1].began-s.began, 0
			total = took
		} else {
			left = p.within(s, now, slow)
			total = took + left
		}
		if s.seconds > 0 && took > believed*s.seconds { // else there was nothing to do
			of := took / total * s.seconds / (s.seconds + telling)
			sum, weight = sum+of*math.Log(total/s.seconds), weight+of
		}
	}
	left += rest * math.Exp(sum/weight)
	took := now - p.stages[0].began
	p.shown = max(p.shown, took/(took+left))
	return p.shown, left
}

// within is how many seconds of a stage are left, which goes on by so much slower than expected; +Inf where nothing is
// known. It is taken to be slower by the geometric mean of 1 and what it was so far, whose weight grows with what is
// done: its parts need not all be as slow. A step needs a tenth of what it took, at least, until its end is reported.
func (p *pace) within(s stage, now, slow float64) float64 {
	share := func(x float64) float64 { return (x - s.from) / (s.to - s.from) }
	done, to, took := share(p.from), share(max(p.from, min(p.to, s.to))), now-p.since
	expected := slow * s.seconds
	whole := expected * math.Pow((p.since-s.began+believed*expected)/(done+believed)/expected, (1+done)/2)
	switch {
	case s.seconds == 0 && done == 0:
		return math.Inf(1)
	case s.seconds == 0:
		whole = (p.since - s.began) / done
	}
	return (1-to)*whole + max((to-done)*whole-took, believed*took)
}

// clipped is text in at most width places.
func clipped(text string, width int) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
