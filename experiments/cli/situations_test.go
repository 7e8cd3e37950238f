package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/metrics"
	"calibra/experiments/verdict"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/sampleuv"
)

// situation is made data of which the right verdict is known before a command is asked. Of each row the features x ~
// N(0, I) give the true scores s, and these the label: P(y) = softmax(s). The classifier says something else.
type situation struct {
	name, truth     string
	rows            [2]int                                      // for calibration and for test
	classes         int                                         // 0 is 3
	says            func(s, x []float64, y int, rng *rand.Rand) // turns s into the classifier's logits
	rarely          bool                                        // the last class is hardly seen
	seen            func(s []float64, y int)                    // turns the logits of calibration rows into what the classifier says of those it was trained on
	keep            []float64                                   // the share of the test rows of each class that is kept; nil for all
	moved           float64                                     // by which the first feature of the test rows is moved
	copies          int                                         // of each test row; 0 is 1
	weighted, group bool
	bare            bool   // without features
	method, methods string // what fit and compare are asked for
	seeds           string
	set             []string
	study           bool // asked of study main too
}

// times says the true scores times a number.
func times(by float64) func(s, x []float64, y int, rng *rand.Rand) {
	return func(s, x []float64, y int, rng *rand.Rand) {
		for c := range s {
			s[c] *= by
		}
	}
}

// inGroup says the true scores times a number in group 1, where the second feature is above 0, and times another
// elsewhere.
func inGroup(there, elsewhere float64) func(s, x []float64, y int, rng *rand.Rand) {
	return func(s, x []float64, y int, rng *rand.Rand) {
		if x[1] > 0 {
			times(there)(s, x, y, rng)
			return
		}
		times(elsewhere)(s, x, y, rng)
	}
}

// whereTop says the true scores times a number where the class is on top.
func whereTop(class int, by float64) func(s, x []float64, y int, rng *rand.Rand) {
	return func(s, x []float64, y int, rng *rand.Rand) {
		if floats.MaxIdx(s) == class {
			times(by)(s, x, y, rng)
		}
	}
}

