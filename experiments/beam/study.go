package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/experiments/study"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
)

// runStudy runs a study: the arguments are those of calibra study, and --temp. Data named by
// --data must be where every worker finds them under that name.
func runStudy(ctx context.Context, args []string, out io.Writer) error {
	temp, args := take(args, "temp")
	dir, args := take(args, "cells")
	report, args := take(args, "out")
	if len(args) == 0 || slices.Contains(args, "--help") {
		printed, err := part(ctx, []string{"study", "--help"})
		fmt.Fprint(out, printed)
		return err
	}
	if report == "" {
		return errUsage{fmt.Errorf("a study needs --out; name the directory for its report")}
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
		if err := download(ctx, dir, local); err != nil {
			return err
		}
	}
	args = append([]string{"study"}, args...)
	printed, err := part(ctx, append(slices.Clone(args), "--cells", local, "--list"))
	if err != nil {
		return err
	}
	var cells []study.Task
	for line := range strings.Lines(printed) {
		var cell study.Task
		if err := json.Unmarshal([]byte(line), &cell); err != nil {
			return fmt.Errorf("%q is no cell: %w", line, err)
		}
		if !cell.Done {
			cells = append(cells, cell)
		}
	}
	var failed []Outcome
	if len(cells) > 0 {
		var elements []Shard
		for i, cell := range cells {
			elements = append(elements, Shard{int64(i), cell.ID})
		}
		p, s := beam.NewPipelineWithRoot()
		rows := beam.Reshuffle(s, beam.CreateList(s, elements))
		if failed, _, err = gather(ctx, p, s, beam.ParDo(s, &cellFn{args, dir}, rows), temp); err != nil {
			return err
		}
		for i := range failed {
			failed[i].Name = cells[failed[i].Number].Cell
		}
		if remote(dir) {
			if err := download(ctx, dir, local); err != nil {
				return err
			}
		}
	}
	if len(failed) < len(cells) || len(cells) == 0 {
		if printed, err = part(ctx, append(slices.Clone(args), "--cells", local, "--out", report, "--collect")); err != nil {
			return err
		}
		fmt.Fprint(out, printed)
	}
	return failures(failed, len(cells), "cells")
}

// take takes the flag of that name and its value from args, "" without it.
func take(args []string, name string) (value string, others []string) {
	for i := 0; i < len(args); i++ {
		switch flag, after, whole := strings.Cut(args[i], "="); {
		case flag != "--"+name:
			others = append(others, args[i])
		case whole:
			value = after
		case i+1 < len(args):
			i++
			value = args[i]
		}
	}
	return value, others
}

// download copies the cells of a directory elsewhere.
func download(ctx context.Context, from, to string) error {
	files, err := list(ctx, join(from, "*"))
	if err != nil {
		return nil // none yet
	}
	for _, file := range files {
		if _, err := fetched(ctx, file.Path, to); err != nil {
			return err
		}
	}
	return nil
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
	for _, name := range []string{id + ".safetensors", id + ".json"} { // a cell that is there is there in full
		content, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		if err := store(ctx, join(f.Dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

func init() {
	register.DoFn2x2[context.Context, Shard, Outcome, error](&cellFn{})
}
