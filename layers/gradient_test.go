package layers

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// allMaps has every Map of this package, in each of its variants.
var allMaps = map[string][]Map{
	"Bilinear": {
		Bilinear{},
		Bilinear{Scale: LearnedScale{}},
		Bilinear{Prior: CountPrior{}},
		Bilinear{Prior: CodewordPrior{}},
		Bilinear{Scale: LearnedScale{}, Prior: UniformPrior{}},
		Bilinear{Link: Exponential{}},
		Bilinear{Link: Exponential{}, Identity: Nowhere},
		Bilinear{Identity: InConcentration},
		Bilinear{Identity: Nowhere},
	},
	"Rank":      {Rank{}, Rank{Rank: 1}, Rank{Rank: 3}},
	"Diagonal":  {Diagonal{}},
	"Tied":      {Tied{}},
	"Centred":   {Centred{}},
	"Dirichlet": {Dirichlet{}},
	"Identity":  {Identity{}},
}

// region is a small random view: 6 rows, 3 classes, 4 slots, 5 codewords.
func region(seed uint64) (*View, []int, Sizes) {
	rng := newRand(seed)
	s := Sizes{Classes: 3, Features: 8, Slots: 4, Codewords: 5, Counts: []float64{3, 2, 1}}
	v := &View{LogProbs: LogSoftmax(mat.NewDense(6, 3, graph.Normals(18, 0, 2, rng)))}
	labels := make([]int, 6)
	for i := range labels {
		labels[i] = rng.IntN(3)
	}
	for range 6 * s.Slots {
		v.Codes = append(v.Codes, int32(rng.IntN(s.Codewords)))
	}
	return v, labels, s
}

// away is how far from its start a map is checked: as a map of coordinates with a scale of
// their own it is to be as far as the others.
func away(m Map, s Sizes) float64 {
	if _, ok := m.(Centred); ok {
		return 0.3 / stepScale(s.Classes, s.Whole())
	}
	return 0.3
}

