package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/bench"
	"calibra/graph/blas"
	"calibra/graph/simd"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

type benchCmd struct {
	Rows int    `default:"10000" help:"Rows of the training workloads (${default})."`
	Reps int    `default:"3" help:"Repetitions, of which the best counts (${default})."`
	Only string `placeholder:"KEY,…" help:"Only these workloads, by their JSON key."`
	JSON bool   `help:"Print one JSON object."`
}

func (benchCmd) Help() string {
	return `Example:

  calibra bench
  calibra bench --only lce_s_c10,lce_s_c100_5000rows --json`
}

func (c *benchCmd) Run(ctx context.Context) error {
	workloads := bench.Workloads(c.Rows)
	if c.Only != "" {
		keys := strings.Split(c.Only, ",")
		for _, key := range keys {
			if !slices.ContainsFunc(workloads, func(w bench.Workload) bool { return w.Key == key }) {
				return data.Inputf("", "there is no workload %q", key)
			}
		}
		workloads = slices.DeleteFunc(workloads, func(w bench.Workload) bool { return !slices.Contains(keys, w.Key) })
	}
	if c.Rows < bench.Codewords || c.Reps < 1 {
		return data.Inputf("", "--rows must be at least %d and --reps at least 1", bench.Codewords)
	}
	report := map[string]any{"rows": c.Rows, "threads": simd.Threads(), "blas": blas.Describe().Name, "vector_units": simd.InstructionSet()}
	bar := progressbar.NewOptions(len(workloads), progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetWidth(30))
	for _, w := range workloads {
		bar.Describe(w.Key)
		figure, err := w.Measure(ctx, c.Reps)
		if err != nil {
			return fmt.Errorf("bench %s: %w", w.Key, err)
		}
		bar.Add(1)
		report[w.Key] = figure
		switch {
		case c.JSON:
		case w.PerSecond:
			fmt.Printf("%12.0f rows/s  %s\n", figure, w.What)
		default:
			fmt.Printf("%12.4f s       %s\n", figure, w.What)
		}
	}
	if !c.JSON {
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
