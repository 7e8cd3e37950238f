package op_test

import (
	"fmt"

	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// One row of four slots, three of which say codeword 1; the scale of the last slot
// is 2.
func ExampleMass() {
	codes := graph.Codes([]int32{1, 0, 1, 1}, 4)
	scale := graph.Tensor(tensor.Float64, []float64{1, 1, 1, 2}, 4)
	mass, err := op.Mass(3).Do(codes, scale)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(graph.Float64s(mass))
	// Output: [1 4 0]
}

// Two slots of width 1, and codewords at 0 and 10.
func ExampleNearest() {
	features := graph.Tensor(tensor.Float64, []float64{1, 9, 4, 6}, 2, 2)
	codebook := graph.Tensor(tensor.Float64, []float64{0, 10}, 2, 1)
	codes, err := op.Nearest().Do(features, codebook)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(codes.Data())
	// Output: [0 1 0 1]
}

// With A = softplus⁻¹(1) everywhere, α is 1 and the map is the identity up to a
// constant: every class has the same Dirichlet normalizer.
func ExampleDirichletScores() {
	const one = 0.5413248546129181 // log(e − 1)
	form := graph.Tensor(tensor.Float64, []float64{one, one, one, one}, 1, 4)
	logProbs := graph.Tensor(tensor.Float64, []float64{-0.1054, -2.3026}, 1, 2)
	scores, err := op.DirichletScores(1).Do(form, logProbs)
	if err != nil {
		fmt.Println(err)
		return
	}
	s := graph.Float64s(scores)
	fmt.Printf("difference %.4f of %.4f\n", s[0]-s[1], -0.1054+2.3026)
	// Output: difference 2.1972 of 2.1972
}
