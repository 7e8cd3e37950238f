package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Studies and flags that do not go together are refused in a sentence.
func TestTheoryRefuses(t *testing.T) {
	for want, args := range map[string][]string{
		"give --out DIR":     {"theory", "fast", "--seeds", "0-1"},
		"one or the other":   {"theory", "fast", "--seeds", "0-1", "--seed", "0", "--out", "none"},
		"give one or the ot": {"theory", "all", "rate"},
	} {
		if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}

// The table of runs under many seeds counts each row.
func TestTheoryUnderSeeds(t *testing.T) {
	out := t.TempDir()
	code, stdout, stderr := calibra(t, "theory", "fast", "propositions", "--seeds", "0-2", "--out", out)
	if code != 0 || !strings.Contains(stdout, "3 runs (seeds 0–2)") || !strings.Contains(stdout, "| propositions | proposition-1 | 0 | 3 | 0 |") {
		t.Fatalf("exits %d: %s%s", code, stdout, stderr)
	}
	if written, err := os.ReadFile(filepath.Join(out, "seeds.md")); err != nil || string(written) != stdout {
		t.Errorf("seeds.md is not what was printed: %v\n%s", err, written)
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
}
