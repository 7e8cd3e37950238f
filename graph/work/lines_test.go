package work_test

import (
	"io"
	"testing"

	"calibra/graph/work"
)

// TestLines: lines come as they are written, and the end of the reader cancels what still goes on.
func TestLines(t *testing.T) {
	r, w := io.Pipe()
	ctx, lines := work.Lines(t.Context(), r)
	for _, want := range []string{"a", "", "b"} {
		if _, err := io.WriteString(w, want+"\n"); err != nil {
			t.Fatal(err)
		}
		if got := <-lines; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if ctx.Err() != nil {
		t.Error("it is cancelled before the end")
	}
	w.Close()
	<-ctx.Done()
	if line, more := <-lines; more {
		t.Errorf("after the end comes %q", line)
	}
}
