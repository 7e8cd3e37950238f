package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/run"
	"calibra/graph/blas"
	"calibra/graph/cuda"
	"calibra/graph/work"
)

func main() {
	blas.Install()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	switch err := execute(ctx, os.Args[1:], os.Stdout); {
	case errors.Is(err, flag.ErrHelp):
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
}

// asked are the flags.
type asked struct {
	Size
	reps                                    int
	only, memory, in, growth, peers, python string
	program                                 string
	device                                  cuda.Choice
	json                                    bool
	given                                   []string // their names
}

func parse(args []string) (a asked, err error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.IntVar(&a.Rows, "rows", 10000, "rows of the training workloads, or of the files that are measured")
	f.IntVar(&a.Features, "features", 0, "features of a row: 512 with --memory, 64 with --growth")
	f.IntVar(&a.Classes, "classes", 10, "classes, with --memory and --growth")
	f.IntVar(&a.reps, "reps", 3, "repetitions, of which the fastest counts; with --peers, turns")
	f.StringVar(&a.only, "only", "", "only these workloads, by their JSON keys: `KEY,…`")
	f.BoolVar(&a.json, "json", false, "print one JSON object")
	f.StringVar(&a.memory, "memory", "",
		"instead, write peak memory and time of fit, apply and evaluate on random rows to `F.csv`")
	f.StringVar(&a.in, "in", "",
		"with --memory: measure fit, apply and export of one and of five members of three methods on `F.npz`")
	f.StringVar(&a.growth, "growth", "",
		"instead, double rows, classes, slots and codewords three times, and write how time and memory grow to `F.csv`")
	f.StringVar(&a.peers, "peers", "",
		"instead, write whole jobs by calibra's Python package and by other libraries to `F.csv`")
	f.StringVar(&a.python, "python", "python3", "with --peers: the Python that has the libraries")
	f.StringVar(&a.program, "program", "",
		"the `calibra` that --memory, --growth and --peers measure (built from this repository)")
	f.TextVar(&a.device, "device", cuda.CPU, "where the workloads are computed: cpu, auto or cuda")
	if err := f.Parse(args); err != nil {
		return a, err
	}
	f.Visit(func(f *flag.Flag) { a.given = append(a.given, f.Name) })
	return a, a.check(f.Args())
}

// check is an error where a number is too small, or a flag is given that what is measured does not read.
func (a asked) check(rest []string) error {
	what, reads := "bench", []string{"rows", "reps", "only", "json", "device"}
	switch {
	case len(rest) > 0:
		return data.Inputf("", "there is no argument %q; give flags alone", rest[0])
	case a.Rows < 64, a.reps < 1, a.Classes < 2:
		return data.Inputf("", "--rows must be at least 64, --reps at least 1 and --classes at least 2")
	case a.in != "" && a.memory != "":
		what, reads = "bench --memory --in", []string{"memory", "in", "program"}
	case a.memory != "":
		what, reads = "bench --memory", []string{"memory", "rows", "features", "classes", "program"}
	case a.growth != "":
		what, reads = "bench --growth", []string{"growth", "rows", "reps", "features", "classes", "program"}
	case a.peers != "":
		what, reads = "bench --peers", []string{"peers", "reps", "python", "program"}
	}
	for _, name := range a.given {
		if !slices.Contains(reads, name) {
			return data.Inputf("", "%s does not read --%s; leave it out", what, name)
		}
	}
	return nil
}

func execute(ctx context.Context, args []string, out io.Writer) error {
	a, err := parse(args)
	if err != nil {
		return err
	}
	ctx = work.WithProgress(ctx, observe)
	s := a.Size
	switch {
	case a.in != "":
		return a.measured(ctx, out, a.memory, MembersHead, func(program, dir string) ([][]string, error) {
			return Members(ctx, program, a.in, dir)
		})
	case a.memory != "":
		s.Features = cmp.Or(s.Features, 512)
		return a.measured(ctx, out, a.memory, NeedsHead, func(program, dir string) ([][]string, error) {
			return Needs(ctx, program, dir, s)
		})
	case a.growth != "":
		s.Features, s.Slots, s.Codewords = cmp.Or(s.Features, 64), 8, 16
		if s.Features%(8*s.Slots) != 0 || s.Rows < 200 {
			return data.Inputf("", "--growth measures up to 64 slots and 128 codewords; "+
				"give a multiple of 64 as --features, and 200 --rows or more")
		}
		return a.measured(ctx, out, a.growth, GrowthHead, func(program, dir string) ([][]string, error) {
			return Growth(ctx, program, dir, s, a.reps)
		})
	case a.peers != "":
		return a.measured(ctx, out, a.peers, JobsHead, func(program, dir string) ([][]string, error) {
			rows, lacking, err := Jobs(ctx, a.python, program, dir, a.reps)
			for _, why := range lacking {
				fmt.Fprintf(os.Stderr, "%s; it is left out\n", why)
			}
			if err == nil && len(rows) == 0 {
				err = data.Inputf("", "%s has none of the libraries, and nothing was measured; "+
					"install some, or name another Python by --python", a.python)
			}
			return rows, err
		})
	}
	return a.workloads(ctx, out)
}

// observe says what is measured next.
func observe(doing []string, from, _ float64) {
	fmt.Fprintf(os.Stderr, "%3.0f %%: %s\n", 100*from, strings.Join(doing, ", "))
}

// workloads measures the workloads that are asked for beside the roof of this machine.
func (a asked) workloads(ctx context.Context, out io.Writer) error {
	executor, err := a.executor()
	if err != nil {
		return err
	}
	workloads := Workloads(a.Rows, executor)
	if a.only != "" {
		keys := strings.Split(a.only, ",")
		known := data.Each(workloads, func(w Workload) string { return w.Key })
		for _, key := range keys {
			if !slices.Contains(known, key) {
				return data.Unknown("workload", key, known)
			}
		}
		workloads = slices.DeleteFunc(workloads, func(w Workload) bool { return !slices.Contains(keys, w.Key) })
	}
	result := map[string]any{
		"rows": a.Rows, "threads": work.Threads(), "blas": blas.Name(), "vector_units": blas.InstructionSet(),
	}
	roof, shares := MeasureRoof(), map[string]float64{}
	result["roof"], result["share_of_roof"] = roof, shares
	rows := [][]string{{"time", "of the limit", "workload"}}
	for i, w := range workloads {
		n := float64(len(workloads))
		figure, err := w.Measure(work.Span(ctx, w.Key, float64(i)/n, float64(i+1)/n), a.reps)
		if err != nil {
			return fmt.Errorf("%s: %w", w.Key, err)
		}
		result[w.Key] = figure
		seconds, text := figure, fmt.Sprintf("%.4f s", figure)
		if w.PerSecond {
			seconds, text = 1/figure, fmt.Sprintf("%.0f rows/s", figure)
		}
		shares[w.Key] = roof.Floor(w.Work) / seconds
		rows = append(rows, []string{text, fmt.Sprintf("%.0f %%", 100*shares[w.Key]), w.What})
	}
	if a.json {
		return json.NewEncoder(out).Encode(result) // one line, to be collected in a file
	}
	if err := print(out, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "\nthe best of %d runs each; this machine multiplies at %.0f GFLOP/s and copies at %.1f GB/s\n",
		a.reps, roof.FlopsPerSecond/1e9, roof.BytesPerSecond/1e9)
	return err
}

// executor is the device that is asked for; nil is this process.
func (a asked) executor() (run.Executor, error) {
	e, err := a.device.Open(func(sentence string) { fmt.Fprintln(os.Stderr, "bench:", sentence) })
	if err != nil || e == nil {
		return nil, err
	}
	return e, nil
}

// measurement measures a calibra, in a folder for its files.
type measurement func(program, dir string) ([][]string, error)

// measured writes to a file and prints what is measured.
func (a asked) measured(ctx context.Context, out io.Writer, path string, head []string, measure measurement) error {
	dir, err := os.MkdirTemp("", "calibra-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program := a.program
	if program == "" {
		program = filepath.Join(dir, "calibra")
		build := exec.CommandContext(ctx, "go", "build", "-o", program, "calibra/experiments/cmd/calibra")
		if said, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build calibra: %w: %s", err, said)
		}
	}
	rows, err := measure(program, dir)
	if err != nil {
		return err
	}
	rows = slices.Insert(rows, 0, head)
	err = disk.WriteFile(path, func(w io.Writer) error { return data.WriteCSV(w, rows) })
	return cmp.Or(err, print(out, rows))
}

// print prints rows in columns.
func print(out io.Writer, rows [][]string) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}
