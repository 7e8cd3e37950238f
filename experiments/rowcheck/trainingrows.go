package rowcheck

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/layers"

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
	return fmt.Sprintf("the calibration rows look like rows that the classifier was trained on: it is right on %.1f %% of them and on %.1f %% of the test rows, and its loss is less on one of them in %.0f %% of pairs (p ≤ 1e-6); calibrate on rows that it has not seen",
		100*t.Accuracy, 100*t.TestAccuracy, 100*t.Better)
}

// trainingP is below which p rows are said to be of the training, if the chance that their
// loss is less, or what they are right more often, is large too: of many rows any difference
// is certain. Rows that are only easier are told apart at the level easierP.
const trainingP, trainingBetter, trainingAccuracy, easierP = 1e-6, .6, .05, .05

// TrainingRows compares the classifier's own predictions, their losses by Mann and Whitney's statistic, which is the
// area under the curve of the shares of both that lie above a loss, and how many are right; nil where nothing speaks
// for training rows, or nothing can be said. A row counts by its weight, one of several classes by the share of each.
// Each class counts among the calibration rows as much as among the test rows. Rows that are only easier are no rows of
// the training: where the classifier is as sure of a test row, it is right as often. Rows whose features lie as those
// of the test rows, by their comparison, cannot be easier.
func TrainingRows(cal, test *data.Set, beside layers.Comparison) *SeenRows {
	if cal.Logits == nil || test.Logits == nil || cal.Labels == nil || test.Labels == nil {
		return nil
	}
	scale := make([]float64, cal.Classes())
	ofCal := sharesOf(cal)
	for c, share := range sharesOf(test) {
		if ofCal[c] > 0 {
			scale[c] = share / ofCal[c]
		}
	}
	first, other := predictedOf(cal, scale), predictedOf(test, nil)
	losses, weights := slices.Concat(first.losses, other.losses), slices.Concat(first.weights, other.weights)
	ofTest := slices.Concat(make([]bool, len(first.losses)), slices.Repeat([]bool{true}, len(other.losses)))
	stat.SortWeightedLabeled(losses, ofTest, weights)
	above, aboveCal, _ := stat.ROC(nil, losses, ofTest, weights)
	all, allTest := countOf(first.rows), countOf(other.rows)
	t := &SeenRows{Better: integrate.Trapezoidal(aboveCal, above), Accuracy: all.right, TestAccuracy: allTest.right, P: 1}
	n, m := all.rows, allTest.rows
	z := (t.Better - .5) * math.Sqrt(12*n*m/(n+m+1))
	if t.Better >= trainingBetter {
		t.P = distuv.UnitNormal.Survival(z)
	}
	if t.Accuracy-t.TestAccuracy >= trainingAccuracy {
		angle := 2 * (math.Asin(math.Sqrt(t.Accuracy)) - math.Asin(math.Sqrt(t.TestAccuracy)))
		t.P = min(t.P, distuv.UnitNormal.Survival(angle/math.Sqrt(1/n+1/m)))
	}
	drifted := slices.ContainsFunc(beside.Drift, func(d layers.Drift) bool { return d.Array == "features" })
	easier := (cal.Features == nil || drifted) && !(distuv.UnitNormal.Survival(asSure(first.rows, other.rows)) < easierP)
	if !(t.P < trainingP) || easier {
		return nil
	}
	return t
}

// sharesOf are the shares of the classes in the weight of the rows.
func sharesOf(x *data.Set) []float64 {
	out := x.Counts(x.Classes())
	floats.Scale(1/x.Total(), out)
	return out
}

// predicted is how the classifier itself does on a set's rows.
type predicted struct {
	losses, weights []float64 // of each row, or of each class of it
	rows            []sureRow
}

// sureRow is what the classifier says of a row: how sure it is, how the row counts, and for how much of that it is
// right.
type sureRow struct{ confidence, weight, right float64 }

// predictedOf takes the weight of each class times scale, or as it is where that is nil.
func predictedOf(x *data.Set, scale []float64) (out predicted) {
	for i := range x.Labels {
		logits := x.Logits.RawRowView(i)
		sum, largest := floats.LogSumExp(logits), floats.MaxIdx(logits)
		row := sureRow{confidence: math.Exp(logits[largest] - sum)}
		for y, share := range x.Shares(i) {
			weight := x.Weight(i) * share
			if scale != nil {
				weight *= scale[y]
			}
			out.losses, out.weights = append(out.losses, sum-logits[y]), append(out.weights, weight)
			row.weight += weight
			if largest == y {
				row.right += weight
			}
		}
		out.rows = append(out.rows, row)
	}
	return out
}

// counted are rows together: how often the classifier is right, and as how many equal rows they count.
type counted struct{ right, rows float64 }

func countOf(rows []sureRow) counted {
	var total, right, squares float64
	for _, r := range rows {
		total, right, squares = total+r.weight, right+r.right, squares+r.weight*r.weight
	}
	if total == 0 {
		return counted{}
	}
	return counted{min(right/total, 1), total * total / squares}
}

// asSure is by how many standard deviations the classifier is right more often on the first rows than on others of
// which it is as sure, by Cochran's test over ten strata of its confidence.
//
// W. G. Cochran. Some methods for strengthening the common χ² tests. Biometrics, 10(4):417–451, 1954.
func asSure(first, other []sureRow) float64 {
	const strata = 10
	both := data.Each(slices.Concat(first, other), func(r sureRow) float64 { return r.confidence })
	slices.Sort(both)
	var sum, variance float64
	for k := range strata {
		from, to := both[k*len(both)/strata], math.Inf(1)
		if k+1 < strata {
			to = both[(k+1)*len(both)/strata]
		}
		within := func(rows []sureRow) counted {
			return countOf(slices.DeleteFunc(slices.Clone(rows), func(r sureRow) bool { return r.confidence < from || r.confidence >= to }))
		}
		a, b := within(first), within(other)
		if a.rows == 0 || b.rows == 0 {
			continue
		}
		pairs, p := a.rows*b.rows/(a.rows+b.rows), (a.rows*a.right+b.rows*b.right)/(a.rows+b.rows)
		sum += pairs * (a.right - b.right)
		variance += pairs * p * (1 - p)
	}
	return sum / math.Sqrt(variance)
}
