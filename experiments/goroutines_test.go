package experiments_test

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGoroutinesAreOfWork: package work alone starts goroutines, whose panics go to whoever waits. What shares memory
// in them is tested for races.
func TestGoroutinesAreOfWork(t *testing.T) {
	const alone = "graph/work"
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	raced := func(dir string) bool {
		return slices.ContainsFunc(strings.Split(string(ci), "\n"), func(line string) bool {
			return strings.HasPrefix(strings.TrimSpace(line), "go test -race") && slices.Contains(strings.Fields(line), "./"+dir)
		})
	}
	if !raced(alone) {
		t.Errorf("add ./%s to the step races of .ci/run", alone)
	}
	for _, file := range sources(t, "notebooks", alone) {
		for _, i := range file.tree.Imports {
			for _, path := range []string{"golang.org/x/sync", "github.com/sourcegraph/conc"} {
				if strings.HasPrefix(i.Path.Value, `"`+path) {
					t.Errorf("%s imports %s; start goroutines by package work", file.name, path)
				}
			}
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			_, statement := n.(*ast.GoStmt)
			s, _ := n.(*ast.SelectorExpr)
			if s != nil && s.Sel.Name == "Parts" && fmt.Sprint(s.X) == "work" && !raced(file.folder()) {
				t.Errorf("%s has parts side by side; add ./%s to the step races of .ci/run", file.name, file.folder())
			}
			if statement || s != nil && s.Sel.Name == "WaitGroup" && fmt.Sprint(s.X) == "sync" {
				t.Errorf("%s starts a goroutine; do it by package work", file.name)
			}
			return true
		})
	}
}
