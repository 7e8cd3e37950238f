package cli

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCompareFinished: finished fits have the metrics that they had, of certain labels, with weights and of soft ones;
// the same verdict and differences as in a comparison of the methods; and a page with the settings that differ.
func TestCompareFinished(t *testing.T) {
	certain := features(300)
	weighted, soft := realWeights(features(300), 300, .5)
	for name, in := range map[string]string{"certain": write(t, certain), "weighted": write(t, weighted), "soft": write(t, soft)} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			at := func(name string) string { return filepath.Join(dir, name) }
			for run, args := range map[string][]string{
				"nc": {"--method", "nc"}, "ts": {"--method", "ts"},
				"learned": append([]string{"--method", "vq", "--set", "optim.epochs=2"}, small...), "longer": append([]string{"--method", "vq", "--set", "optim.epochs=4", "--seed", "3"}, small...),
			} {
				if code, _, stderr := calibra(t, append([]string{"fit", "--in", in, "--split", "none", "--out", at(run)}, args...)...); code != 0 {
					t.Fatalf("%s exits %d: %s", run, code, stderr)
				}
			}
			all := strings.Join([]string{at("nc"), at("ts"), at("learned")}, ",")
			code, stdout, stderr := calibra(t, "compare", "--runs", all, "--runs", at("longer"), "--out", at("finished"), "--json")
			var said struct {
				Methods []map[string]any
				Verdict struct{ Use string }
			}
			if err := json.Unmarshal([]byte(stdout), &said); err != nil || code != 0 {
				t.Fatalf("exits %d, %v: %s%s", code, err, stdout, stderr)
			}
			var summary struct {
				Methods map[string]struct {
					Metrics map[string]struct{ Mean float64 }
					Against map[string]struct{ Difference float64 } `json:"against_best"`
				}
			}
			readJSONFile(t, filepath.Join(at("finished"), "metrics.json"), &summary)
			if len(said.Methods) != 4 || len(summary.Methods) != 4 {
				t.Fatalf("%v, %v", said.Methods, summary.Methods)
			}
			for run, got := range summary.Methods {
				var was struct{ Metrics map[string]float64 }
				readJSONFile(t, filepath.Join(at(run), "metrics.json"), &was)
				for key, value := range was.Metrics {
					// predictions.npz holds log-probabilities in double precision; to read them normalizes them again,
					// which rounds
					if math.Abs(got.Metrics[key].Mean-value) > 1e-12 {
						t.Errorf("%s: %s is %v, the fit had %v", run, key, got.Metrics[key].Mean, value)
					}
				}
			}
			page, err := os.ReadFile(filepath.Join(at("finished"), "report.html"))
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"optim.epochs", "smECE", "Settings that differ", "probe/divide 2"} {
				if !strings.Contains(string(page), want) {
					t.Errorf("the page has no %q", want)
				}
			}
			code, _, stderr = calibra(t, "compare", "--in", in, "--split", "none", "--methods", "nc,ts", "--seeds", "0", "--out", at("fitted"), "--json")
			if code != 0 {
				t.Fatal(stderr)
			}
			fitted := summary
			fitted.Methods = nil
			readJSONFile(t, filepath.Join(at("fitted"), "metrics.json"), &fitted)
			if code, _, stderr = calibra(t, "compare", "--runs", at("nc")+","+at("ts"), "--out", at("both")); code != 0 {
				t.Fatal(stderr)
			}
			both := summary
			both.Methods = nil
			readJSONFile(t, filepath.Join(at("both"), "metrics.json"), &both)
			for method, one := range fitted.Methods {
				for key, against := range one.Against {
					// cells keep losses in single precision
					if other := both.Methods[method].Against[key].Difference; math.Abs(other-against.Difference) > 1e-6 {
						t.Errorf("%s: %s differs by %v, in a comparison of methods by %v", method, key, other, against.Difference)
					}
				}
			}
		})
	}
}

// TestCompareFinishedRefuses: what cannot be compared is named in a sentence.
func TestCompareFinishedRefuses(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	unlabelled := slices.Clone(features(300))
	for out, args := range map[string][]string{
		"a": {"--in", write(t, features(300))}, "other": {"--in", write(t, features(310))}, "unlabelled": {"--in", write(t, unlabelled[:5])},
	} {
		if code, _, stderr := calibra(t, append([]string{"fit", "--method", "ts", "--out", at(out)}, args...)...); code != 0 {
			t.Fatal(stderr)
		}
	}
	for want, runs := range map[string][]string{
		"tested other rows": {at("a"), at("other")}, "no labelled test rows": {at("a"), at("unlabelled")}, "no finished fit": {at("a"), at("nowhere")},
		"named twice": {at("a"), at("a")}, "name from 2": {at("a")},
	} {
		code, stdout, stderr := calibra(t, "compare", "--runs", strings.Join(runs, ","), "--out", at("out"))
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d: %s%s", runs, code, stdout, stderr)
		}
	}
	for _, more := range [][]string{{"--in", write(t, features(60))}, {"--set", "optim.epochs=2"}, {"--methods", "ts"}, {"--seeds", "1"}, {"--jobs", "2"}, {"--label", "y"}, {"--accept-shift"}} {
		if code, _, stderr := calibra(t, append([]string{"compare", "--runs", at("a"), "--out", at("out")}, more...)...); code != exitUsage || !strings.Contains(stderr, "leave out") {
			t.Errorf("with %v it exits %d: %s", more, code, stderr)
		}
	}
	if code, _, stderr := calibra(t, "compare", "--out", at("out")); code != exitUsage || !strings.Contains(stderr, "--in") {
		t.Errorf("without rows it exits %d: %s", code, stderr)
	}
}
