package study

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// Progress observes a whole study on w: a bar with the time left if w is a
// terminal, else a line every few seconds. Cells count by their cost; those done
// before count as nothing.
func Progress(w io.Writer, cells []Cell, done []*Result, jobs int) func(Cell) {
	var total, spent float64
	left := 0
	for i, c := range cells {
		if done[i] == nil {
			total += c.Cost
			left++
		}
	}
	if left < len(cells) {
		fmt.Fprintf(w, "%d of %d cells are there already\n", len(cells)-left, len(cells))
	}
	if left == 0 {
		return nil
	}
	start, ended := time.Now(), 0
	remaining := func() time.Duration {
		if spent == 0 {
			return time.Duration(total / float64(jobs) * float64(time.Second)).Round(time.Second)
		}
		return time.Duration(float64(time.Since(start)) * (total - spent) / spent).Round(time.Second)
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bar := progressbar.NewOptions(1000, progressbar.OptionSetWriter(w), progressbar.OptionSetWidth(40),
			progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false))
		bar.Describe(fmt.Sprintf("0 of %d cells, about %v left", left, remaining()))
		return func(c Cell) {
			spent, ended = spent+c.Cost, ended+1
			bar.Describe(fmt.Sprintf("%d of %d cells, about %v left", ended, left, remaining()))
			bar.Set(int(1000 * spent / total))
		}
	}
	next := start
	return func(c Cell) {
		spent, ended = spent+c.Cost, ended+1
		if now := time.Now(); now.After(next) || ended == left {
			next = now.Add(5 * time.Second)
			fmt.Fprintf(w, "%d of %d cells, about %v left; last %s\n", ended, left, remaining(), c)
		}
	}
}
