package study

import (
	"cmp"
	"slices"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/verdict"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
)

// adjust gives the differences of a family to the best their p by Holm; nil stands for one that
// could not be computed.
func adjust(family []*Against, best string) {
	family = slices.DeleteFunc(slices.Clone(family), func(a *Against) bool { return a == nil })
	for i, p := range metrics.Holm(data.Each(family, func(a *Against) float64 { return a.PValue })) {
		family[i].Best, family[i].Holm = best, p
	}
}

// question is which differences are asked for.
type question struct {
	encoded   encoded
	reference run.Spec
	key       string // of the metric
}

// counted is how many test rows count: not those of weight 0, nor copies.
func (r *Result) counted() int {
	if r.Losses == nil {
		return r.TestRows
	}
	return len(r.Losses)
}

// compared is what methods are compared by in the metric of that key: the losses of the test rows, or replicates and
// values without parts of the rows; nothing where it has neither.
func (r *Result) compared(key string) Other {
	switch key {
	case metrics.NLL.String():
		return Other{Losses: r.Losses}
	case metrics.LCE.String():
		return Other{Replicates: r.Replicates, Without: r.Without}
	case errorRate.key:
		return Other{Losses: r.wrong()}
	case calibration.key:
		return Other{Losses: r.Calibration}
	}
	return r.Others[key]
}

// tested is the metric as it is tested in pairs: as an error of which no more is known where it is neither NLL nor
// accuracy.
func (q quantity) tested() metrics.Metric {
	switch q.key {
	case metrics.NLL.String():
		return metrics.NLL
	case errorRate.key:
		return metrics.Accuracy
	}
	return metrics.Brier
}

// differences compares each row of s with the reference in a metric that has losses or
// replicates, row less reference: nil for the reference and where nothing can be compared.
// They are computed once.
func (f *Findings) differences(s *subject, reference *row, q quantity) []*Against {
	asked := question{s.encoded, reference.spec, q.key}
	if known, ok := f.answers[asked]; ok {
		return data.Each(s.rows, func(r *row) *Against { return known[r.spec] })
	}
	out := make([]*Against, len(s.rows))
	work.Each(len(s.rows), 1, func(i int) {
		switch {
		case s.rows[i].spec == reference.spec:
		case slices.ContainsFunc(reference.results, func(r *Result) bool { return r.compared(q.key).Losses != nil }):
			out[i] = pairedLosses(s.rows[i], reference, q)
		default:
			out[i] = pairedReplicates(s.rows[i], reference, q)
		}
	})
	adjust(out, f.called(reference))
	if f.answers == nil {
		f.answers = map[question]map[run.Spec]*Against{}
	}
	f.answers[asked] = map[run.Spec]*Against{}
	for i, r := range s.rows {
		f.answers[asked][r.spec] = out[i]
	}
	return out
}

// common are the results of two rows with the seeds that both have, by ascending seed, so
// that sums and draws do not depend on the order in which the seeds were asked for.
func common(a, b *row) (x, y []*Result) {
	bySeed := func(x, y *Result) int { return cmp.Compare(x.Spec.Seed, y.Spec.Seed) }
	for _, r := range slices.SortedStableFunc(slices.Values(a.results), bySeed) {
		if k := slices.IndexFunc(b.results, func(other *Result) bool { return other.Spec.Seed == r.Spec.Seed }); k >= 0 {
			x, y = append(x, r), append(y, b.results[k])
		}
	}
	return x, y
}

// pairedLosses compares two methods in a metric of single rows on the test rows of the seeds that both have, nil
// if there are none.
func pairedLosses(a, b *row, q quantity) *Against {
	all := testedRows{at: map[testedRow]int{}}
	var laws []*metrics.Law
	var seeds []float64
	resultsA, resultsB := common(a, b)
	for k, x := range resultsA {
		y := resultsB[k]
		if !all.add(x, y, q.key, len(seeds)+1) {
			continue
		}
		seeds = append(seeds, q.value(x)-q.value(y))
		laws = append(laws, lawBetween(x, y))
	}
	if seeds == nil {
		return nil
	}
	ties := metrics.Ties{Law: metrics.SumOfLaws(laws, float64(len(all.a))/float64(all.tests)), Folds: resultsA[0].Spec.Judging.Folds, Groups: all.group, Effective: all.effective(), Seeds: seeds, Tests: all.tests}
	c, err := ties.Compare(q.tested(), all.a, all.b)
	if err != nil {
		panic("study: losses that were measured are " + err.Error())
	}
	return &Against{Comparison: *c}
}

