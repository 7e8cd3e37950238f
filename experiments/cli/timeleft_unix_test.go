//go:build unix

package cli

import (
	"bytes"
	"context"
	"encoding/csv"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/source"
	"calibra/graph/work"
	"calibra/graph/work/worktest"
)

// paces are the steps of commands as they were told, with the seconds at which: the columns are command, at, from, to
// and seconds, which says into which stages the command is divided from there on; at the end from is 1. The seconds are
// those of the processor, of one thread, which others that work on the machine do not change.
//
// timeLeft is what the commands say by them: the columns are command, at, said and truth, in seconds.
//
// CALIBRA_RECORD=1 go test -run TimeLeft ./experiments/cli writes both anew, which takes minutes, and CALIBRA_UPDATE=1
// the latter alone.
const paces, timeLeft = "testdata/paces.csv", "testdata/timeleft.csv"

// timed are the commands in paces, DIR for their folder.
var timed = []string{
	"fit --in satellite --out DIR/fit",
	"fit --in DIR/letter.npz --method ts --out DIR/ts",
	"fit --in DIR/satellite.npz --method vq --out DIR/vq",
	"fit --in DIR/satellite.npz --method corrected --out DIR/corrected",
	"compare --in DIR/satellite.npz --seeds 42 --out DIR/compare",
	"diagnose --in DIR/letter.npz --out DIR/diagnose",
	"evaluate --in DIR/satellite.npz --html DIR/evaluate.html",
	"theory fast --out DIR/theory",
	"study main --data satellite --seeds 1 --out DIR/study",
	"apply --model DIR/vq --in DIR/satellite.npz --intervals 0.9 --out DIR/applied.npz",
}

