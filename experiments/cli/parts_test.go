package cli

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/program"
	"calibra/layers"
	"calibra/optim"
	"calibra/theory"
)

// parts are a rule, a metric, a raw source and a study of the theory from outside.
func parts() []method.Part {
	return []method.Part{
		method.Rule{Name: "steady", New: func(s *method.RuleSettings) optim.Rule {
			return optim.SGD{Rate: s.Float("step", 0.01, method.Positive, "length of a step")}
		}},
		method.Metric{Key: "wrong", Title: "wrong share", Row: func(l []float64, y int) float64 {
			for _, v := range l {
				if v > l[y] {
					return 1
				}
			}
			return 0
		}},
		method.RawSource{Name: "mine", Line: "letters, a comma between them", Open: func(rest string, s data.RawSettings, rng *rand.Rand) (*data.Raw, error) {
			t, err := data.OpenCSV(rest, "")
			if err != nil {
				return nil, err
			}
			t.Name = "of-mine"
			return t.Divide(s, rng)
		}},
		Study(theory.NewStudy("asked", "what is asked", theory.Question{
			Population: theory.Population{Design: theory.Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 1}},
			Estimator:  theory.Estimator{Map: layers.Dirichlet{}}, Replicates: 4,
		})),
	}
}

// TestTheoryOfAPart: a study from outside is one of theory, listed and run by its name.
func TestTheoryOfAPart(t *testing.T) {
	if code, stdout, stderr := with(t, "theory", "asked", "--json"); code != 0 || !strings.Contains(stdout, `"study": "asked"`) {
		t.Errorf("exits %d: %s%s", code, stdout, stderr)
	}
	if _, stdout, _ := with(t, "help", "theory"); !strings.Contains(stdout, "asked") {
		t.Errorf("the help lists no study from outside:\n%s", stdout)
	}
	if code, _, stderr := with(t, "theory", "askd"); code != exitUsage || !strings.Contains(stderr, "did you mean asked?") {
		t.Errorf("a slip exits %d: %s", code, stderr)
	}
}

// with runs the command with the parts.
func with(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	stderr = captured(t, &os.Stderr, func() {
		stdout = captured(t, &os.Stdout, func() { code = execute(args, parts()...) })
	})
	return code, stdout, stderr
}

