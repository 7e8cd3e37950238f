package theory

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"

	"calibra/data"
)

// Report is a study's table and its figures.
type Report struct {
	Study   string
	Claim   string
	Seed    uint64
	Rows    []Row
	Figures []Figure
}

// Row is one quantity of a study.
type Row struct {
	Study    string
	Seed     uint64
	Key      string // names the quantity within its study, the same for every seed and effort
	Quantity string // what it is, in words
	Estimate
	Target float64 // the number that the theory gives; NaN where it gives none
	Theory string  // what the theory says, in words
	Band   *Band   // nil: told, not judged
	// Level is the probability that the value falls outside the band where the claim
	// holds; 0 where only rounding, no chance, is in the value.
	Level float64
	Where []string // the cases that were counted, with their seeds, where the row counts
}

// Verdict is "pass" or "FAIL", or empty where there is no band. A value that is not
// a number fails.
func (r Row) Verdict() string {
	switch {
	case r.Band == nil:
		return ""
	case r.Band.holds(r.Value):
		return "pass"
	}
	return "FAIL"
}

// Judged counts the rows that have a band, and those that lie in theirs.
func Judged(rows []Row) (judged, in int) {
	for _, row := range rows {
		switch row.Verdict() {
		case "pass":
			in++
			fallthrough
		case "FAIL":
			judged++
		}
	}
	return judged, in
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

// short prints a number with four significant digits.
func short(x float64) string { return strconv.FormatFloat(x, 'g', 4, 64) }

// Interval is the 95 % interval as a report prints it, "[0.9, 1.1]"; empty where there is none.
func (e Estimate) Interval() string {
	if math.IsNaN(e.Low) {
		return ""
	}
	return "[" + short(e.Low) + ", " + short(e.High) + "]"
}

// shownCases is how many of the cases that a row counts a table prints.
const shownCases = 5

// Text writes the report as an aligned table.
func (r *Report) Text(w io.Writer) error {
	fmt.Fprintf(w, "%s (seed %d): %s\n", r.Study, r.Seed, r.Claim)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "  quantity\tvalue\t95 % interval\ttheory\tband\t")
	for _, row := range r.Rows {
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\t%s\n", row.Quantity, short(row.Value), row.Interval(), row.Theory, row.Band, row.Verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, row := range r.Rows {
		for i, where := range row.Where {
			if i == shownCases {
				fmt.Fprintf(w, "    and %d more\n", len(row.Where)-i)
				break
			}
			fmt.Fprintf(w, "    %s: %s\n", row.Key, where)
		}
	}
	return nil
}

// MarshalJSON leaves out what is not there: interval, target, band, level, verdict. An
// open end of the band is null.
func (r Row) MarshalJSON() ([]byte, error) {
	fields := struct {
		Study    string         `json:"study"`
		Seed     uint64         `json:"seed"`
		Key      string         `json:"key"`
		Quantity string         `json:"quantity"`
		Value    jsonNumber     `json:"value"`
		Interval *[2]float64    `json:"interval,omitempty"`
		Error    float64        `json:"error,omitempty"` // standard error
		Target   *jsonNumber    `json:"target,omitempty"`
		Theory   string         `json:"theory,omitempty"`
		Band     *[2]jsonNumber `json:"band,omitempty"`
		Level    *float64       `json:"level,omitempty"`
		Verdict  string         `json:"verdict,omitempty"`
		Where    []string       `json:"where,omitempty"`
	}{
		Study: r.Study, Seed: r.Seed, Key: r.Key, Quantity: r.Quantity, Value: jsonNumber(r.Value),
		Theory: r.Theory, Verdict: r.Verdict(), Where: r.Where,
	}
	if finite("target", r.Target) == nil {
		fields.Target = (*jsonNumber)(&r.Target)
	}
	if finite("interval", r.Low, r.High) == nil {
		fields.Interval, fields.Error = &[2]float64{r.Low, r.High}, r.Error
	}
	if r.Band != nil {
		fields.Band, fields.Level = &[2]jsonNumber{jsonNumber(r.Band.Low), jsonNumber(r.Band.High)}, &r.Level
	}
	return json.Marshal(fields)
}

// jsonNumber is null where it is not finite.
type jsonNumber float64

// MarshalJSON writes it.
func (x jsonNumber) MarshalJSON() ([]byte, error) {
	if finite("number", float64(x)) != nil {
		return []byte("null"), nil
	}
	return json.Marshal(float64(x))
}

// columns of a table of rows.
var columns = []string{"study", "key", "quantity", "value", "low", "high", "target", "theory", "band_low", "band_high", "level", "verdict"}

func (r Row) record() []string {
	band := []string{"", "", ""}
	if r.Band != nil {
		band = []string{open(r.Band.Low), open(r.Band.High), full(r.Level)}
	}
	return append([]string{r.Study, r.Key, r.Quantity, full(r.Value), full(r.Low), full(r.High), full(r.Target), r.Theory}, append(band, r.Verdict())...)
}

// WriteCSV writes rows of any studies as one table, columns study, key, quantity, value, low,
// high, target, theory, band_low, band_high, level, verdict; what is not there is empty.
func WriteCSV(w io.Writer, rows []Row) error {
	table := [][]string{columns}
	for _, row := range rows {
		table = append(table, row.record())
	}
	return data.NewCSVWriter(w).WriteAll(table)
}

// Group is the data.Folder group of reports.
const Group = "theory"

// Add adds the table as <study>.csv and every figure's points as <study>-<figure>.csv to a folder.
func (r *Report) Add(to *data.Folder) error {
	err := to.WriteFile(r.Study+".csv", func(w io.Writer) error { return WriteCSV(w, r.Rows) })
	if err != nil {
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

// open prints an end of a band, and nothing for an open one.
func open(x float64) string {
	if math.IsInf(x, 0) {
		return ""
	}
	return full(x)
}

// ReadCSV reads what [WriteCSV] wrote. Verdicts follow from values and bands.
func ReadCSV(r io.Reader) ([]Row, error) {
	table, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, err
	}
	if len(table) == 0 || !slices.Equal(table[0], columns) {
		return nil, fmt.Errorf("is no table of theory rows: the columns must be %v", columns)
	}
	var rows []Row
	for line, record := range table[1:] {
		numbers := make([]float64, len(record))
		for _, i := range []int{3, 4, 5, 6, 8, 9, 10} {
			numbers[i] = math.NaN()
			if record[i] == "" {
				continue
			}
			if numbers[i], err = strconv.ParseFloat(record[i], 64); err != nil {
				return nil, fmt.Errorf("line %d: %q is no number", line+2, record[i])
			}
		}
		row := Row{
			Study: record[0], Key: record[1], Quantity: record[2], Theory: record[7], Target: numbers[6],
			Estimate: Estimate{Value: numbers[3], Low: numbers[4], High: numbers[5]},
		}
		if record[11] != "" {
			row.Band, row.Level = &Band{math.Inf(-1), math.Inf(1)}, numbers[10]
			if record[8] != "" {
				row.Band.Low = numbers[8]
			}
			if record[9] != "" {
				row.Band.High = numbers[9]
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}
