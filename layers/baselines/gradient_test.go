package baselines

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// smoothMaps has every map of this package.
func smoothMaps(cal *data.Set) map[string]layers.Map {
	white, _, err := whitenedStart(cal)
	if err != nil {
		panic(err)
	}
	return map[string]layers.Map{
		"plattMap": plattMap{}, "dirichletMap": dirichletMap{}, "vectorMap": vectorMap{strength: 2}, "betaMap": betaMap{},
		"structuredMap": structuredMap{}, "localTemperatureMap": localTemperatureMap{}, "temperatureMap": temperatureMap{},
		"lastLayerMap": lastLayerMap{strength: 3},
		"odirMap":      odirMap{whitenedMap{whitening: white}, 0.3, 0.2},
	}
}

// TestSmoothMapGradients checks each map's loss at a random point against central
// differences.
func TestSmoothMapGradients(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(12, 9)
	base := &original{}
	if err := base.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	for name, m := range smoothMaps(cal) {
		t.Run(name, func(t *testing.T) {
			view, err := base.View(cal)
			if err != nil {
				t.Fatal(err)
			}
			if _, local := m.(localTemperatureMap); local {
				m = embeddedMap{of: cal}
			}
			if err := layers.CheckMapOn(m, view, cal.Labels, base.Sizes(), 0.2, newRand(10)); err != nil {
				t.Error(err)
			}
		})
	}
}

// embeddedMap is localTemperatureMap with the embedding of some rows.
type embeddedMap struct {
	localTemperatureMap
	of *data.Set
}

func (m embeddedMap) Init(layers.Sizes, *rand.Rand) (*graph.Weights, error) {
	e, err := fitEmbedding(m.of)
	if err != nil {
		return nil, err
	}
	return temperatures(e), nil
}

// TestEverySmoothMapIsChecked reads the package's source: each type with a posterior or a
// loss of its own must be in smoothMaps.
func TestEverySmoothMapIsChecked(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(12, 9)
	checked := smoothMaps(cal)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, name := range files {
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
		m := PublishedTemperature{}
		m.Optim.Iterations = iterations
		fit(t, &m, cal, nil)
		if !(last < m.T() && m.T() < best.T()) || m.Result.Converged || m.Result.Epochs != iterations {
			t.Errorf("T = %v after %d iterations, before %v, at the optimum %v: %s", m.T(), iterations, last, best.T(), m.Result.Ended)
		}
		last = m.T()
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
	fmt.Println("converged:", m.Result.Converged)
	fmt.Printf("NLL %.3f before, %.3f after\n", loss(layers.LogSoftmax(test.Logits)), loss(p.LogProbs))
	// Output:
	// converged: true
	// NLL 0.920 before, 0.807 after
}
