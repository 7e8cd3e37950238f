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

// benchmarks sets the medians of calibra bench beside those of peer_torch.py.
func benchmarks(dir string) (string, error) {
	ours, err := readRuns(dir, "bench.jsonl")
	if err != nil {
		return "", err
	}
	theirs, err := readRuns(dir, "torch.jsonl")
	if err != nil {
		return "", err
	}
	rows, ok := ours[0]["rows"].(float64)
	if !ok {
		return "", fmt.Errorf("bench.jsonl does not say of how many rows its sets are")
	}
	t := table{head: []string{"workload", "Calibra", "PyTorch", "ratio", "of the roof"}}
	var counts []int
	for _, w := range bench.Workloads(int(rows), nil) {
		a, na := median(ours, w.Key)
		b, nb := median(theirs, w.Key)
		if na == 0 || nb == 0 {
			return "", fmt.Errorf("bench.jsonl has %d and torch.jsonl %d figures of %s; each must have one", na, nb, w.Key)
		}
		counts = append(counts, na, nb)
		share, n := median(sharesOf(ours), w.Key)
		if n == 0 {
			return "", fmt.Errorf("bench.jsonl does not say how near the roof %s is", w.Key)
		}
		ratio := b / a
		if w.PerSecond {
			ratio = a / b
		}
		t.rows = append(t.rows, []string{w.What, figure(a, w.PerSecond), figure(b, w.PerSecond), fmt.Sprintf("%.3g×", ratio), fmt.Sprintf("%.0f %%", 100*share)})
	}
	note := fmt.Sprintf("%s, %.0f threads each, the median of at least %d runs by turns:\n", machine(ours[0], theirs[0]), ours[0]["threads"], slices.Min(counts))
	return note + "\n" + t.String(), nil
}

// sharesOf are the runs' objects of the share of the roof.
func sharesOf(runs []map[string]any) (shares []map[string]any) {
	for _, run := range runs {
		if s, ok := run["share_of_roof"].(map[string]any); ok {
			shares = append(shares, s)
		}
	}
	return shares
}

func machine(ours, theirs map[string]any) string {
	version, _, _ := strings.Cut(fmt.Sprint(theirs["torch"]), "a")
	return fmt.Sprintf("Calibra's %v kernels and PyTorch %s on the same CPU", ours["vector_units"], version)
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
