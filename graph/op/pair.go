package op

import (
	"calibra/graph/simd"

	"gorgonia.org/gorgonia"
)

// Pair lets a step of a program and a later one that starts from the same inputs share
// what both compute, if they are a pair that can: first then uses the memory of later's
// result, which nobody has read yet. [DirichletScores] and its gradient by A are one: the
// scores' step leaves there the slopes for g = 1, and only g is left to multiply by.
func Pair(first, later gorgonia.Op, result gorgonia.Value) (gorgonia.Op, gorgonia.Op, bool) {
	a, oursA := first.(Op)
	b, oursB := later.(Op)
	if !oursA || !oursB {
		return nil, nil, false
	}
	scores, isScores := a.kernel.(dirichlet)
	_, isSlopes := b.kernel.(dirichletByForm)
	if !isScores || !isSlopes || !isFloat32(result) {
		return nil, nil, false
	}
	return Op{dirichletWithSlopes{scores, result}}, Op{dirichletTimesG{}}, true
}

// dirichletWithSlopes is dirichlet that also sets slopes to those for g = 1.
type dirichletWithSlopes struct {
	dirichlet
	slopes gorgonia.Value
}

func (o dirichletWithSlopes) run(out gorgonia.Value, in []gorgonia.Value) {
	runBatch(dirichletBatch{
		of: scoresAndSlopes, score: values[float32](out), da: values[float32](o.slopes),
		a: values[float32](in[0]), logp: values[float32](in[1]), c: columns(out), delta: float32(o.Delta),
	})
}

// dirichletTimesG is dirichletByForm of slopes for g = 1 that are there already.
type dirichletTimesG struct{ dirichletByForm }

func (dirichletTimesG) run(out gorgonia.Value, in []gorgonia.Value) {
	runBatch(dirichletBatch{of: timesG, da: values[float32](out), logp: values[float32](in[1]), g: values[float32](in[2]), c: columns(in[1])})
}

func scoresAndSlopes(d *dirichletBatch, rows, matrices span) {
	simd.DirichletScoresAndSlopes(rows.of(d.score), matrices.of(d.da), matrices.of(d.a), rows.of(d.logp), d.c, d.delta, AlphaFloor)
}

func timesG(d *dirichletBatch, rows, matrices span) {
	simd.ScaleColumns(matrices.of(d.da), rows.of(d.g), d.c)
}
