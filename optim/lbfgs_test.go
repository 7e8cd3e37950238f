package optim_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/graph/work"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// rosenbrock is (1 − a)² + 100(b − a²)², the same for every row, from (−1.2, 1).
func rosenbrock(rows int) (optim.Problem, *graph.Weights) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("a", []float64{-1.2}, 1)
	w.Add("b", []float64{1}, 1)
	one := graph.Tensor(tensor.Float64, []float64{1}, 1)
	return optim.Problem{Rows: rows, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		minus := func(x, y *gorgonia.Node) *gorgonia.Node { return b.Plus(x, b.Apply(op.Scale(1, -1), y)) }
		first := minus(b.Table("one", one), b.Weight("a"))
		second := minus(b.Weight("b"), b.Times(b.Weight("a"), b.Weight("a")))
		valley := b.Apply(op.Scale(1, 100), b.Times(second, second))
		return b.Apply(op.Sum(1), b.Plus(b.Times(first, first), valley))
	})}, w
}

// multinomialRegression is multinomial logistic regression of 300 noisy rows, with a unique
// optimum by a small penalty.
func multinomialRegression(features, classes int) (optim.Problem, *graph.Weights) {
	return multinomialRegressionOf(tensor.Float64, features, classes)
}

func multinomialRegressionOf(dt tensor.Dtype, features, classes int) (optim.Problem, *graph.Weights) {
	const n = 300
	rng := rand.New(rand.NewPCG(3, 0))
	x, y := make([]float64, n*features), make([]int, n)
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	for i := range y {
		y[i] = rng.IntN(classes)
		x[i*features+y[i]%features] += 1
	}
	w := graph.NewWeights(dt)
	w.Add("linear/weight", make([]float64, features*classes), features, classes)
	w.Add("linear/bias", make([]float64, classes), classes)
	table, labels := graph.Tensor(dt, x, n, features), graph.Labels(y)
	return optim.Problem{Rows: n, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		v := b.Weight("linear/weight")
		penalty := b.Apply(op.Scale(0, 1e-3), b.Apply(op.Sum(2), b.Times(v, v)))
		return b.Plus(penalty, b.NLL(b.LogSoftmax(b.Linear("linear", b.Take("x", table))), b.Take("y", labels)))
	})}, w
}

