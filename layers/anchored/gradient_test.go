package anchored

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
)

// allMaps has every Map of this package, in each of its variants.
var allMaps = map[string][]layers.Map{
	"Tempered":        {Tempered{}},
	"OrderPreserving": {OrderPreserving{}},
	"ShrunkDirichlet": {ShrunkDirichlet{}},
	"Tables":          {Tables{}, Tables{On: OrderPreserving{}}, Tables{On: ShrunkDirichlet{}}},
	"Linear":          {Linear{}, Linear{On: ShrunkDirichlet{}}, Tables{On: Linear{}}},
	"Settled":         {Settled{Of: OrderPreserving{}}, Tables{On: Linear{On: Settled{Of: OrderPreserving{}}}}},
}

// TestMapGradients checks each map, with the loss of its prior, at a random point.
func TestMapGradients(t *testing.T) {
	view, labels, sizes := region(1)
	for name, variants := range allMaps {
		for _, m := range variants {
			t.Run(name, func(t *testing.T) {
				if err := layers.CheckMapOn(penalized{m}, view, labels, sizes, 0.3, newRand(2)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestScoresAreThoseOfThePosterior: softmax(Scores) = exp(LogProbs) for each map with Scores.
func TestScoresAreThoseOfThePosterior(t *testing.T) {
	view, _, sizes := region(1)
	for name, variants := range allMaps {
		for _, m := range variants {
			scored, ok := m.(Scored)
			if !ok {
				continue
			}
			w, err := m.Init(sizes, newRand(3))
			if err != nil {
				t.Fatal(err)
			}
			rows, err := view.RowsFor(m, w, sizes)
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range w.Learned() {
				for i := range w.Tensor(of).Float64s() {
					w.Tensor(of).Float64s()[i] += 0.3 * newRand(uint64(i)).NormFloat64()
				}
			}
			of := func(describe func(*graph.Builder, layers.Batch) *gorgonia.Node) []float64 {
				out, err := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
					return gorgonia.Nodes{describe(b, rows.Batch(b))}
				}).Of(graph.Rows(0, rows.Len()))
				if err != nil {
					t.Fatal(err)
				}
				return graph.Float64s(out[0])
			}
			got := of(func(b *graph.Builder, in layers.Batch) *gorgonia.Node { return b.LogSoftmax(scored.Scores(b, in)) })
			if want := of(m.LogProbs); !floats.EqualApprox(got, want, 1e-12) { // one sum and one logarithm
				t.Errorf("%s: the softmax of the scores is %v, the posterior %v", name, got, want)
			}
		}
	}
}

// TestEveryMapIsChecked reads the package's source: each type with a LogProbs method
// must have a row in allMaps.
func TestEveryMapIsChecked(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.Name != "LogProbs" || f.Recv == nil {
				continue
			}
			found++
			receiver := f.Recv.List[0].Type
			if star, ok := receiver.(*ast.StarExpr); ok {
				receiver = star.X
			}
			if name := receiver.(*ast.Ident).Name; len(allMaps[name]) == 0 {
				t.Errorf("map %[1]s lacks a row; add %[1]q: {%[1]s{}} to allMaps in anchored/gradient_test.go", name)
			}
		}
	}
	if found != len(allMaps) {
		t.Errorf("the package has %d maps, the table %d", found, len(allMaps))
	}
}
