package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A researcher's own design and map from the command: any law of the codewords, any map of the
// list, a law that the map cannot represent.
func TestTheoryOfOnesOwn(t *testing.T) {
	small := []string{"theory", "rate", "--codewords", "4", "--slots", "2", "--replicates", "4", "--shifts", "1", "--json"}
	for name, extra := range map[string][]string{
		"zipf":        {"--zipf", "1.2"},
		"frequencies": {"--frequencies", "4,2,1,1"},
		"disturbance": {"--disturbance", "0.1"},
		"vq-dc":       {"--map", "vq-dc"},
		"sizes":       {"--sizes", "1000000,10000000", "--spread", "0.3", "--decades", "0.5", "--atoms", "8"},
		"two classes": {"--classes", "2"},
		"even":        {"--decades", "0"},
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
		"4 positive numbers":            {"theory", "rate", "--codewords", "4", "--frequencies", "1,2"},
		"for the study rate":            {"theory", "gauge", "--zipf", "1"},
		"did you mean vq-dc?":           {"theory", "rate", "--map", "vqdc"},
		"at least 2 codewords":          {"theory", "rate", "--codewords", "1"},
		"has no map of vectors":         {"theory", "rate", "--map", "kc"},
		"give --out DIR":                {"theory", "fast", "--seeds", "0-1"},
		"one or the other":              {"theory", "fast", "--seeds", "0-1", "--seed", "0", "--out", "none"},
		"at least 2 replicates":         {"theory", "rate", "--replicates", "1"},
		"two sample sizes":              {"theory", "rate", "--sizes", "100"},
		"must be positive and increase": {"theory", "rate", "--sizes", "100,100"},
		"at least 1 shift":              {"theory", "rate", "--shifts=-1"},
		"the spread of the truth":       {"theory", "rate", "--spread=-1"},
		"the disturbance of the law":    {"theory", "rate", "--disturbance=NaN"},
		"must not rise with k":          {"theory", "rate", "--zipf=NaN"},
		"--zipf and --decades each":     {"theory", "rate", "--zipf", "1.5", "--decades", "3"},
		"--decades and --frequencies":   {"theory", "rate", "--decades", "0", "--frequencies", "1,2"},
		"under one shift":               {"theory", "rate", "--disturbance", "0.1", "--shifts", "4"},
		"--spread is 0":                 {"theory", "rate", "--spread", "0"},
		"--replicates is 0":             {"theory", "rate", "--replicates", "0"},
		"at least 1 slot, got 0":        {"theory", "rate", "--slots", "0"},
	} {
		if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}

// Runs under many seeds go on where they were, and their table counts each row. Rows of other
// studies, of another effort or design, and of an unknown run are never taken for them; those of
// another program are computed again.
func TestTheoryUnderSeeds(t *testing.T) {
	out := t.TempDir()
	if code, stdout, stderr := calibra(t, "theory", "fast", "propositions", "--seeds", "0-1", "--out", out); code != 0 || !strings.Contains(stdout, "2 runs (seeds 0–1)") {
		t.Fatalf("exits %d: %s%s", code, stdout, stderr)
	}
	first := filepath.Join(out, "seed-0.csv")
	before, err := os.Stat(first)
	if err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := calibra(t, "theory", "fast", "propositions", "--seeds", "0-2", "--out", out)
	if code != 0 || !strings.Contains(stdout, "3 runs (seeds 0–2)") || !strings.Contains(stdout, "| propositions | proposition-1 | 0 | 3 | 0 |") {
		t.Fatalf("exits %d: %s%s", code, stdout, stderr)
	}
	if after, err := os.Stat(first); err != nil || after.ModTime() != before.ModTime() {
		t.Error("a seed that the directory holds is run again")
	}
	for _, args := range [][]string{
		{"theory", "fast", "triangular"}, {"theory", "propositions"}, {"theory", "fast"},
		{"theory", "rate", "--slots", "2"}, {"theory", "rate", "--map", "vq-dc"},
	} {
		code, stdout, stderr := calibra(t, append(args, "--seeds", "0-2", "--out", out)...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, "propositions") || !strings.Contains(stderr, "another --out") || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v on rows of propositions exits %d: %s%s", args, code, stdout, stderr)
		}
	}

	code, stdout, stderr = calibra(t, "theory", "propositions", "fast", "--json", "--seeds", "0-2", "--out", out)
	var lines []struct {
		Study, Key string
		Runs       int
		Mean       *float64
	}
	if err := json.Unmarshal([]byte(stdout), &lines); err != nil || code != 0 || len(lines) == 0 {
		t.Fatalf("--json exits %d: %v %s%s", code, err, stdout, stderr)
	}
	for _, line := range lines {
		if line.Study != "propositions" || line.Key == "" || line.Runs != 3 || line.Mean == nil {
			t.Errorf("--json holds %+v", line)
		}
	}

	beside := filepath.Join(out, "seed-0.json")
	text, err := os.ReadFile(beside)
	if err != nil {
		t.Fatal(err)
	}
	other := strings.Replace(string(text), `"digest": "`, `"digest": "0`, 1)
	if err := os.WriteFile(beside, []byte(other), 0o644); err != nil || other == string(text) {
		t.Fatal(err, other)
	}
	code, _, stderr = calibra(t, "theory", "fast", "propositions", "--seeds", "0-2", "--out", out)
	if after, err := os.Stat(first); err != nil || code != 0 || after.ModTime() == before.ModTime() || !strings.Contains(stderr, "1 of 3 seeds") {
		t.Errorf("the rows of another program are not computed again: exits %d, %s", code, stderr)
	}
	if now, err := os.ReadFile(beside); err != nil || string(now) != string(text) {
		t.Errorf("the rows computed again are of %s", now)
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "theory", "fast", "propositions", "--seeds", "0-2", "--out", out); code != exitUsage || !strings.Contains(stderr, "seed-0.csv") {
		t.Errorf("rows of an unknown run: exits %d, %s", code, stderr)
	}
}
