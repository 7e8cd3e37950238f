package study

import (
	"slices"
	"strings"
	"testing"

	"calibra/experiments/metrics"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// TestLocality: the answer is where LCE is most above its noise, or that it is nowhere; numbers are as in tables, and
// deciles that tie are dashes.
func TestLocality(t *testing.T) {
	said := func(lce []float64) (string, *Findings) {
		l := &Locality{LCE: lce, Noise: slices.Repeat(gapped{.0025}, len(run.Bandwidths)),
			Entropy: &metrics.Profile{LCE: []float64{.03, .5}, At: []float64{1.25, 2}, Count: []int{4, 0}, Floor: []float64{.01, 0}}}
		f := &Findings{Study: &localityStudy, Results: []*Result{{Spec: run.Spec{Method: "vq"}, Locality: l}}}
		f.Cells = []Cell{{Spec: f.Results[0].Spec, Origin: &source.Origin{}}}
		return localityOf(f)[0].Lines[0], f
	}
	lce := slices.Repeat([]float64{.00251}, len(run.Bandwidths))
	got, f := said(lce)
	if got != "vq: LCE is nowhere above its noise." {
		t.Error(got)
	}
	lce[4] = .03
	if got, _ := said(lce); got != "vq: LCE is most above its noise at γ = 20, .0300, of which .0025 is noise." {
		t.Error(got)
	}
	all := localityDeciles(f).Tables
	if len(all) != 1 || all[0].Len() != 3 {
		t.Fatalf("tables %+v", all)
	}
	for i, want := range []string{"1.2500 –", ".0300 –", ".0100 –"} {
		row := all[0].Blocks[0].Rows[i]
		if got := row.Cells[0].Text + " " + row.Cells[1].Text; got != want || !strings.Contains("entropy LCE noise", row.Labels[1]) {
			t.Errorf("row %v has %s, not %s", row.Labels, got, want)
		}
	}
}
