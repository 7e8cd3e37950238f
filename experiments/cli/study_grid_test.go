package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"calibra/experiments/study"
)

// listed are the tasks that study --list prints.
func listed(t *testing.T, args ...string) []study.Task {
	t.Helper()
	code, stdout, stderr := calibra(t, append(slices.Clone(args), "--list")...)
	if code != 0 {
		t.Fatalf("--list exits %d: %s", code, stderr)
	}
	var tasks []study.Task
	for _, line := range strings.Split(strings.TrimSpace(stdout), "\n") {
		var task study.Task
		if err := json.Unmarshal([]byte(line), &task); err != nil || task.ID == "" {
			t.Fatalf("%q is no cell: %v", line, err)
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// sameReports holds what two studies wrote to each other, byte for byte; figures too.
func sameReports(t *testing.T, a, b string) {
	t.Helper()
	figures, err := filepath.Glob(filepath.Join(a, "figures", "*"))
	if err != nil || len(figures) == 0 {
		t.Fatalf("%s has no figures: %v", a, err)
	}
	names := []string{"results.csv", "tables.md", "tables.tex"}
	for _, path := range figures {
		if filepath.Ext(path) != ".pdf" { // which tells its date
			names = append(names, filepath.Join("figures", filepath.Base(path)))
		}
	}
	for _, name := range names {
		want, err := os.ReadFile(filepath.Join(a, name))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(b, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s differs (%v)", name, err)
		}
	}
}

// TestStudyOfEightProcesses: eight processes compute a share each, three of them are killed
// with SIGKILL and started again; what --collect writes then is what one process writes.
func TestStudyOfEightProcesses(t *testing.T) {
	if testing.Short() {
		t.Skip("twelve runs of a study take some seconds")
	}
	args := []string{"study", "main", "--data", write(t, features(300)), "--methods", "vq,ts,nc,dc", "--seeds", "1-6", "--set", "codebook.codewords=16", "--set", "codebook.slots=4"}
	alone := filepath.Join(t.TempDir(), "alone")
	if code, _, stderr := calibra(t, append(args, "--out", alone)...); code != 0 {
		t.Fatalf("study exits %d: %s", code, stderr)
	}
	dir := filepath.Join(t.TempDir(), "grid")
	args = append(args, "--out", dir)
	start := func(i int) *exec.Cmd {
		child := exec.Command(os.Args[0], append(slices.Clone(args), "--jobs", "1")...)
		child.Env = append(os.Environ(), asCommand+"=1", "GOMAXPROCS=1", "GOGC=400", fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", i), "SLURM_ARRAY_TASK_COUNT=8")
		child.Stderr = &bytes.Buffer{}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		return child
	}
	var children []*exec.Cmd
	for i := range 8 {
		children = append(children, start(i+1))
	}
	there := func() int {
		files, _ := filepath.Glob(filepath.Join(dir, "cells", "*.json"))
		return len(files)
	}
	var killed []int
	next := 0
	for deadline := time.Now().Add(2 * time.Minute); len(killed) < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("no cells were computed in two minutes")
		}
		if there() > 2*len(killed) { // at different times
			if next == len(children) {
				t.Fatalf("of eight processes %d ended before they were killed", next-len(killed))
			}
			child := children[next]
			child.Process.Kill()
			child.Wait()
			switch child.ProcessState.ExitCode() {
			case -1:
				killed = append(killed, next)
			case 0: // it had ended
			default:
				t.Fatalf("share %d: %s", next+1, child.Stderr)
			}
			next++
		}
	}
	for i, child := range children[next:] {
		if err := child.Wait(); err != nil {
			t.Fatalf("share %d: %v: %s", next+i+1, err, child.Stderr)
		}
	}
	left := 0
	for _, task := range listed(t, args...) {
		if !task.Done {
			left++
		}
	}
	if left == 0 {
		t.Fatal("the killed processes had computed all; the test shows nothing")
	}
	for _, i := range killed {
		if child := start(i + 1); child.Wait() != nil {
			t.Fatalf("share %d, started again: %s", i+1, child.Stderr)
		}
	}
	if code, _, stderr := calibra(t, append(args, "--collect")...); code != 0 {
		t.Fatalf("--collect exits %d: %s", code, stderr)
	}
	sameReports(t, alone, dir)
	t.Logf("%d cells were left when three processes had been killed", left)
}

// TestStudyCell: single cells are computed by their ids; a report is of what is there; a
// cell that fails and one whose file is damaged are named and stop no other.
func TestStudyCell(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cells")
	args := []string{"study", "main", "--data", write(t, features(60)), "--methods", "nc,ts,histogram", "--seeds", "1", "--cells", dir}
	out := append(slices.Clone(args), "--out", filepath.Join(t.TempDir(), "out"))
	tasks := listed(t, args...)
	if len(tasks) != 3 || tasks[0].Method == "" || tasks[0].Data == "" || tasks[0].Seed != 1 || tasks[0].Done {
		t.Fatalf("the cells are %+v", tasks)
	}
	if code, _, stderr := calibra(t, append(slices.Clone(out), "--collect")...); code != exitUsage || !strings.Contains(stderr, "none of the 3 cells is in") {
		t.Errorf("--collect of nothing exits %d: %s", code, stderr)
	}
	for range 2 { // the second time it is there
		if code, stdout, stderr := calibra(t, append(slices.Clone(args), "--cell", tasks[1].ID)...); code != 0 {
			t.Fatalf("--cell exits %d: %s%s", code, stdout, stderr)
		}
	}
	if now := listed(t, args...); now[0].Done || !now[1].Done {
		t.Errorf("after one cell: %+v", now)
	}
	if code, stdout, stderr := calibra(t, append(slices.Clone(out), "--collect")...); code != 0 || !strings.Contains(stderr, "2 of 3 cells are not in") || !strings.Contains(stdout, "1 of 3 cells are computed") {
		t.Errorf("--collect of one cell exits %d: %s%s", code, stdout, stderr)
	}
	path := filepath.Join(dir, tasks[1].ID+".json")
	if err := os.WriteFile(path, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, how := range [][]string{{"--shard", "1/1"}, {"--collect"}, nil} {
		code, _, stderr := calibra(t, append(slices.Clone(out), how...)...)
		if code != exitFailure || !strings.Contains(stderr, path) || !strings.Contains(stderr, "1 of 3 cells failed") {
			t.Errorf("%v with a damaged cell exits %d: %s", how, code, stderr)
		}
		if now := listed(t, args...); !now[0].Done || now[1].Done || !now[2].Done {
			t.Errorf("%v with a damaged cell: %+v", how, now)
		}
	}
	// More codewords than rows: that cell fails, the others are computed.
	args = []string{"study", "main", "--data", write(t, features(60)), "--methods", "nc,vq", "--seeds", "1", "--set", "codebook.codewords=5000", "--set", "codebook.slots=4", "--cells", t.TempDir()}
	if code, _, stderr := calibra(t, append(slices.Clone(args), "--shard", "1/1")...); code != exitFailure || !strings.Contains(stderr, "1 of 2 cells failed") {
		t.Errorf("a cell that fails makes the code %d: %s", code, stderr)
	}
	for _, task := range listed(t, args...) {
		if task.Done != (task.Method == "nc") {
			t.Errorf("after a failure: %+v", task)
		}
	}
}

// TestStudyCellsBySettings: settings make other cells, flags of no method are told, and a device that is not there
// stops a study.
func TestStudyCellsBySettings(t *testing.T) {
	args := []string{"study", "main", "--data", write(t, features(60)), "--seeds", "1", "--cells", t.TempDir()}
	for want, more := range map[string][]string{
		"setting vector.strngth":         {"--methods", "vector", "--set", "vector.strngth=1"},
		"ts has no setting":              {"--methods", "ts", "--set", "codebook.slots=2"},
		"given by --slots and as a sett": {"--methods", "vq", "--slots", "2", "--set", "codebook.slots=2"},
	} {
		if code, _, stderr := calibra(t, append(append(slices.Clone(args), more...), "--list")...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d without %q: %s", more, code, want, stderr)
		}
	}
	if code, _, stderr := calibra(t, append(slices.Clone(args), "--methods", "ts", "--slots", "2", "--list")...); code != 0 || !strings.Contains(stderr, "--slots changed nothing") {
		t.Errorf("--slots of ts exits %d: %s", code, stderr)
	}
	args = append(args, "--methods", "vq")
	if a, b := listed(t, args...), listed(t, append(slices.Clone(args), "--slots", "2", "--codewords", "16", "--set", "codebook.start=zero")...); a[0].ID == b[0].ID {
		t.Errorf("with other settings the cell is %s, too", a[0].ID)
	}
	var flag deviceFlag
	if err := flag.Device.UnmarshalText([]byte("cuda")); err != nil {
		t.Fatal(err)
	}
	if e, _ := flag.executor(); e != nil {
		t.Skip("this machine has a CUDA device")
	}
	if code, _, stderr := calibra(t, append(args, "--device", "cuda", "--shard", "1/1")...); code != exitNoDevice {
		t.Errorf("--device cuda exits %d: %s", code, stderr)
	}
}

func TestStudyRefusesShares(t *testing.T) {
	args := []string{"study", "main", "--data", "letter", "--methods", "nc", "--seeds", "1"}
	for want, more := range map[string][]string{
		`"0/8"`:                  {"--shard", "0/8", "--cells", t.TempDir()},
		`"9/8"`:                  {"--shard", "9/8", "--cells", t.TempDir()},
		`"two"`:                  {"--shard", "two", "--cells", t.TempDir()},
		`no cell "nosuch"`:       {"--cell", "nosuch", "--cells", t.TempDir()},
		"a study needs --out":    {"--collect"},
		"--cells":                {"--shard", "1/2"},
		"can't be used together": {"--shard", "1/2", "--list"},
	} {
		if code, _, stderr := calibra(t, append(slices.Clone(args), more...)...); code != exitUsage || !strings.Contains(stderr, want) {
			t.Errorf("%v exits %d without %q: %s", more, code, want, stderr)
		}
	}
}

// TestStudyInSlurmArray: an array's numbers name shares unless they have gaps, and --shard
// wins over them.
func TestStudyInSlurmArray(t *testing.T) {
	for _, c := range []struct{ id, count, min, max, step, want string }{
		{"3", "4", "", "", "", "3/4"}, {"0", "4", "0", "3", "1", "1/4"}, {"7", "4", "1", "7", "2", "4/4"}, {"2", "1", "2", "2", "1", "1/1"},
		{"6", "3", "3", "6", "1", ""}, {"3", "3", "3", "6", "1", ""}, {"5", "4", "", "", "", ""}, {"x", "4", "", "", "", ""},
	} {
		for name, value := range map[string]string{"ID": c.id, "COUNT": c.count, "MIN": c.min, "MAX": c.max, "STEP": c.step} {
			t.Setenv("SLURM_ARRAY_TASK_"+name, value)
		}
		quiet := &terminal{out: os.Stdout, err: os.Stderr, quiet: true}
		g := gridFlags{}
		err := g.settle(quiet)
		if g.Shard != c.want || (err != nil) != (c.want == "") {
			t.Errorf("task %v is share %q, want %q (%v)", c, g.Shard, c.want, err)
		}
		if err != nil && (ExitCode(err) != exitUsage || !strings.Contains(err.Error(), "--shard i/n")) {
			t.Errorf("task %v: %v", c, err)
		}
		g = gridFlags{Shard: "1/1"}
		if err := g.settle(quiet); err != nil || g.Shard != "1/1" {
			t.Errorf("task %v overrules --shard 1/1 by %q (%v)", c, g.Shard, err)
		}
	}
}
