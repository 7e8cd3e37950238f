package optim_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// frequencies is the log-loss of one logit for each of two classes, over 300 rows of
// which every third has label 1: the best logits differ by log 2.
func frequencies() (*graph.Weights, optim.Problem) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("logits", []float64{0, 0}, 2)
	labels := make([]int, 300)
	for i := range labels {
		labels[i] = min(i%3, 1) ^ 1
	}
	y, zero := graph.Labels(labels), graph.Tensor(tensor.Float64, make([]float64, 600), 300, 2)
	return w, optim.Problem{Rows: 300, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		return b.NLL(b.LogSoftmax(b.AddRow(b.Take("zero", zero), b.Weight("logits"))), b.Take("labels", y))
	})}
}

func ExampleMinimize() {
	w, problem := frequencies()
	settings := optim.Settings{Rule: optim.Adam{Rate: 1e-2}, Batch: 300, Epochs: 500}
	result, err := optim.Minimize(context.Background(), problem, settings, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		fmt.Println(err)
		return
	}
	logits := w.Float64s("logits")
	fmt.Printf("%d epochs, loss %.3f, log-odds %.3f\n", result.Epochs, result.Loss, logits[0]-logits[1])
	// Output: 500 epochs, loss 0.637, log-odds 0.693
}

// The temperature-like problem ½(t − 2)² in one number.
func ExampleBisect() {
	w := graph.NewWeights(tensor.Float64)
	w.Add("t", []float64{0}, 1)
	two, half := graph.Tensor(tensor.Float64, []float64{-2}, 1), graph.Tensor(tensor.Float64, []float64{.5}, 1)
	problem := optim.Problem{Rows: 1, Loss: graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		d := b.Plus(b.Weight("t"), b.Table("two", two))
		return b.Apply(op.Sum(1), b.Times(b.Table("half", half), b.Times(d, d)))
	})}
	result, err := optim.Minimize(context.Background(), problem, optim.Bisect{Low: -10, High: 10, Tolerance: 1e-9}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("t = %.6f, converged: %t\n", w.Float64s("t")[0], result.Converged())
	// Output: t = 2.000000, converged: true
}

// A fixed step without a line search stops short, and the result says so.
func ExampleFixedLBFGS() {
	for _, iterations := range []int{100, 1000} {
		w, problem := frequencies()
		result, err := optim.Minimize(context.Background(), problem, optim.FixedLBFGS{Iterations: iterations}, nil)
		if err != nil {
			fmt.Println(err)
			return
		}
		logits := w.Float64s("logits")
		fmt.Printf("log-odds %.3f of 0.693, converged: %t\n", logits[0]-logits[1], result.Converged())
	}
	// Output:
	// log-odds 0.063 of 0.693, converged: false
	// log-odds 0.428 of 0.693, converged: false
}

// odds fits the two logits of [ExampleMinimize] by a rule and prints by how much they differ in the
// end: log 2 = 0.693.
func odds(rule optim.Rule) {
	w, problem := frequencies()
	settings := optim.Settings{Rule: rule, Batch: 300, Epochs: 500}
	if _, err := optim.Minimize(context.Background(), problem, settings, rand.New(rand.NewPCG(1, 0))); err != nil {
		fmt.Println(err)
		return
	}
	logits := w.Float64s("logits")
	fmt.Printf("%.3f\n", logits[0]-logits[1])
}

func ExampleAdam() {
	odds(optim.Adam{Rate: 1e-2})
	// Output: 0.693
}

// Decay that is no part of the gradient draws the logits together.
func ExampleAdamW() {
	odds(optim.AdamW{Rate: 1e-2, WeightDecay: 0.1})
	// Output: 0.690
}

func ExampleSGD() {
	odds(optim.SGD{Rate: 0.5, Momentum: 0.9})
	// Output: 0.693
}

func ExampleNadam() {
	odds(optim.Nadam{Rate: 1e-2})
	// Output: 0.693
}

// Lion's steps are of one length until its rate falls.
func ExampleLion() {
	odds(optim.Chain{optim.Lion{Rate: 1e-2}, optim.Scheduled{By: optim.Cosine{}}})
	// Output: 0.693
}

// The parts of Adam behind a clip, before a warm-up.
func ExampleChain() {
	odds(optim.Chain{
		optim.Clip{Norm: 0.1},
		optim.Moments{},
		optim.Rate{Rate: 1e-2},
		optim.Scheduled{By: optim.WarmUp{Steps: 20}},
	})
	// Output: 0.693
}

// The weights of two densities, of which the first explains two rows of three alone.
func ExampleMixture() {
	weights := []float64{0.5, 0.5}
	mixture := optim.Mixture{Densities: []float64{1, 0, 1, 0, 0, 1}}
	if err := mixture.Minimize(context.Background(), weights); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", weights)
	// Output: [0.6667 0.3333]
}

// bowl is Σ_i (1 + i)(x_i − 1)²/2.
type bowl struct{}

func (bowl) Gradient(grad, x []float64) (loss float64) {
	for i, v := range x {
		grad[i] = float64(1+i) * (v - 1)
		loss += grad[i] * (v - 1) / 2
	}
	return loss
}

func (bowl) Product(dst, v []float64) {
	for i := range v {
		dst[i] = float64(1+i) * v[i]
	}
}

func (bowl) Precondition(dst, r []float64) { copy(dst, r) }

func (bowl) Renew() error { return nil }

func ExampleNewton() {
	x := make([]float64, 3)
	result, err := optim.Newton{Gradient: 1e-9}.Descend(context.Background(), bowl{}, x)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.6f, %v\n", x, result.Status)
	// Output: [1.000000 1.000000 1.000000], small gradient
}
