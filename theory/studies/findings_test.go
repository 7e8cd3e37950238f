package studies

import (
	"bytes"
	"encoding/csv"
	"flag"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"calibra/theory"
)

// readRows reads what theory.WriteCSV wrote.
func readRows(t *testing.T, from io.Reader) (rows []theory.Row) {
	t.Helper()
	table, err := csv.NewReader(from).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	number := func(text string, absent float64) float64 {
		if text == "" {
			return absent
		}
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	nan := math.NaN()
	for _, record := range table[1:] {
		row := theory.Row{
			Study: record[0], Key: record[1], Quantity: record[2], Theory: record[7], Target: number(record[6], nan),
			Estimate: theory.Estimate{Value: number(record[3], nan), Low: number(record[4], 0), High: number(record[5], 0)},
		}
		if record[12] != "" {
			row.Band = &theory.Band{Low: number(record[8], math.Inf(-1)), High: number(record[9], math.Inf(1))}
			row.Level, row.Notices = number(record[10], nan), number(record[11], nan)
		}
		rows = append(rows, row)
	}
	return rows
}

// kept is the run that the findings are of.
func kept(t *testing.T) []theory.Row {
	t.Helper()
	file, err := os.Open("testdata/results.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	return readRows(t, file)
}

var update = flag.Bool("update", false, "write FINDINGS.md from testdata/results.csv")

// FINDINGS.md is of the run in testdata/results.csv. After a change of a study:
//
//	calibra theory fast --out DIR && cp DIR/results.csv theory/studies/testdata/ && cp DIR/noise-limit.svg theory/studies/
//	go test ./theory/studies -run Findings -update
func TestFindingsAreOfTheRun(t *testing.T) {
	var want bytes.Buffer
	if err := Findings(&want, kept(t)); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("FINDINGS.md", want.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("FINDINGS.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("FINDINGS.md is not of testdata/results.csv: go test ./theory/studies -run Findings -update")
	}
	if err := Findings(&want, kept(t)[1:]); err == nil {
		t.Error("findings without a number that they give are no error")
	}
}

// What is written is read back word for word: no cell is one that a spreadsheet would compute.
func TestTablesReadBack(t *testing.T) {
	var text bytes.Buffer
	rows := kept(t)
	if err := theory.WriteCSV(&text, rows); err != nil {
		t.Fatal(err)
	}
	again := readRows(t, &text)
	for i, row := range rows {
		if again[i].Quantity != row.Quantity || again[i].Theory != row.Theory {
			t.Errorf("%s of study %s reads back as %q, %q", row.Key, row.Study, again[i].Quantity, again[i].Theory)
		}
	}
}

// The kept run is of this code: studies that are run again give its rows and verdicts.
func TestResultsAreOfThisCode(t *testing.T) {
	old := map[string]theory.Row{}
	for _, row := range kept(t) {
		old[row.Study+"."+row.Key] = row
		if row.Verdict() == "FAIL" {
			t.Errorf("%s of study %s is outside its band in the kept run", row.Key, row.Study)
		}
	}
	studies, err := Find("propositions", "co-occurrence", "triangular", "noise", "ensemble", "initialisation", "growth")
	if err != nil {
		t.Fatal(err)
	}
	for _, study := range studies {
		r, err := study.Run(t.Context(), theory.Settings{Effort: theory.Quick})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range r.Rows {
			was, ok := old[row.Study+"."+row.Key]
			switch {
			case !ok:
				t.Errorf("the kept run has no row %s of study %s", row.Key, row.Study)
			case row.Verdict() != was.Verdict():
				t.Errorf("%s of study %s: %q, and %q in the kept run", row.Key, row.Study, row.Verdict(), was.Verdict())
			// Other machines add in another order. What is zero but for rounding then differs;
			// a statistic does not by more than 1e-6 of itself.
			case math.Abs(row.Value-was.Value) > 1e-6*math.Abs(was.Value)+1e-9:
				t.Errorf("%s of study %s is %g, and %g in the kept run", row.Key, row.Study, row.Value, was.Value)
			}
		}
	}
}

func TestHeld(t *testing.T) {
	row := func(value float64) theory.Row {
		return theory.Row{Study: "rate", Quantity: "slope", Estimate: theory.Estimate{Value: value}, Band: &theory.Band{Low: -1, High: 0}}
	}
	free := theory.Row{Quantity: "free", Estimate: theory.Estimate{Value: math.Pi}}
	for want, rows := range map[string][]theory.Row{
		"All 2 bands hold.":                            {row(-.5), row(-.2), free},
		"The one band holds.":                          {row(-.5)},
		"1 of 2 bands fail.|rate: slope is 2, outside": {row(-.5), row(2)},
		"No quantity has a band":                       {free},
		"7 of 7 bands fail.":                           {row(1), row(1), row(1), row(1), row(1), row(1), row(1)},
	} {
		lines := Held([]*theory.Report{{Study: "rate", Rows: rows}})
		if got := strings.Join(lines, "|"); !strings.HasPrefix(got, want) || len(lines) > 7 {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
