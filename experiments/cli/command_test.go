package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/study"
	"calibra/experiments/verdict"
	"calibra/graph/work"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

func TestGreetingVersionAndHelp(t *testing.T) {
	for want, args := range map[string][]string{
		"calibra quickstart":     {},
		"CPU units ":             {"--version"},
		"calibra fit --in=F.npz": {"help", "fit"},
		"Exit codes:":            {"help"},
		" 70  ":                  {"fit", "--help", "--all"},
		"--tensorboard=DIR":      {"help", "fit", "--all"},
	} {
		code, stdout, stderr := calibra(t, args...)
		if code != 0 || !strings.Contains(stdout, want) || stderr != "" {
			t.Errorf("%v exits %d, without %q: %s%s", args, code, want, stdout, stderr)
		}
	}
}

// TestDidYouMean: a misspelt name is answered with the nearest one.
func TestDidYouMean(t *testing.T) {
	in, out := write(t, features(60)), filepath.Join(t.TempDir(), "out")
	for want, args := range map[string][]string{
		`"fit"`:                      {"fitt"},
		`"--method"`:                 {"fit", "--methd", "vq"},
		"did you mean corrected?":    {"fit", "--in", in, "--method", "corected", "--out", out},
		"did you mean vq-dc?":        {"compare", "--in", in, "--methods", "vqdc", "--out", out},
		"did you mean ablate-slots?": {"study", "ablate-slot", "--data", "letter", "--out", out},
		"did you mean satellite?":    {"study", "main", "--data", "satelite", "--out", out},
		"did you mean optim.rate?":   {"fit", "--method", "vq", "--in", in, "--set", "optim.rat=1", "--out", out},
		"did you mean resmlp?":       {"pretrain", "--data", "letter", "--encoder", "resmpl", "--out", out},
		"did you mean triangular?":   {"theory", "triangulr"},
		"--replicates is 1; it must": {"theory", "rate", "--replicates", "1"},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Fatalf("%v leaves %s behind", args, out)
		}
	}
}

// TestNarrow: output is as narrow as COLUMNS says; without it what goes to no terminal is whole. It has no escape
// codes, and its last line is a result and no path.
func TestNarrow(t *testing.T) {
	const narrow = 80
	t.Setenv("COLUMNS", strconv.Itoa(narrow))
	in, dir := write(t, features(160)), t.TempDir()
	fitted := filepath.Join(dir, "fit")
	for _, args := range [][]string{
		append([]string{"fit", "--method", "vq", "--in", in, "--out", fitted}, small...),
		{"fit", "--in", in, "--method", "pool", "--out", filepath.Join(dir, "pool")},
		{"evaluate", "--in", filepath.Join(fitted, "predictions.npz")},
		{"compare", "--in", in, "--methods", "nc,ts,dc-published", "--seeds", "1,2", "--out", filepath.Join(dir, "c")},
		{"study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1,2", "--out", filepath.Join(dir, "s")},
		{"diagnose", "--in", fitted, "--redraws", "19", "--rows", "20", "--out", filepath.Join(dir, "d")},
		{"apply", "--model", fitted, "--in", in, "--out", filepath.Join(dir, "p.npz")},
		{"export", "--model", fitted, "--onnx", filepath.Join(dir, "m.onnx")},
		{"study"}, {"methods"}, {"methods", "ln"}, {"methods", "vq"}, {"info"}, {"theory", "fast", "propositions"}, {"help", "fit"}, {},
	} {
		code, stdout, stderr := calibra(t, args...)
		if code != 0 {
			t.Fatalf("%v exits %d: %s", args, code, stderr)
		}
		for _, line := range strings.Split(stdout, "\n") {
			if utf8.RuneCountInString(strings.ReplaceAll(line, dir, "DIR")) > narrow || strings.Contains(line, "\x1b") {
				t.Errorf("%v prints %d columns: %q", args, utf8.RuneCountInString(line), line)
			}
		}
		if strings.Contains(stdout, "**") {
			t.Errorf("%v prints asterisks", args)
		}
		lines := strings.Split(strings.TrimSpace(stdout), "\n")
		if last := lines[len(lines)-1]; strings.HasPrefix(last, "wrote ") || strings.Contains(last, dir) {
			t.Errorf("%v ends with a path: %s", args, last)
		}
	}
	q := &quick{weighed: weighed{verdict: &verdict.Verdict{}}} // whose numbers take minutes
	for _, m := range quickMethods {
		none := &metrics.Report{}
		fitted := &run.Run{Spec: run.Spec{Method: m.name}, Outcome: &run.Outcome{Metrics: none}}
		q.runs = append(q.runs, study.Weighed{Run: fitted, Title: m.name, Floors: none})
	}
	var quickstart strings.Builder
	dropped := report.Screen{Width: narrow}.Write(&quickstart, report.Part{Table: q.table()})
	if line, _, _ := strings.Cut(quickstart.String(), "\n"); len(line) > narrow || len(dropped) > 3 { // class-wise ECE with its floor, and MLCE
		t.Errorf("the table of quickstart takes %d columns without %v", len(line), dropped)
	}
	evaluate := []string{"evaluate", "--in", filepath.Join(fitted, "predictions.npz")}
	if _, stdout, stderr := calibra(t, evaluate...); strings.Contains(stdout, "95th pct") || !strings.Contains(stderr, "95th pct") {
		t.Errorf("80 columns hold the whole table, or what is left out is not told: %s%s", stdout, stderr)
	}
	os.Unsetenv("COLUMNS")
	if _, stdout, stderr := calibra(t, evaluate...); !strings.Contains(stdout, "95th pct") || strings.Contains(stderr, "95th pct") {
		t.Errorf("a pipe gets less than the whole table: %s%s", stdout, stderr)
	}
}