// TestMapGradients checks each map at a random point.
func TestMapGradients(t *testing.T) {
	view, labels, sizes := region(1)
	for name, variants := range allMaps {
		for _, m := range variants {
			t.Run(name, func(t *testing.T) {
				if err := CheckMapOn(m, view, labels, sizes, away(m, sizes), newRand(2)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// TestScoresAreThoseOfThePosterior: softmax(scores) = exp(LogProbs) for each map with scores. A map
// that embeds another has none of the other's methods whose answer its own LogProbs would change.
func TestScoresAreThoseOfThePosterior(t *testing.T) {
	view, _, sizes := region(1)
	found := 0
	for name, variants := range allMaps {
		for _, m := range variants {
			scored, ok := m.(interface {
				scores(*graph.Builder, Batch) *gorgonia.Node
			})
			if !ok {
				continue
			}
			found++
			w, err := m.Init(sizes, newRand(3))
			if err != nil {
				t.Fatal(err)
			}
			for _, of := range w.Learned() {
				for i := range w.Tensor(of).Float64s() {
					w.Tensor(of).Float64s()[i] += 0.3 * newRand(uint64(i)).NormFloat64()
				}
			}
			rows := view.Rows(tensor.Float64, sizes)
			got, err := rows.of(w, func(b *graph.Builder, in Batch) *gorgonia.Node { return b.LogSoftmax(scored.scores(b, in)) })
			if err != nil {
				t.Fatal(err)
			}
			want, err := rows.of(w, m.LogProbs)
			if err != nil {
				t.Fatal(err)
			}
			near(t, name, graph.Float64s(got), graph.Float64s(want), 1e-12) // one sum and one logarithm
		}
	}
	if found < 4 {
		t.Errorf("%d maps have scores, of Bilinear's four", found)
	}
	type own struct{ Bilinear }
	for i := range reflect.TypeFor[own]().NumMethod() {
		if name := reflect.TypeFor[own]().Method(i).Name; !slices.Contains([]string{"Init", "Form", "LogProbs"}, name) {
			t.Errorf("a map that embeds Bilinear has its %s, which knows nothing of its LogProbs", name)
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
				t.Errorf("map %[1]s lacks a row; add %[1]q: {%[1]s{}} to allMaps in layers/gradient_test.go", name)
			}
		}
	}
	if found != len(allMaps) {
		t.Errorf("the package has %d maps, the table %d", found, len(allMaps))
	}
}

// TestMassFormEqualsGatherForm holds A(V) = Σ_k n_k a_k b_kᵀ to Σ_i σ_i² a_s(i) b_s(i)ᵀ
// summed slot by slot, and the fused scores to the same formula in Gorgonia's terms.
func TestMassFormEqualsGatherForm(t *testing.T) {
	view, _, sizes := region(4)
	m := Bilinear{Scale: LearnedScale{}}
	w, err := m.Init(sizes, newRand(5))
	if err != nil {
		t.Fatal(err)
	}
	rng := newRand(6)
	for _, name := range w.Names() {
		for i := range w.Tensor(name).Float64s() {
			w.Tensor(name).Float64s()[i] = rng.NormFloat64()
		}
	}
	tab := view.Rows(tensor.Float64, sizes)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		in := tab.Batch(b)
		a := b.Apply(op.Gather(), b.Weight("bilinear/receiver"), in.Codes)
		s := b.Apply(op.Gather(), b.Weight("bilinear/sender"), in.Codes)
		return gorgonia.Nodes{m.Form(b, in), a, s}
	})
	out, err := f.Of(graph.Rows(0, tab.Len()))
	if err != nil {
		t.Fatal(err)
	}
	form, a, s := graph.Float64s(out[0]), graph.Float64s(out[1]), graph.Float64s(out[2])
	scale, c, slots := w.Float64s("bilinear/scale"), sizes.Classes, sizes.Slots
	want := make([]float64, len(form))
	for b := range tab.Len() {
		for i := range slots {
			for p := range c {
				for q := range c {
					want[(b*c+p)*c+q] += scale[i] * a[(b*slots+i)*c+p] * s[(b*slots+i)*c+q]
				}
			}
		}
	}
	near(t, "A(V)", form, want, 1e-12) // four products of order 1
}

// TestScoresByHand: of each link, wherever the identity stands.
func TestScoresByHand(t *testing.T) {
	view, _, sizes := region(7)
	phi := map[Link]func(float64) float64{
		Softplus{}:    func(x float64) float64 { return math.Log1p(math.Exp(x)) },
		Exponential{}: func(x float64) float64 { return math.Exp(x - 1) },
	}
	for link, of := range phi {
		for _, plus := range []IdentityTerm{InLinearTerm, InConcentration, Nowhere} {
			m := Bilinear{Prior: UniformPrior{}, Link: link, Identity: plus}
			w, err := m.Init(sizes, newRand(8))
			if err != nil {
				t.Fatal(err)
			}
			rows := view.Rows(tensor.Float64, sizes)
			f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
				in := rows.Batch(b)
				return gorgonia.Nodes{posteriorScores(b, m.Form(b, in), in.LogProbs, link, plus), m.Form(b, in), in.LogProbs}
			})
			out, err := f.Of(graph.Rows(0, rows.Len()))
			if err != nil {
				t.Fatal(err)
			}
			form, logp, want := graph.Float64s(out[1]), graph.Float64s(out[2]), []float64(nil)
			for b := range rows.Len() {
				for j := range sizes.Classes {
					var sum, score float64
					for i := range sizes.Classes {
						alpha, beside := of(form[(b*sizes.Classes+i)*sizes.Classes+j])+op.AlphaFloor, 0.
						switch {
						case i == j && plus == InConcentration:
							alpha++
						case i == j && plus == InLinearTerm:
							beside = 1
						}
						sum += alpha
						score += (alpha-1+beside)*logp[b*sizes.Classes+i] - lgamma(alpha)
					}
					want = append(want, score+lgamma(sum))
				}
			}
			near(t, fmt.Sprintf("%T %q", link, plus), graph.Float64s(out[0]), want, 1e-12) // nine terms of order 10
		}
	}
}

// TestFusedScoresEqualTheSpecification holds one op to an op for each term.
func TestFusedScoresEqualTheSpecification(t *testing.T) {
	view, _, sizes := region(7)
	m := Bilinear{Prior: UniformPrior{}}
	w, err := m.Init(sizes, newRand(8))
	if err != nil {
		t.Fatal(err)
	}
	rows := view.Rows(tensor.Float64, sizes)
	for _, plus := range []IdentityTerm{InLinearTerm, Nowhere} {
		f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
			in := rows.Batch(b)
			form := m.Form(b, in)
			return gorgonia.Nodes{
				posteriorScores(b, form, in.LogProbs, Softplus{}, plus), termScores(b, form, in.LogProbs, Softplus{}, plus),
			}
		})
		out, err := f.Of(graph.Rows(0, rows.Len()))
		if err != nil {
			t.Fatal(err)
		}
		near(t, "scores", graph.Float64s(out[0]), graph.Float64s(out[1]), 1e-12) // nine terms of order 10
	}
}
