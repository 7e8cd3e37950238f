package cli

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the clone that the tests are of.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// parentOf is a folder with calibra in it: a copy of the clone, in which calibra is built.
func parentOf(t *testing.T) string {
	t.Helper()
	parent := t.TempDir()
	clone := filepath.Join(parent, "calibra")
	if err := os.Mkdir(clone, 0o777); err != nil {
		t.Fatal(err)
	}
	copied := exec.Command("sh", "-ec", "git ls-files -z --cached --others --exclude-standard | tar --null -T - -c | tar -x -C '"+clone+"'")
	copied.Dir = root(t)
	if out, err := copied.CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out) // no clone of git
	}
	script := fmt.Sprintf("#!/bin/sh\n%s=1 exec '%s' \"$@\"\n", asCommand, os.Args[0])
	if err := os.WriteFile(filepath.Join(clone, "calibra"), []byte(script), 0o777); err != nil {
		t.Fatal(err)
	}
	return parent
}

// followed runs commands as a reader of a text types them, in dir.
func followed(t *testing.T, dir string, commands []string) string {
	t.Helper()
	if len(commands) < 2 {
		t.Fatalf("there is nothing to follow in %q", commands)
	}
	shell := exec.Command("sh", "-ec", strings.Join(commands, "\n"))
	shell.Dir = dir
	shell.Env = append(os.Environ(), "PWD="+dir)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Fatalf("%s\n%v: %s", strings.Join(commands, "\n"), err, out)
	}
	return string(out)
}

