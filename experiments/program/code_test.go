package program

import (
	"io/fs"
	"runtime/debug"
	"testing"
	"testing/fstest"
)

// TestCode: the digest of packages is that of their files and of those that they import, and of nothing else of their
// module; it is not known where a file that is compiled is not there to be read.
func TestCode(t *testing.T) {
	files := map[string]string{
		"main.go": "package main\nimport (\n\"calibra/experiments/cli\"\n\"x.org/mine/rank\"\n)\n//go:embed *.go\nvar code embed.FS", "rank/rank.go": "package rank\nimport (\n\"math\"\n\"x.org/mine/rank/deep\"\n\"dep.org/a\"\n)",
		"rank/deep/deep.go": "package deep", "rank/rank_test.go": "package rank", "other/other.go": "package other",
	}
	build := debug.BuildInfo{GoVersion: "go1", Path: "x.org/mine", Main: debug.Module{Path: "x.org/mine"}, Deps: []*debug.Module{{Path: "dep.org/a", Version: "v1", Sum: "h1:a"}}}
	digest := func(packages []string, name, text string, change func(*debug.BuildInfo)) string {
		tree, b := fstest.MapFS{}, build
		for name, text := range files {
			tree[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if tree[name] = (&fstest.MapFile{Data: []byte(text)}); text == "" {
			delete(tree, name)
		}
		if change != nil {
			change(&b)
		}
		return (&Code{build: &b, trees: map[string]fs.FS{"": tree}, known: map[string]string{}}).Digest(packages...)
	}
	rank := []string{"x.org/mine/rank", "math", "dep.org/a"}
	want := digest(rank, "", "", nil)
	for _, c := range []struct {
		what, name, text  string
		change            func(*debug.BuildInfo)
		same, known, main bool
	}{
		{what: "a test", name: "rank/rank_test.go", text: "package rank // changed", same: true, known: true},
		{what: "another package", name: "other/other.go", text: "package other // changed", same: true, known: true},
		{what: "what imports it", name: "main.go", text: "package main // changed", same: true, known: true},
		{what: "the commit", change: func(b *debug.BuildInfo) { b.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: "1"}} }, same: true, known: true},
		{what: "itself", name: "rank/rank.go", text: "package rank // changed", known: true},
		{what: "one more file", name: "rank/more.go", text: "package rank", known: true},
		{what: "what it imports", name: "rank/deep/deep.go", text: "package deep // changed", known: true},
		{what: "the compiler", change: func(b *debug.BuildInfo) { b.GoVersion = "go2" }, known: true},
		{what: "a flag", change: func(b *debug.BuildInfo) { b.Settings = []debug.BuildSetting{{Key: "-tags", Value: "x"}} }, known: true},
		{what: "another module's version", change: func(b *debug.BuildInfo) { b.Deps = []*debug.Module{{Path: "dep.org/a", Version: "v2", Sum: "h1:b"}} }, known: true},
		{what: "a changed module", change: func(b *debug.BuildInfo) {
			b.Deps = []*debug.Module{{Path: "dep.org/a", Version: "v1", Sum: "h1:a", Replace: &debug.Module{Path: "../a"}}}
		}},
		{what: "a package that is not there", name: "rank/deep/deep.go"},
		{what: "data", name: "rank/more.go", text: "package rank\n\n//go:embed *.bin\nvar b []byte"},
		{what: "assembly", name: "rank/more.go", text: "package rank\n\nfunc f()"},
		{what: "files of another folder", name: "main.go", text: "package rank", main: true},
		{what: "C", name: "rank/more.go", text: "package rank\n\nimport \"C\""},
		{what: "the main package", name: "main.go", text: "package main // changed", known: true, main: true},
	} {
		packages := rank
		if c.main {
			packages = []string{"main"}
		}
		if got := digest(packages, c.name, c.text, c.change); (got == want) != c.same || (got != "") != c.known {
			t.Errorf("%s changes: the same %v, known %v", c.what, got == want, got != "")
		}
	}
	if want == "" || want != digest(rank, "", "", nil) {
		t.Errorf("the digest of known code is %q", want)
	}
}
