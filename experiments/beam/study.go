package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/study"
)

const studyHelp = `calibra-beam study runs a study, a cell an element. Its arguments are those of calibra study,
printed below, and --temp=DIR, a directory that workers and this program see, needed where
workers run elsewhere. --cells may be elsewhere too, such as gs://bucket/cells.

`

// runStudy runs a study: the arguments are those of calibra study, and --temp. Data named by
// --data must be where every worker finds them under that name.
func runStudy(ctx context.Context, args []string, out io.Writer) error {
	temp, args := take(args, "temp")
	dir, args := take(args, "cells")
	report, args := take(args, "out")
	if len(args) == 0 || slices.Contains(args, "--help") || slices.Contains(args, "-h") {
		printed, err := part(ctx, []string{"study", "--help"})
		fmt.Fprint(out, studyHelp, printed)
		return err
	}
	if report == "" {
		return data.Inputf("", "a study needs --out; name the directory for its report")
	}
	if dir == "" {
		dir = filepath.Join(report, "cells")
	}
	local := dir // where this program sees the cells
	if remote(dir) {
		var err error
		if local, err = os.MkdirTemp("", "calibra-beam-"); err != nil {
			return err
		}
		defer os.RemoveAll(local)
	}
	args = append([]string{"study"}, args...)
	failed, all, err := computeLeft(ctx, args, dir, local, temp)
	if err != nil {
		return err
	}
	ended := failures(failed, all, "cells")
	if len(failed) < all {
		printed, err := part(ctx, append(slices.Clone(args), "--cells", local, "--out", report, "--collect"))
		if err != nil {
			return err
		}
		fmt.Fprint(out, printed)
	}
	return ended
}

// computeLeft computes the cells of a study that dir lacks, which this program sees in local, and
// gives those that failed of all.
func computeLeft(ctx context.Context, args []string, dir, local, temp string) (failed []Outcome, all int, err error) {
	fetch := func() error {
		if !remote(dir) {
			return nil
		}
		err := download(ctx, dir, local)
		if none := (*data.InputError)(nil); errors.As(err, &none) {
			return nil // yet
		}
		return err
	}
	if err := fetch(); err != nil {
		return nil, 0, err
	}
	printed, err := part(ctx, append(slices.Clone(args), "--cells", local, "--list"))
	if err != nil {
		return nil, 0, err
	}
	left, all, err := tasksLeft(printed)
	if err != nil || len(left) == 0 {
		return nil, all, err
	}
	var elements []Shard
	for i, cell := range left {
		elements = append(elements, Shard{int64(i), cell.ID})
	}
	if failed, _, err = each(ctx, elements, &cellFn{args, dir}, temp); err != nil {
		return nil, all, err
	}
	for i := range failed {
		failed[i].Name = left[failed[i].Number].Cell
	}
	return failed, all, fetch()
}

// tasksLeft are the cells that calibra study --list printed and that are not there yet, of so many in all.
func tasksLeft(printed string) (left []study.Task, all int, err error) {
	for line := range strings.Lines(printed) {
		var cell study.Task
		if err := json.Unmarshal([]byte(line), &cell); err != nil {
			return nil, 0, data.Inputf("", "name a study, such as main; calibra study lists them")
		}
		all++
		if !cell.Done {
			left = append(left, cell)
		}
	}
	return left, all, nil
}

// take takes the flag of that name and its value from args, "" without it. A flag without a
// value stays there.
func take(args []string, name string) (value string, others []string) {
	for i := 0; i < len(args); i++ {
		switch flag, after, whole := strings.Cut(args[i], "="); {
		case flag == "--"+name && whole:
			value = after
		case flag == "--"+name && i+1 < len(args):
			i++
			value = args[i]
		default:
			others = append(others, args[i])
		}
	}
	return value, others
}

// cellFn computes one cell, whose id is the path of the element.
type cellFn struct {
	Args []string
	Dir  string
}

func (f *cellFn) ProcessElement(ctx context.Context, cell Shard) (Outcome, error) {
	err := f.compute(ctx, cell.Path)
	if err != nil && ctx.Err() == nil { // a cell that fails here would fail elsewhere
		return Outcome{Number: cell.Number, Name: cell.Path, Error: err.Error()}, nil
	}
	return Outcome{Number: cell.Number, Name: cell.Path}, err
}

func (f *cellFn) compute(ctx context.Context, id string) error {
	dir := f.Dir
	if remote(dir) {
		var err error
		if dir, err = os.MkdirTemp("", "calibra-beam-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	if _, err := part(ctx, append(slices.Clone(f.Args), "--cells", dir, "--jobs", "1", "--cell", id)); err != nil || !remote(f.Dir) {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		return err
	}
	result := filepath.Join(dir, id+".json") // goes last: a cell that is there is there in full
	for _, file := range append(slices.DeleteFunc(files, func(file string) bool { return file == result }), result) {
		if !strings.HasPrefix(base(file), id+".") {
			continue
		}
		content, err := data.ReadFile(file)
		if err != nil {
			return err
		}
		if err := store(ctx, join(f.Dir, base(file)), content); err != nil {
			return err
		}
	}
	return nil
}
