package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
	"calibra/experiments/bench"
	"calibra/graph/blas"
	"calibra/graph/simd"
)

type benchCmd struct {
	Rows int    `least:"64" most:"10000000" default:"10000" help:"Rows of the training workloads (${default})."`
	Reps int    `least:"1" most:"10000" default:"3" help:"Repetitions; the fastest counts (${default})."`
	Only string `placeholder:"KEY,…" help:"Only these workloads, by their JSON keys."`
	JSON bool   `help:"Print one JSON object."`

	Memory   string `type:"path" placeholder:"F.csv" help:"Instead, measure peak memory and time of fit, apply and evaluate on --rows random rows, and write them to this file."`
	In       string `type:"input" placeholder:"F.npz" help:"With --memory: measure fit, apply and export of one and of five members of vq, mixture and corrected on this features file instead."`
	Features int    `least:"1" most:"1000000" default:"512" help:"With --memory: features of a row (${default})."`
	Classes  int    `least:"2" most:"100000" default:"10" help:"With --memory: classes (${default})."`

	deviceFlag
}

func (c *benchCmd) Run(ctx context.Context, t *terminal) error {
	switch {
	case c.Memory != "":
		return c.memory(ctx, t)
	case c.In != "":
		return data.Inputf("", "--in is the file on which --memory measures commands; give --memory F.csv too")
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	workloads, err := c.workloads(executor)
	if err != nil {
		return err
	}
	result := map[string]any{"rows": c.Rows, "threads": simd.Threads(), "blas": blas.Name(), "vector_units": simd.InstructionSet()}
	roof := bench.MeasureRoof()
	shares := map[string]float64{}
	result["roof"], result["share_of_roof"] = roof, shares
	list := &table{columns: []column{{head: "time", key: "time"}, {head: "of the limit", key: "share"}, {head: "workload", left: true, wrap: true}}}
	bar := t.progress()
	defer bar.clear()
	for i, w := range workloads {
		bar.at(float64(i), float64(len(workloads)), w.Key)
		figure, err := w.Measure(ctx, c.Reps)
		if err != nil {
			return fmt.Errorf("bench %s: %w", w.Key, err)
		}
		result[w.Key] = figure
		seconds, text := figure, fmt.Sprintf("%.4f s", figure)
		if w.PerSecond {
			seconds, text = 1/figure, fmt.Sprintf("%.0f rows/s", figure)
		}
		shares[w.Key] = roof.Floor(w.Work) / seconds
		list.add(words(text), words(fmt.Sprintf("%.0f %%", 100*shares[w.Key])), words(w.What))
	}
	bar.clear()
	if c.JSON {
		return json.NewEncoder(t.out).Encode(result) // one line, to be collected in a file
	}
	t.tables(list)
	return t.closing(fmt.Sprintf("the best of %d runs each; this machine multiplies at %.0f GFLOP/s and copies at %.1f GB/s", c.Reps, roof.FlopsPerSecond/1e9, roof.BytesPerSecond/1e9))
}

// workloads are all, or those that are named.
func (c *benchCmd) workloads(executor experiments.Executor) ([]bench.Workload, error) {
	workloads := bench.Workloads(c.Rows, executor)
	if c.Only == "" {
		return workloads, nil
	}
	keys := strings.Split(c.Only, ",")
	known := data.Each(workloads, func(w bench.Workload) string { return w.Key })
	for _, key := range keys {
		if !slices.Contains(known, key) {
			return nil, data.Unknown("workload", key, known)
		}
	}
	return slices.DeleteFunc(workloads, func(w bench.Workload) bool { return !slices.Contains(keys, w.Key) }), nil
}

// memory measures what commands need on files of these sizes, and writes it.
func (c *benchCmd) memory(ctx context.Context, t *terminal) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is to be measured: %w", err)
	}
	dir, err := os.MkdirTemp("", "calibra-bench-")
	if err != nil {
		return data.Inputf("", "there is no room for the files that are measured: %w; name another directory by TMPDIR", err)
	}
	defer os.RemoveAll(dir)
	bar := t.progress()
	defer bar.clear()
	observe := func(done, of int, next string) { bar.at(float64(done), float64(of), next) }
	head := bench.NeedsHead
	var rows [][]string
	if c.In != "" {
		head = bench.MembersHead
		rows, err = bench.Members(ctx, program, c.In, dir, observe)
	} else {
		rows, err = bench.Needs(ctx, program, dir, bench.Size{Rows: c.Rows, Features: c.Features, Classes: c.Classes}, observe)
	}
	if err != nil {
		return err
	}
	bar.clear()
	list := &table{columns: data.Each(head, func(head string) column { return column{head: head, left: head == "command" || head == "method"} })}
	for _, row := range rows {
		list.add(data.Each(row, func(text string) cell { return words(text) })...)
	}
	err = disk.WriteFile(c.Memory, func(w io.Writer) error {
		return data.NewCSVWriter(w).WriteAll(append([][]string{head}, rows...))
	})
	if err != nil {
		return err
	}
	t.tables(list)
	return t.closing(fmt.Sprintf("%d commands were measured", len(rows)), relative(c.Memory))
}
