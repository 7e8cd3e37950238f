package rowcheck

import (
	"fmt"
	"math"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// OtherLabels describes labels that seem to number the classes in another order than the columns of the logits, or to
// belong to other rows; it is "" if they seem to do neither. rows is the name of the rows in the sentence, such as
// "test rows". Rows of weight 0 are left out.
func OtherLabels(rows string, x *data.Set) string {
	text, _ := otherLabels(rows, x)
	return text
}

// otherLabels is [OtherLabels], and whether it is of another order.
func otherLabels(rows string, x *data.Set) (text string, order bool) {
	x = x.ForFit()
	if x == nil || x.Logits == nil || x.Labels == nil || data.InvalidLabel(x.Labels, x.Classes()) >= 0 {
		return "", false
	}
	scores, labels := x.Logits, x.Labels
	if slices.Min(labels) == slices.Max(labels) {
		return "", false // one class alone is a fault of its own
	}
	some := data.Spread(len(labels), comparedRows)
	scores, labels = data.RowsOf(scores, some), data.Each(some, func(i int) int { return labels[i] })
	if a, b, z, surely := data.Exchanged(scores, labels); z < surely {
		name := func(c int) string { return data.Line(data.ClassName(x.Names.Classes, c)) }
		return fmt.Sprintf("the labels seem to number the classes in another order than the columns do: the %s of class %s look like those of class %s, and the other way round; "+
			"number them by the columns or, where labels are names, add class_names in the order of the columns", rows, name(a), name(b)), true
	}
	return foreign(rows, scores, labels), false
}

const (
	// unrelated is above which p two things are not told to go together.
	unrelated = .01
	// tempered is the inverse temperature at which a classifier's claim is held against it: one whose logits are too
	// large by less than four times claims more than it can hold, and is right to be calibrated.
	tempered = 1. / 4
)

// foreign describes labels that do not go with the scores, though the classifier claims that they do. Both must hold:
//
//   - labels in any other order would be given as much probability: the chance of Σ_i q_iy_i under permutations is above
//     unrelated;
//   - by its claim these labels are less likely than alarm. By Markov's inequality its own rows would make the ratio of the
//     likelihoods of the classes' shares n_c/N, whatever the row, and of q, 1/alarm or more no more often than that.
//
// q_ic ∝ exp(b_c) p_ic^β are the probabilities at β = tempered, with the b at which Σ_i q_ic = n_c.
func foreign(rows string, scores *mat.Dense, labels []int) string {
	n, classes := scores.Dims()
	counts, logs := make([]float64, classes), mat.NewDense(n, classes, nil)
	right, claimed, least := 0.0, 0.0, math.Log(foreignFloor)
	for i, y := range labels {
		counts[y]++
		row, to := scores.RawRowView(i), logs.RawRowView(i)
		top, sum := floats.MaxIdx(row), floats.LogSumExp(row)
		if top == y {
			right += 1 / float64(n)
		}
		claimed += math.Exp(row[top]-sum) / float64(n)
		for c, l := range row {
			to[c] = tempered * max(l-sum, least)
		}
	}
	bias := make([]float64, classes)
	q := share(logs, bias)
	p := 2 * distuv.UnitNormal.Survival(math.Abs(data.Agreement(q, labels)))
	if !(p > unrelated) {
		return ""
	}
	var alone, ratio float64
	for _, m := range counts {
		if m > 0 {
			alone += m * math.Log(m/float64(n))
		}
	}
	for range biasSteps {
		totals := make([]float64, classes)
		for i := range n {
			floats.Add(totals, q.RawRowView(i))
		}
		for c, m := range counts {
			if bias[c] += math.Log(m / totals[c]); m == 0 {
				bias[c] = math.Inf(-1)
			}
		}
		q = share(logs, bias)
		if floats.Distance(totals, counts, math.Inf(1)) < biasTolerance {
			break
		}
	}
	for i, y := range labels {
		ratio += math.Log(q.At(i, y))
	}
	if ratio -= alone; !(ratio < math.Log(alarm)) {
		return ""
	}
	return fmt.Sprintf("the labels of the %s look like those of other rows: the classifier is right in %.0f %% of them where it claims %.0f %%, no more than labels in any other order would let it be (p = %.2g); "+
		"hand over the label of each row, in the order of the rows", rows, 100*right, 100*claimed, p)
}

const (
	// comparedRows are as many as are looked at, and foreignFloor is what their probabilities count at least: the ratio
	// is not that of a few rows.
	comparedRows, foreignFloor = 10_000, 1e-12
	// biasSteps and biasTolerance end the search for b: what is left of a row is no matter beside log alarm.
	biasSteps, biasTolerance = 100, .01
)

// share are the probabilities of rows of logarithms, each class's times exp(bias).
func share(logs *mat.Dense, bias []float64) *mat.Dense {
	q := mat.DenseCopyOf(logs)
	for i := range q.RawMatrix().Rows {
		row := q.RawRowView(i)
		floats.Add(row, bias)
		sum := floats.LogSumExp(row)
		for c, l := range row {
			row[c] = math.Exp(l - sum)
		}
	}
	return q
}
