package readme

import (
	"fmt"
	"slices"
	"strconv"
)

// truthColumns are the metrics that the README shows of study truth.
var truthColumns = [][2]string{
	{"nll", "NLL"}, {"brier", "Brier"}, {"recoverable_shared", "recoverable NLL, one reference"}, {"recoverable_nll", "recoverable NLL, each its own"}, {"squared_50nn", "U-statistic"}, {"skce", "SKCE"}, {"ece", "ECE"}, {"ecce", "ECCE"}, {"lce", "LCE, γ = 10"}, {"mlce", "MLCE"}, {"lce_3", "LCE, γ = 3"},
}

// truthCommand makes the results that the region is of.
const truthCommand = "./calibra study truth --rows 2000,500,8000 --seeds 42,43 --alarms 200 --out runs/truth"

// truth is how the metrics of study truth rank predictors by the true squared error, how often
// they alarm, and how often diagnoses call something wrong.
func truth(dir string) (string, error) {
	ranks, err := truthRanks(dir)
	if err != nil {
		return "", err
	}
	alarms, err := truthAlarms(dir)
	if err != nil {
		return "", err
	}
	power, err := diagnosisPower(dir)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("`%s`:\n\n%v\n%v%v", truthCommand, ranks, alarms, power), nil
}

// diagnosisPower is how often diagnoses call a region wrong, a row a size of the error and a column
// a size of the region.
func diagnosisPower(dir string) (string, error) {
	lines, err := readCSV(dir, "truth-diagnosis.csv")
	if err != nil {
		return "", err
	}
	calibrated, wrong := lines[0], lines[1:]
	t := &table{head: []string{"top class right less often by"}}
	for _, share := range distinct(wrong, "share") {
		s, err := strconv.ParseFloat(share, 64)
		if err != nil {
			return "", err
		}
		t.head = append(t.head, fmt.Sprintf("in %.0f %% of the rows", 100*s))
	}
	for _, shift := range distinct(wrong, "shift") {
		row := []string{shift}
		for _, r := range wrong {
			if r["shift"] == shift {
				row = append(row, r["named"]+" of "+r["runs"])
			}
		}
		t.rows = append(t.rows, row)
	}
	return fmt.Sprintf("Of %s diagnoses of calibrated predictions, %s called a region wrong, and %s anything. Of predictions of 2,000 rows that are wrong in one region, so many did:\n\n%v",
		calibrated["runs"], calibrated["named"], calibrated["any"], t), nil
}

func truthHead(what string) *table {
	t := &table{head: []string{what}}
	for _, c := range truthColumns {
		t.head = append(t.head, c[1])
	}
	return t
}

// truthRanks has a row a setting: a source, or a change of one.
func truthRanks(dir string) (*table, error) {
	lines, err := readCSV(dir, "truth-ranks.csv")
	if err != nil {
		return nil, err
	}
	t := truthHead("ρ with the true squared error ↑")
	for _, setting := range distinct(lines, "setting") {
		row := []string{setting}
		for _, c := range truthColumns {
			i := slices.IndexFunc(lines, func(r record) bool { return r["setting"] == setting && r["metric"] == c[0] })
			if i < 0 {
				return nil, fmt.Errorf("truth-ranks.csv has no %s of %s", c[0], setting)
			}
			rho, err := lines[i].number("squared")
			if err != nil {
				return nil, err
			}
			row = append(row, fmt.Sprintf("%.2f", rho))
		}
		t.rows = append(t.rows, row)
	}
	return t, nil
}

// truthAlarms has a row a predictor: the share of draws on which each metric alarms at 5 %.
func truthAlarms(dir string) (string, error) {
	lines, err := readCSV(dir, "truth-alarms.csv")
	if err != nil {
		return "", err
	}
	t := truthHead("alarms at 5 %")
	for _, predictor := range distinct(lines, "predictor") {
		name := "wrong: " + predictor + " ↑"
		if predictor == "exact" {
			name = "calibrated (5 % is right)"
		}
		row := []string{name}
		for _, c := range truthColumns {
			i := slices.IndexFunc(lines, func(r record) bool { return r["predictor"] == predictor && r["metric"] == c[0] })
			if i < 0 {
				row = append(row, "–")
				continue
			}
			draws, err := lines[i].number("draws")
			if err != nil {
				return "", err
			}
			alarms, err := lines[i].number("alarms")
			if err != nil {
				return "", err
			}
			row = append(row, fmt.Sprintf("%.1f %%", 100*alarms/draws))
		}
		t.rows = append(t.rows, row)
	}
	return fmt.Sprintf("Share of %s draws of %s rows of `mixed` on which a metric alarms:\n\n%v\n", lines[0]["draws"], lines[0]["rows"], t), nil
}
