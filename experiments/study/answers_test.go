package study

import (
	"slices"
	"strings"
	"testing"

	"calibra/experiments/run"
	"calibra/experiments/source"
)

// TestStudiesAnswerTheirOwnQuestion: seconds, usage and the smallest codes, not a verdict on methods.
func TestStudiesAnswerTheirOwnQuestion(t *testing.T) {
	result := func(set string, losses ...float32) *Result {
		losses = slices.Repeat(losses, 25) // enough rows to tell
		mean := 0.0
		for _, l := range losses {
			mean += float64(l) / float64(len(losses))
		}
		return &Result{
			Spec: run.Spec{Method: "vq", Data: "made", Set: set}, Losses: losses, Shared: map[string]float64{"nll": mean}, Usage: []int{0, 6, 2},
			Stages: []Stage{{Name: "divide", Epochs: 2, Seconds: 3}, {Name: "calibrate", Epochs: 4, Seconds: 1}}, Fit: 4,
		}
	}
	for _, c := range []struct {
		study   *Study
		results []*Result
		want    string
	}{
		{&timeStudy, []*Result{result("", .5)}, "vq: an epoch of divide takes 1.5000 s, one of calibrate 0.2500 s; the whole fit 4.0000 s."},
		{&usageStudy, []*Result{result("codebook.codewords=3", .5)}, "vq: a codeword is assigned 0 to 6 times, and 1.0 of 3 never; the effective number of codewords is 1.8."},
		{&codebookStudy, []*Result{ // 16 codewords are worse for certain, 32 are not
			result("codebook.codewords=16 codebook.slots=64", .9, .8, .9, .8, .9, .8, .9, .8),
			result("codebook.codewords=32 codebook.slots=64", .6, .4, .6, .4, .6, .4, .6, .41),
			result("codebook.codewords=64 codebook.slots=64", .5, .5, .5, .5, .5, .5, .5, .49),
		}, "The smallest codes whose NLL is not significantly above the lowest have w = 64 and |C| = 32 (NLL .501). The lowest is that of w = 64 and |C| = 64 (NLL .499)."},
	} {
		f, made := &Findings{Study: c.study, Results: c.results}, &source.Origin{Name: "made"}
		for _, r := range c.results {
			f.Cells = append(f.Cells, Cell{Spec: r.Spec, Origin: made})
		}
		statements := c.study.Statements(f)
		if len(statements) != 1 || strings.Join(statements[0].Lines, " ") != c.want {
			t.Errorf("study %s says %q, not %q", c.study.Name, statements, c.want)
		}
	}
}