// typed are the commands of a text, the lines with four blanks before them.
func typed(text string) (commands []string) {
	for _, line := range strings.Split(text, "\n") {
		if command, ok := strings.CutPrefix(line, "    "); ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// TestModulesAsTold: what README.md tells is followed word for word, and what the README.md of each module does; then
// four parts that users write are put in place of those that new writes: a study of rows that are a Markov chain,
// residual codes, several factors with a diagonal, and an exponential link with a penalty. It builds ten programs, so
// .ci/run asks it in a step of its own.
func TestModulesAsTold(t *testing.T) {
	if os.Getenv("CALIBRA_CHECK") != "all" {
		t.Skip("builds a program for each part: asked with CALIBRA_CHECK=all")
	}
	parent := parentOf(t)
	_, readme, _ := strings.Cut(readText(t, root(t), "README.md"), "<!-- new -->\n")
	readme, _, _ = strings.Cut(readme, "<!-- end -->")
	done := typed(readme)
	followed(t, filepath.Join(parent, "calibra"), done)
	entries, err := templates.ReadDir("internal/new")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range entries {
		dir := filepath.Join(parent, part.Name())
		first := []string{"./calibra new ../" + part.Name() + " --" + part.Name(), "cd ../" + part.Name(), "go vet ./..."}
		var before []string
		if part.Name() == "map" { // README.md wrote it to mine, and did the first of what it tells
			dir, first, before = filepath.Join(parent, "mine"), []string{"cd ../mine", "go vet ./..."}, done
		}
		followed(t, filepath.Join(parent, "calibra"), first)
		tells := typed(readText(t, dir, "README.md"))
		out := followed(t, dir, slices.DeleteFunc(tells, func(command string) bool { return slices.Contains(before, command) }))
		if !strings.Contains(out, "mine") && !strings.Contains(out, "Spherical") {
			t.Errorf("nothing names the part of %s:\n%s", part.Name(), out)
		}
		if text := readText(t, dir, "README.md"); strings.Count(text, "\n") > 10 {
			t.Errorf("the README.md of %s has more than ten lines", part.Name())
		}
	}
	byItsUser(t, parent, "markov", "study", 60)
	out := followed(t, filepath.Join(parent, "markov"), []string{"go vet ./...", "go run . theory mine"})
	if !strings.Contains(out, "bands hold") {
		t.Errorf("the study says\n%s", out)
	}
	python := os.Getenv("CALIBRA_PYTHON")
	for name, part := range map[string]string{"rvq": "codes", "rankdiagonal": "map", "exponential": "map"} {
		byItsUser(t, parent, name, part, map[string]int{"codes": 60, "map": 70}[part])
		commands := []string{"go vet ./...", "go build -o mine ."}
		if python != "" { // onnxruntime, and the package
			script := filepath.Join(root(t), "experiments/cli/testdata/module.py")
			commands = append(commands, fmt.Sprintf("PYTHONPATH='%s/experiments/python' '%s' '%s'", root(t), python, script))
		}
		out := followed(t, filepath.Join(parent, name), commands)
		if python != "" && !strings.Contains(out, "mine: NLL") {
			t.Errorf("the module %s says\n%s", name, out)
		}
	}
	// The map that is written is the one of vq, to the last bit.
	followed(t, filepath.Join(parent, "mine"), []string{"go run . fit --in digits --method vq --out runs/vq", "cmp runs/vq/predictions.npz runs/mine/predictions.npz"})
}

// byItsUser is a module as new writes it in a folder of that name, with mine.go as a user writes it: the file of
// testdata, with at most so many lines that new did not write.
func byItsUser(t *testing.T, parent, name, part string, most int) {
	t.Helper()
	followed(t, filepath.Join(parent, "calibra"), []string{"./calibra new ../" + name + " --" + part, "cd ../" + name})
	text, before, lines := readText(t, "testdata", name+".go"), readText(t, parent, name, "mine.go"), 0
	for _, line := range strings.Split(text, "\n") {
		if !slices.Contains(strings.Split(before, "\n"), line) {
			lines++
		}
	}
	if lines > most {
		t.Errorf("the module %s takes %d lines of its own", name, lines)
	}
	err := os.WriteFile(filepath.Join(parent, name, "mine.go"), []byte(text), 0o666)
	if err := cmp.Or(err, os.Remove(filepath.Join(parent, name, "mine_test.go"))); err != nil {
		t.Fatal(err)
	}
}

// moduleOfMethods writes a module with a baseline in each of two packages, whose main.go knows both.
func moduleOfMethods(t *testing.T, parent string) (dir string) {
	dir = filepath.Join(parent, "two")
	followed(t, filepath.Join(parent, "calibra"), []string{"./calibra new ../two --baseline --clone .", "cd ../two", "rm mine_test.go", "mkdir first second"})
	text := readText(t, dir, "mine.go")
	for _, name := range []string{"first", "second"} {
		own := strings.NewReplacer("package main", "package "+name, "var mine =", "var Method =", `Name: "mine"`, `Name: "`+name+`"`).Replace(text)
		if err := os.WriteFile(filepath.Join(dir, name, "mine.go"), []byte(own), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	main := strings.NewReplacer("go:embed *.go", "go:embed *.go first/*.go second/*.go", "cli.Main(mine,", "cli.Main(first.Method, second.Method,",
		"\t\"os\"\n", "\t\"os\"\n\n\t\"mine/first\"\n\t\"mine/second\"\n").Replace(readText(t, dir, "main.go"))
	if err := cmp.Or(os.WriteFile(filepath.Join(dir, "main.go"), []byte(main), 0o666), os.Remove(filepath.Join(dir, "mine.go"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestOneMethodsCells: of a study of 42 cells, those of one method are computed again where its package changed, none
// where what no cell is made of did, and all where calibra's layers did.
func TestOneMethodsCells(t *testing.T) {
	if os.Getenv("CALIBRA_CHECK") != "all" {
		t.Skip("builds four programs: asked with CALIBRA_CHECK=all")
	}
	parent := parentOf(t)
	dir := moduleOfMethods(t, parent)
	there := func(what string, want int) {
		t.Helper()
		out := followed(t, dir, []string{"go build -o two .", "./two study main --data digits --methods nc,ts,ps,vector,first,second --seeds 1-7 --out runs"})
		if note := fmt.Sprintf("%d of 42 cells are there already", want); strings.Contains(out, note) != (want > 0) || strings.Contains(out, "are there already") != (want > 0) {
			t.Errorf("%s: not %d cells are there\n%s", what, want, out)
		}
	}
	replace := func(name, old, by string) {
		t.Helper()
		path := filepath.Join(dir, name)
		text := readText(t, path)
		if err := os.WriteFile(path, []byte(strings.Replace(text, old, by, 1)), 0o666); err != nil || !strings.Contains(text, old) {
			t.Fatal(err, old)
		}
	}
	there("the first time", 0)
	replace("second/mine.go", `"bias.steps", 20`, `"bias.steps", 21`)
	there("one method changed", 35)
	replace("main.go", "// sources tell", "// The sources tell")
	replace("../calibra/theory/doc.go", "// Package theory", "// The package theory")
	there("what calls the methods, and the theory, changed", 42)
	replace("../calibra/layers/doc.go", "// Package layers", "// The package layers")
	there("the layers changed", 0)
}

// TestNewRefuses what would write over files, or leave a module without calibra.
func TestNewRefuses(t *testing.T) {
	full, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	for _, path := range []string{filepath.Join(full, "x"), file} {
		if err := os.WriteFile(path, nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	empty := t.TempDir()
	for says, args := range map[string][]string{
		"is not empty":      {full, "--map", "--clone", root(t)},
		"cannot be written": {file, "--map", "--clone", root(t)},
		"is no clone":       {filepath.Join(full, "new"), "--rule", "--clone", empty},
		"say what to write": {empty},
		"together":          {empty, "--map", "--codes"},
	} {
		code, _, stderr := calibra(t, append([]string{"new"}, args...)...)
		if code != exitUsage || !strings.Contains(stderr, says) || strings.Count(stderr, "\n") != 1 {
			t.Errorf("%v exits %d: %s", args, code, stderr)
		}
	}
	if entries, _ := os.ReadDir(empty); len(entries) > 0 {
		t.Errorf("%d files are written", len(entries))
	}
	for _, c := range []struct{ dir, clone, to string }{
		{"/a/mine", "/a/calibra", "../calibra"}, {"/a/b/mine", "/a/calibra", "../../calibra"}, {"/a/calibra/x", "/a/calibra", ".."},
		{"/b", "/a/calibra", "/a/calibra"}, {"/b", "/a b/calibra", `"/a b/calibra"`},
	} {
		if got := replacement(c.dir, c.clone); got != c.to {
			t.Errorf("in %s %s is %s", c.dir, c.clone, got)
		}
	}
}
