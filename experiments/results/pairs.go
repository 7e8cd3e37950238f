package results

import (
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/study"
)

// level is the share of false verdicts that a family of tests may have.
const level = 0.05

// pairs fills the mark pairs: for each pair of methods of a study's tests.csv on how many
// sources the first is better and worse than the second, after Holm's correction over the
// family that the file names, or for each kind of codes and its random twin, and the exact signed-rank p over the sources. Sources of without
// are left out of that p: they share their rows with others.
func pairs(dir string, a arguments) (string, error) {
	lines, err := readCSV(dir, a["file"])
	if err != nil {
		return "", err
	}
	lines = where(lines, a["where"])
	without := strings.Split(a["without"], ",")
	t := &report.Table{Labels: []string{"first against second, by NLL"},
		Values: report.Heads("better on", "worse on", "no significant difference on", "p over the sources")}
	type pair struct{ method, tuned, against, codes string }
	var order []pair
	of := map[pair][]record{}
	for _, r := range lines {
		p := pair{method: r["method"], tuned: r["tuned"], against: r["against"], codes: r["codes"]}
		if of[p] == nil {
			order = append(order, p)
		}
		of[p] = append(of[p], r)
	}
	if a.has("rows") {
		chosen := newAxis(a["rows"], lines)
		order = slices.DeleteFunc(order, func(p pair) bool { return !slices.Contains(chosen.values, p.method) })
	}
	for _, p := range order {
		v, err := judge(of[p], without)
		if err != nil {
			return "", fmt.Errorf("%s: %w", a["file"], err)
		}
		name, chosen := study.MethodTitle(p.method)+" against "+study.MethodTitle(p.against), p
		chosen.tuned = "true"
		switch {
		case p.codes != "":
			name = study.MethodTitle(p.method) + ", " + p.codes + ", against its twin"
		case p.tuned == "false" && slices.Contains(order, chosen):
			name = study.MethodTitle(p.method) + " as it is against " + study.MethodTitle(p.against)
		}
		cells := report.Texts(v.better, v.worse, len(of[p])-v.better-v.worse, fmt.Sprintf("%.2g", v.p))
		t.Add("", report.Row{Labels: []string{name}, Cells: cells})
	}
	return t.Markdown(), nil
}

// verdict is the outcome of the tests of one pair.
type verdict struct {
	better, worse int // sources whose interval leaves out 0 and whose corrected p is below level
	p             float64
}

func judge(tests []record, without []string) (v verdict, err error) {
	var differences []float64
	for _, r := range tests {
		x := make([]float64, 3)
		for i, column := range []string{"difference", "low", "high"} {
			if x[i], err = r.number(column); err != nil {
				return v, err
			}
		}
		holm, err := r.number("p_holm")
		if err != nil {
			return v, err
		}
		if holm < level && x[2] < 0 {
			v.better++
		}
		if holm < level && x[1] > 0 {
			v.worse++
		}
		if !slices.Contains(without, r["data"]) {
			differences = append(differences, x[0])
		}
	}
	v.p = metrics.SignedRank(differences)
	return v, nil
}
