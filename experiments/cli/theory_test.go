package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// A researcher's own design and map from the command: any law of the codewords, any map of the
// list, a law that the map cannot represent.
func TestTheoryOfOnesOwn(t *testing.T) {
	small := []string{"theory", "rate", "--set", "codewords=4", "--set", "slots=2", "--replicates", "4", "--set", "shifts=1", "--json"}
	for name, extra := range map[string][]string{
		"zipf":        {"--set", "zipf=1.2"},
		"frequencies": {"--set", "frequencies=4,2,1,1"},
		"disturbance": {"--set", "disturbance=0.1"},
		"vq-dc":       {"--set", "map=vq-dc"},
		"sizes":       {"--set", "sizes=1000000,10000000", "--set", "spread=0.3", "--set", "decades=0.5", "--set", "atoms=8"},
		"two classes": {"--set", "classes=2"},
		"even":        {"--set", "decades=0"},
	} {
		code, stdout, stderr := calibra(t, append(small, extra...)...)
		var rows []struct{ Study, Key, Verdict string }
		if err := json.Unmarshal([]byte(stdout), &rows); err != nil || code != 0 {
			t.Errorf("%s: exits %d: %v %s", name, code, err, stderr)
			continue
		}
		judged := 0
		for _, row := range rows {
			if row.Verdict == "pass" {
				judged++
			}
		}
		if judged < 5 {
			t.Errorf("%s: %d rows are judged", name, judged)
		}
	}
	for want, args := range map[string][]string{
		"4 positive numbers":            {"theory", "rate", "--set", "codewords=4", "--set", "frequencies=1,2"},
		"for the study rate":            {"theory", "gauge", "--set", "zipf=1"},
		"did you mean vq-dc?":           {"theory", "rate", "--set", "map=vqdc"},
		"at least 2 codewords":          {"theory", "rate", "--set", "codewords=1"},
		"has no map of vectors":         {"theory", "rate", "--set", "map=kc"},
		"--replicates is 1; it must":    {"theory", "rate", "--replicates", "1"},
		"two sample sizes":              {"theory", "rate", "--set", "sizes=100"},
		"must be positive and increase": {"theory", "rate", "--set", "sizes=100,100"},
		`shifts is "-1"`:                {"theory", "rate", "--set", "shifts=-1"},
		`spread is "-1"`:                {"theory", "rate", "--set", "spread=-1"},
		`disturbance is "NaN"`:          {"theory", "rate", "--set", "disturbance=NaN"},
		`zipf is "NaN"`:                 {"theory", "rate", "--set", "zipf=NaN"},
		"zipf and decades each":         {"theory", "rate", "--set", "zipf=1.5", "--set", "decades=3"},
		"decades and frequencies":       {"theory", "rate", "--set", "decades=0", "--set", "frequencies=1,2"},
		"under one shift":               {"theory", "rate", "--set", "disturbance=0.1", "--set", "shifts=4"},
		`spread is "0"`:                 {"theory", "rate", "--set", "spread=0"},
		"no setting replicates":         {"theory", "rate", "--set", "replicates=5"},
		`slots is "0"`:                  {"theory", "rate", "--set", "slots=0"},
	} {
		if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}