// lawBetween is the law of a difference, nil where neither leaves the classifier as it is, beside which laws are known.
func lawBetween(x, y *Result) *metrics.Law {
	switch verdict.Classifier {
	case y.Spec.Method:
		return x.Law
	case x.Spec.Method:
		return y.Law.Swapped()
	}
	return nil
}

// testedRows are losses of two methods on the same rows. A row that several seeds test is one observation,
// the sum of its losses over these seeds: the models differ from seed to seed, the row does not.
type testedRows struct {
	at    map[testedRow]int
	a, b  []float64
	group []int   // where folds hold groups whole
	tests int     // of any row
	count float64 // the effective number of these
}

// effective is the effective number of the rows.
func (t *testedRows) effective() float64 { return t.count / float64(t.tests) * float64(len(t.a)) }

// testedRow is a row by its number, and where rows have none of their own by that of a seed.
type testedRow struct{ number, seed int }

// add adds the losses of a seed's results, false where they are not of the same rows.
func (t *testedRows) add(x, y *Result, key string, seed int) bool {
	lossesX, lossesY := x.compared(key).Losses, y.compared(key).Losses
	if len(lossesX) == 0 || len(lossesX) != len(lossesY) {
		return false
	}
	numbers := x.Rows
	if numbers == nil {
		numbers = y.Rows
	}
	for i, loss := range lossesX {
		where := testedRow{i, seed}
		if numbers != nil {
			where = testedRow{number: numbers[i]}
		}
		k, seen := t.at[where]
		if !seen {
			k, t.at[where] = len(t.a), len(t.a)
			t.a, t.b = append(t.a, 0), append(t.b, 0)
			if x.Groups != nil {
				t.group = append(t.group, x.Groups[i])
			}
		}
		t.a[k] += float64(loss)
		t.b[k] += float64(lossesY[i])
	}
	t.tests += len(lossesX)
	t.count += cmp.Or(x.Effective, float64(len(lossesX)))
	return true
}

// pairedReplicates compares two methods in a metric by its replicates ([metrics.CompareReplicates]), nil
// if there are none. Values and replicates are averaged over the seeds that both have and
// that test the rows of the first of them: of other rows the resamples are others.
func pairedReplicates(a, b *row, q quantity) *Against {
	var x, y []*Result
	resultsA, resultsB := common(a, b)
	for k, r := range resultsA {
		if k == 0 || r.Rows != nil && slices.Equal(r.Rows, resultsA[0].Rows) {
			x, y = append(x, r), append(y, resultsB[k])
		}
	}
	replicates := func(r *Result) []float64 { return r.compared(q.key).Replicates }
	without := func(r *Result) []float64 { return r.compared(q.key).Without }
	if len(x) == 0 || replicates(x[0]) == nil || replicates(y[0]) == nil {
		return nil
	}
	value := func(r *Result) []float64 { return []float64{q.value(r)} }
	c := metrics.CompareReplicates(average(x, value)[0]-average(y, value)[0],
		average(x, replicates), average(y, replicates), average(x, without), average(y, without))
	if c == nil {
		return nil
	}
	if folds := x[0].Spec.Judging.Folds; folds > 0 {
		c = c.CrossFitted(folds)
	}
	return &Against{Comparison: *c}
}

// average is the mean over the results of each of their numbers.
func average(results []*Result, numbers func(*Result) []float64) []float64 {
	mean := slices.Clone(numbers(results[0]))
	for _, r := range results[1:] {
		floats.Add(mean, numbers(r))
	}
	for i := range mean {
		mean[i] /= float64(len(results))
	}
	return mean
}
