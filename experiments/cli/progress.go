package cli

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"

	"github.com/schollz/progressbar/v3"
	"github.com/sourcegraph/conc"
)

// progress shows how far a work is that takes more than two seconds: a bar on a terminal,
// which is taken away at the end, else a line every five seconds. It is never wider than
// the terminal.
type progress struct {
	err   *os.File
	quiet bool
	began time.Time
	next  time.Time // of a line
	bar   *progressbar.ProgressBar
}

const (
	silence  = 2 * time.Second
	barWidth = 20
	// aroundBar is what package progressbar prints beside description and bar: " 100% ||".
	aroundBar = 12
)

// progress begins a work.
func (t *terminal) progress() *progress {
	now := time.Now()
	return &progress{err: t.err, quiet: t.quiet, began: now, next: now.Add(silence)}
}

// at shows that done of total is done; text says what that is.
func (p *progress) at(done, total float64, text string) {
	now, text := time.Now(), data.Line(text)
	if p.quiet || p.bar == nil && now.Sub(p.began) < silence || !(total > 0) {
		return
	}
	if interactive(p.err) && os.Getenv("TERM") != "dumb" {
		if p.bar == nil {
			p.bar = progressbar.NewOptions(1000, progressbar.OptionSetWriter(p.err), progressbar.OptionSetWidth(barWidth),
				progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionThrottle(100*time.Millisecond))
		}
		p.bar.Describe(clipped(text, width(p.err)-barWidth-aroundBar))
		_ = p.bar.Set(int(1000 * done / total)) // a terminal that cannot be written to shows nothing
		return
	}
	if now.After(p.next) {
		p.next = now.Add(5 * time.Second)
		share := fmt.Sprintf(" (%.0f %%)", 100*done/total)
		fmt.Fprintln(p.err, clipped(text, narrow-len(share))+share)
	}
}

// clear takes the bar away.
func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Finish()
		p.bar = nil
	}
}

// left says how long the rest should take, ", about 3s left", once something is done.
func (p *progress) left(done, total float64) string {
	if done <= 0 || done >= total {
		return ""
	}
	return fmt.Sprintf(", about %v left", time.Duration(float64(time.Since(p.began))*(total-done)/done).Round(time.Second))
}

// steps shows where a work of several steps is, be it told of what goes on inside or not.
type steps struct {
	*progress
	n      int
	mu     sync.Mutex
	at     int    // of n, from 1 on
	what   string // the step
	detail string // what goes on in it
	part   float64
	ended  chan struct{}
	beats  conc.WaitGroup
}

// steps begins a work of n steps, to be cleared at its end.
func (t *terminal) steps(n int) *steps {
	s := &steps{progress: t.progress(), n: n, ended: make(chan struct{})}
	s.beats.Go(func() {
		beat := time.NewTicker(time.Second / 2)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				s.mu.Lock()
				s.show()
				s.mu.Unlock()
			case <-s.ended:
				return
			}
		}
	})
	return s
}

// next begins the next step, whose epochs are to be observed.
func (s *steps) next(what string) func(optim.Epoch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at, s.what, s.detail, s.part = s.at+1, what, "", 0
	return s.stage("")
}

// stage observes a stage of the step.
func (s *steps) stage(name string) func(optim.Epoch) {
	return func(e optim.Epoch) {
		text := fmt.Sprintf("%s: epoch %d of at most %d, loss %.4f", name, e.Number, e.Of, e.Loss)
		if e.Validation == e.Validation {
			text += fmt.Sprintf(", validation %.4f", e.Validation)
		}
		s.tell(strings.TrimPrefix(text, ": "), float64(e.Number)/float64(e.Of))
	}
}

// told is ctx with what long computations tell of themselves.
func (s *steps) told(ctx context.Context) context.Context {
	return layers.WithProgress(ctx, func(what string, done, total int) {
		s.tell(fmt.Sprintf("%s %d of %d", what, done+1, total), float64(done)/float64(total))
	})
}

func (s *steps) tell(detail string, part float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detail, s.part = detail, part
}

// show shows the step, what goes on in it and for how long the work runs.
func (s *steps) show() {
	var parts []string
	if s.n > 1 {
		parts = append(parts, fmt.Sprintf("step %d of %d", s.at, s.n))
	}
	for _, part := range []string{s.what, s.detail} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if s.at > 0 {
		s.progress.at(float64(s.at-1)+s.part+1e-3, float64(s.n), fmt.Sprintf("%v, %s", time.Since(s.began).Round(time.Second), strings.Join(parts, ": ")))
	}
}

// clear ends the work.
func (s *steps) clear() {
	close(s.ended)
	s.beats.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.progress.clear()
}

// clipped is text in at most width places.
func clipped(text string, width int) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
