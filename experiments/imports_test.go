package experiments_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra"
	"calibra/experiments/program"
)

// rooms lists, for each folder, what it may import of this module. The first match
// counts; a package may always import its own room, and graph/work.
var rooms = []struct {
	room string
	may  []string
}{
	{"calibra/graph/work", nil},
	{"calibra/graph/simd", nil},
	{"calibra/graph/kernelsum", nil},
	{"calibra/graph/blas", []string{"calibra/graph/simd"}},
	{"calibra/graph/cuda", []string{"calibra/graph"}},
	{"calibra/graph/op", []string{"calibra/graph/blas", "calibra/graph/simd"}},
	{"calibra/graph", []string{"calibra/graph"}},
	{"calibra/data", nil},
	{"calibra/optim/estimate", nil},
	{"calibra/optim", []string{"calibra/graph"}},
	{"calibra/layers", []string{"calibra/data", "calibra/graph", "calibra/optim"}},
	{"calibra/theory", []string{"calibra/data", "calibra/graph", "calibra/optim", "calibra/layers"}},
	{"calibra/experiments/internal/checked", nil},
	{"calibra/experiments/metrics/internal/tile", []string{"calibra/graph/simd"}},
	{"calibra/experiments/metrics", []string{"calibra/experiments/internal/checked", "calibra/graph/kernelsum", "calibra/optim/pav", "calibra/optim/estimate"}},
	{"calibra/experiments/diagnosis", []string{"calibra/experiments/internal/checked", "calibra/experiments/metrics", "calibra/graph/blas", "calibra/optim/estimate"}},
	{"calibra/experiments/method", []string{"calibra/data", "calibra/experiments/metrics", "calibra/graph", "calibra/layers", "calibra/optim"}},
	{"calibra/experiments/source", []string{"calibra/data", "calibra/experiments/rowcheck", "calibra/layers", "calibra/optim"}},
	{"calibra/experiments/run", []string{"calibra/data", "calibra/experiments/method", "calibra/experiments/metrics", "calibra/experiments/program",
		"calibra/experiments/rowcheck", "calibra/experiments/source", "calibra/graph", "calibra/layers", "calibra/optim"}},
	{"calibra/experiments/study", []string{"calibra/data", "calibra/experiments", "calibra/layers"}},
	{"calibra/experiments/report", []string{"calibra/data", "calibra/experiments", "calibra/graph", "calibra/layers", "calibra/optim"}}, // pages know no theory
	{"calibra/experiments", []string{"calibra"}},
	{"calibra/notebooks", []string{"calibra"}},
	{"calibra", nil}, // the sources alone
}

// kernels are the vector kernels, which only these packages and their own room import.
const kernels = "calibra/graph/simd"

var vectors = []string{"calibra/graph/op", "calibra/graph/blas", "calibra/experiments/metrics/internal/tile"}

// device is the room of devices, from which the command and the tool that times it alone choose.
const device, command, timer = "calibra/graph/cuda", "calibra/experiments/cli", "calibra/experiments/bench"

func within(pkg, room string) bool { return pkg == room || strings.HasPrefix(pkg, room+"/") }

// TestFilesThatKnowDevices: outside their own room at most nine files do, one in each package whose
// tests take an executor, and those of the command and of the tool that times it.
func TestFilesThatKnowDevices(t *testing.T) {
	var files []string
	err := filepath.WalkDir("..", func(path string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasPrefix(path, "../graph/cuda") {
			return err
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte("\t\""+device)) {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) > 9 || len(files) == 0 {
		t.Errorf("%d files import %s: %q", len(files), device, files)
	}
}

// TestImportRules holds the import rules of the architecture with go list.
func TestImportRules(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "calibra/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v: %s", err, stderr.String())
	}
	packages := 0
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		pkg, imports := fields[0], fields[1:]
		packages++
		found := false
		for _, r := range rooms {
			if !within(pkg, r.room) {
				continue
			}
			found = true
			for _, imp := range imports {
				if imp == kernels && !within(pkg, kernels) && !slices.Contains(vectors, pkg) {
					t.Errorf("%s imports %s: only %v do", pkg, imp, vectors)
				}
				if within(imp, device) && !within(pkg, device) && pkg != command && pkg != timer {
					t.Errorf("%s imports %s: only %s knows devices", pkg, imp, command)
				}
				if !within(imp, "calibra") || within(imp, r.room) || imp == "calibra/graph/work" {
					continue
				}
				allowed := false
				for _, room := range r.may {
					allowed = allowed || within(imp, room)
				}
				if !allowed {
					t.Errorf("%s imports %s: %s may import %v", pkg, imp, r.room, r.may)
				}
			}
			break
		}
		if !found {
			t.Errorf("%s lies in no room of the architecture", pkg)
		}
	}
	if packages < 8 {
		t.Errorf("go list names only %d packages", packages)
	}
}

