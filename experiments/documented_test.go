package experiments_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestExportedNamesAreDocumented: what a reader of go doc meets is explained.
func TestExportedNamesAreDocumented(t *testing.T) {
	for _, room := range []string{"data", "layers", "layers/baselines", "layers/encoders", "optim", "theory", "experiments/metrics"} {
		files := token.NewFileSet()
		packages, err := parser.ParseDir(files, filepath.Join("..", room), func(i fs.FileInfo) bool { return !strings.HasSuffix(i.Name(), "_test.go") }, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for name, parsed := range packages {
			p := doc.New(parsed, "calibra/"+room, 0)
			missing := func(what, text string) {
				if strings.TrimSpace(text) == "" {
					t.Errorf("%s: %s has no comment", room, what)
				}
			}
			missing("package "+name, p.Doc)
			values := func(list []*doc.Value) {
				for _, v := range list {
					for _, s := range v.Decl.Specs {
						spec := s.(*ast.ValueSpec)
						for _, n := range spec.Names {
							if n.IsExported() {
								missing(n.Name, v.Doc+spec.Doc.Text()+spec.Comment.Text())
							}
						}
					}
				}
			}
			functions := func(list []*doc.Func) {
				for _, f := range list {
					missing(f.Recv+" "+f.Name, f.Doc)
				}
			}
			values(p.Consts)
			values(p.Vars)
			functions(p.Funcs)
			for _, typ := range p.Types {
				missing(typ.Name, typ.Doc)
				values(typ.Consts)
				values(typ.Vars)
				functions(typ.Funcs)
				functions(typ.Methods)
			}
		}
	}
}
