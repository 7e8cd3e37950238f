package experiments

import (
	"fmt"
	"math"
	"sort"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"
)

// SeenRows says that calibration rows are far better predicted than test rows, as rows are
// that the classifier was trained on.
type SeenRows struct {
	Better       float64 `json:"better"`   // chance that a calibration row's loss is less than a test row's
	Accuracy     float64 `json:"accuracy"` // of the classifier on the calibration rows
	TestAccuracy float64 `json:"test_accuracy"`
	P            float64 `json:"p"` // of so large a difference, if both were of the same law
}

// String is a sentence of a warning.
func (t *SeenRows) String() string {
	return fmt.Sprintf("the calibration rows look like rows that the classifier was trained on: it is right on %.1f %% of them and on %.1f %% of the test rows, and its loss is less on one of them in %.0f %% of pairs (p ≤ %.1g); calibrate on rows that it has not seen",
		100*t.Accuracy, 100*t.TestAccuracy, 100*t.Better, max(t.P, trainingP/1e3))
}

// trainingP is below which p rows are said to be of the training, if the chance that their
// loss is less, or what they are right more often, is large too: of many rows any difference
// is certain.
const trainingP, trainingBetter, trainingAccuracy = 1e-6, .6, .05

// TrainingRows compares the classifier's own predictions, their losses by Mann and Whitney's
// statistic and how many are right; nil where nothing speaks for training rows, or nothing can be said.
func TrainingRows(cal, test *data.Set) *SeenRows {
	if cal.Logits == nil || test.Logits == nil || cal.Labels == nil || test.Labels == nil {
		return nil
	}
	type row struct {
		loss float64
		cal  bool
	}
	var rows []row
	right := map[bool]float64{}
	for _, x := range []*data.Set{cal, test} {
		for i, y := range x.Labels {
			logits := x.Logits.RawRowView(i)
			rows = append(rows, row{floats.LogSumExp(logits) - logits[y], x == cal})
			if floats.MaxIdx(logits) == y {
				right[x == cal] += 1 / float64(x.Len())
			}
		}
	}
	sort.Slice(rows, func(i, j int) bool { return rows[i].loss < rows[j].loss })
	n, m := float64(cal.Len()), float64(test.Len())
	ranks := 0.0 // of the test rows, from 1, ties sharing theirs
	for lo := 0; lo < len(rows); {
		hi := lo
		tests := 0.0
		for ; hi < len(rows) && rows[hi].loss == rows[lo].loss; hi++ {
			if !rows[hi].cal {
				tests++
			}
		}
		ranks += tests * float64(lo+hi+1) / 2
		lo = hi
	}
	wins := ranks - m*(m+1)/2
	z := (wins - n*m/2) / math.Sqrt(n*m*(n+m+1)/12)
	t := &SeenRows{Better: wins / (n * m), Accuracy: min(right[true], 1), TestAccuracy: min(right[false], 1), P: 1}
	if t.Better >= trainingBetter {
		t.P = distuv.UnitNormal.Survival(z)
	}
	if t.Accuracy-t.TestAccuracy >= trainingAccuracy {
		angle := 2 * (math.Asin(math.Sqrt(t.Accuracy)) - math.Asin(math.Sqrt(t.TestAccuracy)))
		t.P = min(t.P, distuv.UnitNormal.Survival(angle/math.Sqrt(1/n+1/m)))
	}
	if !(t.P < trainingP) {
		return nil
	}
	return t
}
