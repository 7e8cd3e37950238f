package optim_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// rules has a row for every rule, part and schedule, alone or in a chain. Steps of one length
// need a schedule to settle.
var rules = map[string]optim.Rule{
	"Adam":              optim.Adam{Rate: 1e-2},
	"AdamW":             optim.AdamW{Rate: 1e-2},
	"SGD":               optim.SGD{Rate: 3e-2},
	"SGD with momentum": optim.SGD{Rate: 1e-2, Momentum: 0.9},
	"Lion":              optim.Chain{optim.Lion{Rate: 1e-2}, optim.Scheduled{By: optim.Cosine{}}},
	"Nadam":             optim.Nadam{Rate: 1e-2},
	"Lion by parts":     optim.Chain{optim.Sign{}, optim.Decay{}, optim.Rate{Rate: 1e-2}, optim.Scheduled{By: optim.Cosine{}}},
	"Nadam by parts":    optim.Chain{optim.NesterovMoments{}, optim.Rate{Rate: 1e-2}},
	"clipped":           optim.Chain{optim.Clip{Norm: 0.5}, optim.SGD{Rate: 3e-2}},
	"warmed up":         optim.Chain{optim.Adam{Rate: 1e-2}, optim.Scheduled{By: optim.WarmUp{}}},
	"one cycle":         optim.Chain{optim.Adam{Rate: 2e-2}, optim.Scheduled{By: optim.OneCycle{}}},
	"SAM":               optim.SAM{Of: optim.SGD{Rate: 3e-2}, Radius: 1e-3},
	"SAM, warmed up":    optim.Chain{optim.SAM{Of: optim.Adam{Rate: 1e-2}, Radius: 1e-3}, optim.Scheduled{By: optim.WarmUp{Then: optim.Cosine{}}}},
	"ascent by parts":   optim.Chain{optim.Ascent{Radius: 1e-3}, optim.Momentum{Factor: 0.5}, optim.Rate{Rate: 1e-2}},
	"Lookahead":         optim.Chain{optim.Adam{Rate: 1e-2}, optim.Lookahead{}},
	"Lookahead first":   optim.Chain{optim.Lookahead{Steps: 3}, optim.SAM{Of: optim.SGD{Rate: 3e-2}, Radius: 1e-3}},
	"by parts":          optim.Chain{optim.Momentum{Factor: 0.5}, optim.Moments{}, optim.Decay{}, optim.Rate{Rate: 1e-2}},
}

// averages has a row for every average of the weights.
var averages = map[string]optim.Average{"EMA": optim.EMA{Decay: 0.99}}

// problems has a row for every problem of known optimum.
var problems = map[string]problem{"quadratic": quadratic, "regression": regression}

// TestEveryRuleOnEveryProblem is the table of both lists: each rule runs full batch until it has had time to
// settle, and by itself as far as the loss falls ([optim.Descent]). Adam's steps shrink no further than its rate on a
// quadratic, hence 2e-3.
func TestEveryRuleOnEveryProblem(t *testing.T) {
	for name, p := range problems {
		for _, dt := range []tensor.Dtype{tensor.Float32, tensor.Float64} {
			for rule, r := range rules {
				t.Run(fmt.Sprintf("%s/%s/%v", name, rule, dt), func(t *testing.T) {
					p.solved(t, dt, optim.Settings{Rule: r})
				})
				t.Run(fmt.Sprintf("%s/%s/%v/descent", name, rule, dt), func(t *testing.T) {
					p.descended(t, dt, r)
				})
			}
			for average, a := range averages {
				t.Run(fmt.Sprintf("%s/%s/%v", name, average, dt), func(t *testing.T) {
					p.solved(t, dt, optim.Settings{Rule: optim.SGD{Rate: 3e-2}, Average: a})
				})
			}
		}
	}
}