var situations = []situation{
	{name: "better", study: true, truth: "The classifier is overconfident by 2.5; one temperature mends it.", rows: [2]int{400, 400}, says: times(2.5), method: "ts", methods: "nc,ts"},
	{name: "worse", study: true, truth: "The classifier is right; isotonic regression on 60 rows is not.", rows: [2]int{60, 800}, says: times(1), method: "ir", methods: "nc,ir,histogram"},
	{name: "equal", truth: "The classifier is right; many rows say so.", rows: [2]int{2000, 2000}, says: times(1), method: "ts", methods: "nc,ts,vector"},
	{name: "tied", truth: "One temperature mends all; vector scaling finds no more.", rows: [2]int{1000, 600}, says: times(2), method: "vector", methods: "nc,ts,vector"},
	{name: "few rows", truth: "The classifier is somewhat overconfident; 40 rows do not show it.", rows: [2]int{200, 40}, says: times(1.5), method: "ts", methods: "nc,ts"},
	{name: "weighted", study: true, truth: "Rows weigh 0 to 3; the classifier is overconfident by 2.", rows: [2]int{400, 400}, says: times(2), weighted: true, method: "ts", methods: "nc,ts"},
	{name: "groups", truth: "Overconfident by 4 where the first feature is above .5, right elsewhere; groups name the halves of the second.", rows: [2]int{800, 800}, group: true,
		says: func(s, x []float64, y int, rng *rand.Rand) {
			if x[0] > .5 {
				times(4)(s, x, y, rng)
			}
		}, method: "ts", methods: "nc,ts,local-ts"},
	{name: "one class hardly seen", truth: "Of four classes one has two rows in a hundred; the classifier says one in a thousand.", rows: [2]int{600, 600}, classes: 4, rarely: true,
		says: func(s, x []float64, y int, rng *rand.Rand) { s[3] -= 3 }, method: "vector", methods: "nc,ts,vector,histogram"},
	{name: "perfect", truth: "The classifier never errs and is sure of it.", rows: [2]int{400, 400}, says: func(s, x []float64, y int, rng *rand.Rand) {
		for c := range s {
			s[c] = -7 + rng.Float64()
		}
		s[y] = 7
	}, method: "vector", methods: "nc,ts,vector"},
	{name: "at the floor", truth: "The predictions are calibrated; their ECE is noise.", rows: [2]int{500, 500}, says: times(1), method: "ts", methods: "nc,ts"},
	{name: "three seeds that disagree", truth: "The classifier is overconfident by 1.6; beta calibration on 40 rows, of which each seed holds out others, differs from seed to seed.", rows: [2]int{40, 500}, says: times(1.6), method: "beta", methods: "nc,beta",
		seeds: "1,2,3", set: []string{"--split", "paper"}},
	{name: "label shift", truth: "The classifier is right of calibration rows; of the test rows nine in ten that are not of class 0 are left out.", rows: [2]int{1500, 800}, says: times(1), keep: []float64{1, .1, .1}, method: "ts", methods: "nc,ts"},
	{name: "feature shift", truth: "Overconfident by 2.5; the first feature of the test rows is moved by one standard deviation, which changes no probability.", rows: [2]int{800, 800}, says: times(2.5), moved: 1, method: "ts", methods: "nc,ts"},
	{name: "one group", truth: "Overconfident by 4 in group 1, right in group 0.", rows: [2]int{1000, 1000}, group: true, says: inGroup(4, 1), method: "ts", methods: "nc,ts"},
	{name: "one class", truth: "Overconfident by 5 where it predicts class 2, right elsewhere.", rows: [2]int{1000, 1000}, says: whereTop(2, 5), method: "ts", methods: "nc,ts"},
	{name: "two causes", truth: "Overconfident by 3 in group 1 and, by 3 again, where it predicts class 2.", rows: [2]int{1000, 1000}, group: true,
		says: func(s, x []float64, y int, rng *rand.Rand) {
			inGroup(3, 1)(s, x, y, rng)
			whereTop(2, 3)(s, x, y, rng)
		}, method: "ts", methods: "nc,ts"},
	{name: "two groups", truth: "Overconfident by 1.5 in group 1, underconfident by 2.5 in group 0: no map of the logits mends both.", rows: [2]int{1500, 1500}, group: true, says: inGroup(1.5, .4), method: "ts", methods: "nc,ts"},
	{name: "rare event", truth: "Of two classes one has about three rows in a hundred; the classifier says it about four times as often.", rows: [2]int{2000, 2000}, classes: 2, rarely: true,
		says: func(s, x []float64, y int, rng *rand.Rand) { s[1] += 2 }, method: "ts", methods: "nc,ts"},
	{name: "few rows to test", truth: "Overconfident by 2; 40 test rows do not show it, 2,000 calibration rows do.", rows: [2]int{2000, 40}, says: times(2), method: "ts", methods: "nc,ts"},
	{name: "columns exchanged", truth: "The classifier is right, and its first two columns are exchanged.", rows: [2]int{600, 600}, says: func(s, x []float64, y int, rng *rand.Rand) { s[0], s[1] = s[1], s[0] }, method: "ts", methods: "nc,ts"},
	{name: "copies", truth: "Overconfident by 2; each test row is there three times.", rows: [2]int{400, 300}, says: times(2), copies: 3, method: "ts", methods: "nc,ts"},
	{name: "training rows", truth: "Right of new rows; it was trained on the calibration rows.", rows: [2]int{600, 600}, says: times(1), seen: func(s []float64, y int) { s[y] += 6 }, method: "ts", methods: "nc,ts"},
	{name: "many classes", truth: "Overconfident by 2 among 60 classes.", rows: [2]int{1500, 600}, classes: 60, says: times(2), method: "ts", methods: "nc,ts"},
	{name: "no features", truth: "Overconfident by 2.5; nothing but logits and labels is there.", rows: [2]int{400, 400}, says: times(2.5), bare: true, method: "ts", methods: "nc,ts"},
	{name: "accuracy falls", truth: "Overconfident by 15 among six classes: bins of each class, on 150 rows, lower the NLL and mix the classes up.", rows: [2]int{150, 800}, classes: 6, says: times(15), method: "histogram", methods: "nc,histogram"},
}

