package cli

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"calibra/experiments"
	"calibra/experiments/metrics"
)

// printTable prints one line per run: the metrics of the paper's tables, codeword
// usage of the test rows, and the time of each stage.
func printTable(out io.Writer, runs []*experiments.Run) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "%s\tseconds\t\n", strings.Join(tableHead, "\t"))
	for _, r := range runs {
		fmt.Fprintf(w, "%s\t%s\t\n", strings.Join(tableLine(r), "\t"), stages(r))
	}
	w.Flush()
}

// writeTable writes the same as csv, without the times: same seed, same bytes.
func writeTable(out io.Writer, runs []*experiments.Run) error {
	w := csv.NewWriter(out)
	lines := [][]string{tableHead}
	for _, r := range runs {
		lines = append(lines, tableLine(r))
	}
	return w.WriteAll(lines)
}

var tableHead = []string{"method", "LCE", "MLCE", "LCE own", "ECCE", "ECE", "ACC", "NLL", "codewords min / max / dead"}

func tableLine(r *experiments.Run) []string {
	m := r.Outcome.Metrics.Values
	own := math.NaN()
	if r.Outcome.OwnMetrics != nil {
		own = r.Outcome.OwnMetrics.Values[metrics.LCE]
	}
	return []string{
		r.Spec.Method, measured(m[metrics.LCE], 5), measured(m[metrics.MLCE], 4), measured(own, 5),
		measured(m[metrics.ECCE], 5), measured(m[metrics.ECE], 5),
		measured(m[metrics.Accuracy], 4), measured(m[metrics.NLL], 4), usage(r.Usage),
	}
}

// measured prints a value to so many decimals, or a dash where it could not be measured.
func measured(value float64, decimals int) string {
	if math.IsNaN(value) {
		return "–"
	}
	return strconv.FormatFloat(value, 'f', decimals, 64)
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
