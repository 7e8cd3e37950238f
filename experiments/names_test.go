package experiments_test

import (
	"go/ast"
	"go/token"
	"strconv"
	"testing"

	"calibra/experiments/method"
)

// mayName are the files that have a method's name in them, with the reason.
var mayName = map[string]string{
	"experiments/method/methods.go": defines,

	"experiments/method/recommend.go": chosen, // what takes the place of the recommended method

	"experiments/cli/quickstart.go":   chosen, // what a newcomer sees
	"experiments/cli/compare.go":      chosen, // what compare fits where nobody says
	"experiments/cli/before.go":       chosen, // the remedy of a fit that does harm
	"experiments/bench/memory.go":     chosen, // the workload
	"experiments/bench/members.go":    chosen, // likewise
	"experiments/study/study.go":      chosen, // the order of the paper's tables
	"experiments/study/grids.go":      chosen,
	"experiments/study/optimizers.go": chosen, // whose least loss is known, and which have a way of their own
	"experiments/study/verdict.go":    chosen, // which of two methods that are alike is simpler
	"experiments/verdict/verdict.go":  yardstick,
	"graph/simd/gen/main.go":          another, // a unit of the processor
	"layers/anchored/joint.go":        another, // candidates of a mixture, as its stages are called
	"layers/baselines/histogram.go":   another, // weights of a model file
	"layers/baselines/spline.go":      another, // likewise
}

// The reasons.
const (
	defines   = "methods are defined there"
	chosen    = "a person chose these"
	yardstick = "what methods are held to: the classifier as it is, and temperature scaling"
	another   = "the word means something else"
)

// TestMethodsAreNamedWhereTheyAreDefined: what is said of a method stands in its row. Other files
// name one where a person chose it, or mean something else by the word.
func TestMethodsAreNamedWhereTheyAreDefined(t *testing.T) {
	names, used := map[string]bool{}, map[string]bool{}
	for _, m := range method.All {
		names[m.Name] = true
	}
	for _, file := range sources(t, "notebooks") {
		ast.Inspect(file.tree, func(n ast.Node) bool {
			if tag, ok := n.(*ast.Field); ok && tag.Tag != nil {
				return true
			}
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			word, _ := strconv.Unquote(lit.Value)
			if names[word] {
				used[file.name] = true
				if mayName[file.name] == "" {
					t.Errorf("%s names the method %q; say what it says of it in the method's row", file.set.Position(lit.Pos()), word)
				}
			}
			return true
		})
	}
	for path := range mayName {
		if !used[path] {
			t.Errorf("%s names no method; it needs no reason", path)
		}
	}
}
