package cli

import (
	"encoding/csv"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestBenchJSON: the figure asked for and no other, by the key of peer_torch.py, with its
// share of the roof.
func TestBenchJSON(t *testing.T) {
	code, stdout, stderr := calibra(t, "bench", "--json", "--rows", "128", "--reps", "1", "--only", "quantizer_epoch_s,calibrator_epoch_s_c10")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var report map[string]any
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
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
		t.Errorf("the report is %s", stdout)
	}
}

// csvLines are the lines of a csv file, the head among them.
func csvLines(t *testing.T, path string) [][]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// TestBenchMemory: each command has its peak, on files of the size that is asked for.
func TestBenchMemory(t *testing.T) {
	t.Setenv(asCommand, "1") // of this executable, which is measured
	out := filepath.Join(t.TempDir(), "memory.csv")
	code, stdout, stderr := calibra(t, "bench", "--memory", out, "--rows", "5000", "--features", "8", "--classes", "3") // more rows than are made at once
	if code != 0 {
		t.Fatalf("exits %d: %s", code, stderr)
	}
	lines := csvLines(t, out)
	if len(lines) != 6 {
		t.Fatal(lines)
	}
	for _, line := range lines[1:] {
		if peak, err := strconv.ParseFloat(line[5], 64); err != nil || runtime.GOOS != "windows" && !(peak > 1) || line[1] != "5000" || !strings.Contains(stdout, line[0]) {
			t.Errorf("%v", line)
		}
	}
}

// TestBenchMembers: fit, apply and export of one and of five members of three methods, on a file.
func TestBenchMembers(t *testing.T) {
	t.Setenv(asCommand, "1")
	out := filepath.Join(t.TempDir(), "members.csv")
	code, stdout, stderr := calibra(t, "bench", "--memory", out, "--in", write(t, features(80)))
	if code != 0 {
		t.Fatalf("exits %d: %s", code, stderr)
	}
	lines := csvLines(t, out)
	if len(lines) != 1+3*2*3 {
		t.Fatal(lines)
	}
	for _, line := range lines[1:] {
		if written, err := strconv.ParseFloat(line[7], 64); err != nil || !(written > 0) || !strings.Contains(stdout, line[0]) {
			t.Errorf("%v", line)
		}
	}
}

func TestBenchRefuses(t *testing.T) {
	for _, c := range []struct{ flag, value, want string }{
		{"--only", "quantizer", "quantizer_epoch_s, calibrator_epoch_s_c10"},
		{"--rows", "10", "at least 64"},
		{"--reps", "0", "--reps"},
		{"--in", write(t, features(80)), "--memory"},
		{"--python", "python3", "--peers"},
	} {
		code, stdout, stderr := calibra(t, "bench", "--json", c.flag, c.value)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, c.want) {
			t.Errorf("%s %s exits %d: %s%s", c.flag, c.value, code, stdout, stderr)
		}
	}
}

// TestBenchPeers: a job of each method by a Python that has this package alone, and a sentence for each library that it lacks.
func TestBenchPeers(t *testing.T) {
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("CALIBRA_PYTHON names no Python with numpy and onnxruntime")
	}
	folder, err := filepath.Abs("../python")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", folder)
	t.Setenv(asCommand, "1") // of this executable, which Python starts as the command
	path := filepath.Join(t.TempDir(), "jobs.csv")
	code, _, stderr := calibra(t, "bench", "--peers", path, "--rows", "2000", "--classes", "3", "--reps", "1", "--python", python)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	lines := csvLines(t, path)
	done := map[string]int{}
	for _, line := range lines[1:] {
		done[line[1]]++
		if nll, err := strconv.ParseFloat(line[11], 64); err != nil || !(nll > 0 && nll < 2) {
			t.Errorf("%v: the NLL is %s", line[:4], line[11])
		}
	}
	if done["calibra"] != 3 {
		t.Errorf("calibra has done %d jobs: %s", done["calibra"], stderr)
	}
	for _, name := range []string{"netcal", "probmetrics", "scikit-learn", "torch-uncertainty"} {
		if done[name] == 0 && !strings.Contains(stderr, name+" cannot be imported") {
			t.Errorf("%s has done nothing, and nothing says so: %s", name, stderr)
		}
	}
}

// TestBenchGrowth: every size is doubled, and more of it takes more time and memory, by no more than the square.
func TestBenchGrowth(t *testing.T) {
	if os.Getenv("CALIBRA_CHECK") != "all" {
		t.Skip("starts 64 commands: asked with CALIBRA_CHECK=all")
	}
	t.Setenv(asCommand, "1")
	path := filepath.Join(t.TempDir(), "growth.csv")
	if code, _, stderr := calibra(t, "bench", "--growth", path, "--rows", "2000", "--reps", "1"); code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	lines := csvLines(t, path)
	doubled := map[string]int{}
	for _, line := range lines[1:] {
		doubled[line[1]]++
		for _, column := range []int{6, 10} { // exponents of time and memory
			if v, err := strconv.ParseFloat(line[column], 64); err != nil || v < -1 || v > 2.5 {
				t.Errorf("%v: the exponent is %s", line[:4], line[column])
			}
		}
	}
	if want := map[string]int{"rows": 6, "classes": 6, "slots": 2, "codewords": 2}; !maps.Equal(doubled, want) {
		t.Errorf("doubled %v, not %v", doubled, want)
	}
}

// TestBenchReadsItsFlags: a flag that what is measured does not read is refused.
func TestBenchReadsItsFlags(t *testing.T) {
	to := filepath.Join(t.TempDir(), "to.csv")
	for want, args := range map[string][]string{
		"bench does not read --features":         {"--features", "64"},
		"bench does not read --classes":          {"--classes", "5"},
		"bench --memory does not read --only":    {"--memory", to, "--only", "lce_s_c10"},
		"bench --memory does not read --json":    {"--memory", to, "--json"},
		"bench --peers does not read --only":     {"--peers", to, "--only", "lce_s_c10"},
		"bench --growth does not read --json":    {"--growth", to, "--json"},
		"cannot be cut into 64 slots":            {"--growth", to, "--features", "50"},
		"bench --memory --in does not read --ro": {"--memory", to, "--in", write(t, features(60)), "--rows", "100"},
	} {
		if code, _, stderr := calibra(t, append([]string{"bench"}, args...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("bench %v exits %d: %s", args, code, stderr)
		}
	}
}
