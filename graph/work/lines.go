package work

import (
	"bufio"
	"context"
	"io"
)

// longestLine is how many bytes a line of [Lines] may have.
const longestLine = 1 << 20

// Lines hands on the lines of r as they come. At the end of r the channel is closed and the context that is returned is
// cancelled, so that what a line began ends with whoever wrote it.
func Lines(ctx context.Context, r io.Reader) (context.Context, <-chan string) {
	ctx, cancel := context.WithCancel(ctx)
	lines := make(chan string, 1) // so that the end is met while a line is being answered
	go func() {
		defer cancel()
		defer close(lines)
		s := bufio.NewScanner(r)
		s.Buffer(nil, longestLine)
		for s.Scan() {
			lines <- s.Text()
		}
	}()
	return ctx, lines
}
