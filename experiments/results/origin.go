package results

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
)

// origin is the line below a table whose file was computed by other sources than those that stand
// here, "" where by these. The column code of a file holds the digest (see [experiments.Code]). Where
// some of its lines were computed again by these, it states what came of that.
func origin(dir, file string) (string, error) {
	lines, err := readCSV(dir, file)
	if err != nil {
		return "", err
	}
	now := experiments.Code()
	if now == "" {
		return "", data.Inputf(file, "cannot be held to the program: its source files are not where it was built, or newer; use go run ./experiments/cmd/calibra")
	}
	var earlier []string
	for _, code := range distinct(lines, "code") {
		switch {
		case code == "":
			earlier = append(earlier, "before digests were kept")
		case code != now:
			earlier = append(earlier, "code "+code)
		}
	}
	if earlier == nil {
		return "", nil
	}
	slices.Sort(earlier)
	again, err := recheck(dir, file, lines, now)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("\n*Computed by an earlier program: %s.%s*\n", strings.Join(earlier, ", "), again.said()), nil
}

// repeated is what came of computing some lines of a file again.
type repeated struct {
	lines, of int     // computed again, of all in the file
	differ    int     // of them, with a number that is another
	most      float64 // by which a number differs, relative to itself
	where     string  // column of that number
}

// said is the sentence about it, "" where nothing was computed again.
func (r repeated) said() string {
	switch {
	case r.lines == 0:
		return ""
	case r.differ == 0:
		return fmt.Sprintf(" This one computed %d of its %d lines again: every number is the same.", r.lines, r.of)
	}
	return fmt.Sprintf(" This one computed %d of its %d lines again. Lines with another number: %d, by %.1g of it at most (%s).", r.lines, r.of, r.differ, r.most, r.where)
}

// recheck compares the lines of NAME.csv with NAME-again.csv, the same study's results.csv for some of its cells,
// as far as the program that now computes made it: the lines of the same cell, in the columns that
// both have.
func recheck(dir, file string, lines []record, now string) (r repeated, err error) {
	name := strings.TrimSuffix(file, ".csv") + "-again.csv"
	if _, err := os.Stat(filepath.Join(dir, name)); errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	again, err := readCSV(dir, name)
	if err != nil {
		return r, err
	}
	r.of = len(lines)
	for _, x := range again {
		if x["code"] != now {
			continue
		}
		at := slices.IndexFunc(lines, func(y record) bool { return y.isCellOf(x) })
		if at < 0 {
			return r, data.Inputf(filepath.Join(dir, name), "has a line that %s has not: %s", file, x.cell())
		}
		r.lines++
		most, where, err := x.apart(lines[at])
		if err != nil {
			return r, data.Inputf(filepath.Join(dir, name), "%w", err)
		}
		if where != "" {
			r.differ++
		}
		if most > r.most {
			r.most, r.where = most, where
		}
	}
	return r, nil
}

// cellColumns are those that distinguish the lines of a file.
var cellColumns = []string{"setting", "metric", "predictor", "embedding", "rows", "data", "encoder", "method", "slots", "codewords", "calibration_fraction", "shift", "tuned", "split", "seed", "settings"}

// isCellOf reports whether both lines are of one cell, by the columns that both files have: settings were not
// always kept.
func (r record) isCellOf(x record) bool {
	return !slices.ContainsFunc(cellColumns, func(c string) bool {
		a, kept := r[c]
		b, both := x[c]
		return kept && both && a != b
	})
}

// cell names the cell that the line is of.
func (r record) cell() string {
	return strings.Join(data.Each(cellColumns, func(c string) string { return r[c] }), " ")
}

// apart is the largest difference between numbers of both, relative to that of y, and its column,
// "" where all are written alike.
func (r record) apart(y record) (most float64, where string, err error) {
	for _, column := range slices.Sorted(maps.Keys(r)) {
		other, both := y[column]
		if !both || column == "code" || column == "ema" || r[column] == other || slices.Contains(cellColumns, column) {
			continue
		}
		a, err := r.number(column)
		if err != nil {
			return 0, "", err
		}
		b, err := y.number(column)
		if err != nil {
			return 0, "", err
		}
		if d := relative(a, b); where == "" || d > most {
			most, where = d, column
		}
	}
	return most, where, nil
}

// relative is |a − b| by |b|, infinite where one of them is missing.
func relative(a, b float64) float64 {
	if d := math.Abs(a-b) / math.Abs(b); !math.IsNaN(d) {
		return d
	}
	return math.Inf(1)
}
