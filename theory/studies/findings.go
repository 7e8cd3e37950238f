package studies

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"calibra/theory"
	"calibra/theory/internal/numeric"
)

//go:embed findings.tmpl
var findings string

var ofCases = regexp.MustCompile(`of \d+`)

// digits prints a value with n significant digits.
func digits(n int) func(theory.Row) (string, error) {
	return func(r theory.Row) (string, error) {
		if math.Abs(r.Value) >= 100 {
			return fmt.Sprintf("%.0f", r.Value), nil
		}
		return strings.TrimSuffix(fmt.Sprintf("%#.*g", n, r.Value), "."), nil
	}
}

// cases is "3 of 16" of a count of cases of 16.
func cases(r theory.Row) (string, error) {
	of := ofCases.FindString(r.Quantity)
	if of == "" {
		return "", fmt.Errorf("theory: row %s of study %s counts no cases", r.Key, r.Study)
	}
	return fmt.Sprintf("%g %s", r.Value, of), nil
}

// Findings writes what the rows of a complete set of studies show about the paper's claims, as
// Markdown: what holds, what does not hold as printed, and what it means for those who fit.
// A number that the rows do not have is an error.
func Findings(w io.Writer, rows []theory.Row) error {
	// quote prints rows in the ways that the text requests.
	quote := func(print func(theory.Row) (string, error)) func(study, key string) (string, error) {
		return func(study, key string) (string, error) {
			i := slices.IndexFunc(rows, func(r theory.Row) bool { return r.Study == study && r.Key == key })
			if i < 0 {
				return "", fmt.Errorf("theory: findings need the row %s of study %s", key, study)
			}
			return print(rows[i])
		}
	}
	t, err := template.New("findings").Funcs(template.FuncMap{
		"v": quote(digits(3)), "v2": quote(digits(2)), "c": quote(cases),
		"n": quote(func(r theory.Row) (string, error) { return fmt.Sprintf("%g", r.Value), nil }),
		"e": quote(func(r theory.Row) (string, error) { return fmt.Sprintf("%.3f ± %.3f", r.Value, (r.High-r.Low)/2), nil }),
	}).Parse(findings)
	if err != nil {
		return fmt.Errorf("theory: findings: %w", err)
	}
	judged, in := theory.Judged(rows)
	powers, small, predicting := powersOf(rows)
	var b strings.Builder
	if err := t.Execute(&b, map[string]any{"Judged": judged, "In": in, "Powers": powers, "Small": small, "Predicting": predicting}); err != nil {
		return fmt.Errorf("theory: findings: %w", err)
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// powersOf are lines of a table of what the bands of each study notice, and how many bands of those whose prediction is
// not 0 notice a factor of 1.2.
func powersOf(rows []theory.Row) (lines []string, small, predicting int) {
	for _, study := range All() {
		bands := slices.DeleteFunc(slices.Clone(rows), func(r theory.Row) bool { return r.Study != study.Name || r.Band == nil })
		zero := len(bands)
		bands = slices.DeleteFunc(bands, func(r theory.Row) bool { return r.Target == 0 })
		if zero -= len(bands); len(bands) == 0 {
			continue
		}
		slices.SortStableFunc(bands, func(a, b theory.Row) int { return cmp.Compare(a.Notices, b.Notices) })
		few := 0
		for _, row := range bands {
			if row.Notices <= 0.2 {
				few++
			}
		}
		last := bands[len(bands)-1]
		lines = append(lines, fmt.Sprintf("| %s | %d | %d | %.3g | %.3g: %s | %d |",
			study.Name, len(bands), few, 1+bands[len(bands)/2].Notices, 1+last.Notices, last.Key, zero))
		small, predicting = small+few, predicting+len(bands)
	}
	return lines, small, predicting
}

// Held is the verdict on theory studies: that all bands hold, or which do not.
func Held(reports []*theory.Report) []string {
	const most = 5
	bands := 0
	var failed []string
	for _, r := range reports {
		for _, row := range r.Rows {
			if row.Verdict() == "FAIL" {
				failed = append(failed, fmt.Sprintf("%s: %s is %s, outside %s.", r.Study, row.Quantity, numeric.Short(row.Value), row.Band))
			}
		}
		judged, _ := theory.Judged(r.Rows)
		bands += judged
	}
	switch {
	case bands == 0:
		return []string{"No quantity has a band, so there is nothing to hold or fail."}
	case failed == nil && bands == 1:
		return []string{"The one band holds."}
	case failed == nil:
		return []string{fmt.Sprintf("All %d bands hold.", bands)}
	}
	lines := append([]string{fmt.Sprintf("%d of %d bands fail.", len(failed), bands)}, failed[:min(most, len(failed))]...)
	if more := len(failed) - most; more > 0 {
		lines = append(lines, fmt.Sprintf("And %d more.", more))
	}
	return lines
}
