package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/experiments/verdict"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// lawRows are rows of three classes, half of them calibration rows, whose labels are drawn at a temperature of 2.
type lawRows struct {
	scores *mat.Dense // N×3
	labels []int
	names  []string // of the columns; those of the labels
}

func newLawRows() lawRows {
	const n = 800
	rng := rand.New(rand.NewPCG(6, 6))
	r := lawRows{mat.NewDense(n, 3, nil), make([]int, n), []string{"ant", "bee", "wasp"}}
	for i := range n {
		row := r.scores.RawRowView(i)
		for k := range row {
			row[k] = 2 * rng.NormFloat64()
		}
		half := []float64{row[0] / 2, row[1] / 2, row[2] / 2}
		for u := rng.Float64(); r.labels[i] < 2; r.labels[i]++ {
			if u -= math.Exp(half[r.labels[i]] - floats.LogSumExp(half)); u < 0 {
				break
			}
		}
	}
	return r
}

// as are the rows whose probabilities p are written as do says.
func (r lawRows) as(do func(p float64) float64) lawRows {
	r.scores = mat.DenseCopyOf(r.scores)
	softmax(r.scores)
	r.scores.Apply(func(_, _ int, p float64) float64 { return do(p) }, r.scores)
	return r
}

// permuted are the rows with their columns in another order, and the labels that name them; numbers of the labels stay.
func (r lawRows) permuted(order ...int) lawRows {
	scores := mat.DenseCopyOf(r.scores)
	for k, from := range order {
		scores.SetCol(k, mat.Col(nil, from, r.scores))
	}
	r.scores = scores
	r.names = data.Each(order, func(k int) string { return r.names[k] })
	return r
}

// npz writes the rows, with labels that are text unless numbered, and more arrays.
func (r lawRows) npz(path string, labels []string, more ...data.Array) error {
	half := len(r.labels) / 2
	arrays := more
	for k, part := range []string{"cal_", "test_"} {
		lo, hi := k*half, (k+1)*half
		part := func(key string, value any) { arrays = append(arrays, data.Array{Name: part + key, Value: value}) }
		part("logits", mat.DenseCopyOf(r.scores.Slice(lo, hi, 0, 3)))
		part("features", mat.NewDense(half, 2, slices.Repeat([]float64{1, 2, 3, 5, 4, 1, 2, 8}, half/4)))
		if labels == nil {
			part("labels", r.labels[lo:hi])
		} else {
			part("labels", data.Each(r.labels[lo:hi], func(y int) string { return labels[y] }))
		}
	}
	return disk.WriteArrays(path, arrays...)
}

// csv writes the rows with a column of each class, whose name begins with a prefix.
func (r lawRows) csv(path, prefix string, labels []string) error {
	text := strings.Builder{}
	fmt.Fprintf(&text, "set,label,feature_0,%s%s\n", prefix, strings.Join(r.names, ","+prefix))
	for i, y := range r.labels {
		row := r.scores.RawRowView(i)
		fmt.Fprintf(&text, "%s,%s,%d,%v,%v,%v\n", []string{"cal", "test"}[2*i/len(r.labels)], labels[y], i%7, row[0], row[1], row[2])
	}
	return os.WriteFile(path, []byte(text.String()), 0o600)
}

// law is a way to write the rows, and what every command must make of it.
type law struct {
	flags  []string
	file   string
	write  func(path string) error
	one    func(path string) error // writes the first test row alone, nil: not asked
	within float64                 // of the NLL of the rows as they are
	asked  string                  // what a refusal says, "" where none is right
	say    verdict.Say
	notes  []string // keys in JSON
}

