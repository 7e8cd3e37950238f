package main

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
	"calibra/graph/work"
)

// Size is the size of the files on which commands are measured, and of the codes of vq; 0: as the method has them.
type Size struct{ Rows, Features, Classes, Slots, Codewords int }

// testRows are those of a fit.
const testRows = 1000

// command is one that is measured on the file in; %s in its arguments is the folder of the files.
type command struct {
	shown, in string
	args      []string
	codes     bool // of a model whose time depends on slots and codewords
}

// commands are those that [Needs] measures.
func (s Size) commands() []command {
	fit := []string{"fit", "--method", "vq", "--set", "optim.epochs=2", "--out", "%s/vq"}
	if s.Slots > 0 {
		fit = append(fit, "--set", fmt.Sprintf("codebook.slots=%d", s.Slots))
	}
	if s.Codewords > 0 {
		fit = append(fit, "--set", fmt.Sprintf("codebook.codewords=%d", s.Codewords))
	}
	return []command{
		{"fit --method ts", "fit", []string{"fit", "--method", "ts", "--out", "%s/ts"}, false},
		{"apply, a model of ts", "apply", []string{"apply", "--model", "%s/ts", "--out", "%s/out.npz"}, false},
		{"fit --method vq --set optim.epochs=2", "fit", fit, true},
		{"apply, a model of vq", "apply", []string{"apply", "--model", "%s/vq", "--out", "%s/out.npz"}, true},
		{"evaluate --anchors 2000 --folds 0", "evaluate", []string{"evaluate", "--anchors", "2000", "--folds", "0"}, false},
	}
}

// write writes the files that the commands read.
func (s Size) write(dir string) error {
	random := newRows(s.Features, s.Classes)
	for name, parts := range map[string][]part{
		"fit":      {{[3]string{"cal_features", "cal_logits", "cal_labels"}, s.Rows}, {[3]string{"test_features", "test_logits", "test_labels"}, testRows}},
		"apply":    {{[3]string{"test_features", "test_logits", "test_labels"}, s.Rows}},
		"evaluate": {{[3]string{"embedding", "logits", "labels"}, s.Rows}},
	} {
		if err := disk.WriteNPZ(filepath.Join(dir, name+".npz"), random.arrays(parts)...); err != nil {
			return err
		}
	}
	return nil
}

// file is the one that the command reads.
func (c command) file(dir string) string { return filepath.Join(dir, c.in+".npz") }

// use runs the command of the program on the files in dir.
func (c command) use(ctx context.Context, program, dir string) (used, error) {
	args := data.Each(c.args, func(arg string) string { return strings.ReplaceAll(arg, "%s", dir) })
	return use(ctx, program, append(args, "--in", c.file(dir))...)
}

// NeedsHead are the columns of [Needs].
var NeedsHead = []string{"command", "rows", "features", "classes", "input MB", "peak MB", "peak / input", "core seconds", "seconds", "cores"}

// Needs measures the memory and time of the program at a path: fit, apply and evaluate, one after the other, on files
// of random rows in dir. The peak is the peak of the process, as the system counts it; core seconds add up all its
// threads.
func Needs(ctx context.Context, program, dir string, s Size) (rows [][]string, err error) {
	if err := s.write(dir); err != nil {
		return nil, err
	}
	commands := s.commands()
	for k, c := range commands {
		work.Report(ctx, float64(k)/float64(len(commands)), "%s", c.shown)
		info, err := os.Stat(c.file(dir))
		if err != nil {
			return nil, err
		}
		u, err := c.use(ctx, program, dir)
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
	if err := cmd.Run(); ctx.Err() != nil {
		return used{}, fmt.Errorf("measure calibra %s: %w", args[0], ctx.Err())
	} else if err != nil {
		return used{}, fmt.Errorf("measure calibra %s: %w: %s", strings.Join(args, " "), err, said.Bytes())
	}
	return used{cmd.ProcessState.UserTime().Seconds(), time.Since(began).Seconds(), peak(cmd.ProcessState)}, nil
}
