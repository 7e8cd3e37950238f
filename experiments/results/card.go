package results

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/report"
)

// ourTime matches a benchmark of a device: what it works on, and how many milliseconds it takes.
var ourTime = regexp.MustCompile(`^BenchmarkCard(\w+)/rows=(\d+)/classes=(\d+)\S*\s+\d+\s+(\S+) ms\s`)

// card fills the mark card: what graph/cuda/verify.sh measured on a device, from a file of its
// first line, what and when, its benchmarks, and the objects of PyTorch on the same device.
func card(dir string, a arguments) (string, error) {
	path := filepath.Join(dir, a["file"])
	text, err := data.ReadFile(path)
	if err != nil {
		return "", data.Inputf(path, "cannot be read: %w; graph/cuda/verify.sh measures it", err)
	}
	ours, theirs := map[string]float64{}, map[string]float64{}
	var order []string
	what, version := "", ""
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		switch found := ourTime.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "# "):
			what = line[2:]
		case found != nil:
			name := fmt.Sprintf("%s rows=%s classes=%s", strings.ToLower(found[1]), found[2], found[3])
			if ours[name], err = strconv.ParseFloat(found[4], 64); err != nil {
				return "", data.Inputf(path, "has %q for a time", found[4])
			}
			order = append(order, name)
		case strings.HasPrefix(line, "{"):
			var peer map[string]any
			if err := json.Unmarshal([]byte(line), &peer); err != nil {
				return "", data.Inputf(path, "has a line that is no JSON object: %w", err)
			}
			for key, name := range peer {
				if v, torch := strings.CutPrefix(key, "torch "); torch {
					version, _, _ = strings.Cut(v, "+")
					theirs[strings.ToLower(fmt.Sprint(name))], _ = peer["ms"].(float64)
				}
			}
		}
	}
	t := &report.Table{Labels: []string{"workload"}, Values: report.Heads("Calibra", "PyTorch "+version, "ratio")}
	for _, name := range order {
		peer := theirs[name]
		if peer == 0 {
			return "", data.Inputf(path, "has no time of PyTorch for %s", name)
		}
		t.Add("", report.Row{Labels: []string{name}, Cells: report.Texts(figure(ours[name]/1e3, false), figure(peer/1e3, false), times(peer/ours[name]))})
	}
	if order == nil {
		return "", data.Inputf(path, "has no time of a device")
	}
	return fmt.Sprintf("%s:\n\n", what) + t.Markdown(), nil
}
