package op

import (
	"fmt"
	"math"
)

// FlooredLog is log max(x, floor) of a tensor of dims dimensions, for a positive
// floor; its derivative is 1/x above the floor and 0 at and below it.
func FlooredLog(dims int, floor float64) Op {
	if !(floor > 0) {
		panic(fmt.Sprintf("op: FlooredLog with a floor of %v, which is not positive", floor))
	}
	return Op{FlooredLogOp{Kind{Dims: dims}, floor}}
}

// FlooredLogOp is the op of [FlooredLog].
type FlooredLogOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogOp) Form() string              { return AlikeByRow(o.Of, 1) }
func (o FlooredLogOp) Run(out Value, in []Value) { Dispatch(o, out, in, flooredLog, flooredLog) }

func flooredLog[F Float](o FlooredLogOp, v Args[F]) {
	out := v.Out()
	for i, x := range v.In(0) {
		out[i] = F(math.Log(max(float64(x), o.Floor)))
	}
}

func (o FlooredLogOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{FlooredLogGradOp(o)}.Of(in[0], g)}, nil
}

// FlooredLogGradOp is g/x where x is above the floor and 0 elsewhere.
type FlooredLogGradOp struct {
	Of    Kind
	Floor float64
}

func (o FlooredLogGradOp) Form() string              { return AlikeByRow(o.Of, 2) }
func (o FlooredLogGradOp) Run(out Value, in []Value) { Dispatch(o, out, in, divideAbove, divideAbove) }

func divideAbove[F Float](o FlooredLogGradOp, v Args[F]) {
	out, g, floor := v.Out(), v.In(1), F(o.Floor)
	for i, x := range v.In(0) {
		if out[i] = 0; x > floor {
			out[i] = g[i] / x
		}
	}
}
