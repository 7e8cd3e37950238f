package baselines

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// maps are those that the methods fit, and those that a method fits on the way or with
// another setting, by their types.
func maps(t *testing.T, cal *data.Set) map[string]layers.Map {
	_, l, err := logProbsToFit(cal)
	if err != nil {
		t.Fatal(err)
	}
	white, err := whiten(floored(l))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]layers.Map{}
	for _, m := range methods() {
		c := m.new()
		if of, ok := c.(interface{ fitted() *Fitted }); ok {
			fit(t, c, cal, nil)
			out[reflect.TypeOf(of.fitted().Map).Name()] = of.fitted().Map
		}
	}
	for _, m := range []layers.Map{
		vectorMap{strength: 2}, odirMap{whitenedMap{whitening: white}, 0.3, 0.2},
		similarityMap{width: 7, sigma: 1}, localNetsMap{similarityMap{width: 7, sigma: 1}, 0.7}, // a kernel that few rows are near in
	} {
		out[reflect.TypeOf(m).Name()] = m
	}
	return out
}

func (f *Fitted) fitted() *Fitted { return f }

// TestMapGradients checks each map's loss at a random point against central differences.
func TestMapGradients(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(12, 9)
	base := &original{}
	if err := base.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, m := range maps(t, cal) {
		t.Run(name, func(t *testing.T) {
			view, err := base.View(cal)
			if err != nil {
				t.Fatal(err)
			}
			view.Set = cal
			if of, ok := m.(layers.Informed); ok {
				if w, err := m.Init(base.Sizes(), newRand(1)); err == nil && w.Has("embedding/mean") {
					m = embedded{of, cal}
				}
			}
			if err := layers.CheckMapOn(m, view, cal.Labels, base.Sizes(), 0.2, newRand(10)); err != nil {
				t.Error(err)
			}
		})
	}
}

// embedded is a map with the embedding of some rows in place of that of none.
type embedded struct {
	layers.Informed
	cal *data.Set
}

func (m embedded) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w, err := m.Informed.Init(s, rng)
	if err != nil {
		return nil, err
	}
	if err := fitEmbedding(w, m.cal); err != nil {
		return nil, err
	}
	out := graph.NewWeights(w.Dtype())
	for _, name := range w.Names() {
		shape := w.Tensor(name).Shape()
		switch {
		case name == "structured/log_inverse_temperature", name == "structured/rows":
			out.AddState(name, w.Float64s(name), shape...) // of the inputs
		case strings.HasPrefix(name, "clusters/"), name == hiddenCentre:
			out.AddState(name, drawn(shape.TotalSize(), rng), shape...)
		case strings.HasPrefix(name, "embedding/"):
			out.AddState(name, w.Float64s(name), shape...)
		case strings.HasSuffix(name, "/shift"), name == "similarity/bias":
			// A shift of all points changes no distance, one of all scores no probability.
			out.AddState(name, w.Float64s(name), shape...)
		default:
			out.Add(name, w.Float64s(name), shape...)
		}
	}
	return out, nil
}

// drawn are n standard normal numbers.
func drawn(n int, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	return x
}

func (m embedded) Loss(b *graph.Builder, in layers.Batch, rows int) *gorgonia.Node {
	if c, ok := m.Informed.(layers.Costed); ok {
		return c.Loss(b, in, rows)
	}
	return layers.NLL(b, m, in)
}

// TestEveryMapIsChecked reads the package's source: each type with a posterior or a loss of
// its own must be among the maps.
func TestEveryMapIsChecked(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(12, 9)
	checked := maps(t, cal)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
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
			if !ok || f.Recv == nil || f.Name.Name != "LogProbs" && f.Name.Name != "Loss" {
				continue
			}
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				found[of.Name] = true
			}
		}
	}
	for name := range found {
		if checked[name] == nil {
			t.Errorf("the gradient of %s is not checked", name)
		}
	}
	if len(found) != len(checked) {
		t.Errorf("%d maps have a posterior or a loss, %d are checked", len(found), len(checked))
	}
}

// TestPublishedOptimizerStopsShort: from T = 1.5 the published steps go towards the
// optimum and do not reach it, more of them go further, and the result says so.
func TestPublishedOptimizerStopsShort(t *testing.T) {
	cal, _ := problems()["temperature"].draw(500, 11)
	var best layers.Temperature
	fit(t, &best, cal, nil)
	last := 1.5
	for _, iterations := range []int{200, 600} {
		m := PublishedTemperature(optim.FixedLBFGS{Iterations: iterations})
		fit(t, m, cal, nil)
		at := m.Weights().Float64s("temperature")[0]
		if !(last < at && at < best.T()) || m.Result.Converged() || m.Result.Epochs != iterations {
			t.Errorf("T = %v after %d iterations, before %v, at the optimum %v: %s", at, iterations, last, best.T(), m.Result.Ended)
		}
		last = at
	}
}

func ExampleDirichlet() {
	cal, _ := problems()["dirichlet"].draw(2000, 1)
	test, _ := problems()["dirichlet"].draw(1000, 2)
	var m Dirichlet
	if err := m.Fit(context.Background(), cal, nil, nil); err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	loss := func(l *mat.Dense) (sum float64) {
		for i, y := range test.Labels {
			sum -= l.At(i, y) / float64(test.Len())
		}
		return sum
	}
	fmt.Println("converged:", m.Result.Converged())
	fmt.Printf("NLL %.3f before, %.3f after\n", loss(layers.LogSoftmax(test.Logits)), loss(p.LogProbs))
	// Output:
	// converged: true
	// NLL 0.920 before, 0.807 after
}

// TestEveryBaselineHasARow reads the package's source: each exported calibrator, a type with a Fit or a function that
// gives a Classwise or a Smooth, is in within of problems_test.go.
func TestEveryBaselineHasARow(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	baselines, rows := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			switch {
			case !ok:
			case name == "problems_test.go" && f.Name.Name == "within":
				ast.Inspect(f.Body, func(n ast.Node) bool {
					if id, ok := n.(*ast.Ident); ok {
						rows[id.Name] = true
					}
					return true
				})
			case strings.HasSuffix(name, "_test.go"):
			case f.Recv != nil && f.Name.Name == "Fit":
				baselines[pointed(f.Recv)] = true
			case f.Recv == nil && (pointed(f.Type.Results) == "Classwise" || pointed(f.Type.Results) == "Smooth"):
				baselines[f.Name.Name] = true
			}
		}
	}
	for name := range baselines {
		if ast.IsExported(name) && name != "Classwise" && name != "Smooth" && !rows[name] {
			t.Errorf("the baseline %s has no row in within of layers/baselines/problems_test.go", name)
		}
	}
	if len(baselines) < 20 {
		t.Errorf("%d baselines are found", len(baselines))
	}
}

// pointed is the name of the type that the first of fields points to, "" where there is none.
func pointed(fields *ast.FieldList) string {
	if fields == nil {
		return ""
	}
	if star, ok := fields.List[0].Type.(*ast.StarExpr); ok {
		if of, ok := star.X.(*ast.Ident); ok {
			return of.Name
		}
	}
	return ""
}
