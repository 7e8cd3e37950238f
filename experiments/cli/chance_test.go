package cli

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// chanced is what a command says of rows on which chance was taken for a gain or an error.
type chanced struct {
	Rows      float64
	Effective float64 `json:"effective_rows"`
	Notes     []struct{ Key, Text string }
	Copies    *struct{ Rows, Of, Counted int }
	Metrics   map[string]struct {
		Value float64
		CI    [2]float64
		Noise struct {
			P float64 `json:"p_value"`
		}
	}
	Ratio struct {
		Statistic float64
		P         float64
	} `json:"likelihood_ratio"`
	Verdict judgement
}

// chance runs a command on a file of the cases about chance, and reads its JSON.
func (c *casesOf) chance(t *testing.T, command, file string, flags ...string) (said chanced) {
	t.Helper()
	words := append([]string{command, "--in", filepath.Join(caseFiles, "chance", file)}, flags...)
	if err := json.Unmarshal([]byte(c.run(t, words...).ok(t).stdout), &said); err != nil {
		t.Fatal(err)
	}
	return said
}

// TestCasesOfChance: what rows show no more than chance would is not claimed. The right values are those that
// shared/cases/chance/right.py prints.
func TestCasesOfChance(t *testing.T) {
	needCases(t)
	c := &casesOf{t.TempDir(), map[string]*ran{}}
	for _, test := range []struct {
		name string
		said chanced
		p    float64 // of so few errors if the predictions are right
		need int     // rows with five of them
	}{
		{"no event of 1,000 expects one", c.chance(t, "evaluate", "rare-no-event.npz"), math.Pow(.999, 1000), 5000},
		{"no error where .75 are expected", c.chance(t, "fit", "no-error.npz", "--method", "ts", "--logits"), .472, 2100},
	} {
		v := test.said.Verdict
		if v.Say != "cannot tell yet" || v.RowsNeeded == nil || *v.RowsNeeded != test.need || *v.P < test.p-5e-3 || !(*v.Low < 0 && *v.High > 0) {
			t.Errorf("%s: %s, p %v, %v to %v, %v rows needed", test.name, v.Sentence, *v.P, *v.Low, *v.High, v.RowsNeeded)
		}
	}
	right := c.chance(t, "evaluate", "all-right.npz")
	isNear(t, "30 of 30", right.Metrics["accuracy"].CI[0], math.Pow(.025, 1./30), 1e-9)
	isNear(t, "30 of 30", right.Metrics["accuracy"].CI[1], 1, 0)

	once, four := c.chance(t, "evaluate", "once.npz"), c.chance(t, "evaluate", "four-times.npz")
	isNear(t, "likelihood ratio", once.Ratio.Statistic, 1.55, 5e-3)
	isNear(t, "its p", once.Ratio.P, .9074, 5e-5)
	isNear(t, "its p of copies", four.Ratio.P, once.Ratio.P, alike)
	if four.Copies == nil || four.Copies.Rows != 450 || four.Copies.Of != 600 || four.Verdict.Say != once.Verdict.Say {
		t.Errorf("of copies: %+v, %s; of the rows: %s", four.Copies, four.Verdict.Sentence, once.Verdict.Sentence)
	}
	for key, m := range once.Metrics {
		isNear(t, key+" of copies", four.Metrics[key].Value, m.Value, 1e-6) // sums of float32 kernels
		isNear(t, "p of "+key+" of copies", four.Metrics[key].Noise.P, m.Noise.P, alike)
	}

	weighted, misspelt := c.chance(t, "evaluate", "weights-right.npz"), c.chance(t, "evaluate", "weight-misspelt.npz")
	isNear(t, "weighted NLL", weighted.Metrics["nll"].Value, .41811, 5e-6)
	if weighted.Effective < 1 || weighted.Effective > 149 {
		t.Errorf("150 rows of other weights count as %v", weighted.Effective)
	}
	if len(misspelt.Notes) == 0 || misspelt.Notes[0].Key != "unread" || !strings.Contains(misspelt.Notes[0].Text, "did you mean weights?") || !strings.Contains(misspelt.Notes[0].Text, "did you mean groups?") {
		t.Errorf("arrays that nothing reads: %+v", misspelt.Notes)
	}
}