func lawsOfMeaning() map[string]law {
	r := newLawRows()
	names, other := r.names, []string{"x 1", "y", "é"}
	classes := func(names []string) data.Array { return data.Array{Name: "class_names", Value: names} }
	turned, renamed, numbers, numbered := r.permuted(2, 0, 1), r, r, r
	numbered.names = []string{"kind2", "kind0", "kind1"}
	numbered.scores = turned.scores
	fromOne := numbered
	fromOne.names = []string{"3", "1", "2"}
	renamed.names = other
	numbers.names = nil
	shuffled := r
	shuffled.labels = slices.Concat(r.labels[1:400], r.labels[:1], r.labels[401:], r.labels[400:401])
	laws := map[string]law{
		"as they are":                  {file: "f.npz", write: func(at string) error { return r.npz(at, names, classes(names)) }},
		"numbered":                     {file: "f.npz", write: func(at string) error { return r.npz(at, nil) }},
		"renamed":                      {file: "f.npz", write: func(at string) error { return r.npz(at, other, classes(other)) }},
		"permuted, class_names":        {file: "f.npz", write: func(at string) error { return turned.npz(at, names, classes(turned.names)) }},
		"permuted, logit_NAME":         {file: "f.csv", write: func(at string) error { return turned.csv(at, "logit_", names) }},
		"permuted, numbers in names":   {file: "f.csv", write: func(at string) error { return numbered.csv(at, "logit_", data.Numerals(3)) }},
		"permuted, numerals":           {file: "f.csv", write: func(at string) error { return fromOne.csv(at, "logit_", data.Numerals(4)[1:]) }},
		"permuted, numerals of others": {file: "f.csv", asked: "the columns of the classes are 3, 1, 2, in this order, and a label is 0", write: func(at string) error { return fromOne.csv(at, "logit_", data.Numerals(3)) }},
		"permuted, class_names of numerals": {file: "f.npz", write: func(at string) error {
			moved := fromOne
			moved.labels = data.Each(r.labels, func(y int) int { return y + 1 })
			return moved.npz(at, nil, classes(fromOne.names))
		}},
		"permuted, a column of each class": {file: "f.csv", within: 1e-9, write: func(at string) error { return turned.as(math.Abs).csv(at, "prob_", names) }},
		"names alone":                      {file: "f.npz", notes: []string{"classes"}, write: func(at string) error { return r.npz(at, names) }},
		"permuted, names alone":            {file: "f.npz", asked: "the labels fit the columns better in another order", write: func(at string) error { return turned.npz(at, names) }},
		"prob_NAME of logits":              {file: "f.csv", asked: "which is no probability", write: func(at string) error { return r.csv(at, "prob_", names) }},
		"permuted, numbers":                {file: "f.npz", say: verdict.CheckRows, notes: []string{"labels"}, write: func(at string) error { return turned.npz(at, nil) }},
		"labels of other rows":             {file: "f.npz", say: verdict.CheckRows, notes: []string{"labels"}, write: func(at string) error { return shuffled.npz(at, nil) }},
		"an array that nothing reads": {file: "f.npz", notes: []string{"unread"}, write: func(at string) error {
			return r.npz(at, nil, data.Array{Name: "sample_weight", Value: make([]float64, 800)})
		}},
	}
	for of, form := range map[string]func(p float64) float64{
		"logarithms of base 2": math.Log2,
		"odds":                 func(p float64) float64 { return p / (1 - p) },
		"logarithms of odds":   func(p float64) float64 { return math.Log(p / (1 - p)) },
		"1 − p":                func(p float64) float64 { return 1 - p },
	} {
		laws["as "+of] = law{file: "f.npz", asked: "seems to hold " + of, write: func(at string) error { return r.as(form).npz(at, nil) }}
	}
	for name, form := range map[string]struct {
		scores string
		within float64 // by the resolution of the form
		do     func(p float64) float64
	}{
		"log-probabilities": {"log-probabilities", 1e-9, math.Log},
		"probabilities":     {"probabilities", 1e-9, math.Abs},
		"percent":           {"probabilities", 1e-9, func(p float64) float64 { return 100 * p }},
		"percent, rounded":  {"probabilities", 1e-3, func(p float64) float64 { return math.Round(10000*p) / 100 }},
		"uint8":             {"probabilities", 2e-2, func(p float64) float64 { return min(max(1, math.Round(256*p)), 255) }},
		"one-vs-rest":       {"one-vs-rest", 1e-9, func(p float64) float64 { return p / 2 }},
	} {
		scores := r.as(form.do)
		laws["as "+name] = law{flags: []string{"--scores", form.scores}, file: "f.npz", within: form.within,
			write: func(at string) error { return scores.npz(at, nil) },
			one: func(at string) error {
				row := mat.DenseCopyOf(scores.scores.Slice(400, 401, 0, 3))
				return disk.WriteArrays(at, data.Array{Name: "test_logits", Value: row})
			}}
	}
	return laws
}

// lawCommands are those that read rows; fit leaves the model that apply reads.
func lawCommands(dir, in string) [][]string {
	at := func(name string) string { return filepath.Join(dir, name) }
	return [][]string{
		{"fit", "--in", in, "--method", "ts", "--out", at("fit")},
		{"apply", "--in", in, "--model", at("fit"), "--out", at("p.npz")},
		{"apply", "--in", in, "--model", at("fit"), "--out", at("p.parquet")},
		{"compare", "--in", in, "--methods", "nc,ts", "--seeds", "1", "--out", at("compare")},
		append([]string{"evaluate", "--in", in}, unmeasured...),
		{"diagnose", "--in", in, "--redraws", "19", "--rows", "20", "--out", at("diagnosis")},
	}
}

