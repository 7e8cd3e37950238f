package experiments_test

import (
	"fmt"
	"go/ast"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGoroutinesAreConcs: a panic in a bare goroutine ends the program with a trace; one of
// conc's goes to whoever waits. The packages that start some are tested for races.
func TestGoroutinesAreConcs(t *testing.T) {
	bare := []string{"graph/simd/parallel.go"} // whose workers outlive the one that waits
	ci, err := os.ReadFile("../.ci/run")
	if err != nil {
		t.Fatal(err)
	}
	raced := func(dir string) bool {
		return slices.ContainsFunc(strings.Split(string(ci), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "go test -race") && slices.Contains(strings.Fields(line), "./"+dir)
		})
	}
	var found []string
	for _, file := range sources(t, "notebooks") {
		for _, i := range file.tree.Imports {
			if strings.HasPrefix(i.Path.Value, `"golang.org/x/sync/errgroup`) {
				found = append(found, file.name)
			}
			if dir := file.folder(); strings.HasPrefix(i.Path.Value, `"github.com/sourcegraph/conc`) && !raced(dir) {
				t.Errorf("%s starts goroutines; add ./%s to the step races of .ci/run", file.name, dir)
			}
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			_, statement := n.(*ast.GoStmt)
			s, _ := n.(*ast.SelectorExpr)
			if statement || s != nil && s.Sel.Name == "WaitGroup" && fmt.Sprint(s.X) == "sync" {
				found = append(found, file.name)
			}
			return true
		})
	}
	if found = slices.Compact(found); !slices.Equal(found, bare) {
		t.Errorf("these start goroutines by other means than conc: %q; only %q may", found, bare)
	}
}
