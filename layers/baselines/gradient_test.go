package baselines

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
)

// smoothMaps has every map with a loss of its own or scores of its own.
func smoothMaps(cal *data.Set) map[string]smooth {
	white, _, err := whitenedStart(cal)
	if err != nil {
		panic(err)
	}
	return map[string]smooth{
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
	sizes, err := sizesOf(cal)
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range smoothMaps(cal) {
		t.Run(name, func(t *testing.T) {
			rng := newRand(10)
			w := m.weights(sizes)
			if _, local := m.(localTemperatureMap); local {
				e, err := fitEmbedding(cal)
				if err != nil {
					t.Fatal(err)
				}
				w = temperatures(e)
			}
			for _, name := range w.Learned() {
				for i := range w.Tensor(name).Float64s() {
					w.Tensor(name).Float64s()[i] += 0.2 * rng.NormFloat64()
				}
			}
			l, err := logProbsOf(cal, sizes)
			if err != nil {
				t.Fatal(err)
			}
			in, err := m.inputs(l, cal, w)
			if err != nil {
				t.Fatal(err)
			}
			tables, labels := tablesOf(in), graph.Labels(cal.Labels)
			if err := graphtest.Gradient(w, cal.Len(), func(b *graph.Builder) *gorgonia.Node {
				return m.loss(b, m.scores(b, tables.take(b)), b.Take("labels", labels), cal.Len())
			}); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEverySmoothMapIsChecked reads the package's source: each type with scores or a
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
			if !ok || f.Recv == nil || f.Name.Name != "scores" && f.Name.Name != "loss" {
				continue
			}
			if of, ok := f.Recv.List[0].Type.(*ast.Ident); ok {
				found[of.Name] = true
			}
		}
	}
	for _, frame := range []string{"multinomial", "oneVsRest", "similarityNet", "fullBatch"} {
		delete(found, frame)
	}
	for name := range found {
		if checked[name] == nil {
			t.Errorf("the gradient of %s is not checked", name)
		}
	}
	if len(found) != len(checked) {
		t.Errorf("%d maps have a loss, %d are checked", len(found), len(checked))
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
