package readme

import (
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
)

// ablations of the paper's calibrator stand below the methods of its tables.
var ablations = []string{"vq-dc", "vq-nc"}

// compared is the table of calibra compare, one of the paper's methods a row.
func compared(dir string) (string, error) {
	lines, err := readCSV(dir, "compare.csv")
	if err != nil {
		return "", err
	}
	own, fitted := map[string]bool{}, map[string]bool{}
	for _, r := range lines {
		fitted[r["method"]] = true
		own[r["method"]] = own[r["method"]] || r["embedding"] == "own"
	}
	names := slices.DeleteFunc(slices.Concat(methods, ablations), func(m string) bool { return !fitted[m] })
	if len(names) == 0 {
		return "", fmt.Errorf("compare.csv has none of the methods %v", methods)
	}
	t := table{head: []string{"method"}}
	for _, name := range names {
		t.rows = append(t.rows, []string{name})
	}
	for _, c := range []struct {
		metric metrics.Metric
		title  string
		own    bool
	}{
		{metrics.LCE, "LCE ↓", false}, {metrics.MLCE, "MLCE ↓", false}, {metrics.ECCE, "ECCE ↓", false},
		{metrics.ECE, "ECE ↓", false}, {metrics.Accuracy, "ACC ↑", false}, {metrics.NLL, "NLL ↓", false},
	} {
		t.head = append(t.head, c.title)
		var spreads []metrics.Spread
		for _, name := range names {
			embedding := "shared"
			if c.own && own[name] {
				embedding = "own"
			}
			s, _, err := inComparison(lines, name, embedding, c.metric)
			if err != nil {
				return "", fmt.Errorf("compare.csv: %w", err)
			}
			spreads = append(spreads, s)
		}
		for i, cell := range column(c.metric, spreads, meanOnly(c.metric)) {
			t.rows[i] = append(t.rows[i], cell)
		}
	}
	_, seeds, err := inComparison(lines, names[0], "shared", metrics.NLL)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Means over the seeds (%s); local metrics in the shared embedding, NLL in nats:\n\n%v",
		strings.Join(seeds, ", "), t), nil
}

// inComparison is a metric of a method over its seeds.
func inComparison(lines []record, method, embedding string, m metrics.Metric) (s metrics.Spread, seeds []string, err error) {
	var values []float64
	for _, r := range lines {
		if r["method"] == method && r["embedding"] == embedding && r["metric"] == m.String() {
			x, err := r.number("value")
			if err != nil {
				return s, nil, err
			}
			values, seeds = append(values, x), append(seeds, r["seed"])
		}
	}
	if values == nil {
		return s, nil, fmt.Errorf("there is no %v of %s in the embedding %q", m, method, embedding)
	}
	return metrics.NewSpread(values), seeds, nil
}

// reference sets the paper's calibrator beside the published implementation.
func reference(dir string) (string, error) {
	ours, err := readCSV(dir, "reference.csv")
	if err != nil {
		return "", err
	}
	theirs, err := readCSV(dir, "published.csv")
	if err != nil {
		return "", err
	}
	t := table{head: []string{""}, rows: [][]string{{"Calibra"}, {"published implementation"}}}
	for _, r := range theirs {
		m := metric(r["metric"])
		if m == metrics.Metrics {
			return "", fmt.Errorf("published.csv: there is no metric %q", r["metric"])
		}
		s, seeds, err := inComparison(ours, "vq", "shared", m)
		if err != nil {
			return "", fmt.Errorf("reference.csv: %w", err)
		}
		if got := strings.Join(seeds, " "); got != r["seeds"] {
			return "", fmt.Errorf("reference.csv has the seeds %s, published.csv %s", got, r["seeds"])
		}
		x, err := r.number("mean")
		if err != nil {
			return "", err
		}
		t.head = append(t.head, m.Title())
		t.rows[0] = append(t.rows[0], fmt.Sprintf("%.5f", s.Mean))
		t.rows[1] = append(t.rows[1], fmt.Sprintf("%.5f", x))
	}
	return t.String(), nil
}

// metric is the one of the key, Metrics if there is none.
func metric(key string) metrics.Metric {
	for m := range metrics.Metrics {
		if m.String() == key {
			return m
		}
	}
	return metrics.Metrics
}
