package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments"
	"calibra/experiments/bench"
	"calibra/graph/blas"
	"calibra/graph/work"
)

type benchCmd struct {
	Rows *int   `least:"64" most:"10000000" placeholder:"N" help:"Rows of the training workloads (10000)."`
	Reps *int   `least:"1" most:"10000" placeholder:"N" help:"Number of repetitions; the fastest counts. With --peers, number of turns (3)."`
	Only string `placeholder:"KEY,…" help:"Only these workloads, by their JSON keys."`
	JSON bool   `help:"Print one JSON object."`

	Memory   string `type:"path" xor:"instead" placeholder:"F.csv" help:"Instead, measure peak memory and time of fit, apply and evaluate on --rows random rows, and write them to this file."`
	In       string `type:"input" placeholder:"F.npz" help:"With --memory: measure fit, apply and export of one and of five members of vq, mixture and corrected on this features file instead."`
	Growth   string `type:"path" xor:"instead" placeholder:"F.csv" help:"Instead, double rows, classes, slots and codewords three times, one while the others stay, and write how the time and memory of fit, apply and evaluate grow to this file."`
	Peers    string `type:"path" xor:"instead" placeholder:"F.csv" help:"Instead, measure whole jobs by calibra's Python package and by other libraries, on --rows random rows, and write them to this file."`
	Python   string `placeholder:"PYTHON" help:"With --peers: the Python that has the libraries (python3)."`
	Features *int   `least:"1" most:"1000000" placeholder:"N" help:"Features of a row: 512 with --memory, 64 with --growth."`
	Classes  *int   `least:"2" most:"100000" placeholder:"N" help:"With --memory, --growth and --peers: classes (10)."`

	deviceFlag
}

