package theory

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestEngineStandsBelowTheStudies: designs, losses, fits, populations and statistics use nothing that a study
// declares, so that they can be read without the studies. study.go, which lists them, may.
func TestEngineStandsBelowTheStudies(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]string{} // names of the package's studies, with their file
	engine := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "study.go" {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(name, "study_") {
			engine[name] = file
			continue
		}
		for _, what := range declares(file) {
			declared[what] = name
		}
	}
	if len(engine) < 10 || declared["runUnshared"] == "" {
		t.Fatalf("%d files of the engine and %d names of studies are not all", len(engine), len(declared))
	}
	for name, file := range engine {
		ast.Inspect(file, func(n ast.Node) bool {
			if used, ok := n.(*ast.Ident); ok && declared[used.Name] != "" {
				t.Errorf("%s uses %s, which %s declares", name, used.Name, declared[used.Name])
			}
			return true
		})
	}
}

// declares lists the names of functions, types, constants and variables of a file.
func declares(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil {
			names = append(names, f.Name.Name)
		}
		general, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, of := range general.Specs {
			switch of := of.(type) {
			case *ast.TypeSpec:
				names = append(names, of.Name.Name)
			case *ast.ValueSpec:
				for _, name := range of.Names {
					names = append(names, name.Name)
				}
			}
		}
	}
	return names
}
