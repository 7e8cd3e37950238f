package cli

import (
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/run"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// toldApart are rows of three classes whose label has the largest logit by .1 at least.
func toldApart(n int) (*mat.Dense, []int) {
	rng := rand.New(rand.NewPCG(3, 3))
	logits, labels := mat.NewDense(n, 3, nil), make([]int, n)
	for i := range n {
		row := logits.RawRowView(i)
		labels[i] = rng.IntN(3)
		for k := range row {
			if row[k] = rng.NormFloat64(); k != labels[i] {
				row[k] = -.1 - rng.ExpFloat64()
			}
		}
		row[labels[i]] = 0
	}
	return logits, labels
}

// TestFitSaysThatItHasNoOptimum: in the terminal, on the page and in JSON; a fit that has one is silent.
func TestFitSaysThatItHasNoOptimum(t *testing.T) {
	cal, calLabels := toldApart(200)
	test, testLabels := toldApart(300)
	in := write(t, []data.Array{
		{Name: "cal_logits", Value: cal}, {Name: "cal_labels", Value: calLabels},
		{Name: "test_logits", Value: test}, {Name: "test_labels", Value: testLabels},
	})
	const words = "the fit of dc is at no optimum: the loss goes on falling as the weights grow"
	const advice = "so fit a penalized method: sm or sv"
	for method, says := range map[string]bool{"dc": true, "sm": false} {
		out := filepath.Join(t.TempDir(), "run")
		code, stdout, stderr := calibra(t, "fit", "--method", method, "--in", in, "--out", out, "--json")
		if code != 0 {
			t.Fatalf("%s exits %d: %s", method, code, stderr)
		}
		page := readText(t, out, "report.html")
		for where, text := range map[string]string{"terminal": stderr, "page": page} {
			if strings.Contains(text, "at no optimum") != says || says && (!strings.Contains(text, words) || !strings.Contains(text, advice)) {
				t.Errorf("%s, %s: %s", method, where, text[:min(len(text), 2000)])
			}
		}
		if !strings.Contains(page, "Gradient at the end") {
			t.Errorf("the page of %s does not give the gradient", method)
		}
		type fits struct {
			Fits []struct {
				Stage   string
				Optimum optim.Optimum
			}
		}
		for _, text := range []string{stdout, readText(t, out, "config.json")} {
			var got fits
			if err := json.Unmarshal([]byte(text), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.Fits) != 1 || got.Fits[0].Optimum.Reached == says || (got.Fits[0].Optimum.Why != "") != says || !(got.Fits[0].Optimum.Gradient > 0) {
				t.Errorf("%s: %+v", method, got)
			}
		}
	}
}

// TestFitGivesTheGradientWhereItsStepsEnd: on the page, in JSON and in the configuration, and it says nothing of an
// optimum.
func TestFitGivesTheGradientWhereItsStepsEnd(t *testing.T) {
	in, out := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := calibra(t, append([]string{"fit", "--method", "vq", "--in", in, "--out", out, "--json"}, small...)...)
	if code != 0 {
		t.Fatalf("exits %d: %s", code, stderr)
	}
	if strings.Contains(stderr, "at no optimum") {
		t.Errorf("a fit that stops early is told to have no optimum: %s", stderr)
	}
	if page := readText(t, out, "report.html"); !strings.Contains(page, "Gradient at the end, calibrate") {
		t.Error("the page does not give the gradient")
	}
	for _, text := range []string{stdout, readText(t, out, "config.json")} {
		var got struct{ Residuals []run.StageResidual }
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Residuals) != 1 || got.Residuals[0].Stage != "calibrate" || !(got.Residuals[0].Gradient > 0 && got.Residuals[0].Sampling > 0) {
			t.Errorf("%+v", got)
		}
	}
}
