package cli

import (
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"calibra/data"
	"calibra/graph/work"

	"github.com/schollz/progressbar/v3"
)

// steps shows how far a work is that reports to its context and takes more than two seconds, whether it reports its inner steps
// or not: the step that goes on, what is done in it, and how long the rest should take. It is a bar on a terminal, which is taken
// away at the end, else a line every five seconds, and never wider than the terminal.
type steps struct {
	err    *os.File
	quiet  bool
	began  time.Time
	next   time.Time // of a line
	bar    *progressbar.ProgressBar
	mu     sync.Mutex
	pace   pace
	doing  []string // from the outermost step to the innermost
	hidden bool     // until the next report
	stop   func()
}

const (
	silence  = 2 * time.Second
	barWidth = 8
	// aroundBar is what package progressbar prints beside description and bar: " 100% ||".
	aroundBar = 12
)

// steps begins a work that should take so many seconds, as far as is known before, to be cleared at its end. The work
// reports to the context that is returned.
func (t *terminal) steps(ctx context.Context, seconds float64) (context.Context, *steps) {
	now := time.Now()
	s := &steps{err: t.err, quiet: t.quiet, began: now, next: now.Add(silence), pace: pace{expected: max(seconds, 1)}}
	s.stop = sync.OnceFunc(work.Beat(time.Second/2, s.show))
	return work.WithProgress(ctx, s.report), s
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
	if s.hidden || s.quiet || s.bar == nil && took < silence {
		return
	}
	done, left := s.pace.at(took.Seconds())
	text := data.Line(told(s.doing, took, left, s.room()))
	if s.live() {
		if s.bar == nil {
			s.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(s.err), progressbar.OptionSetWidth(barWidth),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond))
		}
		s.bar.Describe(clipped(text, s.room()))
		_ = s.bar.Set(int(1000 * done)) // a terminal that cannot be written to shows nothing
	} else if now.After(s.next) {
		s.next = now.Add(5 * time.Second)
		fmt.Fprintf(s.err, "%s (%.0f %%)\n", text, 100*done)
	}
}

// hide takes the bar away until the work reports again, so that something can be printed.
func (s *steps) hide() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hidden = true; s.bar != nil {
		_ = s.bar.Finish()
		s.bar = nil
	}
}

// clear ends the work, once.
func (s *steps) clear() {
	s.stop()
	s.hide()
}

// live reports whether there is a terminal that a bar can move on.
func (s *steps) live() bool { return interactive(s.err) && os.Getenv("TERM") != "dumb" }

// room is how long a text may be.
func (s *steps) room() int {
	if !s.live() {
		return width(s.err)
	}
	return width(s.err) - barWidth - aroundBar
}

// told is a line of a work that goes on: how long it took, what is left where that is known, and what is done. Where it is
// longer than width, it begins with the innermost of the steps that are counted.
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

// pace is how fast a work goes on that is told of its shares, in seconds from its beginning.
type pace struct {
	expected float64 // of the whole, before anything is known
	from, to float64 // the share that is behind it, and that where the step ends which goes on
	since    float64 // when from was reached
}

// believed is the share of a work after which what it took counts as much as what was expected.
const believed = 0.1

// reach records that the work is where a step begins, or goes on in one.
func (p *pace) reach(now, from, to float64) {
	if from > p.from || p.to == 0 {
		p.from, p.since = max(p.from, from), now
	}
	p.to = max(to, p.from)
}

// at is which share is done and how many seconds are left. A step is taken to go on as fast as the work did until it
// began, and slower towards its end, which it does not reach before it is reported.
func (p *pace) at(now float64) (done, left float64) {
	done = p.from
	if room := p.to - p.from; room > 0 {
		rate := (p.from + believed) / (p.since + believed*p.expected)
		done += room * (1 - math.Exp(-rate*(now-p.since)/room))
	}
	return done, (1 - done) * (now + believed*p.expected) / (done + believed)
}

// clipped is text in at most width places.
func clipped(text string, width int) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
