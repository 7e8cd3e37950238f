package cli

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/data/disk"
	"calibra/experiments/method"

	"github.com/alecthomas/kong"
)

// commands are all commands of the program with their flags.
func commands(t *testing.T) []*kong.Node {
	t.Helper()
	parser, err := newParser(t.Context(), everyCommand, testTerminal(), method.NewCatalog())
	if err != nil {
		t.Fatal(err)
	}
	return parser.Model.Children
}

// TestTrafficIsComplete: every path of every command is read, or written as the command says.
func TestTrafficIsComplete(t *testing.T) {
	others := map[string]string{
		"study --cells":     "cells are named by the digest of what they are made of",
		"fit --tensorboard": events, "compare --tensorboard": events, "study --tensorboard": events, "pretrain --tensorboard": events,
	}
	for _, command := range commands(t) {
		for _, flag := range command.Flags {
			if flag.Tag.Type == "" && flag.Name != "data" {
				continue
			}
			name := command.Name + " --" + flag.Name
			value := reflect.New(flag.Target.Type()).Elem()
			const place = "/nowhere/x.npz"
			switch value.Kind() {
			case reflect.String:
				value.SetString(place)
			case reflect.Slice:
				value.Set(reflect.ValueOf([]string{place}))
			default:
				t.Fatalf("%s is a path in a %v", name, value.Type())
			}
			flag.Target.Set(value)
			of := trafficOf(command)
			known := slices.ContainsFunc(slices.Concat(of.reads, of.files, of.folder.paths(), of.drawn.paths()), func(path string) bool { return strings.HasPrefix(path, place) })
			flag.Target.SetZero()
			if known == (others[name] != "") {
				t.Errorf("%s is in traffic: %v; its reason not to be there: %q; a path that is read has a type of "+
					"readTypes in traffic.go, and what is written is named by the command's files or folder",
					name, known, others[name])
			}
		}
	}
}