// TestHouseIsAsDrawn holds the picture of packages and arrows in CONTRIBUTING.md to the
// imports. What a package keeps to itself (internal, generators, its tests' own) is not in
// the picture, nor is graph/work, which all may import.
func TestHouseIsAsDrawn(t *testing.T) {
	text, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, _ := strings.Cut(string(text), "<!-- house:begin -->")
	picture, _, found := strings.Cut(picture, "<!-- house:end -->")
	if !found {
		t.Fatal("CONTRIBUTING.md has no picture of the house")
	}
	drawn, at, above := map[string][]string{}, "", map[string]bool{}
	for _, line := range strings.Split(picture, "\n") {
		if strings.TrimSpace(line) == "" {
			continue
		}
		arrows := line
		if !strings.HasPrefix(line, "     ") { // not a line that goes on
			name, rest, _ := strings.Cut(strings.TrimSpace(line), "──►")
			at, arrows = strings.TrimSpace(name), rest
			drawn[at], above[at] = nil, true
		}
		for _, to := range strings.FieldsFunc(arrows, func(r rune) bool { return r == ',' || r == ' ' }) {
			drawn[at] = append(drawn[at], to)
			if above[to] {
				t.Errorf("%s stands above %s, which imports it", to, at)
			}
		}
	}
	out, err := exec.Command("go", "list", "-f", "{{.ImportPath}} {{join .Imports \" \"}}", "calibra/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	within := func(path string) (string, bool) {
		name, ours := strings.CutPrefix(path, "calibra/")
		aside := strings.Contains(name, "/internal") || strings.Contains(name+"/", "/gen/") || strings.HasSuffix(name, "test") && name != "graph/graphtest" || strings.HasPrefix(name, "notebooks") || name == "graph/work"
		return name, ours && !aside
	}
	packages := 0
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Fields(line)
		name, shown := within(fields[0])
		if !shown {
			continue
		}
		packages++
		var imports []string
		for _, path := range fields[1:] {
			if to, shown := within(path); shown {
				imports = append(imports, to)
			}
		}
		slices.Sort(imports)
		arrows, there := drawn[name]
		slices.Sort(arrows)
		if !there || !slices.Equal(arrows, imports) {
			t.Errorf("%s imports %v; the picture has %v", name, imports, arrows)
		}
	}
	if packages != len(drawn) {
		t.Errorf("there are %d packages, the picture has %d", packages, len(drawn))
	}
}

// TestSourcesAreWhole: all files that a study is compiled from are embedded, so that it knows its cells.
func TestSourcesAreWhole(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", `{{if not .Standard}}{{$p := .ImportPath}}{{range .GoFiles}}{{$p}}/{{.}} {{end}}{{range .SFiles}}{{$p}}/{{.}} {{end}}{{end}}`, "calibra/experiments/study").Output()
	if err != nil {
		t.Fatal(err)
	}
	files := 0
	for _, name := range strings.Fields(string(out)) {
		if name, ours := strings.CutPrefix(name, "calibra/"); ours {
			files++
			if _, err := fs.Stat(calibra.Sources, name); err != nil {
				t.Errorf("sources.go names no pattern for it: %v", err)
			}
		}
	}
	if code := program.NewCode(map[string]fs.FS{"calibra": calibra.Sources}); files < 300 || code.Digest("calibra/experiments/study") == "" {
		t.Errorf("the code of a study of %d files is not known", files)
	}
}