// descended checks that a descent of few epochs ends no worse than it began and says truly what it reached.
func (p problem) descended(t *testing.T, dt tensor.Dtype, r optim.Rule) {
	pr := p.make(dt)
	all := graph.Rows(0, pr.Rows)
	before, _, err := pr.Loss.Gradient(all)
	if err != nil {
		t.Fatal(err)
	}
	result, err := optim.Minimize(t.Context(), pr, optim.Descent{Settings: optim.Settings{Rule: r, Batch: pr.Rows, Epochs: 40}}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := pr.Loss.Gradient(all)
	if err != nil {
		t.Fatal(err)
	}
	if after > before || result.Loss != after || result.Converged() != (result.GradientNorm <= 1e-6) {
		t.Errorf("from %v to %v, and it says %v, %v, %s", before, after, result.Loss, result.GradientNorm, result.Ended)
	}
}

func (p problem) solved(t *testing.T, dt tensor.Dtype, s optim.Settings) {
	pr := p.make(dt)
	s.Batch, s.Epochs = pr.Rows, 3000
	if _, err := optim.Minimize(t.Context(), pr, s, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	for weight, want := range p.optimum {
		got := pr.Loss.Weights().Float64s(weight)
		if weight == "logits" { // the loss does not see a constant, which the sign of a rounding error may move
			floats.AddConst(-floats.Sum(got)/float64(len(got)), got)
		}
		for i, v := range got {
			if !scalar.EqualWithinAbs(v, want[i], 2e-3) {
				t.Errorf("%s[%d] = %v, the optimum is %v", weight, i, v, want[i])
			}
		}
	}
}

// TestEveryRuleIsTried reads the package's source: each rule (a Parts method), schedule
// (Factor) and average (Share) must have a row above.
func TestEveryRuleIsTried(t *testing.T) {
	tried := map[string]bool{"Chain": true}
	var visit func(v reflect.Value)
	visit = func(v reflect.Value) {
		switch v.Kind() {
		case reflect.Interface:
			visit(v.Elem())
		case reflect.Slice:
			for i := range v.Len() {
				visit(v.Index(i))
			}
		case reflect.Struct:
			tried[v.Type().Name()] = true
			for i := range v.NumField() {
				visit(v.Field(i))
			}
		}
	}
	for _, r := range rules {
		visit(reflect.ValueOf(r))
	}
	for _, a := range averages {
		visit(reflect.ValueOf(a))
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Recv == nil || !slices.Contains([]string{"Parts", "Factor", "Share"}, f.Name.Name) {
				continue
			}
			found++
			if of := f.Recv.List[0].Type.(*ast.Ident).Name; !tried[of] && !strings.HasSuffix(name, "_test.go") {
				t.Errorf("%s has no row in rules or averages", of)
			}
		}
	}
	if found < 10 {
		t.Errorf("only %d rules, schedules and averages are found", found)
	}
}

// steep is Σ cₜ·x for a gradient that is c, whatever x.
func steep(c []float64, x ...float64) optim.Problem {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", x, len(x))
	slope := graph.Tensor(tensor.Float64, c, len(c))
	return optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.Apply(op.Sum(1), b.Times(b.Weight("x"), b.Table("slope", slope)))
	})}
}

func after(t *testing.T, p optim.Problem, epochs int, s optim.Settings) []float64 {
	t.Helper()
	s.Epochs, s.Patience = epochs, epochs
	if _, err := optim.Minimize(t.Context(), p, s, rand.New(rand.NewPCG(1, 1))); err != nil {
		t.Fatal(err)
	}
	return p.Loss.Weights().Float64s("x")
}

// Adam in one pass is the chain of its parts, which a part of no effect keeps from being
// recognized.
func TestFusedIsTheChain(t *testing.T) {
	idle := optim.Scheduled{By: optim.Cosine{End: 1}}
	for _, c := range [][2]optim.Rule{
		{optim.Adam{WeightDecay: 0.1}, optim.Chain{optim.Decay{Strength: 0.1}, optim.Moments{}, idle, optim.Rate{Rate: 1e-3}}},
		{optim.AdamW{WeightDecay: 0.1}, optim.Chain{optim.Moments{}, idle, optim.Decay{Strength: 0.1}, optim.Rate{Rate: 1e-3}}},
		{optim.SGD{Momentum: 0.9, WeightDecay: 0.1}, optim.Chain{optim.Decay{Strength: 0.1}, optim.Momentum{Factor: 0.9}, idle, optim.Rate{Rate: 1e-2}}},
	} {
		a := after(t, quadratic.make(tensor.Float64), 50, optim.Settings{Rule: c[0]})
		b := after(t, quadratic.make(tensor.Float64), 50, optim.Settings{Rule: c[1]})
		if !floats.EqualApprox(a, b, 1e-13) { // other order of the same operations
			t.Errorf("%T ends at %v, its parts at %v", c[0], a, b)
		}
	}
}

// Clip bounds the length of the step of all weights together, and leaves its direction.
func TestClip(t *testing.T) {
	s := optim.Settings{Rule: optim.Chain{optim.Clip{Norm: 2}, optim.SGD{Rate: 1}}}
	if x := after(t, steep([]float64{30, -40}, 0, 0), 1, s); !floats.EqualApprox(x, []float64{-1.2, 1.6}, 1e-14) {
		t.Errorf("a gradient of norm 50 moves to %v", x)
	}
	if x := after(t, steep([]float64{0.3, -0.4}, 0, 0), 1, s); !floats.EqualApprox(x, []float64{-0.3, 0.4}, 1e-14) {
		t.Errorf("a gradient of norm 0.5 moves to %v", x)
	}
}

// SAM steps by the gradient where the loss is largest at a distance ρ: of ½x² it is x + ρ.
func TestSAM(t *testing.T) {
	half := func(x float64) optim.Problem {
		w := graph.NewWeights(tensor.Float64)
		w.Add("x", []float64{x}, 1)
		return optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return b.Apply(op.Scale(0, 0.5), b.Apply(op.Sum(1), b.Times(b.Weight("x"), b.Weight("x"))))
		})}
	}
	for _, c := range []struct{ from, to float64 }{{3, 3 - 0.1*(3+0.5)}, {-3, -3 + 0.1*(3+0.5)}, {0, 0}} {
		if x := after(t, half(c.from), 1, optim.Settings{Rule: optim.SAM{Of: optim.SGD{Rate: 0.1}, Radius: 0.5}}); !scalar.EqualWithinAbs(x[0], c.to, 1e-15) {
			t.Errorf("from %v it steps to %v, not %v", c.from, x[0], c.to)
		}
	}
}

