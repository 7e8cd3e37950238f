package cli

import (
	"fmt"

	"calibra/experiments/metrics"
)

// flooredText says how many of the rows were given too small a probability, and what that does to NLL.
func flooredText(f *metrics.Floored, rows int) string {
	return fmt.Sprintf("%d of %d rows give their label a probability of 1e-12 or less, which counts as 1e-12; they bear %.1f %% of the NLL", f.Rows, rows, 100*f.Share)
}
