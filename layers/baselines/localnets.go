package baselines

import (
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// neighbourhood describes the kernel estimate P₁ = wY (B×C) of the similarities s
// (B×50) within the batch,
//
//	w_ij ∝ exp(−‖s_j − s_i‖² / (2σ² + 1e-6)) ,  w_ii = 0
//
// normalized and clamped as op.Shares does; onehot is Y (B×C) and rows the B row
// numbers.
func neighbourhood(b *graph.Builder, s, onehot, rows *gorgonia.Node, sigma float64) *gorgonia.Node {
	kernel := b.Apply(op.Gaussian(1/(2*sigma*sigma+1e-6)), s, s)
	return b.MatMul(b.Apply(op.Shares(), b.Apply(op.OmitSelf(), kernel, rows, rows)), onehot)
}

// kernelCrossEntropy describes −mean log P₁[y], P₁ clipped at 1e-8.
func kernelCrossEntropy(b *graph.Builder, p1, labels *gorgonia.Node) *gorgonia.Node {
	return b.NLL(b.Apply(op.FlooredLog(2, 1e-8), p1), labels)
}

// onehot is 1[y = k] of each row (N×C).
func onehot(dt tensor.Dtype, labels []int, c int) *tensor.Dense {
	y := make([]float64, len(labels)*c)
	for i, k := range labels {
		y[i*c+k] = 1
	}
	return graph.Tensor(dt, y, len(labels), c)
}

// upTo is 0…n−1.
func upTo(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}