// lawful is what JSON has of a command: the NLL of the methods of its verdict, and the notes.
type lawful struct {
	Verdict struct {
		Say     verdict.Say
		Methods []struct {
			Method string
			NLL    float64
		}
	}
	Notes []verdict.Note
}

// TestLawsOfMeaning: whatever the classes, the columns and the scores are called, every command reads the same rows, or
// asks what they are; and its JSON has all that is said of them.
func TestLawsOfMeaning(t *testing.T) {
	laws := lawsOfMeaning()
	right := map[string]float64{}
	for _, name := range append([]string{"as they are"}, slices.Sorted(maps.Keys(laws))...) {
		l := laws[name]
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			in := filepath.Join(dir, l.file)
			if err := l.write(in); err != nil {
				t.Fatal(err)
			}
			commands := lawCommands(dir, in)
			if slices.Contains(l.notes, "unread") {
				commands = append(commands, []string{"study", "main", "--data", in, "--methods", "nc", "--seeds", "1", "--out", filepath.Join(dir, "study")})
			}
			for _, args := range commands {
				if l.asked != "" && args[0] == "apply" {
					continue // there is no model
				}
				code, stdout, stderr := calibra(t, slices.Concat(args, l.flags, []string{"--json", "--quiet"})...)
				if l.asked != "" {
					if code != exitUsage || !strings.Contains(stderr, l.asked) {
						t.Errorf("%s exits %d: %s", args[0], code, stderr)
					}
					continue
				}
				var got lawful
				if err := json.Unmarshal([]byte(stdout), &got); err != nil {
					t.Fatalf("%s exits %d: %v: %s", args[0], code, err, stderr)
				}
				if alarm := l.say != "" && args[0] == "apply"; alarm != (code == exitCheck) || !alarm && code != 0 || l.say != "" && got.Verdict.Say != l.say {
					t.Errorf("%s exits %d and says %q: %s", args[0], code, got.Verdict.Say, stderr)
				}
				l.noted(t, args[0], got.Notes, stderr)
				for _, m := range got.Verdict.Methods {
					if want, known := right[m.Method]; l.say != "" || m.Method != "ts" && m.Method != verdict.Classifier {
						continue
					} else if !known {
						right[m.Method] = m.NLL
					} else {
						isNear(t, args[0]+": NLL of "+m.Method, m.NLL, want, l.within+1e-12)
					}
				}
			}
			if l.one != nil {
				l.alone(t, dir)
			}
		})
	}
	if len(right) != 2 {
		t.Errorf("the commands measured %v", right)
	}
}

// alone holds a row that is the only one of its file, of scores that nobody says what they are, to be predicted as
// among others.
func (l law) alone(t *testing.T, dir string) {
	t.Helper()
	in := filepath.Join(dir, "one.npz")
	if err := l.one(in); err != nil {
		t.Fatal(err)
	}
	runs := casesOf{t.TempDir(), map[string]*ran{}}
	all := (&ran{out: filepath.Join(dir, "p.npz")}).probabilities(t)
	got := runs.run(t, "apply", "--model", filepath.Join(dir, "fit"), "--in", in).probabilities(t)
	isNear(t, "furthest of one row alone", furthest(t, got, mat.DenseCopyOf(all.Slice(0, 1, 0, 3))), 0, 1e-12)
}

// noted holds the notes to have the keys of the law, and each warning.
func (l law) noted(t *testing.T, command string, notes []verdict.Note, stderr string) {
	t.Helper()
	for _, key := range l.notes {
		if command == "apply" && key == "classes" {
			continue // the model knows them
		}
		if !slices.ContainsFunc(notes, func(n verdict.Note) bool { return n.Key == key }) {
			t.Errorf("%s has no note %s: %v, %s", command, key, notes, stderr)
		}
	}
	for _, line := range strings.Split(stderr, "\n") {
		said := func(n verdict.Note) bool { return strings.HasSuffix(line, n.Text) }
		if strings.HasPrefix(line, "calibra: ") && !strings.Contains(line, errCheck.Error()) && !slices.ContainsFunc(notes, said) {
			t.Errorf("%s says %q, and its JSON does not: %v", command, line, notes)
		}
	}
}
