package rowcheck

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// SeenRows describes that calibration rows are far better predicted than test rows, as rows are
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
// statistic, which is the area under the curve of the shares of both that lie above a loss, and how many
// are right; nil where nothing speaks for training rows, or nothing can be said. A row counts by its
// weight, one of several classes by the share of each.
func TrainingRows(cal, test *data.Set) *SeenRows {
	if cal.Logits == nil || test.Logits == nil || cal.Labels == nil || test.Labels == nil {
		return nil
	}
	first, other := lossesOf(cal), lossesOf(test)
	losses, weights := slices.Concat(first.losses, other.losses), slices.Concat(first.weights, other.weights)
	ofTest := slices.Concat(make([]bool, len(first.losses)), slices.Repeat([]bool{true}, len(other.losses)))
	stat.SortWeightedLabeled(losses, ofTest, weights)
	above, aboveCal, _ := stat.ROC(nil, losses, ofTest, weights)
	t := &SeenRows{Better: integrate.Trapezoidal(aboveCal, above), Accuracy: min(first.right, 1), TestAccuracy: min(other.right, 1), P: 1}
	n, m := first.count, other.count
	z := (t.Better - .5) * math.Sqrt(12*n*m/(n+m+1))
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

// predicted is how the classifier itself does on a set's rows.
type predicted struct {
	losses, weights []float64 // of each row, or of each class of it
	right           float64   // share of the weight
	count           float64   // as how many equal rows they count
}

func lossesOf(x *data.Set) (out predicted) {
	total, squares := x.Total(), 0.0
	for i := range x.Labels {
		logits := x.Logits.RawRowView(i)
		sum, largest, weight := floats.LogSumExp(logits), floats.MaxIdx(logits), x.Weight(i)
		squares += weight * weight
		for y, share := range x.Shares(i) {
			out.losses, out.weights = append(out.losses, sum-logits[y]), append(out.weights, weight*share)
			if largest == y {
				out.right += weight * share / total
			}
		}
	}
	out.count = total * total / squares
	return out
}
