package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"calibra/experiments"
	"calibra/experiments/metrics"
)

// printTable prints one line per run: the metrics of the paper's tables, codeword
// usage of the test rows, and the time of each stage.
func printTable(out io.Writer, runs []*experiments.Run) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "method\tLCE\tMLCE\tLCE own\tECCE\tECE\tACC\tNLL\tcodewords min / max / dead\tseconds\t")
	for _, r := range runs {
		m := r.Outcome.Metrics.Values
		own := "–"
		if r.Outcome.OwnMetrics != nil {
			own = fmt.Sprintf("%.5f", r.Outcome.OwnMetrics.Values[metrics.LCE])
		}
		fmt.Fprintf(w, "%s\t%.5f\t%.4f\t%s\t%.5f\t%.5f\t%.4f\t%.4f\t%s\t%s\t\n", r.Spec.Method,
			m[metrics.LCE], m[metrics.MLCE], own, m[metrics.ECCE], m[metrics.ECE], m[metrics.Accuracy], m[metrics.NLL], usage(r.Usage), stages(r))
	}
	w.Flush()
}

func usage(counts []int) string {
	if counts == nil {
		return "–"
	}
	dead := 0
	for _, n := range counts {
		if n == 0 {
			dead++
		}
	}
	return fmt.Sprintf("%d / %d / %d", slices.Min(counts), slices.Max(counts), dead)
}

func stages(r *experiments.Run) string {
	if len(r.Stages) == 0 {
		return fmt.Sprintf("%.1f", r.Fit.Seconds())
	}
	var parts []string
	for _, s := range r.Stages {
		parts = append(parts, fmt.Sprintf("%s %.1f", s.Name, s.Time.Seconds()))
	}
	return strings.Join(parts, ", ")
}
