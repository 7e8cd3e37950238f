package optim

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// quiet is how long a fit may take before it shows progress.
const quiet = 2 * time.Second

// Progress is an observer that shows a fit on w: a bar if w is a terminal, else a
// plain line every few seconds. It stays silent for the first two seconds.
func Progress(w io.Writer, label string) func(Epoch) {
	start := time.Now()
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		var bar *progressbar.ProgressBar
		return func(e Epoch) {
			if bar == nil && time.Since(start) < quiet {
				return
			}
			if bar == nil {
				bar = progressbar.NewOptions(e.Of, progressbar.OptionSetWriter(w), progressbar.OptionClearOnFinish(),
					progressbar.OptionSetWidth(30), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true))
			}
			bar.Describe(label + " " + e.String())
			bar.Set(e.Number)
			if e.Last {
				bar.Finish()
			}
		}
	}
	next := start.Add(quiet)
	return func(e Epoch) {
		if now := time.Now(); now.After(next) {
			next = now.Add(5 * time.Second)
			fmt.Fprintf(w, "%s: epoch %d of at most %d, %s\n", label, e.Number, e.Of, e)
		}
	}
}

// String is the epoch's losses in words.
func (e Epoch) String() string {
	if e.Validation != e.Validation {
		return fmt.Sprintf("loss %.4f", e.Loss)
	}
	return fmt.Sprintf("loss %.4f, validation %.4f, best in epoch %d", e.Loss, e.Validation, e.Best)
}
