package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/bench"
	"calibra/experiments/report"
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

	Scaling string `type:"path" placeholder:"DIR" help:"Draw time against rows and classes instead, as scaling.svg, .png and .csv in this directory."`

	deviceFlag
}

func (benchCmd) Help() string {
	return `Example:

  calibra bench
  calibra bench --only lce_s_c10,lce_s_c100_5000rows --json
  calibra bench --scaling runs/scaling

The last column is the share of the roof: the time that the workload's arithmetic, at
the rate of a matrix product measured in the same run, or its memory traffic, at the
rate of a copy, would take at least.`
}

func (c *benchCmd) Run(ctx context.Context) error {
	if c.Rows < bench.Codewords || c.Reps < 1 {
		return data.Inputf("", "--rows must be at least %d and --reps at least 1", bench.Codewords)
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	if c.Scaling != "" {
		return c.scaling(ctx, executor)
	}
	workloads := bench.Workloads(c.Rows, executor)
	if c.Only != "" {
		keys := strings.Split(c.Only, ",")
		var known []string
		for _, w := range workloads {
			known = append(known, w.Key)
		}
		for _, key := range keys {
			if !slices.Contains(known, key) {
				return data.Inputf("", "there is no workload %q; choose of %s", key, strings.Join(known, ", "))
			}
		}
		workloads = slices.DeleteFunc(workloads, func(w bench.Workload) bool { return !slices.Contains(keys, w.Key) })
	}
	result := map[string]any{"rows": c.Rows, "threads": simd.Threads(), "blas": blas.Describe().Name, "vector_units": simd.InstructionSet()}
	roof := bench.MeasureRoof()
	shares := map[string]float64{}
	result["roof"], result["share_of_roof"] = roof, shares
	if !c.JSON {
		fmt.Printf("matrix product %.0f GFLOP/s, copy %.1f GB/s\n\n", roof.FlopsPerSecond/1e9, roof.BytesPerSecond/1e9)
	}
	bar := newWorkloadBar(len(workloads))
	for _, w := range workloads {
		bar.Describe(w.Key)
		figure, err := w.Measure(ctx, c.Reps)
		if err != nil {
			return fmt.Errorf("bench %s: %w", w.Key, err)
		}
		bar.Add(1)
		result[w.Key] = figure
		seconds := figure
		if w.PerSecond {
			seconds = 1 / figure
		}
		shares[w.Key] = roof.Floor(w.Work) / seconds
		switch {
		case c.JSON:
		case w.PerSecond:
			fmt.Printf("%10.0f rows/s  %4.0f %%  %s\n", figure, 100*shares[w.Key], w.What)
		default:
			fmt.Printf("%10.4f s       %4.0f %%  %s\n", figure, 100*shares[w.Key], w.What)
		}
	}
	if !c.JSON {
		return nil
	}
	return json.NewEncoder(os.Stdout).Encode(result)
}

// newWorkloadBar shows which of n workloads is measured, on a terminal.
func newWorkloadBar(n int) *progressbar.ProgressBar {
	return progressbar.NewOptions(n, progressbar.OptionSetWriter(os.Stderr), progressbar.OptionSetVisibility(term.IsTerminal(int(os.Stderr.Fd()))),
		progressbar.OptionClearOnFinish(), progressbar.OptionSetPredictTime(false), progressbar.OptionSetWidth(30))
}

// scalingFiles are what scaling writes.
var scalingFiles = append(pictures("scaling"), "scaling.csv")

// scaling draws how the time of an epoch grows.
func (c *benchCmd) scaling(ctx context.Context, executor experiments.Executor) error {
	undo, err := experiments.PrepareDir(c.Scaling, "bench", scalingFiles...)
	if err != nil {
		return err
	}
	var bar *progressbar.ProgressBar
	figure, measured, err := bench.Scaling(ctx, executor, c.Reps, func(done, of int, next string) {
		if bar == nil {
			bar = newWorkloadBar(of)
		}
		bar.Describe(next)
		_ = bar.Set(done) // a terminal that cannot be written to shows nothing
	})
	if err != nil {
		undo()
		return err
	}
	_ = bar.Finish()
	out := data.NewFolder(c.Scaling, "bench")
	defer out.Discard()
	for _, format := range report.Formats {
		picture, err := figure.Render(format)
		if err != nil {
			return err
		}
		if err := out.WriteBytes("scaling."+format, picture); err != nil {
			return err
		}
	}
	table := []byte("rows,classes,seconds_per_epoch\n")
	for _, m := range measured {
		table = fmt.Appendf(table, "%.0f,%.0f,%.6f\n", m[0], m[1], m[2])
	}
	fmt.Print(string(table))
	if err := out.WriteBytes("scaling.csv", table); err != nil {
		return err
	}
	return out.Commit()
}
