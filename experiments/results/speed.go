package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/bench"
	"calibra/experiments/report"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var nan = math.NaN()

// peers are the programs beside which calibra bench runs, in the order of the table, by what
// peers.jsonl calls them.
var peers = []struct{ key, name string }{{"eager", "PyTorch %s"}, {"compile", "torch.compile"}, {"jax", "JAX %s jit"}}

// speed fills the mark speed: the medians of calibra bench in file beside those of
// experiments/bench/peers.py in peers.
func speed(dir string, a arguments) (string, error) {
	ours, err := readRuns(dir, a["file"])
	if err != nil {
		return "", err
	}
	theirs, err := readRuns(dir, a["peers"])
	if err != nil {
		return "", err
	}
	rows, ok := ours[0]["rows"].(float64)
	if !ok {
		return "", fmt.Errorf("%s does not say of how many rows its sets are", a["file"])
	}
	t := &report.Table{Labels: []string{"workload"}, Values: report.Heads("Calibra")}
	of := map[string][]map[string]any{} // runs of each peer
	for _, peer := range peers {
		of[peer.key] = slices.DeleteFunc(slices.Clone(theirs), func(run map[string]any) bool { return run["peer"] != peer.key })
		if len(of[peer.key]) == 0 {
			return "", fmt.Errorf("%s has no run of %s", a["peers"], peer.key)
		}
		version, _, _ := strings.Cut(fmt.Sprint(of[peer.key][0]["version"]), "+")
		t.Values = append(t.Values, report.Head{Text: strings.Replace(peer.name, "%s", version, 1)})
	}
	t.Values = append(t.Values, report.Heads("against the fastest", "of the roof")...)
	runs := len(ours)
	for _, w := range bench.Workloads(int(rows), nil) {
		row, n, err := speedRow(w, ours, of, a)
		if err != nil {
			return "", err
		}
		runs = min(runs, n)
		t.Add("", row)
	}
	return fmt.Sprintf("Calibra's %v kernels and its peers on the same CPU, %.0f threads each, the median of at least %d runs by turns:\n\n", ours[0]["vector_units"], ours[0]["threads"], runs) + t.Markdown(), nil
}

// speedRow is a workload's row: its medians over our runs and those of each peer, of at least so many runs.
func speedRow(w bench.Workload, ours []map[string]any, of map[string][]map[string]any, a arguments) (row report.Row, runs int, err error) {
	own, runs := median(ours, w.Key)
	share, shares := median(sharesOf(ours), w.Key)
	if runs == 0 || shares == 0 {
		return row, 0, fmt.Errorf("%s has no figure of %s, or no share of the roof", a["file"], w.Key)
	}
	cells, least := report.Texts(figure(own, w.PerSecond)), math.Inf(1)
	for _, peer := range peers {
		theirs, n := median(of[peer.key], w.Key)
		if n == 0 {
			return row, 0, fmt.Errorf("%s has no figure of %s by %s", a["peers"], w.Key, peer.key)
		}
		runs = min(runs, n)
		ratio := theirs / own
		if w.PerSecond {
			ratio = own / theirs
		}
		cells, least = append(cells, report.Texts(figure(theirs, w.PerSecond)+", "+times(ratio))...), min(least, ratio)
	}
	cells = append(cells, report.Texts("**"+times(least)+"**", fmt.Sprintf("%.0f %%", 100*share))...)
	return report.Row{Labels: []string{w.What}, Cells: cells}, runs, nil
}

// times is a ratio as 11.1×.
func times(ratio float64) string { return fmt.Sprintf("%.3g×", ratio) }

// sharesOf are the runs' objects of the share of the roof.
func sharesOf(runs []map[string]any) (shares []map[string]any) {
	for _, run := range runs {
		if s, ok := run["share_of_roof"].(map[string]any); ok {
			shares = append(shares, s)
		}
	}
	return shares
}

// readRuns reads the objects of a file, one a run, at least one.
func readRuns(dir, name string) ([]map[string]any, error) {
	path := filepath.Join(dir, name)
	text, err := data.ReadFile(path)
	if err != nil {
		return nil, data.Inputf(path, "cannot be read: %w; the page that shows it names the command that writes it", err)
	}
	var runs []map[string]any
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var run map[string]any
		if err := d.Decode(&run); err == io.EOF {
			break
		} else if err != nil {
			return nil, data.Inputf(path, "is no row of JSON objects: %w", err)
		}
		runs = append(runs, run)
	}
	if runs == nil {
		return nil, data.Inputf(path, "holds no runs")
	}
	return runs, nil
}

// median is that of the n runs that have the key.
func median(runs []map[string]any, key string) (x float64, n int) {
	var values []float64
	for _, run := range runs {
		if v, ok := run[key].(float64); ok {
			values = append(values, v)
		}
	}
	if values == nil {
		return nan, 0
	}
	slices.Sort(values)
	n = len(values)
	return (values[(n-1)/2] + values[n/2]) / 2, n
}

// figure is seconds, or rows per second, with three digits.
func figure(x float64, perSecond bool) string {
	if !perSecond {
		return strconv.FormatFloat(x, 'g', 3, 64) + " s"
	}
	return message.NewPrinter(language.English).Sprintf("%d rows/s", 100*int(math.Round(x/100)))
}
