package study

import (
	"fmt"

	"calibra/experiments/metrics"
	"calibra/experiments/report"
)

// answered are statements that say one thing of each row of a subject.
func answered(say func(s *subject, r *row) string) func(*Findings) []report.Statement {
	return func(f *Findings) (all []report.Statement) {
		for _, s := range f.subjects() {
			statement := report.Statement{Title: s.Title()}
			for _, r := range s.rows {
				if len(r.results) > 0 {
					statement.Lines = append(statement.Lines, say(s, r))
				}
			}
			all = append(all, statement)
		}
		return all
	}
}

// secondsOf answers how long a fit takes.
var secondsOf = answered(func(_ *subject, r *row) string {
	mean := func(value func(*Result) float64) string {
		return metrics.Fixed(r.spread(quantity{value: value}).Mean, 4)
	}
	return fmt.Sprintf("%s: an epoch of divide takes %s s, one of calibrate %s s; the whole fit %s s.", r.spec.Method,
		mean(stageOf("divide", perEpoch)), mean(stageOf("calibrate", perEpoch)), mean(func(r *Result) float64 { return r.Fit }))
})

// usageOf answers how many codewords are in use.
var usageOf = answered(func(_ *subject, r *row) string {
	said := map[string]string{}
	for _, c := range usageColumns {
		said[c.name] = metrics.Fixed(r.spread(quantity{value: c.value}).Mean, c.decimals)
	}
	return fmt.Sprintf("%s: a codeword is assigned %s to %s times, and %s of %d never; the effective number of codewords is %s.", r.spec.Method,
		said["fewest"], said["most"], said["dead"], r.spec.Codewords(), said["effective"])
})

// smallestCodes answers with how few slots and codewords the NLL is not significantly above the lowest: with the fewest
// numbers w·|C| of them.
func smallestCodes(f *Findings) (all []report.Statement) {
	nll := sharedMetric(metrics.NLL)
	for _, s := range f.subjects() {
		lowest := s.best(nll)
		if lowest == nil {
			continue
		}
		smallest := lowest
		for i, d := range told(f.differences(s, lowest, nll)) {
			r := s.rows[i]
			if d != nil && !d.Told() && r.spec.Slots()*r.spec.Codewords() < smallest.spec.Slots()*smallest.spec.Codewords() {
				smallest = r
			}
		}
		said := func(r *row) string {
			return fmt.Sprintf("w = %d and |C| = %d (NLL %s)", r.spec.Slots(), r.spec.Codewords(), r.spread(nll).Format(metrics.NLL))
		}
		line := fmt.Sprintf("The smallest codes whose NLL is not significantly above the lowest have %s.", said(smallest))
		if smallest != lowest {
			line += fmt.Sprintf(" The lowest is that of %s.", said(lowest))
		}
		all = append(all, report.Statement{Title: s.Title(), Lines: []string{line}})
	}
	return all
}
