package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/program"
	"calibra/experiments/study"
)

// gridFlags deal the cells of a study out to many processes, which share one directory of
// cells.
type gridFlags struct {
	List    bool   `xor:"grid" group:"Parts of a study, on many machines:" help:"Print the cells as JSON lines: id, method, data, seed, done."`
	Cell    string `xor:"grid" placeholder:"ID" group:"Parts of a study, on many machines:" help:"Compute only the cell with this id of --list, and write no report."`
	Shard   string `xor:"grid" placeholder:"i/n" group:"Parts of a study, on many machines:" help:"Compute the i-th of n equal parts of the cells, and write no report. In a Slurm job array the part is SLURM_ARRAY_TASK_ID of SLURM_ARRAY_TASK_COUNT; 1/1 computes all."`
	Collect bool   `xor:"grid" group:"Parts of a study, on many machines:" help:"Compute nothing. Write the report of the computed cells, and name the missing ones."`
}

// settle reads the share of a Slurm job array, where nothing else is asked for.
func (g *gridFlags) settle(t *terminal) error {
	if g.List || g.Cell != "" || g.Shard != "" || g.Collect || os.Getenv("SLURM_ARRAY_TASK_ID") == "" || os.Getenv("SLURM_ARRAY_TASK_COUNT") == "" {
		return nil
	}
	number := map[string]int{"MIN": 1, "STEP": 1}
	for _, name := range []string{"ID", "COUNT", "MIN", "MAX", "STEP"} {
		text := os.Getenv("SLURM_ARRAY_TASK_" + name)
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return data.Inputf("", "SLURM_ARRAY_TASK_%s is %q and no number; name the share by --shard i/n", name, text)
		}
		number[name] = n
	}
	step, count := max(number["STEP"], 1), number["COUNT"]
	from := number["ID"] - number["MIN"] // 0 and so on, of --array=0-7, 1-8 and 2-16:2 alike
	if last, told := number["MAX"]; told && last != number["MIN"]+(count-1)*step || from < 0 || from%step != 0 || from/step >= count {
		return data.Inputf("", "the numbers of Slurm's job array have gaps, so that they name no shares; submit --array=1-%d, or give --shard i/n, such as --shard $SLURM_ARRAY_TASK_ID/8 for some shares of eight", count)
	}
	g.Shard = fmt.Sprintf("%d/%d", from/step+1, count)
	t.note("share %s, of Slurm's job array; --shard 1/1 computes all cells in one job", g.Shard)
	return nil
}

// part reports whether only some cells are to be computed, and no report is to be written.
func (g *gridFlags) part() bool { return g.Cell != "" || g.Shard != "" }

// mostShares bounds n of --shard i/n.
const mostShares = 1_000_000

// chosen are the tasks that --cell or --shard name.
func (g *gridFlags) chosen(tasks []*study.Task) ([]*study.Task, error) {
	if g.Cell != "" {
		if at := slices.IndexFunc(tasks, func(t *study.Task) bool { return t.ID == g.Cell }); at >= 0 {
			return tasks[at : at+1], nil
		}
		return nil, data.Inputf("", "the study has no cell %q for these data, methods and seeds; the same command with --list prints them", g.Cell)
	}
	first, second, _ := strings.Cut(g.Shard, "/")
	i, errI := strconv.Atoi(first)
	n, errN := strconv.Atoi(second)
	if errI != nil || errN != nil || i < 1 || i > n || n > mostShares {
		return nil, data.Inputf("", "the share is %q; write i/n, such as 1/8 for the first of eight", g.Shard)
	}
	return study.Share(tasks, i, n), nil
}

// print prints the tasks as JSON lines.
func printTasks(t *terminal, tasks []*study.Task) error {
	for _, task := range tasks {
		line, err := json.Marshal(task)
		if err != nil {
			return err
		}
		t.printf("%s\n", line)
	}
	return t.failed
}

// reporting is about how many seconds the report of a study takes.
const reporting = 1

// run computes what the plan lacks, and shows how far that is.
func (t *terminal) run(ctx context.Context, p *study.Plan, jobs int) error {
	if done := p.Computed(); done > 0 {
		t.note("%d of %d cells are there already", done, len(p.Tasks))
	}
	return p.Run(ctx, jobs)
}

// runPart computes the cells that --cell or --shard name and prints what was done. Cells that were done before are
// computed by nobody.
func (g *gridFlags) runPart(ctx context.Context, t *terminal, p *study.Plan, jobs int, asJSON bool) error {
	tasks, err := g.chosen(p.Tasks)
	if err != nil {
		return err
	}
	part := &study.Plan{Store: p.Store, Board: p.Board, Tasks: tasks}
	all, before, dir := len(tasks), part.Computed(), p.Store.Dir
	if err := t.run(t.divide(ctx, shared(part.Seconds()))(0, ""), part, jobs); err != nil {
		return err
	}
	failures, incomplete := len(part.Failures()), warnFailures(t, part)
	computed := all - before - failures
	if asJSON {
		err = t.json(map[string]any{"cells": all, "done_before": before, "computed": computed, "failed": failures, "dir": dir})
	} else {
		err = t.closing(fmt.Sprintf("%d of %d cells are computed, %d were there already", computed, all, before), "cells to "+relative(dir))
	}
	return cmp.Or(err, incomplete)
}

// warnFailures names the cells that failed; the error counts them, and is a fault if one is.
func warnFailures(t *terminal, p *study.Plan) error {
	failures := p.Failures()
	if failures == nil {
		return nil
	}
	err := fmt.Errorf("%d of %d cells failed; the same command tries them again", len(failures), len(p.Tasks))
	for _, f := range failures {
		t.warn("failed", "failed: %s", strings.TrimSpace(f.Error()))
	}
	for _, f := range failures {
		if fault := (*program.Fault)(nil); errors.As(f, &fault) {
			return fmt.Errorf("%w; one by a panic: %w", err, fault)
		}
	}
	return err
}

// warnMissing names the cells that a report lacks besides the stale and the damaged ones.
func warnMissing(t *terminal, p *study.Plan) error {
	var missing []string
	for _, task := range p.Tasks {
		if !task.Done && !task.Stale && task.Err == nil {
			missing = append(missing, task.Cell)
		}
	}
	all, dir := len(p.Tasks), p.Store.Dir
	switch none := p.Computed()+len(p.Failures()) == 0; {
	case none && len(missing) == all:
		return data.Inputf("", "none of the %d cells is in %s; compute them first, by --shard or without --collect", all, dir)
	case none:
		return data.Inputf("", "the cells in %s were computed by other code; compute them again, without --collect", dir)
	case len(missing) > 0:
		t.warn("missing", "%d of %d cells are not in %s: %s; the report is of the others", len(missing), all, dir, someOf(missing))
	}
	return nil
}

// someOf names the first of many cells.
func someOf(names []string) string {
	const most = 3
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more, which --list names", strings.Join(names[:most], ", "), len(names)-most)
}

// warnStale counts the cells that other code computed.
func (g *gridFlags) warnStale(t *terminal, p *study.Plan) {
	what, stale := "computed again", 0
	switch {
	case p.Store.Accept:
		what = "accepted"
	case g.Collect:
		what = "left out"
	}
	for _, task := range p.Tasks {
		if task.Stale {
			stale++
		}
	}
	if stale > 0 {
		t.warn("stale", "%d cells were computed by other code, and are %s", stale, what)
	}
}
