package theory

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"

	"calibra/data"
)

// Report is a study's table and its figures.
type Report struct {
	Study   string   `json:"study"`
	Claim   string   `json:"claim"`
	Seed    uint64   `json:"seed"`
	Rows    []Row    `json:"rows"`
	Figures []Figure `json:"-"`
}

// Row is one quantity of a study.
type Row struct {
	Quantity string
	Estimate
	Theory string // what the theory predicts, in words or as a number
	Band   *Band  // nil: reported, not judged
}

// Band is the closed interval a value must lie in.
type Band struct{ Low, High float64 }

func between(low, high float64) *Band { return &Band{low, high} }
func atMost(high float64) *Band       { return &Band{math.Inf(-1), high} }

// String is the band as a report prints it, "-0.54 … -0.47" or "≤ 1e-12"; empty for nil.
func (b *Band) String() string {
	switch {
	case b == nil:
		return ""
	case b.Low == b.High:
		return "= " + short(b.Low)
	case math.IsInf(b.Low, -1):
		return "≤ " + short(b.High)
	case math.IsInf(b.High, 1):
		return "≥ " + short(b.Low)
	}
	return short(b.Low) + " … " + short(b.High)
}

// Verdict is "pass" or "FAIL", or empty where there is no band. A value that is not
// a number fails.
func (r Row) Verdict() string {
	switch {
	case r.Band == nil:
		return ""
	case r.Value >= r.Band.Low && r.Value <= r.Band.High:
		return "pass"
	}
	return "FAIL"
}

// Failures lists the quantities outside their band.
func (r *Report) Failures() []string {
	var failures []string
	for _, row := range r.Rows {
		if row.Verdict() == "FAIL" {
			failures = append(failures, row.Quantity)
		}
	}
	return failures
}

// judge adds a row with a band, tell one without.
func (r *Report) judge(quantity string, value Estimate, theory string, band *Band) {
	r.Rows = append(r.Rows, Row{quantity, value, theory, band})
}

func (r *Report) tell(quantity string, value Estimate, theory string) {
	r.judge(quantity, value, theory, nil)
}

// short prints a number with four significant digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Interval is the 95 % interval as a report prints it, "[0.9, 1.1]"; empty where there is none.
func (e Estimate) Interval() string {
	if math.IsNaN(e.Low) {
		return ""
	}
	return "[" + short(e.Low) + ", " + short(e.High) + "]"
}

// Text writes the report as an aligned table.
func (r *Report) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s (seed %d): %s\n", r.Study, r.Seed, r.Claim)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  quantity\tvalue\t95 % interval\ttheory\tband\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", row.Quantity, short(row.Value), row.Interval(), row.Theory, row.Band, row.Verdict())
	}
	return t.Flush()
}

// MarshalJSON leaves out what is not there: interval, band, verdict.
func (r Row) MarshalJSON() ([]byte, error) {
	fields := struct {
		Quantity string      `json:"quantity"`
		Value    *float64    `json:"value"` // null when not a number
		Interval *[2]float64 `json:"interval,omitempty"`
		Theory   string      `json:"theory,omitempty"`
		Band     string      `json:"band,omitempty"`
		Verdict  string      `json:"verdict,omitempty"`
	}{Quantity: r.Quantity, Theory: r.Theory, Band: r.Band.String(), Verdict: r.Verdict()}
	if finite("value", r.Value) == nil {
		fields.Value = &r.Value
	}
	if finite("interval", r.Low, r.High) == nil {
		fields.Interval = &[2]float64{r.Low, r.High}
	}
	return json.Marshal(fields)
}

// Save writes the table as <study>.csv and every figure's points as <study>-<figure>.csv
// into folder, all or none of them.
func (r *Report) Save(folder string) error {
	to := data.NewFolder(folder, Group)
	defer to.Discard()
	if err := r.Add(to); err != nil {
		return err
	}
	return to.Commit()
}

// Group is the data.Folder group of reports.
const Group = "theory"

// Add adds what Save writes to a folder.
func (r *Report) Add(to *data.Folder) error {
	table := [][]string{{"quantity", "value", "low", "high", "theory", "band", "verdict"}}
	for _, row := range r.Rows {
		table = append(table, []string{row.Quantity, full(row.Value), full(row.Low), full(row.High), row.Theory, row.Band.String(), row.Verdict()})
	}
	if err := writeCSV(to, r.Study+".csv", table); err != nil {
		return fmt.Errorf("theory: save %s: %w", r.Study, err)
	}
	for _, figure := range r.Figures {
		if err := figure.add(to, r.Study); err != nil {
			return fmt.Errorf("theory: save %s: %w", r.Study, err)
		}
	}
	return nil
}

// full prints a number so that it reads back unchanged, and nothing for NaN.
func full(x float64) string {
	if math.IsNaN(x) {
		return ""
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

func writeCSV(to *data.Folder, name string, records [][]string) error {
	return to.WriteFile(name, func(w io.Writer) error { return csv.NewWriter(w).WriteAll(records) })
}
