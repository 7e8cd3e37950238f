package cli

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"calibra/data"
	"calibra/experiments/run"
	"calibra/experiments/source"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// paces are the steps of fits to the letters as they were told, with the seconds at which: the columns are run, at,
// from and to; at the end from is 1. They were recorded on two cores, those of vq while others worked on them too.
// CALIBRA_RECORD=1 records all anew.
const paces = "testdata/paces.csv"

// recorded are the fits in paces.
var recorded = []run.Spec{
	{Method: "pool", Split: data.NoValidation}, {Method: "corrected", Split: data.NoValidation},
	{Method: "vq", Split: data.PaperText},
	{Method: "vq", Split: data.NoValidation},
}

// runName is what paces call a fit.
func runName(s run.Spec) string {
	return fmt.Sprintf("%s %s", s.Method, s.Split)
}

// step is a step of a fit as it was told.
type step struct{ at, from, to float64 }

// record writes paces, which takes minutes.
func record(t *testing.T) {
	t.Helper()
	o, err := source.Registry(nil).Open("letter", source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := o.Load(t.Context(), 0, "", "")
	if err != nil {
		t.Fatal(err)
	}
	lines := [][]string{{"run", "at", "from", "to"}}
	for _, spec := range recorded {
		began, last := time.Now(), -1.0
		var lock sync.Mutex
		line := func(from, to float64) {
			cells := []string{runName(spec)}
			for _, x := range []float64{time.Since(began).Seconds(), from, to} {
				cells = append(cells, strconv.FormatFloat(x, 'f', 4, 64))
			}
			lines = append(lines, cells)
		}
		ctx := work.WithProgress(t.Context(), func(_ []string, from, to float64) {
			lock.Lock()
			defer lock.Unlock()
			if last < 0 || from >= last+0.01 {
				last = from
				line(from, to)
			}
		})
		src := *p.Source
		if _, err := spec.Fit(ctx, &src, nil); err != nil {
			t.Fatal(err)
		}
		line(1, 1)
	}
	f, err := os.Create(paces)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := csv.NewWriter(f).WriteAll(lines); err != nil {
		t.Fatal(err)
	}
}

// readPaces are the steps of each run.
func readPaces(t *testing.T) map[string][]step {
	t.Helper()
	runs := map[string][]step{}
	for _, line := range csvLines(t, paces)[1:] {
		var x [3]float64
		var err error
		for i := range x {
			if x[i], err = strconv.ParseFloat(line[1+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		runs[line[0]] = append(runs[line[0]], step{x[0], x[1], x[2]})
	}
	return runs
}

// What is left is within a factor of two where it is first shown, of each recorded run, and shrinks to nothing.
func TestTimeLeftIsWithinAFactorOfTwo(t *testing.T) {
	if os.Getenv("CALIBRA_RECORD") == "1" {
		record(t)
	}
	runs := readPaces(t)
	if len(runs) != len(recorded) {
		t.Fatalf("%d runs are recorded of %d", len(runs), len(recorded))
	}
	letters := &data.Source{Classes: 26, Cal: &data.Set{Features: mat.NewDense(6000, 128, nil)}, Test: &data.Set{Features: mat.NewDense(6000, 128, nil), Labels: make([]int, 6000)}}
	for _, spec := range recorded {
		name := runName(spec)
		steps := runs[name]
		total := steps[len(steps)-1].at
		at := silence.Seconds()
		p := pace{expected: spec.Expected(source.SizeOf(letters))}
		before := 0.0
		for _, s := range steps {
			if before <= at && at < s.at {
				_, left := p.at(at)
				t.Logf("%s after %.0f s: %.1f s left, in truth %.1f", name, at, left, total-at)
				if ratio := left / (total - at); ratio < 1./2 || ratio > 2 {
					t.Errorf("%s: after %.0f s it says %.1f s are left, in truth %.1f", name, at, left, total-at)
				}
			}
			p.reach(s.at, s.from, s.to)
			if done, left := p.at(s.at); done < 0 || done > 1 || left < 0 {
				t.Errorf("%s: at %.1f s %.2f is done and %.1f s are left", name, s.at, done, left)
			}
			before = s.at
		}
		if _, left := p.at(total); left > 0 {
			t.Errorf("%s: %.1f s are left at the end", name, left)
		}
	}
}

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
		ctx, s := term.steps(ctx, 10)
		s.began = s.began.Add(-time.Minute)
		s.next = s.began
		work.Report(work.Piece(ctx, "fit", 1, 1, 3), 0.5, "epoch 1")
		s.show()
		s.clear()
	})
	if !strings.Contains(text, "step 2 of 2, fit: epoch 1 (") || strings.ContainsAny(text, "\r\x1b") {
		t.Errorf("it tells %q", text)
	}
}
