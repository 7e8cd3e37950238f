package op_test

import (
	"math/rand/v2"
	"testing"

	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"

	"gorgonia.org/tensor"
)

// TestIntegersByHand: ops of codes, and the nearest of some codewords, whose number counts from the first of all.
func TestIntegersByHand(t *testing.T) {
	s, u := graph.Codes([]int32{0, 1, 2, 3}, 2), graph.Codes([]int32{3, 1, 0, 2}, 2)
	for _, c := range []struct {
		of   op.Op
		in   []*tensor.Dense
		want []int32
	}{
		{op.CodeSum(4), []*tensor.Dense{s, u}, []int32{12, 5, 2, 11}},
		{op.CompareCodes(), []*tensor.Dense{s, u}, []int32{0, 1, 2, 2}},
		{op.Interleave(2), []*tensor.Dense{s, u}, []int32{0, 3, 1, 1, 2, 0, 3, 2}},
		{op.Interleave(3), []*tensor.Dense{s, u, s}, []int32{0, 3, 0, 1, 1, 1, 2, 0, 2, 3, 2, 3}},
	} {
		got, err := run(c.of, c.in...)()
		if err != nil {
			t.Fatal(err)
		}
		for i, k := range got.Int32s() {
			if k != c.want[i] {
				t.Errorf("%v gives %v, not %v", c.of, got.Int32s(), c.want)
				break
			}
		}
	}
	// The slots 1, 4 and 2, 6, and words 0, 1, 4, 5 of which the first is of another table.
	z, words := dense([]float64{1, 4, 2, 6}, 2, 2), dense([]float64{0, 1, 4, 5}, 4, 1)
	isCode(t, op.NearestIn(1, 4), []int32{1, 2, 1, 3}, z, words)
	isCode(t, op.NearestIn(0, 2), []int32{1, 1, 1, 1}, z, words)
	if _, err := op.NearestIn(1, 5).Do(z, words); err == nil {
		t.Error("codeword 4 of 4 is looked for")
	}
}

// TestSumBlocksByHand: of two forms, 2×2, the sums of columns and of rows.
func TestSumBlocksByHand(t *testing.T) {
	forms := dense([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 2, 4)
	isValue(t, "Σ_i", op.SumBlocks(1, 2), []float64{4, 6, 12, 14}, forms)
	isValue(t, "Σ_j", op.SumBlocks(2, 2), []float64{3, 7, 11, 15}, forms)
	rng := rand.New(rand.NewPCG(1, 1))
	x := graph.Tensor(tensor.Float64, graph.Normals(24, 0, 1, rng), 2, 12)
	if err := graphtest.Op(op.SumBlocks(2, 3), x); err != nil {
		t.Error(err)
	}
}
