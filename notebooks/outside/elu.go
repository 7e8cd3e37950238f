package main

import (
	"math"

	"calibra/graph/onnx"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// ELU is x for x > 0 and eˣ − 1 below, of a vector or a matrix.
func ELU(of op.Kind) op.Op { return op.New(elu{of}) }

type elu struct{ of op.Kind }

func (e elu) Signature() []op.Kind { return []op.Kind{e.of, e.of} }

func (elu) Shape(in []tensor.Shape) (tensor.Shape, error) { return op.SameShape(in) }

func (elu) Run(out gorgonia.Value, in []gorgonia.Value) {
	each(out, in[0], in[0], func(x, _ float64) float64 { return max(x, math.Expm1(min(x, 0))) })
}

func (elu) WRT() []bool { return []bool{true} }

func (e elu) Grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	dx, err := gorgonia.ApplyOp(op.New(slope{e.of}), in[0], g)
	return gorgonia.Nodes{dx}, err
}

// ONNX is max(x, e^min(x, 0) − 1).
func (elu) ONNX(g *onnx.Network, in []onnx.Operand) (onnx.Value, error) {
	x := in[0].Value
	return g.Max(x, g.Sub(g.Exp(g.Min(x, g.Scalar(0))), g.Scalar(1))), nil
}

// slope is g·min(1, eˣ).
type slope struct{ of op.Kind }

func (s slope) Signature() []op.Kind { return []op.Kind{s.of, s.of, s.of} }

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
