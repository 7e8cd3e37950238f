package study

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/experiments"
	"calibra/experiments/report"

	"gonum.org/v1/gonum/stat/distuv"
)

// rivalsStudy tests whether the joint correction is better than the mixture of maps, than itself on
// codes that learn nothing, and than the best of its rivals, as experiments/results/rivals-protocol.md
// has it: both on learned codewords, which were their defaults when it was written.
var rivalsStudy = Study{
	Name: "rivals", Line: "the joint correction against its rivals, by a protocol fixed beforehand (experiments/results/rivals-protocol.md)",
	Grid: always(append(each("nc", "ts", "sv", "sm", "boosted", "clustered", "dac", "laplace", "new-head", "auto", "stacked-learned", "stacked", "stacked-one", "corrected-learned", "corrected", "vq"),
		experiments.Spec{Method: "rival", Tune: true})),
	Vary:    []Field{byMethod},
	Judging: experiments.Judging{Redraws: 20, Anchors: 4000, Recoverable: true},
	Pairs:   []Pair{{"corrected-learned", "stacked-learned"}, {"corrected-learned", "corrected"}, {"corrected-learned", "rival"}},
	Tests:   allPairs,
	Views: []View{
		protocol("experiments/results/rivals-protocol.md, committed before the first cell of seeds 300 to 302, fixes sources, methods, outcomes and tests. The three pairs of the next section are its questions; everything else is exploratory."),
		primary, leftOutSeeds, scores, againstUncalibrated, leftOnTheTable, noiseFloor, Results, tuningTable, timeTable,
	},
}

// primary is the section of the named pairs.
func primary(ctx context.Context, f *Findings) (*report.Section, error) {
	all, err := f.tests(ctx)
	if err != nil {
		return nil, err
	}
	tests := all.named(f.Study.Pairs...)
	if tests == nil {
		return nil, nil
	}
	say := wording{
		list: "NLL of both methods of each named pair.", other: "the other's", head: "against",
		count: "On how many sources the first of a pair is better and worse than the other at 5 %, after Holm's correction.",
	}
	return &report.Section{
		Title:  "The named pairs",
		Note:   "Below 0 the first method is better. Intervals are over seeds and rows; Holm's correction is over all pairs and sources of the table.",
		Tables: []*report.Table{countTwins(tests, say), listTwins(tests, say)},
	}, nil
}

// where is the row with some of its seeds.
func (r *row) where(keep func(seed uint64) bool) *row {
	out := *r
	out.results = slices.DeleteFunc(slices.Clone(r.results), func(x *Result) bool { return !keep(x.Spec.Seed) })
	return &out
}

// leftOut counts the seeds whose difference lies in the 95 % interval that the other seeds give for
// it: its variance is that of their mean, of one more seed, and of that seed's rows. Two seeds left
// give of the spread, so that there must be three.
func leftOut(ctx context.Context, a, b *row) (inside, of int, err error) {
	x, _ := common(a, b)
	if len(x) < 3 {
		return 0, 0, nil
	}
	for _, r := range x {
		others := func(seed uint64) bool { return seed != r.Spec.Seed }
		own := func(seed uint64) bool { return seed == r.Spec.Seed }
		rest, err := overSeedsAndRows(ctx, a.where(others), b.where(others))
		if err != nil || rest == nil {
			return 0, 0, err
		}
		one, err := overSeedsAndRows(ctx, a.where(own), b.where(own))
		if err != nil || one == nil {
			return 0, 0, err
		}
		reach := distuv.StudentsT{Sigma: 1, Nu: rest.nu}.Quantile(0.975) * math.Sqrt(rest.variance+rest.between+one.variance)
		if of++; math.Abs(one.Difference-rest.Difference) <= reach {
			inside++
		}
	}
	return inside, of, nil
}

// leftOutSeeds tests whether the intervals hold for a seed that they were not made of.
func leftOutSeeds(ctx context.Context, f *Findings) (*report.Section, error) {
	t := &report.Table{Caption: "Seeds whose difference in NLL lies in the 95 % interval that the other seeds give for it.", Labels: []string{byMethod.Head, "against"}, Values: report.Heads("inside", "of", "share")}
	for _, pair := range f.Study.Pairs {
		inside, of := 0, 0
		for _, s := range f.subjects() {
			a, b := s.row(pair.Method), s.row(pair.Against)
			if a == nil || b == nil {
				continue
			}
			in, all, err := leftOut(ctx, a, b)
			if err != nil {
				return nil, err
			}
			inside, of = inside+in, of+all
		}
		if of > 0 {
			t.Add("", report.Row{Labels: []string{MethodTitle(pair.Method), MethodTitle(pair.Against)}, Cells: report.Texts(inside, of, fmt.Sprintf("%.2f", float64(inside)/float64(of)))})
		}
	}
	return &report.Section{
		Title:  "Do the intervals hold for another seed?",
		Note:   "Each seed of each source is left out in turn. A share far below .95 says that the intervals of the named pairs are too narrow.",
		Tables: []*report.Table{t},
	}, nil
}
