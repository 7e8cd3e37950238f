package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOldFilesAreThoseOfAChangedProgram: a change of a package that the command imports makes its file old, one of a
// test, or of a package that it does not import, does not.
func TestOldFilesAreThoseOfAChangedProgram(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git")
	}
	dir := t.TempDir()
	commit := func(path, text string) {
		t.Helper()
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "a"}} {
			if _, err := output(dir, "git", args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := output(dir, "git", "init", "-q"); err != nil {
		t.Fatal(err)
	}
	commit("go.mod", "module calibra\n")
	commit("layers/layers.go", "package layers\n")
	commit("theory/theory.go", "package theory\n")
	commit("experiments/run/run.go", "package run\n\nimport _ \"calibra/layers\"\n")
	commit(folder+"/"+made, "file,command,again\nx.csv,calibra study main,\ny.csv,the published code,\n")
	commit(folder+"/x.csv", "a\n1\n")
	for _, c := range []struct {
		path, text string
		old        bool
	}{
		{"layers/layers_test.go", "package layers\n", false},
		{"theory/theory.go", "package theory // changed\n", false},
		{"layers/layers.go", "package layers // changed\n", true},
		{folder + "/x.csv", "a\n2\n", false},
		{"layers/layers.go", "package layers // changed again\n", true},
		{folder + "/" + made, "file,command,again\nx.csv,calibra study main,HEAD~\n", false}, // it makes the same
	} {
		commit(c.path, c.text)
		old, err := Old(dir)
		if err != nil {
			t.Fatal(err)
		}
		if (len(old) == 1 && strings.HasPrefix(old[0], "x.csv: 1 files")) != c.old || !c.old && old != nil {
			t.Errorf("after a change of %s these are old: %q", c.path, old)
		}
	}
}

// TestEveryResultFileHasItsCommand.
func TestEveryResultFileHasItsCommand(t *testing.T) {
	lines, err := readLines(".", made)
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]bool{made: true}
	for _, line := range lines[1:] {
		told[line[0]] = line[1] != ""
	}
	files, err := filepath.Glob("*.*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if ext := filepath.Ext(file); (ext == ".csv" || ext == ".jsonl") && !told[file] {
			t.Errorf("%s does not say which command made %s", made, file)
		}
	}
}
