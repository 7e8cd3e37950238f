package readme

import (
	"fmt"
	"slices"
	"strings"
)

// truthColumns are the metrics that the README shows of study truth.
var truthColumns = [][2]string{
	{"nll", "NLL"}, {"brier", "Brier"}, {"recoverable_shared", "recoverable NLL, one reference"}, {"recoverable_nll", "recoverable NLL, each its own"}, {"squared_50nn", "U-statistic"}, {"skce", "SKCE"}, {"ece", "ECE"}, {"ecce", "ECCE"}, {"lce", "LCE, γ = 10"}, {"mlce", "MLCE"}, {"lce_3", "LCE, γ = 3"},
}

// truth is how the metrics of study truth rank predictors by the true squared error, and
// how often diagnoses call something wrong.
func truth(dir string) (string, error) {
	lines, err := readCSV(dir, "truth-ranks.csv")
	if err != nil {
		return "", err
	}
	t := table{head: []string{"ρ with the true squared error ↑"}}
	for _, c := range truthColumns {
		t.head = append(t.head, c[1])
	}
	sources := distinct(lines, "setting")
	for _, setting := range sources {
		row := []string{setting}
		for _, c := range truthColumns {
			i := slices.IndexFunc(lines, func(r record) bool { return r["setting"] == setting && r["metric"] == c[0] })
			if i < 0 {
				return "", fmt.Errorf("truth-ranks.csv has no %s of %s", c[0], setting)
			}
			rho, err := lines[i].number("squared")
			if err != nil {
				return "", err
			}
			row = append(row, fmt.Sprintf("%.2f", rho))
		}
		t.rows = append(t.rows, row)
	}
	rates, err := readCSV(dir, "truth-diagnosis.csv")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("`./calibra study truth --data %s --rows 2000 --seeds 42 --alarms 0 --out runs/truth`:\n\n%v\nOf %s diagnoses of calibrated predictions, %s called a region wrong, and %s anything.\n",
		strings.Join(sources, ","), t, rates[0]["runs"], rates[0]["named"], rates[0]["any"]), nil
}
