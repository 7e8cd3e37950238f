package cli

import (
	"context"
	"encoding/json"
	"fmt"
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
	Reps int    `least:"1" most:"10000" default:"3" help:"Repetitions, of which the best counts (${default})."`
	Only string `placeholder:"KEY,…" help:"Only these workloads, by their JSON key."`
	JSON bool   `help:"Print one JSON object."`

	Scaling string `type:"path" placeholder:"DIR" help:"Measure how time grows with rows, classes, codewords and slots, and how well threads are used, instead; written as scaling.svg, .png, .csv and threads.csv in this directory."`

	deviceFlag
}

func (c *benchCmd) Run(ctx context.Context, t *terminal) error {
	executor, err := c.executor()
	if err != nil {
		return err
	}
	if c.Scaling != "" {
		return c.scaling(ctx, t, executor)
	}
	workloads, err := c.workloads(executor)
	if err != nil {
		return err
	}
	result := map[string]any{"rows": c.Rows, "threads": simd.Threads(), "blas": blas.Describe().Name, "vector_units": simd.InstructionSet()}
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
	return t.printf("\nmeasured %d workloads, the best of %d; this machine multiplies at %.0f GFLOP/s and copies\nat %.1f GB/s\n", len(list.rows), c.Reps, roof.FlopsPerSecond/1e9, roof.BytesPerSecond/1e9)
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

// scalingFiles are what scaling writes.
var scalingFiles = append(pictures("scaling"), "scaling.csv", "threads.csv")

// scaling measures how the time of a workload grows, and what a second thread saves.
func (c *benchCmd) scaling(ctx context.Context, t *terminal, executor experiments.Executor) error {
	workloads, err := c.workloads(executor)
	if err != nil {
		return err
	}
	bar := t.progress()
	defer bar.clear()
	at := func(done, of int, next string) { bar.at(float64(done), float64(of), next) }
	scales, err := bench.Scales(ctx, executor, c.Reps, at)
	if err != nil {
		return err
	}
	threads, err := bench.Efficiencies(ctx, workloads, c.Reps, at)
	if err != nil {
		return err
	}
	bar.clear()
	out := disk.NewFolder(c.Scaling, "bench")
	defer out.Discard()
	bench.DrawScales(scales).Add(out, "scaling")
	growth, csv := scaleTable(scales)
	out.WriteBytes("scaling.csv", csv)
	used, csv := threadTable(threads)
	out.WriteBytes("threads.csv", csv)
	if err := out.Commit(); err != nil {
		return err
	}
	t.tables(growth, used)
	return t.printf("\nwrote scaling.svg, .png, .csv and threads.csv to %s\n", c.Scaling)
}

// scaleTable is the exponents for people, and the measurements for a file.
func scaleTable(scales []bench.Scale) (*table, []byte) {
	list := &table{columns: []column{{head: "exponent"}, {head: "expected"}, {head: "of the time along", left: true}, {head: "in", left: true}}}
	csv := []byte("workload,axis,rows,classes,codewords,slots,seconds_per_epoch\n")
	for _, s := range scales {
		list.add(decimals(s.Measured, 2), decimals(s.Expected, 0), words(s.Axis), words(s.Title))
		for _, p := range s.Points {
			csv = fmt.Appendf(csv, "%s,%s,%d,%d,%d,%d,%.6f\n", s.Key, s.Axis, p.Rows, p.Classes, p.Codewords, p.Slots, p.Seconds)
		}
	}
	return list, csv
}

// threadTable is the same of threads.
func threadTable(threads []bench.Efficiency) (*table, []byte) {
	list := &table{columns: []column{{head: "one thread"}, {head: "all"}, {head: "threads"}, {head: "efficiency"}, {head: "workload", left: true}}}
	csv := []byte("workload,threads,seconds_one,seconds_all,efficiency\n")
	for _, e := range threads {
		seconds := func(s float64) cell { return words(fmt.Sprintf("%.3g s", s)) }
		list.add(seconds(e.One), seconds(e.All), words(fmt.Sprint(e.Threads)), words(fmt.Sprintf("%.0f %%", 100*e.Efficient)), words(e.Key))
		csv = fmt.Appendf(csv, "%s,%d,%.9f,%.9f,%.3f\n", e.Key, e.Threads, e.One, e.All, e.Efficient)
	}
	return list, csv
}
