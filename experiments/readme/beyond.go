package readme

import (
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/study"
)

// beyond is the NLL of study beyond, a data set a row, and below it the mean ranks of the
// methods by NLL and by LCE above its noise floor.
func beyond(dir string) (string, error) {
	lines, err := readCSV(dir, "beyond.csv")
	if err != nil {
		return "", err
	}
	sets, names, seeds := distinct(lines, "data"), distinct(lines, "method"), distinct(lines, "seed")
	t := table{head: []string{"NLL ↓"}}
	for _, m := range names {
		t.head = append(t.head, study.MethodTitle(m))
	}
	ranks := func(title string, q quantity, write func(set string, spreads []metrics.Spread)) error {
		var scores [][]float64
		for _, set := range sets {
			spreads := make([]metrics.Spread, len(names))
			row := make([]float64, len(names))
			for i, m := range names {
				runs := slices.DeleteFunc(slices.Clone(lines), func(r record) bool { return r["data"] != set || r["method"] != m })
				if len(runs) != len(seeds) {
					return fmt.Errorf("beyond.csv has %d seeds of %s on %s, not %d", len(runs), m, set, len(seeds))
				}
				if spreads[i], err = spread(runs, q.value); err != nil {
					return fmt.Errorf("beyond.csv: %w", err)
				}
				row[i] = spreads[i].Mean
			}
			scores = append(scores, row)
			if write != nil {
				write(set, spreads)
			}
		}
		r, err := metrics.Friedman(scores)
		if err != nil {
			return fmt.Errorf("beyond.csv: %w", err)
		}
		best := slices.Min(r.Ranks)
		cells := []string{title}
		for _, rank := range r.Ranks {
			cell := fmt.Sprintf("%.2f", rank)
			if rank == best {
				cell = "**" + cell + "**"
			}
			cells = append(cells, cell)
		}
		t.rows = append(t.rows, cells)
		return nil
	}
	err = ranks("mean rank", value("NLL ↓", metrics.NLL, "nll"), func(set string, spreads []metrics.Spread) {
		t.rows = append(t.rows, append([]string{set}, column(metrics.NLL, spreads, meanOnly(metrics.NLL))...))
	})
	if err == nil {
		err = ranks("mean rank, LCE − noise", aboveNoise("LCE − noise ↓", metrics.LCE, "lce"), nil)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("`./calibra study beyond --data %s --methods %s --seeds %s --out runs/beyond`:\n\n%v",
		strings.Join(arguments(lines, sets), ","), strings.Join(names, ","), strings.Join(seeds, ","), t), nil
}

// arguments are the data sets as --data takes them: features by their file, which no
// encoder of ours made and whose posterior is not known.
func arguments(lines []record, sets []string) []string {
	args := slices.Clone(sets)
	for i, set := range sets {
		first := lines[slices.IndexFunc(lines, func(r record) bool { return r["data"] == set })]
		if first["encoder"] == "" && first["true_lce"] == "" {
			args[i] += ".npz"
		}
	}
	return args
}

// distinct are the values of a column in the order of the file.
func distinct(lines []record, column string) []string {
	var values []string
	for _, r := range lines {
		if v := r[column]; !slices.Contains(values, v) {
			values = append(values, v)
		}
	}
	return values
}
