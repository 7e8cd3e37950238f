package theory

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// Seeds are the results of the same studies under many seeds: how often each judged row fell
// outside its band, beside the number that its level allows.
type Seeds struct {
	Runs    []uint64 // the seeds
	Aborted []Abort
	lines   []*seedLine // in the order of the studies
}

// Abort is a run that ended with an error.
type Abort struct {
	Seed uint64
	Why  error
}

// seedLine is what a row gave under all seeds.
type seedLine struct {
	Study  string     `json:"study"`
	Key    string     `json:"key"`
	Level  float64    `json:"level"`
	Runs   int        `json:"runs"`
	Out    []uint64   `json:"out_of_band"` // the seeds
	Mean   jsonNumber `json:"mean"`
	SD     jsonNumber `json:"standard_deviation"`
	values []float64
}

// Add takes the rows of one run.
func (s *Seeds) Add(seed uint64, rows []Row) {
	s.Runs = append(s.Runs, seed)
	for _, row := range rows {
		if row.Band == nil {
			continue
		}
		at := s.line(row)
		at.Level, at.Runs, at.values = math.Max(at.Level, row.Level), at.Runs+1, append(at.values, row.Value)
		mean, sd := stat.MeanStdDev(at.values, nil)
		at.Mean, at.SD = jsonNumber(mean), jsonNumber(sd)
		if row.Verdict() == "FAIL" {
			at.Out = append(at.Out, seed)
		}
	}
}

// line is that of a row, a new one if there is none.
func (s *Seeds) line(row Row) *seedLine {
	for _, at := range s.lines {
		if at.Study == row.Study && at.Key == row.Key {
			return at
		}
	}
	at := &seedLine{Study: row.Study, Key: row.Key, Out: []uint64{}}
	s.lines = append(s.lines, at)
	return at
}

// MarshalJSON gives the lines of the table as a list.
func (s *Seeds) MarshalJSON() ([]byte, error) { return json.Marshal(append([]*seedLine{}, s.lines...)) }

// familyLevel is the probability that a run has any row out of band where all claims
// hold, by Bonferroni: the sum of the levels of its rows.
func (s *Seeds) familyLevel() (level float64) {
	for _, at := range s.lines {
		level += at.Level
	}
	return level
}

// Markdown writes the table: one line for each judged row, and all runs together.
func (s *Seeds) Markdown(w io.Writer) error {
	slices.Sort(s.Runs)
	var judged, byChance, out int
	seeds := map[uint64]bool{} // with any row out of band
	for _, at := range s.lines {
		judged, out = judged+at.Runs, out+len(at.Out)
		if at.Level > 0 {
			byChance++
		}
		for _, seed := range at.Out {
			seeds[seed] = true
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d runs (seeds %s), %s. %d judged rows a run, %d of them with chance in them.\n\n", len(s.Runs), ranges(s.Runs), s.aborted(), len(s.lines), byChance)
	fmt.Fprintf(&b, "A run with any row out of band: %d of %d; its level is at most %.2g %%, so that %.2g are expected at most.\n", len(seeds), len(s.Runs), 100*s.familyLevel(), s.familyLevel()*float64(len(s.Runs)))
	fmt.Fprintf(&b, "Rows out of band: %d of %d.\n\n", out, judged)
	fmt.Fprintf(&b, "The command `theory … --seeds LIST --out DIR` writes this table, and runs no seed again that DIR holds from the same program.\n\n")
	fmt.Fprintln(&b, "| study | row | level | runs | out of band | mean | standard deviation |\n| --- | --- | --- | --- | --- | --- | --- |")
	for _, of := range s.lines {
		outs := fmt.Sprint(len(of.Out))
		if len(of.Out) > 0 {
			outs += " (seed " + strings.Trim(strings.ReplaceAll(fmt.Sprint(of.Out), " ", ", "), "[]") + ")"
		}
		fmt.Fprintf(&b, "| %s | %s | %.2g | %d | %s | %s | %s |\n", of.Study, of.Key, of.Level, of.Runs, outs, short(float64(of.Mean)), short(float64(of.SD)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// aborted names the runs that ended with an error.
func (s *Seeds) aborted() string {
	if len(s.Aborted) == 0 {
		return "none aborted"
	}
	var each []string
	for _, a := range s.Aborted {
		each = append(each, fmt.Sprintf("seed %d: %v", a.Seed, a.Why))
	}
	return fmt.Sprintf("and %d aborted (%s)", len(each), strings.Join(each, "; "))
}

// ranges prints sorted numbers, runs of them as 3–7.
func ranges(x []uint64) string {
	var parts []string
	for i := 0; i < len(x); {
		j := i
		for j+1 < len(x) && x[j+1] == x[j]+1 {
			j++
		}
		if j > i {
			parts = append(parts, fmt.Sprintf("%d–%d", x[i], x[j]))
		} else {
			parts = append(parts, fmt.Sprint(x[i]))
		}
		i = j + 1
	}
	return strings.Join(parts, ", ")
}
