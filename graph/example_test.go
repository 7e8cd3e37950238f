package graph_test

import (
	"fmt"

	"calibra/graph"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// A linear classifier of three rows: the tables are named once, a step is told only
// which of their rows it works on.
func ExampleObjective() {
	w := graph.NewWeights(tensor.Float64)
	w.Add("head/weight", []float64{0, 0, 0, 0}, 2, 2)
	w.Add("head/bias", []float64{0, 0}, 2)
	x := graph.Matrix(tensor.Float64, mat.NewDense(3, 2, []float64{1, 0, 0, 1, 2, 2}))
	labels := graph.Labels([]int{0, 1, 1})

	loss := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
		scores := b.Linear("head", b.Take("x", x)) // B×2
		return b.NLL(b.LogSoftmax(scores), b.Take("labels", labels))
	})
	value, gradient, err := loss.Gradient([]int32{0, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("loss %.4f = log 2\n", value)
	for i, name := range w.Learned() {
		fmt.Printf("∂loss/∂%s = %.2f\n", name, graph.Float64s(gradient[i]))
	}
	// Output:
	// loss 0.6931 = log 2
	// ∂loss/∂head/weight = [0.25 -0.25 0.50 -0.50]
	// ∂loss/∂head/bias = [0.00 0.00]
}

func ExampleFunction() {
	w := graph.NewWeights(tensor.Float64)
	x := graph.Matrix(tensor.Float64, mat.NewDense(2, 3, []float64{0, 0, 0, 1, 1, 3}))
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{b.LogSoftmax(b.Take("logits", x))}
	})
	outputs, err := f.Of(graph.Rows(0, 1))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", graph.Float64s(outputs[0]))
	// Output: [-1.0986 -1.0986 -1.0986]
}

// The first mistake sticks, so that a model is written without an error check per
// line.
func ExampleBuilder() {
	w := graph.NewWeights(tensor.Float64)
	w.Add("receiver", []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	b := graph.NewBuilder(w, 1)
	product := b.MatMul(b.Weight("receiver"), b.Weight("sender"))
	fmt.Println(product == nil, b.Err())
	// Output: true graph: there is no weight "sender"
}