// TestJSON: every command that prints a table has it as JSON, and nothing else on stdout.
func TestJSON(t *testing.T) {
	in, dir := write(t, features(160)), t.TempDir()
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "pool", "--out", filepath.Join(dir, "pool")},
		{"compare", "--in", in, "--methods", "nc,ts", "--seeds", "1", "--out", filepath.Join(dir, "c")},
		{"study", "main", "--data", in, "--methods", "nc", "--seeds", "1", "--out", filepath.Join(dir, "s")},
		{"study"}, {"methods"}, {"methods", "vq"}, {"info"}, {"theory", "fast", "propositions"},
		{"pretrain", "--data", "digits", "--epochs", "1", "--out", filepath.Join(dir, "e")},
	} {
		code, stdout, stderr := calibra(t, append(args, "--json", "--quiet")...)
		if code != 0 || !json.Valid([]byte(stdout)) {
			t.Errorf("%v exits %d: %s%s", args, code, stdout, stderr)
		}
	}
}

// TestQuiet: no notes.
func TestQuiet(t *testing.T) {
	in := write(t, features(160))
	code, _, stderr := calibra(t, append([]string{"fit", "--quiet", "--method", "vq", "--in", in, "--out", filepath.Join(t.TempDir(), "run")}, small...)...)
	if code != 0 || stderr != "" {
		t.Errorf("exits %d and says %q", code, stderr)
	}
}

// TestPanicIsOneSentence with the place of the fault, and exit code 70.
func TestPanicIsOneSentence(t *testing.T) {
	broken := method.Method{Name: "broken", Line: "a bug", Needs: []string{"logits"}, New: func(*method.Options) layers.Stateful { panic("out of\nrange") }}
	var code int
	stderr := captured(t, &os.Stderr, func() {
		code = execute([]string{"fit", "--in", write(t, features(60)), "--method", "broken", "--out", filepath.Join(t.TempDir(), "run")}, broken)
	})
	if code != exitInternal || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "command_test.go:") || !strings.Contains(stderr, "report") {
		t.Errorf("exits %d: %s", code, stderr)
	}
	t.Setenv("CALIBRA_TRACE", "1")
	stderr = captured(t, &os.Stderr, func() {
		execute([]string{"fit", "--in", write(t, features(60)), "--method", "broken", "--out", filepath.Join(t.TempDir(), "run")}, broken)
	})
	if !strings.Contains(stderr, "\ncalibra/experiments/cli.execute\n") {
		t.Errorf("CALIBRA_TRACE=1 prints no stack: %s", stderr)
	}
}

// faulty panics while it is fitted, in whatever goroutine takes the block.
type faulty struct{ layers.Stateful }

func (faulty) Block(int) { panic("out of\nrange") }

func (f faulty) Fit(context.Context, *data.Set, *data.Set, *rand.Rand) error {
	work.Run(100, f)
	return nil
}

