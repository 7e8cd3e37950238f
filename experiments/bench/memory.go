package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"calibra/data"
	"calibra/data/disk"
)

// Size is that of the files on which commands are measured.
type Size struct{ Rows, Features, Classes int }

// testRows are those of a fit.
const testRows = 1000

// measuredCommands are the commands that [Needs] measures, each with the file that it reads; %s is the folder of the files.
var measuredCommands = []struct {
	shown, in string
	args      []string
}{
	{"fit --method ts", "fit", []string{"fit", "--method", "ts", "--out", "%s/ts"}},
	{"apply, a model of ts", "apply", []string{"apply", "--model", "%s/ts", "--out", "%s/out.npz"}},
	{"fit --method vq --set optim.epochs=2", "fit", []string{"fit", "--method", "vq", "--set", "optim.epochs=2", "--out", "%s/vq"}},
	{"apply, a model of vq", "apply", []string{"apply", "--model", "%s/vq", "--out", "%s/out.npz"}},
	{"evaluate --anchors 2000 --folds 0", "evaluate", []string{"evaluate", "--anchors", "2000", "--folds", "0"}},
}

// NeedsHead are the columns of [Needs].
var NeedsHead = []string{"command", "rows", "features", "classes", "input MB", "peak MB", "peak / input", "core seconds", "seconds", "cores"}

// Needs measures what the program at a path needs of memory and time: fit, apply and evaluate, one after the other, on files of
// random rows in dir. The peak is that of the process, as the system counts it; core seconds are those of all its threads.
// observe is told of each command that begins.
func Needs(ctx context.Context, program, dir string, s Size, observe func(done, of int, next string)) (rows [][]string, err error) {
	random := newRows(s.Features, s.Classes)
	for name, parts := range map[string][]part{
		"fit":      {{[3]string{"cal_features", "cal_logits", "cal_labels"}, s.Rows}, {[3]string{"test_features", "test_logits", "test_labels"}, testRows}},
		"apply":    {{[3]string{"test_features", "test_logits", "test_labels"}, s.Rows}},
		"evaluate": {{[3]string{"embedding", "logits", "labels"}, s.Rows}},
	} {
		if err := disk.WriteNPZ(filepath.Join(dir, name+".npz"), random.arrays(parts)...); err != nil {
			return nil, err
		}
	}
	for k, c := range measuredCommands {
		observe(k, len(measuredCommands), c.shown)
		in := filepath.Join(dir, c.in+".npz")
		info, err := os.Stat(in)
		if err != nil {
			return nil, err
		}
		args := data.Each(c.args, func(arg string) string { return strings.ReplaceAll(arg, "%s", dir) })
		u, err := use(ctx, program, append(args, "--in", in)...)
		if err != nil {
			return nil, err
		}
		input := float64(info.Size()) / 1e6
		rows = append(rows, []string{c.shown, strconv.Itoa(s.Rows), strconv.Itoa(s.Features), strconv.Itoa(s.Classes), fmt.Sprintf("%.0f", input), fmt.Sprintf("%.0f", u.peak),
			fmt.Sprintf("%.1f", u.peak/input), fmt.Sprintf("%.1f", u.core), fmt.Sprintf("%.1f", u.wall), strconv.Itoa(runtime.NumCPU())})
	}
	return rows, nil
}

// used is what a process took: seconds of all its threads, seconds by the clock, and MB at its peak.
type used struct{ core, wall, peak float64 }

// use runs the program, alone, and gives what it took.
func use(ctx context.Context, program string, args ...string) (used, error) {
	cmd := exec.CommandContext(ctx, program, append(args, "--quiet")...)
	cmd.Env = append(os.Environ(), "CALIBRA_DEVICE=cpu")
	var said bytes.Buffer
	cmd.Stderr = &said
	began := time.Now()
	if err := cmd.Run(); err != nil {
		return used{}, fmt.Errorf("measure calibra %s: %w: %s", strings.Join(args, " "), err, said.Bytes())
	}
	return used{cmd.ProcessState.UserTime().Seconds(), time.Since(began).Seconds(), peak(cmd.ProcessState)}, nil
}
