package readme

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/bench"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

var nan = math.NaN()

// peers are the programs beside which calibra bench runs, in the order of the table, by what
// peers.jsonl calls them.
var peers = []struct{ key, name string }{{"eager", "PyTorch %s"}, {"compile", "torch.compile"}, {"jax", "JAX %s jit"}}

// benchmarks sets the medians of calibra bench beside those of peers.py.
func benchmarks(dir string) (string, error) {
	ours, err := readRuns(dir, "bench.jsonl")
	if err != nil {
		return "", err
	}
	theirs, err := readRuns(dir, "peers.jsonl")
	if err != nil {
		return "", err
	}
	rows, ok := ours[0]["rows"].(float64)
	if !ok {
		return "", fmt.Errorf("bench.jsonl does not say of how many rows its sets are")
	}
	t := table{head: []string{"workload", "Calibra"}}
	of := map[string][]map[string]any{} // runs of each peer
	for _, peer := range peers {
		of[peer.key] = slices.DeleteFunc(slices.Clone(theirs), func(run map[string]any) bool { return run["peer"] != peer.key })
		if len(of[peer.key]) == 0 {
			return "", fmt.Errorf("peers.jsonl has no run of %s", peer.key)
		}
		name := peer.name
		if strings.Contains(name, "%s") {
			version, _, _ := strings.Cut(fmt.Sprint(of[peer.key][0]["version"]), "+")
			name = fmt.Sprintf(name, version)
		}
		t.head = append(t.head, name)
	}
	t.head = append(t.head, "against the fastest", "of the roof")
	var counts []int
	for _, w := range bench.Workloads(int(rows), nil) {
		a, n := median(ours, w.Key)
		if n == 0 {
			return "", fmt.Errorf("bench.jsonl has no figure of %s", w.Key)
		}
		counts = append(counts, n)
		cells, least := []string{w.What, figure(a, w.PerSecond)}, math.Inf(1)
		for _, peer := range peers {
			b, n := median(of[peer.key], w.Key)
			if n == 0 {
				return "", fmt.Errorf("peers.jsonl has no figure of %s by %s", w.Key, peer.key)
			}
			counts = append(counts, n)
			ratio := b / a
			if w.PerSecond {
				ratio = a / b
			}
			cells, least = append(cells, fmt.Sprintf("%s, %s", figure(b, w.PerSecond), times(ratio))), min(least, ratio)
		}
		share, n := median(sharesOf(ours), w.Key)
		if n == 0 {
			return "", fmt.Errorf("bench.jsonl does not say how near the roof %s is", w.Key)
		}
		t.rows = append(t.rows, append(cells, "**"+times(least)+"**", fmt.Sprintf("%.0f %%", 100*share)))
	}
	note := fmt.Sprintf("Calibra's %v kernels and its peers on the same CPU, %.0f threads each, the median of at least %d runs by turns:\n", ours[0]["vector_units"], ours[0]["threads"], slices.Min(counts))
	return note + "\n" + t.String(), nil
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
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, data.Inputf(path, "cannot be read: %w; go doc ./experiments/readme says which command writes it", err)
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
