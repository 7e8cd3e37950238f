package studies

import (
	"fmt"

	"calibra/theory"
	"calibra/theory/internal/numeric"
)

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