// record writes paces.
func record(t *testing.T) {
	t.Helper()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	dir := t.TempDir()
	for _, name := range []string{"satellite", "letter"} {
		o, err := source.Registry(nil).Open(name, source.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := o.Load(t.Context(), 0, "", "")
		if err == nil {
			err = disk.WriteNPZ(filepath.Join(dir, name+".npz"), sourceArrays(p.Source)...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	to := csv.NewWriter(&text)
	to.Write([]string{"command", "at", "from", "to", "seconds"})
	for _, line := range timed {
		to.WriteAll(recorded(t, line, dir))
	}
	if err := os.WriteFile(paces, text.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}

// recorded are the lines in paces of a command.
func recorded(t *testing.T, line, dir string) (lines [][]string) {
	t.Helper()
	nowhere, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer nowhere.Close()
	term := &terminal{out: nowhere, err: nowhere, quiet: true}
	methods, err := method.JoinCatalog()
	if err != nil {
		t.Fatal(err)
	}
	parser, err := newParser(t.Context(), everyCommand, term, methods)
	if err != nil {
		t.Fatal(err)
	}
	k, err := parser.Parse(strings.Fields(strings.ReplaceAll(line, "DIR", dir)))
	if err != nil {
		t.Fatal(err)
	}
	_, stop := term.watch(t.Context())
	defer stop()
	var (
		lock    sync.Mutex
		began   = worktest.Processor().Seconds()
		divided string
		last    = math.Inf(-1)
	)
	told := func(_ []string, from, to float64) {
		lock.Lock()
		defer lock.Unlock()
		stages := strings.Join(data.Each(term.bar.pace.stages, func(s stage) string { return numbers(s.from, s.to, s.seconds) }), "; ")
		if stages == divided && from < last+0.002 && from < 1 {
			return
		}
		cells := append([]string{line}, strings.Fields(numbers(worktest.Processor().Seconds()-began, from, to))...)
		if last = from; stages == divided {
			lines = append(lines, append(cells, ""))
		} else {
			divided = stages
			lines = append(lines, append(cells, stages))
		}
	}
	k.BindTo(work.WithProgress(t.Context(), func(doing []string, from, to float64) {
		told(doing, from, to)
		term.bar.report(doing, from, to)
	}), (*context.Context)(nil))
	if err := k.Run(); err != nil && !strings.Contains(err.Error(), "outside the band") {
		t.Fatal(err)
	}
	told(nil, 1, 1)
	return lines
}

// numbers are x as paces has them.
func numbers(x ...float64) string {
	return strings.Join(data.Each(x, func(x float64) string { return strconv.FormatFloat(x, 'f', 6, 64) }), " ")
}

// parsed are the numbers in a text.
func parsed(t *testing.T, text string) (x []float64) {
	t.Helper()
	for _, word := range strings.Fields(text) {
		number, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatal(err)
		}
		x = append(x, number)
	}
	return x
}

// moments are at how many a command's estimates are compared with the truth, evenly apart.
const moments = 100

// reading is what a command says at a moment, of the share that is done and of the seconds that are left.
type reading struct{ at, done, left, truth float64 }

// estimates are what a command says by its lines in paces.
func estimates(t *testing.T, lines [][]string) (all []reading) {
	t.Helper()
	p := pace{stages: []stage{{0, 1, 0, 0}}}
	at := func(i int) float64 { return parsed(t, lines[i][1])[0] }
	began, next := at(0), 0
	total := at(len(lines)-1) - began
	for k := range moments {
		now := total * float64(k) / moments
		for ; next < len(lines) && at(next)-began <= now; next++ {
			if text := lines[next][4]; text != "" {
				before := p.stages
				p.stages = data.Each(strings.Split(text, ";"), func(text string) stage {
					x := parsed(t, text)
					if i := slices.IndexFunc(before, func(s stage) bool { return s.from == x[0] && s.to == x[1] }); i >= 0 {
						return before[i]
					}
					return stage{x[0], x[1], x[2], math.NaN()}
				})
			}
			share := parsed(t, lines[next][2]+" "+lines[next][3])
			p.reach(at(next)-began, share[0], share[1])
		}
		done, left := p.at(now)
		all = append(all, reading{now, done, left, total - now})
	}
	return all
}

// foreseen reports whether an estimate is within such a factor of the truth, or a second.
func foreseen(e reading, factor float64) bool {
	return max(e.left/e.truth, e.truth/e.left) <= factor || math.Abs(e.left-e.truth) <= 1
}

// The first estimate that is shown is within a factor of 2 of the truth. No command says
// for a third of its time that more than 90 % are done, and timeLeft is what the commands say, at each twentieth of
// their time: beside the truth, for people to compare. The test logs at how many moments they differ by more than a
// factor of 1.5 and a second.
func TestTimeLeft(t *testing.T) {
	if os.Getenv("CALIBRA_RECORD") == "1" {
		record(t)
	}
	runs := map[string][][]string{}
	for _, line := range csvLines(t, paces)[1:] {
		runs[line[0]] = append(runs[line[0]], line)
	}
	var text bytes.Buffer
	to := csv.NewWriter(&text)
	to.Write([]string{"command", "at", "said", "truth"})
	for _, line := range timed {
		if len(runs[line]) == 0 {
			t.Fatalf("%s is not in %s", line, paces)
		}
		var late, far int
		shown := false
		for k, e := range estimates(t, runs[line]) {
			if k%(moments/20) == 0 {
				to.Write(append([]string{line}, data.Each([]float64{e.at, e.left, e.truth}, func(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) })...))
			}
			if e.done > 0.9 {
				late++
			}
			if !shown && e.at >= silence.Seconds() {
				shown = true
				if !foreseen(e, 2) {
					t.Errorf("%s: after %.1f s it says %.1f s are left, in truth %.1f", line, e.at, e.left, e.truth)
				}
			}
			if e.done < 0 || e.done > 1 || e.left < 0 {
				t.Errorf("%s: at %.1f s %.2f is done and %.1f s are left", line, e.at, e.done, e.left)
			}
			if k > moments/10 && !foreseen(e, 1.5) {
				far++
			}
		}
		t.Logf("%s: %d of %d moments beyond a factor of 1.5 and a second; %d above 90 %%", line, far, moments, late)
		if late > moments/3 {
			t.Errorf("%s says for %d %% of its time that more than 90 %% are done", line, late)
		}
	}
	to.Flush()
	if os.Getenv("CALIBRA_RECORD") == "1" || os.Getenv("CALIBRA_UPDATE") == "1" {
		if err := os.WriteFile(timeLeft, text.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if has, err := os.ReadFile(timeLeft); err != nil || !bytes.Equal(has, text.Bytes()) {
		t.Errorf("%s is not what %s gives (%v); CALIBRA_RECORD=1 writes both", timeLeft, paces, err)
	}
}
