package op

import (
	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
)

// Pair lets a step of a program and a later one that starts from the same inputs share
// what both compute, if they are a pair that can: first then uses the memory of later's
// result, which nobody has read yet. [DirichletScores] and its gradient by A are one: the
// scores' step leaves there the gradients for g = 1, and only g is left to multiply by.
func Pair(first, later gorgonia.Op, result gorgonia.Value) (gorgonia.Op, gorgonia.Op, bool) {
	a, oursA := first.(Op)
	b, oursB := later.(Op)
	if !oursA || !oursB {
		return nil, nil, false
	}
	scores, isScores := a.Kernel.(DirichletOp)
	_, isGradients := b.Kernel.(DirichletByFormOp)
	if !isScores || !isGradients || !IsFloat32(result) {
		return nil, nil, false
	}
	return Op{DirichletWithGradientOp{scores, result}}, Op{DirichletTimesGOp{}}, true
}

// DirichletWithGradientOp is dirichlet that also sets gradients to those for g = 1.
type DirichletWithGradientOp struct {
	DirichletOp
	gradients gorgonia.Value
}

func (o DirichletWithGradientOp) Run(out Value, in []Value) {
	v := Args[float32]{out, in}
	runBatch(dirichletBatch{
		of: scoresAndGradients, score: v.Out(), da: v.alongside(o.gradients),
		a: v.In(0), logp: v.In(1), c: v.Columns(1), delta: float32(o.Delta),
	})
}

// DirichletTimesGOp is dirichletByForm of gradients for g = 1 that are there already.
type DirichletTimesGOp struct{ DirichletByFormOp }

func (DirichletTimesGOp) Run(out Value, in []Value) {
	v := Args[float32]{out, in}
	runBatch(dirichletBatch{of: timesG, da: v.Out(), logp: v.In(1), g: v.In(2), c: v.Columns(1)})
}

func scoresAndGradients(d *dirichletBatch, rows, matrices span) {
	simd.DirichletScoresAndGradient(rows.of(d.score), matrices.of(d.da), matrices.of(d.a), rows.of(d.logp), d.c, d.delta, AlphaFloor)
}

func timesG(d *dirichletBatch, rows, matrices span) {
	simd.ScaleColumns(matrices.of(d.da), rows.of(d.g), d.c)
}