// Lookahead goes back by a share after every k steps, under a schedule too, and whichever part is named first.
func TestLookahead(t *testing.T) {
	half := optim.Scheduled{By: optim.Cosine{End: 1}} // a factor of 1
	for _, r := range []optim.Rule{
		optim.Chain{optim.SGD{Rate: 1}, optim.Lookahead{Steps: 2, Share: 0.25}},
		optim.Chain{optim.Lookahead{Steps: 2, Share: 0.25}, optim.SGD{Rate: 1}, half},
	} {
		for steps, want := range map[int]float64{1: -1, 2: -0.5, 3: -1.5, 4: -1} { // φ: 0, then -2/4, then -0.5 - 2/4
			if x := after(t, steep([]float64{1}, 0), steps, optim.Settings{Rule: r}); x[0] != want {
				t.Errorf("%v is at %v after %d steps, not %v", r, x[0], steps, want)
			}
		}
	}
}

// The factors at the first, a middle and the last of 11 steps, by the formulas.
func TestSchedules(t *testing.T) {
	for _, c := range []struct {
		of   optim.Schedule
		at   [3]int
		want [3]float64
	}{
		{optim.Cosine{End: 0.2}, [3]int{1, 6, 11}, [3]float64{1, 0.6, 0.2}},
		{optim.WarmUp{Steps: 4}, [3]int{1, 4, 11}, [3]float64{0.25, 1, 1}},
		{optim.WarmUp{Steps: 4, Then: optim.Cosine{}}, [3]int{2, 5, 11}, [3]float64{0.5, 1, 0}},
		{optim.OneCycle{Rise: 0.4, Start: 0.1, End: 0.01}, [3]int{1, 5, 11}, [3]float64{0.1, 1, 0.01}},
		{optim.OneCycle{Rise: 0.4, Start: 0.1, End: 0.01}, [3]int{3, 8, 11}, [3]float64{0.55, 0.505, 0.01}},
	} {
		for i, step := range c.at {
			if got := c.of.Factor(optim.Time{Step: step, Steps: 11}); !scalar.EqualWithinAbs(got, c.want[i], 1e-12) {
				t.Errorf("%+v is %v at step %d, not %v", c.of, got, step, c.want[i])
			}
		}
	}
}

// Averages of weights that go 1, 2, 3, 4 below zero.
func TestAverages(t *testing.T) {
	for _, c := range []struct {
		of   optim.Average
		want float64
	}{
		{optim.EMA{Decay: 0.5}, -(1*0.125 + 2*0.25 + 3*0.5 + 4) / 1.875}, // Σ γ^(4−t) θ_t / Σ γ^(4−t)
	} {
		if x := after(t, steep([]float64{1}, 0), 4, optim.Settings{Rule: optim.SGD{Rate: 1}, Average: c.of}); !scalar.EqualWithinAbs(x[0], c.want, 1e-12) {
			t.Errorf("%+v keeps %v, not %v", c.of, x[0], c.want)
		}
	}
}

// A fit that goes on from what the rule remembered ends where one that was never
// interrupted does.
func TestStateGoesOn(t *testing.T) {
	for name, r := range rules {
		if strings.Contains(name, "cycle") || strings.Contains(name, "warm") || strings.HasPrefix(name, "Lion") {
			continue // the schedule of a longer fit is another
		}
		for _, average := range []optim.Average{nil, optim.EMA{Decay: 0.9}} {
			whole := after(t, quadratic.make(tensor.Float64), 20, optim.Settings{Rule: r, Average: average})
			p := quadratic.make(tensor.Float64)
			var state *graph.Weights
			after(t, p, 12, optim.Settings{Rule: r, Average: average, Observe: func(e optim.Epoch) {
				if e.Number == e.Of {
					var err error
					if state, err = e.State(); err != nil {
						t.Fatal(err)
					}
				}
			}})
			if got := after(t, p, 8, optim.Settings{Rule: r, Average: average, Start: state}); !slices.Equal(got, whole) {
				t.Errorf("%s, %v: 12 and 8 epochs end at %v, 20 at %v", name, average, got, whole)
			}
		}
	}
	p := quadratic.make(tensor.Float64)
	w := graph.NewWeights(tensor.Float64)
	w.AddState("steps", []float64{3}, 1)
	if _, err := optim.Minimize(t.Context(), p, optim.Settings{Start: w}, rand.New(rand.NewPCG(1, 1))); err == nil || !strings.Contains(err.Error(), "not the state of the rule") {
		t.Errorf("the state of another rule ends with %v", err)
	}
}
