package experiments_test

import (
	"go/ast"
	"testing"
)

// partsOf are the packages of calibrators, bases, maps and codes.
var partsOf = []string{"calibra/layers", "calibra/layers/anchored", "calibra/layers/baselines"}

// askedByType are the files that may ask whether a part is of one concrete type, with the reason.
var askedByType = map[string]string{
	"layers/bilinearpredictor.go": "reads codewords and head of Divide itself, which a base that embeds it may use otherwise",
	"layers/anchored/joint.go":    "members of an ensemble are of one kind, and one of them takes what another chose",
	"layers/anchored/pool.go":     "the same",
	"layers/anchored/ranking.go":  "keeps the view of an Anchor that it has found for all maps; any other base makes its own each time",
}

// concreteTypes are the exported types of each of partsOf that are no interfaces.
func concreteTypes(t *testing.T) map[string]map[string]bool {
	of := map[string]map[string]bool{}
	for _, pkg := range partsOf {
		of[pkg] = map[string]bool{}
	}
	for _, file := range sources(t) {
		types := of["calibra/"+file.folder()]
		if types == nil {
			continue
		}
		ast.Inspect(file.tree, func(n ast.Node) bool {
			if s, ok := n.(*ast.TypeSpec); ok && s.Name.IsExported() {
				_, abstract := s.Type.(*ast.InterfaceType)
				types[s.Name.Name] = !abstract
			}
			return true
		})
	}
	return of
}

// namedType is the pkg.Name of a type, without pointer and type arguments; pkg is "" for a type of
// the file's own package.
func namedType(e ast.Expr) (pkg, name string) {
	switch e := e.(type) {
	case *ast.StarExpr:
		return namedType(e.X)
	case *ast.ParenExpr:
		return namedType(e.X)
	case *ast.IndexExpr:
		return namedType(e.X)
	case *ast.IndexListExpr:
		return namedType(e.X)
	case *ast.Ident:
		return "", e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name, e.Sel.Name
		}
	}
	return "", ""
}

// asked are the types that a file asks values for, by assertion or by a switch.
func asked(file *ast.File) (types []ast.Expr) {
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeAssertExpr:
			if n.Type != nil {
				types = append(types, n.Type)
			}
		case *ast.TypeSwitchStmt:
			for _, clause := range n.Body.List {
				types = append(types, clause.(*ast.CaseClause).List...)
			}
		}
		return true
	})
	return types
}

// TestNobodyAsksForConcreteParts: what a calibrator, a base, a map or codes can do beyond their
// interface is an interface of its own, so that those of another module can do it too.
func TestNobodyAsksForConcreteParts(t *testing.T) {
	concrete := concreteTypes(t)
	if c := concrete["calibra/layers"]; !c["Divide"] || !c["Trained"] || c["Base"] || !concrete["calibra/layers/anchored"]["Joint"] {
		t.Fatalf("the concrete types of calibra/layers are %v", c)
	}
	used, questions := map[string]bool{}, 0
	for _, file := range sources(t) {
		packages := file.imported()
		packages[""] = "calibra/" + file.folder()
		for _, e := range asked(file.tree) {
			pkg, name := namedType(e)
			types := concrete[packages[pkg]]
			if types == nil {
				continue
			}
			questions++
			if !types[name] {
				continue
			}
			if askedByType[file.name] != "" {
				used[file.name] = true
				continue
			}
			t.Errorf("%s asks for the type %s; ask for an interface with the method that it needs", file.name, name)
		}
	}
	if questions < 8 {
		t.Errorf("only %d questions are found", questions)
	}
	for file, why := range askedByType {
		if !used[file] {
			t.Errorf("%s need not ask by type, though it %s", file, why)
		}
	}
}