func (c *benchCmd) Run(ctx context.Context, t *terminal) error {
	switch {
	case c.In != "" && c.Memory == "":
		return data.Inputf("", "--in is the file on which --memory measures commands; give --memory F.csv too")
	case c.Python != "" && c.Peers == "":
		return data.Inputf("", "--python runs the jobs of --peers; give --peers F.csv too")
	}
	if err := c.unread(); err != nil {
		return err
	}
	switch {
	case c.Memory != "":
		return c.memory(ctx, t)
	case c.Growth != "":
		return c.growth(ctx, t)
	case c.Peers != "":
		return c.peers(ctx, t)
	}
	executor, err := c.executor()
	if err != nil {
		return err
	}
	workloads, err := c.workloads(executor)
	if err != nil {
		return err
	}
	result := map[string]any{"rows": c.rows(), "threads": work.Threads(), "blas": blas.Name(), "vector_units": blas.InstructionSet()}
	roof := bench.MeasureRoof()
	shares := map[string]float64{}
	result["roof"], result["share_of_roof"] = roof, shares
	list := &table{columns: []column{{head: "time", key: "time"}, {head: "of the limit", key: "share"}, {head: "workload", left: true, wrap: true}}}
	ctx, bar := t.steps(ctx, 0)
	defer bar.clear()
	for i, w := range workloads {
		figure, err := w.Measure(work.Span(ctx, w.Key, float64(i)/float64(len(workloads)), float64(i+1)/float64(len(workloads))), or(c.Reps, 3))
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
	return t.closing(fmt.Sprintf("the best of %d runs each; this machine multiplies at %.0f GFLOP/s and copies at %.1f GB/s", or(c.Reps, 3), roof.FlopsPerSecond/1e9, roof.BytesPerSecond/1e9))
}

func (c *benchCmd) rows() int { return or(c.Rows, 10000) }

// unread is an error where a flag is given that what is measured does not read.
func (c *benchCmd) unread() error {
	what, reads := "bench", []string{"--rows", "--reps", "--only", "--json"}
	switch {
	case c.In != "":
		what, reads = "bench --memory --in", nil
	case c.Memory != "":
		what, reads = "bench --memory", []string{"--rows", "--features", "--classes"}
	case c.Growth != "":
		what, reads = "bench --growth", []string{"--rows", "--reps", "--features", "--classes"}
	case c.Peers != "":
		what, reads = "bench --peers", []string{"--rows", "--reps", "--classes"}
	}
	for _, flag := range []struct {
		name  string
		given bool
	}{{"--rows", c.Rows != nil}, {"--reps", c.Reps != nil}, {"--only", c.Only != ""}, {"--json", c.JSON}, {"--features", c.Features != nil}, {"--classes", c.Classes != nil}} {
		if flag.given && !slices.Contains(reads, flag.name) {
			return data.Inputf("", "%s does not read %s; leave it out", what, flag.name)
		}
	}
	return nil
}

// workloads are all, or those that are named.
func (c *benchCmd) workloads(executor experiments.Executor) ([]bench.Workload, error) {
	workloads := bench.Workloads(c.rows(), executor)
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

// memory measures what commands need on files of these sizes, or on one, and writes it.
func (c *benchCmd) memory(ctx context.Context, t *terminal) error {
	if c.In != "" {
		return c.measured(ctx, t, "commands", c.Memory, bench.MembersHead, func(ctx context.Context, program, dir string) ([][]string, error) {
			return bench.Members(ctx, program, c.In, dir)
		})
	}
	return c.measured(ctx, t, "commands", c.Memory, bench.NeedsHead, func(ctx context.Context, program, dir string) ([][]string, error) {
		return bench.Needs(ctx, program, dir, bench.Size{Rows: c.rows(), Features: or(c.Features, 512), Classes: or(c.Classes, 10)})
	})
}

// growth measures how time and memory of commands grow with their sizes, and writes it.
func (c *benchCmd) growth(ctx context.Context, t *terminal) error {
	return c.measured(ctx, t, "commands", c.Growth, bench.GrowthHead, func(ctx context.Context, program, dir string) ([][]string, error) {
		from := bench.Size{Rows: c.rows(), Features: or(c.Features, 64), Classes: or(c.Classes, 10), Slots: 8, Codewords: 16}
		if from.Features%(8*from.Slots) != 0 {
			return nil, data.Inputf("", "--features %d cannot be cut into 64 slots, the most that --growth measures; give a multiple of 64", from.Features)
		}
		if from.Rows < 200 {
			return nil, data.Inputf("", "--rows %d are too few for the 128 codewords that --growth measures; give 200 or more, and thousands for times that tell more than the start of a command", from.Rows)
		}
		return bench.Growth(ctx, program, dir, from, or(c.Reps, 3))
	})
}

// peers measures whole jobs by this program and by other libraries, and writes it.
func (c *benchCmd) peers(ctx context.Context, t *terminal) error {
	return c.measured(ctx, t, "jobs", c.Peers, bench.JobsHead, func(ctx context.Context, program, dir string) ([][]string, error) {
		python, err := exec.LookPath(cmp.Or(c.Python, "python3"))
		if err != nil {
			return nil, data.Inputf("", "the libraries need a Python: %w; name one that has them by --python", err)
		}
		rows, lacking, err := bench.Jobs(ctx, python, program, dir, bench.Size{Rows: c.rows(), Classes: or(c.Classes, 10)}, or(c.Reps, 3))
		for _, why := range lacking {
			t.note("%s; it is left out", why)
		}
		if err == nil && len(rows) == 0 {
			err = data.Inputf("", "%s has none of the libraries, and nothing was measured; install some, or name another Python by --python", python)
		}
		return rows, err
	})
}

// measured writes what a function measures of this program, in a folder for its files, and prints it.
func (c *benchCmd) measured(ctx context.Context, t *terminal, what, path string, head []string, measure func(ctx context.Context, program, dir string) ([][]string, error)) error {
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program, which is to be measured: %w", err)
	}
	dir, err := os.MkdirTemp("", "calibra-bench-")
	if err != nil {
		return data.Inputf("", "there is no room for the files that are measured: %w; name another directory by TMPDIR", err)
	}
	defer os.RemoveAll(dir)
	ctx, bar := t.steps(ctx, 0)
	defer bar.clear()
	list := &table{columns: data.Each(head, func(head string) column {
		return column{head: head, left: slices.Contains([]string{"command", "doubled", "method", "library", "version"}, head)}
	})}
	var failed error
	err = disk.WriteFile(path, func(w io.Writer) error { // begun before the work, which is in vain where it cannot be written
		var rows [][]string
		if rows, failed = measure(ctx, program, dir); failed != nil {
			return failed
		}
		for _, row := range rows {
			list.add(data.Each(row, func(text string) cell { return words(text) })...)
		}
		return data.NewCSVWriter(w).WriteAll(append([][]string{head}, rows...))
	})
	if err := cmp.Or(failed, err); err != nil {
		return err
	}
	bar.clear()
	t.tables(list)
	return t.closing(fmt.Sprintf("%d %s were measured", len(list.rows), what), relative(path))
}