// TestTrafficBesideFlags: settings files, what a fit says beside its predictions and tables of raw rows are read too.
func TestTrafficBesideFlags(t *testing.T) {
	dir := t.TempDir()
	rows := filepath.Join(dir, "shifts_canonical_eval.csv")
	if err := os.WriteFile(rows, []byte("a,b\n1,2\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, command := range commands(t) {
		var want string
		switch c := command.Target.Addr().Interface().(type) {
		case *fitCmd:
			want, c.Set = "mine.yaml", []string{"optim.rate=1", "mine.yaml"}
		case *evaluateCmd:
			want, c.In = filepath.Join(dir, "metrics.json"), filepath.Join(dir, "predictions.npz")
		case *pretrainCmd:
			want, c.Data = rows, dir
		default:
			continue
		}
		if reads := trafficOf(command).reads; !slices.Contains(reads, want) {
			t.Errorf("%s reads %v, not %s", command.Name, reads, want)
		}
	}
}

const events = "holds folders of event files, which other programs alone read"

// TestLimitsAreComplete: every flag of whole numbers has its limit, and no other has one.
func TestLimitsAreComplete(t *testing.T) {
	for _, command := range commands(t) {
		for _, flag := range command.Flags {
			whole := flag.Target.Type() == reflect.TypeFor[int]() || flag.Target.Type() == reflect.TypeFor[*int]()
			if whole != (flag.Tag.Get("most") != "") {
				t.Errorf("%s --%s has the limit %q; the tag most:\"N\" is of flags of whole numbers, of each",
					command.Name, flag.Name, flag.Tag.Get("most"))
			}
		}
	}
}

// TestLimits: a number beyond its limit is refused before any work.
func TestLimits(t *testing.T) {
	in, out := write(t, features(60)), filepath.Join(t.TempDir(), "run")
	for _, args := range [][]string{
		{"compare", "--in", in, "--out", out, "--jobs", "1000000"},
		{"compare", "--in", in, "--out", out, "--seeds", "0-999999999"},
		{"fit", "--method", "vq", "--in", in, "--out", out, "--codewords", "1000000000"},
		{"fit", "--method", "vq", "--in", in, "--out", out, "--slots", "1000000000"},
		{"evaluate", "--in", in, "--redraws", "2000000000"},
		{"evaluate", "--in", in, "--replicates", "2000000000"},
		{"evaluate", "--in", in, "--bins", "2000000000"},
		{"study", "main", "--data", "letter", "--out", out, "--jobs", "1000000"},
		{"pretrain", "--data", "letter", "--out", out, "--network", `{"hidden":[1000000000]}`, "--encoder", "mlp"},
		{"pretrain", "--data", "letter", "--out", out, "--network", `{"block":1000000000}`},
		{"pretrain", "--data", "letter", "--out", out, "--network", `{"blocks":1000000000}`},
		{"pretrain", "--data", "letter", "--out", out, "--network", `{"token":1000000,"heads":1}`, "--encoder", "ftt"},
		{"pretrain", "--data", "letter", "--out", out, "--network", `{"hidden":[60000,60000,60000]}`, "--encoder", "mlp"},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "most") && !strings.Contains(stderr, "more than") {
			t.Errorf("%s: exit code %d, %s", strings.Join(args, " "), code, stderr)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something was written")
	}
}

// TestInputsAreKept: no command writes over what it reads, under whatever name.
func TestInputsAreKept(t *testing.T) {
	in, run := write(t, features(300)), filepath.Join(t.TempDir(), "run")
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", run); code != 0 {
		t.Fatal(stderr)
	}
	linked := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			if err := os.Link(in, filepath.Join(dir, name)); err != nil {
				t.Skip(err) // a file system without links
			}
		}
		return dir
	}
	symbolic := filepath.Join(t.TempDir(), "metrics.json")
	if err := os.Symlink(in, symbolic); err != nil {
		t.Skip(err)
	}
	model, predictions := filepath.Join(run, "model.safetensors"), filepath.Join(run, "predictions.npz")
	own := linked("predictions.npz", "results.csv", "reliability-top.png", "x.npz")
	report := filepath.Join(t.TempDir(), "report.html")
	compared := disk.NewFolder(filepath.Dir(report), "compare")
	if err := errors.Join(compared.WriteBytes("report.html", []byte("a report")), compared.Commit()); err != nil {
		t.Fatal(err)
	}
	before := map[string][]byte{}
	for _, path := range []string{in, model, predictions, filepath.Join(run, "config.json"), report} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		before[path] = text
	}
	for _, args := range [][]string{
		{"fit", "--method", "ts", "--in", predictions, "--out", run},
		{"fit", "--method", "ts", "--in", filepath.Join(own, "predictions.npz"), "--out", own},
		{"fit", "--method", "ts", "--in", in, "--out", own},
		{"fit", "--method", "ts", "--in", in, "--out", filepath.Dir(symbolic)},
		{"compare", "--methods", "ts", "--seeds", "42", "--in", in, "--out", own},
		{"study", "main", "--data", in, "--out", own},
		{"study", "main", "--data", in, "--shifted", filepath.Join(own, "x.npz"), "--out", own},
		{"evaluate", "--in", filepath.Join(own, "results.csv"), "--figures", own},
		{"evaluate", "--in", predictions, "--html", filepath.Dir(report)},
		{"evaluate", "--in", predictions, "--html", report},
		{"apply", "--model", run, "--in", in, "--out", model},
		{"apply", "--model", model, "--in", in, "--out", model},
		{"apply", "--model", run, "--in", in, "--out", in},
		{"apply", "--model", run, "--in", in, "--out", filepath.Join(own, "x.npz")},
		{"apply", "--model", run, "--in", in, "--out", predictions},
		{"pretrain", "--data", "letter", "--weights", filepath.Join(own, "x.npz"), "--out", linked("weights.safetensors")},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "name another") {
			t.Errorf("%s: exit code %d, %s", strings.Join(args, " "), code, stderr)
		}
	}
	for path, text := range before {
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, text) {
			t.Errorf("%s is another file now (%v)", path, err)
		}
	}
}

// TestMixedFolder: a folder whose files are of two runs is refused by what reads it.
func TestMixedFolder(t *testing.T) {
	in, run, other := write(t, features(300)), filepath.Join(t.TempDir(), "run"), filepath.Join(t.TempDir(), "other")
	for method, out := range map[string]string{"ts": run, "vector": other} {
		if code, _, stderr := calibra(t, "fit", "--in", in, "--method", method, "--out", out); code != 0 {
			t.Fatal(stderr)
		}
	}
	if err := os.Rename(filepath.Join(other, "model.safetensors"), filepath.Join(run, "model.safetensors")); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"apply", "--model", run, "--in", in, "--out", filepath.Join(t.TempDir(), "x.npz")},
		{"evaluate", "--in", filepath.Join(run, "predictions.npz")},
	} {
		code, _, stderr := calibra(t, args...)
		if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "different runs") {
			t.Errorf("%s: exit code %d, %s", args[0], code, stderr)
		}
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", run); code != 0 {
		t.Errorf("a new fit: %s", stderr)
	}
	if code, _, stderr := calibra(t, "evaluate", "--in", filepath.Join(run, "predictions.npz"), "--redraws", "0"); code != 0 {
		t.Errorf("what it wrote: %s", stderr)
	}
}
