package main

import (
	"math"

	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ELU is x for x > 0 and eˣ − 1 below, of a vector.
func ELU() op.Op { return op.New(elu{}) }

type elu struct{}

func (elu) Signature() []op.Kind { return []op.Kind{op.Vector, op.Vector} }

func (elu) Shape(in []tensor.Shape) (tensor.Shape, error) { return op.SameShape(in) }

func (elu) Run(out gorgonia.Value, in []gorgonia.Value) {
	each(out, in[0], in[0], func(x, _ float64) float64 { return max(x, math.Expm1(min(x, 0))) })
}

func (elu) WRT() []bool { return []bool{true} }

func (elu) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	dx, err := gorgonia.ApplyOp(op.New(slope{}), in[0], g)
	return gorgonia.Nodes{dx}, err
}

// slope is g·min(1, eˣ).
type slope struct{}

func (slope) Signature() []op.Kind { return []op.Kind{op.Vector, op.Vector, op.Vector} }

func (slope) Shape(in []tensor.Shape) (tensor.Shape, error) { return op.SameShape(in) }

func (slope) Run(out gorgonia.Value, in []gorgonia.Value) {
	each(out, in[0], in[1], func(x, g float64) float64 { return g * math.Exp(min(x, 0)) })
}

// each is f of every pair of numbers, in float32 or in float64.
func each(out, x, y gorgonia.Value, f func(x, y float64) float64) {
	if op.IsFloat32(out) {
		to, from, with := op.Values[float32](out), op.Values[float32](x), op.Values[float32](y)
		for i := range to {
			to[i] = float32(f(float64(from[i]), float64(with[i])))
		}
		return
	}
	to, from, with := op.Values[float64](out), op.Values[float64](x), op.Values[float64](y)
	for i := range to {
		to[i] = f(from[i], with[i])
	}
}