// files writes the situation as a features file, and its test rows as predictions and as features.
func (s *situation) files(t *testing.T, dir string) (features, predictions, rows string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(53, uint64(len(s.name))))
	classes := cmp.Or(s.classes, 3)
	scores := mat.NewDense(5, classes, nil) // of the features and 1
	for j := range 5 {
		for c := range classes {
			if scores.Set(j, c, rng.NormFloat64()); j == 4 {
				scores.Set(j, c, 0)
			}
		}
	}
	if s.rarely {
		scores.Set(4, classes-1, -3)
	}
	var all, said, seen []data.Array
	for k, part := range []string{"cal", "test"} {
		n := s.rows[k]
		x, logits, labels := mat.NewDense(n, 4, nil), mat.NewDense(n, classes, nil), make([]int, n)
		weights, groups := make([]float64, n), make([]int, n)
		for i := 0; i < n; i++ {
			row, score := x.RawRowView(i), logits.RawRowView(i)
			if from := i - i%max(s.copies, 1); k == 1 && from < i {
				copy(row, x.RawRowView(from))
				copy(score, logits.RawRowView(from))
				labels[i], weights[i], groups[i] = labels[from], weights[from], groups[from]
				continue
			}
			for j := range row {
				row[j] = rng.NormFloat64()
			}
			row[0] += s.moved * float64(k)
			p := make([]float64, classes)
			for c := range score {
				score[c] = scores.At(4, c)
				for j, v := range row {
					score[c] += v * scores.At(j, c)
				}
				p[c] = math.Exp(score[c])
			}
			labels[i], _ = sampleuv.NewWeighted(p, rng).Take()
			if k == 1 && s.keep != nil && rng.Float64() > s.keep[labels[i]] {
				i-- // another in its place
				continue
			}
			if s.says(score, row, labels[i], rng); k == 0 && s.seen != nil {
				s.seen(score, labels[i])
			}
			weights[i] = float64(rng.IntN(7)) / 2
			if row[1] > 0 {
				groups[i] = 1
			}
		}
		of := []data.Array{{Name: "features", Value: x}, {Name: "logits", Value: logits}, {Name: "labels", Value: labels}}
		if s.weighted {
			of = append(of, data.Array{Name: "weights", Value: weights})
		}
		if s.group {
			of = append(of, data.Array{Name: "groups", Value: groups})
		}
		if said, seen = of[1:], of[:1]; s.bare {
			of = said
		}
		for _, a := range of {
			all = append(all, data.Array{Name: part + "_" + a.Name, Value: a.Value})
		}
	}
	features, predictions, rows = filepath.Join(dir, "features.npz"), filepath.Join(dir, "predictions.npz"), filepath.Join(dir, "rows.npz")
	for path, arrays := range map[string][]data.Array{features: all, predictions: said, rows: seen} {
		if err := disk.WriteNPZ(path, arrays...); err != nil {
			t.Fatal(err)
		}
	}
	return features, predictions, rows
}

// judgement is a verdict as an output has it.
type judgement struct {
	Say                      string
	Method                   string
	Difference, Low, High, P *float64
	RowsNeeded               *int `json:"rows_needed"`
	Sentence                 string
	Why, Commands            []string
	Cause, Remedy            string
}

func (v judgement) text() []string { return append([]string{v.Sentence}, v.Why...) }

// question is a command that is asked of a situation, and the files in which it says its verdict too.
type question struct {
	door  string
	args  []string
	files []string
}

// questions are those of a situation whose files are there: evaluate and diagnose know of the predictions and where
// their rows lie, the last two of all rows.
func (s *situation) questions(features, predictions, rows string, at func(name string) string) []question {
	seeds := cmp.Or(s.seeds, "1")
	of := []string{"--in", predictions, "--features", rows}
	if s.bare {
		of = of[:2]
	}
	all := []question{
		{"fit", slices.Concat([]string{"fit", "--in", features, "--method", s.method, "--out", at("fit")}, s.set), []string{"fit/report.html"}},
		{"compare", slices.Concat([]string{"compare", "--in", features, "--methods", s.methods, "--seeds", seeds, "--out", at("compare")}, s.set), []string{"compare/report.html", "compare/tables.md", "compare/tables.tex"}},
		{"study", []string{"study", "main", "--data", features, "--methods", s.methods, "--seeds", seeds, "--out", at("study")}, []string{"study/report.html", "study/tables.md", "study/tables.tex"}},
		{"evaluate", slices.Concat([]string{"evaluate", "--replicates", "0", "--redraws", "59", "--html", at("evaluate.html")}, of), []string{"evaluate.html"}},
		{"diagnose", slices.Concat([]string{"diagnose", "--redraws", "99", "--rows", "20", "--out", at("diagnose")}, of), []string{"diagnose/diagnosis.html"}},
		{"evaluate all", []string{"evaluate", "--in", predictions, "--features", features, "--replicates", "0", "--redraws", "59"}, nil},
		{"diagnose all", []string{"diagnose", "--in", features, "--out", at("diagnose all")}, nil},
	}
	return slices.DeleteFunc(all, func(q question) bool { return q.door == "study" && !s.study })
}