// TestPanicOfAnotherGoroutine is one sentence too, with the place where it began, whether
// one fit ends by it or one of many.
func TestPanicOfAnotherGoroutine(t *testing.T) {
	in := write(t, features(60))
	broken := method.Method{Name: "broken", Line: "a bug", Needs: []string{"logits"}, New: func(*method.Options) layers.Stateful { return faulty{} }}
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "broken"},
		{"compare", "--in", in, "--methods", "nc,broken", "--seeds", "1,2", "--jobs", "2"},
		{"study", "main", "--data", in, "--methods", "nc,broken", "--seeds", "1,2", "--jobs", "1"},
	} {
		var code int
		var stdout string
		stderr := captured(t, &os.Stderr, func() {
			stdout = captured(t, &os.Stdout, func() {
				code = execute(append(args, "--quiet", "--json", "--out", filepath.Join(t.TempDir(), "run")), broken)
			})
		})
		if args[0] != "fit" && !strings.Contains(stdout, `"key": "failed"`) {
			t.Errorf("%v has no note of the cells that failed: %s", args, stdout)
		}
		lines := strings.Split(strings.TrimSpace(stderr), "\n")
		if last := lines[len(lines)-1]; code != exitInternal || !strings.Contains(last, "command_test.go:") || !strings.Contains(last, "report") || strings.Contains(stderr, "goroutine ") {
			t.Errorf("%v exits %d: %s", args, code, stderr)
		}
		if args[0] == "fit" && len(lines) != 1 {
			t.Errorf("%v says %q", args, lines)
		}
	}
}

// TestGuideHasTheExitCodes that --help has.
func TestGuideHasTheExitCodes(t *testing.T) {
	text, err := os.ReadFile("../results/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows strings.Builder
	for _, c := range exitCodes {
		fmt.Fprintf(&rows, "| %d | %s |\n", c.code, c.what)
	}
	if !strings.Contains(string(text), "|--:|---|\n"+rows.String()+"\n") {
		t.Errorf("results/guide.md has no table of the exit codes as they are:\n%s", &rows)
	}
}

// TestExitCodeOfErrors: a full disk is no mistake of the user's, whatever file it was about.
func TestExitCodeOfErrors(t *testing.T) {
	for want, err := range map[int]error{
		exitFailure: data.Inputf("model", "cannot be written: %w", &os.PathError{Op: "open", Path: "model", Err: syscall.ENOSPC}),
		exitUsage:   data.Inputf("model", "cannot be written: %w", &os.PathError{Op: "open", Path: "model", Err: syscall.EACCES}),
		0:           nil,
	} {
		if got := ExitCode(err); got != want {
			t.Errorf("%v exits %d, not %d", err, got, want)
		}
	}
	if got := ExitCode(fmt.Errorf("fit: %w", errors.New("it failed"))); got != exitFailure {
		t.Errorf("a failure exits %d", got)
	}
}

// TestSentences of mistakes that were told badly, or not at all.
func TestSentences(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	in, out := write(t, features(60)), filepath.Join(dir, "out")
	unlogged := features(60)
	unlogged = []data.Array{unlogged[0], unlogged[2], unlogged[3], unlogged[5]}
	predicted := filepath.Join(dir, "p.npz")
	if err := disk.WriteNPZ(predicted, data.Array{Name: "probs", Value: mat.NewDense(2, 2, []float64{.5, .5, .5, .5})}, data.Array{Name: "labels", Value: []int{0, 1}}); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"fit lacks --out=DIR; write, for example, calibra fit --in": {"fit", "--in", in},
		"there is no command nope; calibra help lists all":          {"nope"},
		"such as calibra study main --data letter --out runs/main":  {"study", "main"},
		"is a file; name a directory":                               {"study", "main", "--data", in, "--methods", "nc", "--out", file},
		"ts: ":                                                      {"compare", "--in", write(t, unlogged), "--methods", "ts", "--out", out},
		"at least 40":                                               {"evaluate", "--in", predicted, "--replicates", "20"},
		"must be a number > 0":                                      {"fit", "--method", "vq", "--in", in, "--set", "optim.rate=-1", "--out", out},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || !strings.Contains(stderr, want) || strings.Contains(stderr, "None") || strings.Contains(stderr, "0 classes") {
			t.Errorf("%v exits %d without %q: %s", args, code, want, stderr)
		}
	}
}

// TestMethodsAreGrouped: the recommended one first, variants and controls last and only where all are asked for.
func TestMethodsAreGrouped(t *testing.T) {
	order := []string{"recommended", "paper", "baseline", "variant", "control"}
	listed := func(args ...string) (groups []string, methods int) {
		code, stdout, stderr := calibra(t, append([]string{"methods", "--json"}, args...)...)
		var all []struct{ Group string }
		if err := json.Unmarshal([]byte(stdout), &all); code != 0 || err != nil {
			t.Fatalf("methods exits %d (%v): %s", code, err, stderr)
		}
		for _, m := range all {
			groups = append(groups, m.Group)
		}
		return slices.Compact(groups), len(all)
	}
	few, shown := listed()
	all, whole := listed("--all")
	if !slices.Equal(few, order[:3]) || !slices.Equal(all, order) || whole != len(method.All) || shown >= whole {
		t.Errorf("%d methods are of the groups %q, all %d of %q", shown, few, whole, all)
	}
}
