package cli

import (
	"fmt"
	"os"
	"strings"
	"time"

	"calibra/data"
	"calibra/optim"

	"github.com/schollz/progressbar/v3"
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
	if interactive(p.err) {
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

// stage observes a stage of a fit.
func (t *terminal) stage(name string) func(optim.Epoch) {
	p := t.progress()
	return func(e optim.Epoch) {
		text := fmt.Sprintf("%s: epoch %d of at most %d, loss %.4f", name, e.Number, e.Of, e.Loss)
		if e.Validation == e.Validation {
			text += fmt.Sprintf(", validation %.4f", e.Validation)
		}
		p.at(float64(e.Number), float64(e.Of), text)
		if e.Last {
			p.clear()
		}
	}
}

// clipped is text in at most width places.
func clipped(text string, width int) string {
	runes := []rune(strings.TrimSpace(text))
	if len(runes) <= width {
		return string(runes)
	}
	return string(runes[:max(width-1, 0)]) + "…"
}
