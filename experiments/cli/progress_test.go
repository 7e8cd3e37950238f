package cli

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"calibra/graph/work"
)

// A bar has room for the innermost step that is counted; a line that is cut nowhere has all.
func TestTold(t *testing.T) {
	doing := []string{"step 1 of 2, fit corrected", "step 5 of 6, ordered-linear", "fold 2 of 3", "iteration 7 of at most 2000, loss 0.1234"}
	for width, want := range map[int]string{
		60:            "about 50s left: step 5 of 6, ordered-linear: fold 2 of 3: iteration 7 of at most 2000, loss 0.1234",
		math.MaxInt32: "12s, about 50s left: step 1 of 2, fit corrected: step 5 of 6, ordered-linear: fold 2 of 3: iteration 7 of at most 2000, loss 0.1234",
	} {
		if got := told(doing, 12*time.Second, 49.2, width); got != want {
			t.Errorf("%d columns: %q", width, got)
		}
	}
	if got := told([]string{"row 0 of 9"}, 12*time.Second, math.Inf(1), 80); got != "12s: row 0 of 9" {
		t.Errorf("where nothing is known of the rest, %q", got)
	}
	if got := told(nil, 12*time.Second, 49.2, 80); got != "12s, about 50s left" {
		t.Errorf("of nothing told: %q", got)
	}
}

// Where there is no terminal, or one that is dumb, a fit that takes its time tells of itself in plain lines.
func TestProgressInPlainLines(t *testing.T) {
	term := testTerminal()
	var text string
	ctx := t.Context()
	text = captured(t, &os.Stderr, func() {
		term.err = os.Stderr
		ctx, stop := term.watch(ctx)
		s := term.bar
		s.began = s.began.Add(-time.Minute)
		s.next = s.began
		work.Report(work.Piece(ctx, "fit", 1, 1, 3), 0.5, "epoch 1")
		s.show()
		stop()
	})
	if !strings.Contains(text, "step 2 of 2, fit: epoch 1 (") || strings.ContainsAny(text, "\r\x1b") {
		t.Errorf("it tells %q", text)
	}
}
