package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// TestJSON: the figure asked for and no other, by the key of peer_torch.py, with its share of the roof.
func TestJSON(t *testing.T) {
	var out bytes.Buffer
	args := strings.Fields("--json --rows 128 --reps 1 --only quantizer_epoch_s,calibrator_epoch_s_c10")
	if err := execute(t.Context(), args, &out); err != nil {
		t.Fatal(err)
	}
	var report map[string]any
	if err := json.Unmarshal(out.Bytes(), &report); err != nil {
		t.Fatal(err)
	}
	shares, _ := report["share_of_roof"].(map[string]any)
	for _, key := range []string{"quantizer_epoch_s", "calibrator_epoch_s_c10"} {
		figure, _ := report[key].(float64)
		share, _ := shares[key].(float64)
		if !(figure > 0 && share > 0) {
			t.Errorf("%s is %v, its share of the roof %v", key, report[key], shares[key])
		}
	}
	if _, ok := report["lce_s_c10"]; ok || report["rows"] != 128.0 || report["threads"] == nil {
		t.Errorf("the report is %s", &out)
	}
}

// TestMemory: each command of a calibra built from this repository has its peak.
func TestMemory(t *testing.T) {
	var out bytes.Buffer
	path := filepath.Join(t.TempDir(), "memory.csv")
	if err := execute(t.Context(), strings.Fields("--rows 5000 --features 8 --classes 3 --memory "+path), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 6 || !strings.Contains(lines[5], "evaluate") {
		t.Errorf("it prints\n%s", &out)
	}
}

// TestRefuses: flags that what is measured does not read, and numbers that are too small.
func TestRefuses(t *testing.T) {
	for want, args := range map[string]string{
		"quantizer_epoch_s, calibrator_epoch_s_c10": "--json --only quantizer",
		"at least 64":                            "--rows 10",
		"does not read --in":                     "--peers x.csv --in x.npz",
		"bench does not read --python":           "--python python3",
		"bench --memory does not read --only":    "--memory x.csv --only lce_s_c10",
		"a multiple of 64":                       "--growth x.csv --features 50",
		"bench --memory --in does not read --ro": "--memory x.csv --in x.npz --rows 100",
	} {
		if err := execute(t.Context(), strings.Fields(args), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("bench %s says %v, without %q", args, err, want)
		}
	}
}