func TestLBFGSFindsRosenbrocksMinimum(t *testing.T) {
	p, w := rosenbrock(5)
	r, err := optim.Minimize(t.Context(), p, optim.LBFGS{Gradient: 1e-8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !r.Converged() || !(r.GradientNorm < 1e-8) {
		t.Errorf("it did not converge: %s", r.Ended)
	}
	// The Hessian's smallest eigenvalue there is 0.4: an error of 1e-8/0.4.
	if a, b := w.Float64s("a")[0], w.Float64s("b")[0]; !scalar.EqualWithinAbs(a, 1, 1e-7) || !scalar.EqualWithinAbs(b, 1, 1e-7) {
		t.Errorf("it ends at (%.9f, %.9f), not (1, 1)", a, b)
	}
}

// TestPiecesMakeNoDifference: the loss over all rows is the mean over its pieces,
// whatever their size, also when the last is shorter.
func TestPiecesMakeNoDifference(t *testing.T) {
	var first []float64
	for _, rows := range []int{300, 128, 7} {
		p, w := multinomialRegression(5, 4)
		if _, err := optim.Minimize(t.Context(), p, optim.LBFGS{Rows: rows, Gradient: 1e-9}, nil); err != nil {
			t.Fatal(err)
		}
		got := w.Float64s("linear/weight")
		if first == nil {
			first = got
		}
		for i, v := range got {
			// A gradient of 1e-9 over a smallest curvature of 2e-3.
			if !scalar.EqualWithinAbs(v, first[i], 1e-6) {
				t.Fatalf("with %d rows at once weight %d is %.9f, with all %.9f", rows, i, v, first[i])
			}
		}
	}
}

func TestLBFGSSaysThatItStoppedShort(t *testing.T) {
	p, _ := rosenbrock(1)
	r, err := optim.Minimize(t.Context(), p, optim.LBFGS{Iterations: 3}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Converged() || r.Epochs != 3 || !strings.Contains(r.Ended, "3 iterations") || !(r.GradientNorm > 1e-6) {
		t.Errorf("%+v", r)
	}
}

func TestUnreachableGradientIsReported(t *testing.T) {
	p, _ := multinomialRegression(5, 4)
	r, err := optim.Minimize(t.Context(), p, optim.LBFGS{Gradient: 1e-30}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Converged() || !(r.GradientNorm <= 1e-6) || r.Ended == "" {
		t.Errorf("%+v", r)
	}
}

// TestSinglePrecisionReachesAGradient below what a float32 loss can tell: at a gradient
// of 1e-5 the loss of about 1 is within 1e-9 of its minimum.
func TestSinglePrecisionReachesAGradient(t *testing.T) {
	single, w := multinomialRegressionOf(tensor.Float32, 6, 3)
	r, err := optim.Minimize(t.Context(), single, optim.LBFGS{Gradient: 1e-5}, nil)
	if err != nil || !r.Converged() || !(r.GradientNorm <= 1e-5) {
		t.Fatalf("%+v, %v", r, err)
	}
	double, exact := multinomialRegression(6, 3)
	if _, err := optim.Minimize(t.Context(), double, optim.LBFGS{Gradient: 1e-9}, nil); err != nil {
		t.Fatal(err)
	}
	for _, name := range w.Learned() {
		for i, v := range exact.Float64s(name) {
			// The bias may move by a constant; only weights are determined, by curvatures of
			// 0.1 or so.
			if got := w.Float64s(name)[i]; name == "linear/weight" && !scalar.EqualWithinAbs(got, v, 1e-3) {
				t.Errorf("%s[%d] is %v in float32, %v in float64", name, i, got, v)
			}
		}
	}
}

// TestDecreaseEndsAFit that stands still long before its gradient is reached.
func TestDecreaseEndsAFit(t *testing.T) {
	p, _ := multinomialRegression(6, 3)
	whole, err := optim.Minimize(t.Context(), p, optim.LBFGS{Gradient: 1e-12, Store: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, _ = multinomialRegression(6, 3)
	r, err := optim.Minimize(t.Context(), p, optim.LBFGS{Gradient: 1e-12, Decrease: 1e-4, Store: 1}, nil)
	if err != nil || !r.Converged() || r.Epochs >= whole.Epochs {
		t.Errorf("%+v, the whole fit %+v, %v", r, whole, err)
	}
	if !(r.Loss-whole.Loss <= 1e-4) {
		t.Errorf("the loss is %v above its minimum", r.Loss-whole.Loss)
	}
	if _, err := optim.Minimize(t.Context(), p, optim.LBFGS{Decrease: -1}, nil); err == nil {
		t.Error("a negative decrease is accepted")
	}
}

func TestInterruptedLBFGSKeepsItsWeights(t *testing.T) {
	p, w := rosenbrock(1)
	ctx, cancel := context.WithCancel(t.Context())
	iterations := 0
	watched := work.WithProgress(ctx, func([]string, float64, float64) {
		if iterations++; iterations == 5 {
			cancel()
		}
	})
	r, err := optim.Minimize(watched, p, optim.LBFGS{}, nil)
	if !errors.Is(err, context.Canceled) || r.Epochs < 5 || r.Converged() {
		t.Errorf("%+v, %v", r, err)
	}
	if w.Float64s("a")[0] == -1.2 {
		t.Error("the weights are those of the start")
	}
}

func TestBadStartIsAnError(t *testing.T) {
	p, w := rosenbrock(1)
	w.Tensor("a").Float64s()[0] = math.NaN()
	if _, err := optim.Minimize(t.Context(), p, optim.LBFGS{}, nil); err == nil || !strings.Contains(err.Error(), "not finite") {
		t.Errorf("%v", err)
	}
}

// TestFixedLBFGSApproachesExponentially: on the parabola ½x² a rate η shrinks the
// distance by 1 − η in each step, as the direction is −x exactly; the first step
// too, since |gradient| ≤ 1 leaves its rate alone.
func TestFixedLBFGSApproachesExponentially(t *testing.T) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("x", []float64{0.9}, 1)
	loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.Apply(op.Scale(0, 0.5), b.Apply(op.Sum(1), b.Times(b.Weight("x"), b.Weight("x"))))
	})
	r, err := optim.Minimize(t.Context(), optim.Problem{Loss: loss, Rows: 1}, optim.FixedLBFGS{Iterations: 500}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := 0.9 * math.Pow(1-1e-3, 500)
	// 500 roundings of 1e-16, with curvature estimates s·y/y·y of relative error 1e-13.
	if got := w.Float64s("x")[0]; !scalar.EqualWithinAbs(got, want, 1e-9) {
		t.Errorf("x = %.12f after 500 steps, not %.12f", got, want)
	}
	if r.Converged() || r.Epochs != 500 {
		t.Errorf("%+v", r)
	}
}

func ExampleLBFGS() {
	p, w := rosenbrock(1)
	r, err := optim.Minimize(context.Background(), p, optim.LBFGS{Gradient: 1e-8}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("a = %.6f, b = %.6f, converged: %v\n", w.Float64s("a")[0], w.Float64s("b")[0], r.Converged())
	// Output: a = 1.000000, b = 1.000000, converged: true
}
