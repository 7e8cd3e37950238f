package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"calibra/data/disk"
	"calibra/experiments/metrics"
	"calibra/graph/work"
)

// jobs.py does a whole job by one library.
//
//go:embed jobs.py
var jobs []byte

// jobFeatures are those that the rows of jobs are made from; of the methods pool alone reads them.
const jobFeatures = 16

// jobSizes are the rows that jobs are fitted to, as many as they predict, and their classes.
var jobSizes = [][2]int{{1000, 10}, {10_000, 10}, {10_000, 100}, {100_000, 10}}

// JobsHead are the columns of [Jobs]: seconds of the fit, of the same fit once more, of the first prediction of all
// rows, of NLL and ECE, and of the whole job from the start of Python to the file it writes; the most memory of all its
// processes; the NLL; and, after the job, the best times of one row, of a thousand, and of all once more.
var JobsHead = []string{"turn", "library", "version", "job", "fit_s", "refit_s",
	"predict_s", "metrics_s", "job_s", "peak_mb", "nll", "one_row_ms", "thousand_rows_ms", "again_s"}

// Jobs measures whole jobs of each of jobSizes by calibra's Python package and by libraries that a user would pick, by
// turns: logits of rows are read from a file, a method is fitted, other rows are read, predicted, measured and written.
// python names the interpreter, program what its calibra runs. lacking are the libraries that cannot be imported there.
func Jobs(ctx context.Context, python, program, dir string, turns int) (rows [][]string, lacking []string, err error) {
	for k, size := range jobSizes {
		to := float64(len(jobSizes))
		ctx := work.Span(ctx, fmt.Sprintf("%d × %d", size[0], size[1]), float64(k)/to, float64(k+1)/to)
		some, lacks, err := jobsOf(ctx, python, program, dir, size, turns)
		if err != nil {
			return nil, nil, err
		}
		rows, lacking = append(rows, some...), lacks
	}
	return rows, lacking, nil
}

// jobsOf is [Jobs] of one size.
func jobsOf(ctx context.Context, python, program, dir string, size [2]int, turns int) (
	rows [][]string, lacking []string, err error) {
	parts := []part{
		{[3]string{"cal_features", "cal_logits", "cal_labels"}, size[0]},
		{[3]string{"test_features", "test_logits", "test_labels"}, size[0]},
	}
	arrays := newRows(jobFeatures, size[1]).arrays(parts)
	in, out := filepath.Join(dir, "rows.npz"), filepath.Join(dir, "out.npz")
	if err := disk.WriteNPZ(in, arrays...); err != nil {
		return nil, nil, err
	}
	script := filepath.Join(dir, "jobs.py")
	err = disk.WriteFile(script, func(w io.Writer) error { _, err := w.Write(jobs); return err })
	if err != nil {
		return nil, nil, err
	}
	listed, err := exec.CommandContext(ctx, python, script).Output()
	if err != nil {
		return nil, nil, fmt.Errorf("list the jobs by %s: %w", python, err)
	}
	var all [][2]string // library and method
	if err := json.Unmarshal(listed, &all); err != nil {
		return nil, nil, err
	}
	missing := map[string]bool{}
	for turn := range turns {
		for k, one := range all {
			library, method := one[0], one[1]
			work.Report(ctx, float64(turn*len(all)+k)/float64(turns*len(all)), "%s %s", library, method)
			if missing[library] {
				continue
			}
			told, lacks, err := job(ctx, exec.CommandContext(ctx, python, script, library, method, in, out), program)
			if lacks != "" {
				missing[library], lacking = true, append(lacking, lacks)
				continue
			}
			if err != nil {
				return nil, nil, fmt.Errorf("measure %s of %s: %w", method, library, err)
			}
			told["turn"], told["job"] = turn+1, fmt.Sprintf("%s, %s × %d", method, metrics.Thousands(size[0]), size[1])
			rows = append(rows, line(told))
		}
	}
	return rows, lacking, nil
}

// job runs a job in a process of its own and returns what it tells, or why its library cannot be imported.
func job(ctx context.Context, cmd *exec.Cmd, program string) (told map[string]any, lacks string, err error) {
	began := float64(time.Now().UnixMicro()) / 1e6
	cmd.Env = append(os.Environ(), "CALIBRA="+program, "CALIBRA_JOB_BEGAN="+strconv.FormatFloat(began, 'f', 6, 64), "PYTHONWARNINGS=ignore")
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second // for Python to remove its files
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	last := strings.TrimSpace(said.String())
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if ended := new(exec.ExitError); errors.As(err, &ended) && ended.ExitCode() == 3 {
		return nil, last, nil
	}
	if err != nil {
		return nil, "", errors.Join(ctx.Err(), fmt.Errorf("%w: %s", err, last))
	}
	out = bytes.TrimSpace(out)
	err = json.Unmarshal(out[bytes.LastIndexByte(out, '\n')+1:], &told)
	return told, "", err
}

// line are the values by [JobsHead].
func line(told map[string]any) (values []string) {
	for _, key := range JobsHead {
		if number, ok := told[key].(float64); ok {
			told[key] = strconv.FormatFloat(number, 'g', 4, 64)
		}
		values = append(values, fmt.Sprint(told[key]))
	}
	return values
}