func readText(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestProgramFromOutside: a program of another name is called by that.
func TestProgramFromOutside(t *testing.T) {
	args := os.Args
	defer func() { os.Args = args }()
	os.Args = []string{filepath.Join(t.TempDir(), "mine")}
	if got := program.Called("calibra fit --in F"); got != os.Args[0]+" fit --in F" {
		t.Errorf("it is called %s", got)
	}
}

// TestRuleFromOutside: it trains a stage by its own settings alone; those of other rules are
// none of that stage, and a command without the rule says that it is not known.
func TestRuleFromOutside(t *testing.T) {
	in, out := write(t, features(200)), filepath.Join(t.TempDir(), "fit")
	args := []string{"fit", "--in", in, "--method", "vq", "--set", "codebook.codewords=8", "--out", out, "--set", "optim.epochs=3", "--set", "calibrate.rule=steady"}
	if code, _, stderr := with(t, append(args, "--set", "calibrate.step=0.1")...); code != 0 {
		t.Fatalf("fit exits %d: %s", code, stderr)
	}
	var config struct{ Settings map[string]any }
	if err := json.Unmarshal([]byte(readText(t, out, "config.json")), &config); err != nil {
		t.Fatal(err)
	}
	if config.Settings["calibrate.step"] != 0.1 || config.Settings["divide.rate"] != 1e-3 {
		t.Errorf("the settings are %v", config.Settings)
	}
	for _, dead := range []string{"calibrate.rate", "calibrate.decay", "calibrate.beta1"} {
		if _, there := config.Settings[dead]; there {
			t.Errorf("%s is a setting of a rule that has none", dead)
		}
		if code, _, stderr := with(t, append(args, "--set", dead+"=0.1")...); code != exitUsage || !strings.Contains(stderr, "no setting "+dead) {
			t.Errorf("%s is taken: %d, %s", dead, code, stderr)
		}
	}
	if code, _, stderr := with(t, "apply", "--model", out, "--in", in, "--out", filepath.Join(t.TempDir(), "p.npz")); code != 0 {
		t.Errorf("apply exits %d: %s", code, stderr)
	}
	if code, _, stderr := calibra(t, args...); code != exitUsage || !strings.Contains(stderr, "must be a word of lbfgs, adam") {
		t.Errorf("without the rule fit exits %d: %s", code, stderr)
	}
}

// TestMetricFromOutside: it stands wherever ours stand, with its interval, noise floor and test.
func TestMetricFromOutside(t *testing.T) {
	in, dir := write(t, features(200)), t.TempDir()
	for _, args := range [][]string{
		{"fit", "--in", in, "--method", "ts", "--out", filepath.Join(dir, "fit")},
		{"compare", "--in", in, "--methods", "nc,histogram", "--out", filepath.Join(dir, "compare")},
		{"study", "main", "--data", in, "--methods", "nc,ts", "--seeds", "1", "--out", filepath.Join(dir, "study")},
		{"evaluate", "--in", filepath.Join(dir, "fit", "predictions.npz"), "--html", filepath.Join(dir, "evaluate.html")},
	} {
		code, stdout, stderr := with(t, args...)
		if code != 0 {
			t.Fatalf("%s exits %d: %s", args[0], code, stderr)
		}
		if args[0] == "evaluate" && !strings.Contains(stdout, "wrong share") {
			t.Errorf("evaluate prints\n%s", stdout)
		}
	}
	for path, want := range map[string][]string{
		"fit/metrics.json":     {`"wrong":`},
		"compare/results.csv":  {",shared,wrong,"},
		"compare/metrics.json": {`"wrong"`, `"p_holm"`},
		"compare/report.html":  {"wrong share difference"},
		"study/results.csv":    {",wrong,", "wrong_noise"},
		"study/report.html":    {"wrong share noise"},
		"evaluate.html":        {"wrong share"},
	} {
		for _, text := range want {
			if got := readText(t, dir, path); !strings.Contains(got, text) {
				t.Errorf("%s has no %q", path, text)
			}
		}
	}
	var summary struct {
		Methods map[string]struct {
			Against map[string]any `json:"against_best"`
		}
	}
	if err := json.Unmarshal([]byte(readText(t, dir, "compare", "metrics.json")), &summary); err != nil {
		t.Fatal(err)
	}
	tested := 0
	for _, m := range summary.Methods {
		if m.Against["wrong"] != nil {
			tested++
		}
	}
	if tested != 1 {
		t.Errorf("%d of two methods are tested against the better one", tested)
	}
}

// TestSourceFromOutside: its rows train a network, are encoded and studied.
func TestSourceFromOutside(t *testing.T) {
	dir := t.TempDir()
	rng := rand.New(rand.NewPCG(1, 0))
	var text strings.Builder
	text.WriteString("a,b,c,label\n")
	for range 400 {
		y := rng.IntN(2)
		for range 3 {
			text.WriteString(string(rune('0'+rng.IntN(5)+4*y)) + ",")
		}
		text.WriteString([]string{"no\n", "yes\n"}[y])
	}
	file := filepath.Join(dir, "rows.table")
	if err := os.WriteFile(file, []byte(text.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	network, encoded := filepath.Join(dir, "network"), filepath.Join(dir, "rows.npz")
	for _, args := range [][]string{
		{"pretrain", "--data", "mine:" + file, "--encoder", "mlp", "--network", `{"hidden":[4]}`, "--epochs", "2", "--out", network},
		{"encode", "--model", network, "--out", encoded},
		{"fit", "--in", encoded, "--method", "ts", "--out", filepath.Join(dir, "fit")},
		{"fit", "--in", "mine:" + file, "--method", "ts", "--out", filepath.Join(dir, "own")},
		{"apply", "--in", "mine:" + file, "--model", filepath.Join(dir, "own"), "--out", filepath.Join(dir, "own.npz")},
		{"study", "main", "--data", "mine:" + file, "--methods", "nc,ts", "--seeds", "1", "--out", filepath.Join(dir, "study")},
	} {
		if code, _, stderr := with(t, args...); code != 0 {
			t.Fatalf("%s exits %d: %s", args[0], code, stderr)
		}
	}
	if got := readText(t, dir, "study", "results.csv"); !strings.Contains(got, "of-mine") {
		t.Errorf("the study is not of its rows:\n%s", got)
	}
	if code, _, stderr := with(t, "study", "main", "--data", "mime:"+file, "--out", filepath.Join(dir, "none")); code != exitUsage || !strings.Contains(stderr, "mine:") {
		t.Errorf("an unknown source: %d, %s", code, stderr)
	}
	for _, command := range []string{"pretrain", "encode", "study"} {
		if _, help, _ := with(t, command, "--help"); !strings.Contains(strings.Join(strings.Fields(help), " "), "Or mine:REST, letters, a comma between them.") {
			t.Errorf("%s --help does not tell of the source", command)
		}
	}
	if names := method.NewCatalog(parts()...).RawSources(); !slices.ContainsFunc(names, func(s data.RawSource) bool { return s.Name == "mine" }) {
		t.Error("the catalog has no source")
	}
}