// chosen are the situations of a test that takes long: a few of them, or all with CALIBRA_CHECK=all.
func chosen(few ...string) []situation {
	if os.Getenv("CALIBRA_CHECK") == "all" || os.Getenv("CALIBRA_UPDATE") != "" {
		return situations
	}
	return slices.DeleteFunc(slices.Clone(situations), func(s situation) bool { return !slices.Contains(few, s.name) })
}

// TestSituations: of 25 made situations each command says the same words in the terminal, on its page, in Markdown and
// LaTeX, in JSON and in Python, and the numbers in the words are those in JSON. Of one features file fit, evaluate and
// diagnose give one answer, cause and remedy, and what a remedy promises it does. What they say is
// testdata/verdicts.md, which was read before it was kept. It takes more than 5 s, as it is seven commands of each
// situation; all of them with CALIBRA_CHECK=all.
func TestSituations(t *testing.T) {
	const page = "testdata/verdicts.md"
	kept, _ := os.ReadFile(page)
	dir := t.TempDir()
	command := asShell(t, dir)
	lines := strings.Builder{}
	lines.WriteString("What commands say about made data with a known truth; `go test -run Situations ./experiments/cli` checks it.\n")
	said := map[string]map[string]judgement{}
	for _, s := range chosen("better", "label shift", "two groups", "few rows to test", "copies") {
		at := func(name string) string { return filepath.Join(dir, s.name, name) }
		if err := os.MkdirAll(at("."), 0o777); err != nil {
			t.Fatal(err)
		}
		features, predictions, rows := s.files(t, at("."))
		section := fmt.Sprintf("\n## %s\n\n%s\n\n| command | say | cause | verdict | remedy |\n|---|---|---|---|---|\n", strings.ToUpper(s.name[:1])+s.name[1:], s.truth)
		said[s.name] = map[string]judgement{}
		for _, q := range s.questions(features, predictions, rows, at) {
			v, refused := q.ask(t, s.name, at)
			if refused != "" {
				section += fmt.Sprintf("| %s | | | refuses: %s | |\n", q.door, strings.ReplaceAll(refused, at("")+"/", ""))
				continue
			}
			said[s.name][q.door] = v
			section += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", q.door, v.Say, v.Cause, strings.Join(v.text(), " "), strings.ReplaceAll(strings.Join(v.Commands, " && "), at("")+"/", ""))
		}
		if !strings.Contains(string(kept), section) && os.Getenv("CALIBRA_UPDATE") == "" {
			t.Errorf("%s is stale; CALIBRA_UPDATE=1 writes it, for you to read:\n%s", page, section)
		}
		lines.WriteString(section)
		s.agree(t, said[s.name])
		s.law(t, command, at, said[s.name])
	}
	if os.Getenv("CALIBRA_UPDATE") != "" {
		if err := os.WriteFile(page, []byte(lines.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("Python", func(t *testing.T) { inPython(t, dir, command, said) })
}

// ask asks a question, holds what the files and the terminal say to JSON, and gives the verdict, or the first line of
// the refusal.
func (q *question) ask(t *testing.T, situation string, at func(name string) string) (v judgement, refused string) {
	t.Helper()
	name := situation + ", " + q.door
	code, printed, stderr := calibra(t, append(q.args, "--json")...)
	if code == exitUsage {
		at := strings.LastIndex(strings.TrimSpace(stderr), "\n")
		return v, strings.TrimSpace(stderr[at+1:])
	}
	if code != 0 {
		t.Fatalf("%s exits %d: %s", name, code, stderr)
	}
	var object struct {
		Verdict  *judgement
		Verdicts []judgement
	}
	if err := json.Unmarshal([]byte(printed), &object); err != nil {
		t.Fatal(err)
	}
	if object.Verdict == nil {
		object.Verdict = &object.Verdicts[0]
	}
	v = *object.Verdict
	text := v.text()
	numbered(t, name, v)
	for _, file := range q.files {
		if got, err := os.ReadFile(at(file)); err != nil || !strings.Contains(plainly(filepath.Ext(file), string(got)), strings.Join(text, " ")) {
			t.Errorf("%s: %s does not say %q (%v)", name, file, strings.Join(text, " "), err)
		}
	}
	if len(situation)%3 != 0 && os.Getenv("CALIBRA_CHECK") != "all" { // asked a second time
		return v, ""
	}
	if code, printed, stderr := calibra(t, q.args...); code != 0 || !strings.HasPrefix(printed, strings.Join(text, "\n")+"\n") {
		t.Errorf("%s, exit code %d, in the terminal does not begin with %q: %.300s%s", name, code, text, printed, stderr)
	}
	return v, ""
}

// agree holds the answers from one features file to each other. A method that fit was asked for may be worse than the
// classifier, of which the others then say that it stays as it is, or be better than those that they know.
func (s *situation) agree(t *testing.T, said map[string]judgement) {
	t.Helper()
	fit, fitted := said["fit"]
	for _, door := range []string{"evaluate all", "diagnose all"} {
		v, there := said[door]
		if !there || !fitted {
			continue
		}
		want := [...]string{fit.Say, fit.Cause, fit.Method, strconv.FormatBool(strings.Contains(fit.Remedy, "--new-priors"))}
		got := [...]string{v.Say, v.Cause, v.Method, strconv.FormatBool(strings.Contains(v.Remedy, "--new-priors"))}
		if fit.Say == string(verdict.DoNotUse) {
			want = [...]string{string(verdict.Leave), string(verdict.NoCause), verdict.Classifier, "false"}
		} else if fit.Say == string(verdict.Use) && fit.Method == s.method && s.method != simplest {
			want[2] = got[2]
		}
		if got != want {
			t.Errorf("%s: %s says %q, fit %q", s.name, door, got, want)
		}
	}
}

// law runs each remedy as it is printed, in a folder of its own: the NLL of the same test rows changes by as much as
// each verdict that prints it promises, within its interval.
func (s *situation) law(t *testing.T, command string, at func(name string) string, said map[string]judgement) {
	t.Helper()
	nll := func(path string) float64 {
		p, err := data.ReadPredictions(path)
		if err != nil {
			t.Fatal(err)
		}
		return (&data.Set{Labels: p.Labels, Weights: p.Weights}).MeanNLL(p.LogProbs, metrics.LeastLogProb)
	}
	before, changes := nll(at("predictions.npz")), map[string]float64{}
	for door, v := range said {
		if v.Remedy == "" || strings.Contains(v.Remedy, "FEATURES.npz") { // a file that the command was not told
			continue
		}
		if _, done := changes[v.Remedy]; !done {
			c := exec.Command("sh", "-ec", v.Remedy)
			c.Dir = t.TempDir()
			c.Env = append(os.Environ(), "PATH="+filepath.Dir(command)+":"+os.Getenv("PATH"))
			out, err := c.CombinedOutput()
			if err != nil {
				t.Errorf("%s, %s: %s: %v: %s", s.name, door, v.Remedy, err, out)
				continue
			}
			if v.Say == string(verdict.CannotTell) { // by more rows it can
				if strings.Contains(string(out), "Cannot tell") {
					t.Errorf("%s, %s: %s cannot tell either: %s", s.name, door, v.Remedy, out)
				}
				continue
			}
			path := filepath.Join(c.Dir, "calibrated.npz")
			if _, absent := os.Stat(path); absent != nil { // the fit itself calibrates the test rows
				path = filepath.Join(c.Dir, "runs", v.Method, "predictions.npz")
			}
			changes[v.Remedy] = nll(path) - before
		}
		if change := changes[v.Remedy]; !(change >= *v.Low && change <= *v.High) {
			t.Errorf("%s, %s promises %.4f (%.4f to %.4f), and %s changes the NLL by %.4f", s.name, door, *v.Difference, *v.Low, *v.High, v.Remedy, change)
		}
	}
}

// asShell writes the command as calibra into a folder.
func asShell(t *testing.T, dir string) string {
	t.Helper()
	command := filepath.Join(dir, "calibra")
	if err := os.WriteFile(command, fmt.Appendf(nil, "#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, os.Args[0]), 0o777); err != nil {
		t.Fatal(err)
	}
	return command
}

// numbered holds the numbers of a verdict to its words: where there are any the sentence has them, or the first line
// that follows.
func numbered(t *testing.T, name string, v judgement) {
	t.Helper()
	if v.Difference == nil {
		if v.P != nil || v.Low != nil || v.High != nil {
			t.Errorf("%s: no difference, and p %v", name, v.P)
		}
		return
	}
	all := strings.Join(v.text(), " ")
	if v.Low == nil { // equal predictions
		if *v.Difference != 0 || v.High != nil || *v.P != 1 || !strings.Contains(all, "does not change the NLL") {
			t.Errorf("%s: %q, and p %v without an interval", name, all, *v.P)
		}
		return
	}
	d := verdict.Difference{Value: *v.Difference, Low: *v.Low, High: *v.High, P: *v.P}
	if d.Value < 0 {
		d.Value, d.Low, d.High = -d.Value, -d.High, -d.Low
	}
	if !strings.Contains(all, d.String()) && !strings.Contains(all, "does not change the NLL") {
		t.Errorf("%s: %q does not have the numbers of JSON, %v", name, all, &d)
	}
	if would := strings.Contains(v.Sentence, "rows would do"); would != (v.RowsNeeded != nil) || would && v.Say != string(verdict.CannotTell) {
		t.Errorf("%s: %s, and rows needed are %v", name, v.Sentence, v.RowsNeeded)
	}
}

var (
	tags   = regexp.MustCompile(`<[^>]*>`)
	spaces = regexp.MustCompile(`\s+`)
	inTeX  = strings.NewReplacer(`$-$`, "−", `$\leq$`, "≤", `$\to$`, "→", `$<$`, "<", `$>$`, ">", `\%`, "%", `\_`, "_", `\&`, "&", `\#`, "#", "--", "–")
)

// plainly is the text of a file as it is read.
func plainly(kind, text string) string {
	switch kind {
	case ".html":
		text = html.UnescapeString(tags.ReplaceAllString(text, " "))
	case ".tex":
		text = inTeX.Replace(text)
	case ".md":
		text = strings.ReplaceAll(text, "&lt;", "<")
	}
	return spaces.ReplaceAllString(text, " ")
}

// inPython asks the package the same, of the same files, and holds its verdicts to those of the command.
func inPython(t *testing.T, dir, command string, asked map[string]map[string]judgement) {
	t.Helper()
	t.Setenv("CALIBRA", command)
	t.Setenv("PYTHONPATH", "../python")
	var folders []string
	for k, s := range situations {
		if asked[s.name] != nil && !s.bare && (k%3 == 0 || os.Getenv("CALIBRA_CHECK") == "all") { // each is four processes
			folders = append(folders, filepath.Join(dir, s.name))
		}
	}
	out := casePython(t, `
import dataclasses, json, pathlib, sys, warnings
import numpy as np
import localcal
warnings.simplefilter("ignore")
said = {}
for folder in map(pathlib.Path, sys.argv[1:]):
    rows, features = np.load(folder / "predictions.npz"), np.load(folder / "rows.npz")["features"]
    p = np.exp(rows["logits"] - rows["logits"].max(1, keepdims=True))
    p /= p.sum(1, keepdims=True)
    weights = rows["weights"] if "weights" in rows else None
    groups = rows["groups"] if "groups" in rows else None
    e = localcal.evaluate(p, rows["labels"], features, sample_weight=weights, replicates=0, redraws=59).verdict
    d = localcal.diagnose(p, rows["labels"], features, sample_weight=weights, groups=groups, redraws=99, rows=20).verdict
    assert str(d).splitlines() == [d.sentence, *d.why]
    said[folder.name] = {"evaluate": dataclasses.asdict(e), "diagnose": dataclasses.asdict(d)}
print(json.dumps(said))
`, folders...)
	var said map[string]map[string]judgement
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatalf("%v: %.300s", err, out)
	}
	if len(said) != len(folders) {
		t.Errorf("Python has %d situations", len(said))
	}
	flag, names := regexp.MustCompile(`--([a-z]+) (\d+)`), strings.NewReplacer("add class_names", "pass classes") // which Python calls by its keywords
	for name, of := range said {
		for question, v := range of {
			want := asked[name][question]
			text := data.Each(want.text(), func(line string) string { return names.Replace(flag.ReplaceAllString(line, "$1=$2")) })
			if !slices.Equal(v.text(), text) || v.Say != want.Say || v.Method != want.Method || v.Cause != want.Cause || (v.RowsNeeded == nil) != (want.RowsNeeded == nil) {
				t.Errorf("%s, %s: Python says %q, the command %q", name, question, v.text(), want.text())
			}
			for k, pair := range [][2]*float64{{v.Difference, want.Difference}, {v.Low, want.Low}, {v.High, want.High}, {v.P, want.P}} {
				// The command reads logits, Python hands it probabilities: 1e-9 is what softmax and log leave.
				if (pair[0] == nil) != (pair[1] == nil) || pair[0] != nil && math.Abs(*pair[0]-*pair[1]) > 1e-9 {
					t.Errorf("%s, %s: number %d in Python is %g, and the command says %g", name, question, k, *pair[0], *pair[1])
				}
			}
		}
	}
}

// TestVerdictNumbers: numpy and scipy find the same NLLs, differences, intervals, p and rows needed from the
// predictions of fits, and say the same by the rule: of one method and of several, with weights, of one seed and of
// several.
func TestVerdictNumbers(t *testing.T) {
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("the numbers are computed again in Python: set CALIBRA_PYTHON to one with numpy and scipy")
	}
	for k, name := range []string{"worse", "few rows", "weighted", "one class hardly seen", "three seeds that disagree", "tied"} {
		if os.Getenv("CALIBRA_CHECK") != "all" && k%2 != 0 { // half of them by default
			continue
		}
		s, dir := situations[slices.IndexFunc(situations, func(s situation) bool { return s.name == name })], t.TempDir()
		at := func(name string) string { return filepath.Join(dir, name) }
		features, _, _ := s.files(t, dir)
		seeds := cmp.Or(s.seeds, "1")
		code, printed, stderr := calibra(t, slices.Concat([]string{"compare", "--in", features, "--methods", s.methods, "--seeds", seeds, "--json", "--out", at("compare")}, s.set)...)
		if code != 0 {
			t.Fatal(stderr)
		}
		var object struct{ Verdict json.RawMessage }
		if err := json.Unmarshal([]byte(printed), &object); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at("verdict.json"), object.Verdict, 0o666); err != nil {
			t.Fatal(err)
		}
		files := []string{at("verdict.json"), features}
		for _, method := range strings.Split(s.methods, ",") {
			for _, seed := range strings.Split(seeds, ",") {
				run := at(method + seed)
				if code, _, stderr := calibra(t, slices.Concat([]string{"fit", "--in", features, "--method", method, "--seed", seed, "--out", run}, s.set)...); code != 0 {
					t.Fatal(stderr)
				}
				files = append(files, method, seed, filepath.Join(run, "predictions.npz"))
			}
		}
		args := append([]string{"-B", filepath.Join("testdata", "verdict.py")}, files...)
		if out, err := exec.Command(python, args...).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

// TestCompareSaysWhere: a comparison that says which method to use says where the classifier is wrong, in the words of
// diagnose.
func TestCompareSaysWhere(t *testing.T) {
	dir := t.TempDir()
	s := situations[slices.IndexFunc(situations, func(s situation) bool { return s.name == "groups" })]
	features, _, _ := s.files(t, dir)
	var compared struct{ Verdict judgement }
	var diagnosed struct{ Found string }
	for into, args := range map[any][]string{
		&compared:  {"compare", "--in", features, "--methods", s.methods, "--seeds", "1", "--out", filepath.Join(dir, "compare")},
		&diagnosed: {"diagnose", "--in", features, "--out", filepath.Join(dir, "diagnose")},
	} {
		code, printed, stderr := calibra(t, append(args, "--json")...)
		if err := json.Unmarshal([]byte(printed), into); code != 0 || err != nil {
			t.Fatalf("%s exits %d: %v, %s", args[0], code, err, stderr)
		}
	}
	if want := "The classifier is " + diagnosed.Found + "."; compared.Verdict.Why[1] != want || !strings.Contains(want, "wrong where feature 0 > ") {
		t.Errorf("compare says %q, diagnose %q", compared.Verdict.Why, diagnosed.Found)
	}
}
