package layers

import (
	"cmp"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"
	"calibra/graph/work"

	"gorgonia.org/gorgonia"
)

// Cityblock gives each slot the codeword nearest by the ℓ1 distance,
//
//	s(i) = argmin_k ‖z⁽ⁱ⁾ − c_k‖₁ ,   the first index on ties,
//
// where the paper's text names the ℓ2 norm as an example (section 3.1). The codewords start and move as those of Codes
// do, toward the means of their slots.
type Cityblock struct{ Codes } // of one codeword for each slot

var _ Codes = Cityblock{}

// Over is the sizes of Codes; of several codewords for each slot, with tables, or [Indices] are a [*SettingError].
func (c Cityblock) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.Codes.Over(cal, slots)
	if err == nil && (s.CodesOf() > 1 || s.Tables != nil) {
		err = &SettingError{fmt.Sprintf(
			"by the l1 distance a slot has one codeword; the codes %s have several", NameOf(c.Codes))}
	}
	return s, cmp.Or(err, featuresRead(c.Codes))
}

// Assign describes the codes of features z (B×M).
func (Cityblock) Assign(b *graph.Builder, z *gorgonia.Node, _ Sizes) Assignment {
	return Assignment{Codes: b.Apply(op.New(cityblockOp{}), z, b.Weight("codebook/codewords"))}
}

// Twin compares slots with the codewords of the twin alike.
func (c Cityblock) Twin() Codes { return Cityblock{c.Codes.Twin()} }

// cityblockOp finds the codes of features (B×M) by codewords (K×d), distances in float64.
type cityblockOp struct{}

var _ onnx.Kernel = cityblockOp{}

func (cityblockOp) Form() string { return "B M, K d -> int B M/d" }

func (o cityblockOp) Run(out op.Value, in []op.Value) {
	op.Dispatch(o, out, in, cityblock[float32], cityblock[float64])
}

func cityblock[F op.Float](_ cityblockOp, v op.Args[F]) {
	codes, z, words, d := v.OutInts(), v.In(0), v.In(1), v.Columns(1)
	work.Ranges(len(codes), 64, func(lo, hi int) {
		for at := lo; at < hi; at++ {
			nearest := math.Inf(1)
			codes[at] = 0
			for k := range len(words) / d {
				apart := 0.0
				for j, c := range words[k*d:][:d] {
					apart += math.Abs(float64(z[at*d+j]) - float64(c))
				}
				if apart < nearest {
					nearest, codes[at] = apart, int32(k)
				}
			}
		}
	})
}

// ONNX takes the sum entry by entry, in memory of B·w×K.
func (cityblockOp) ONNX(g *onnx.Network, in []onnx.Operand) (onnx.Value, error) {
	k, d := in[1].Shape[0], in[1].Shape[1]
	w, words := in[0].Shape[1]/d, graph.Float64s(in[1].Constant)
	slots, near := g.Reshape(in[0].Value, -1, int64(d)), g.Scalar(0)
	for j := range d {
		column := make([]float64, k)
		for i := range column {
			column[i] = words[i*d+j]
		}
		entry := g.Node("Gather", []onnx.Value{slots, g.Indices(int64(j))}, onnx.Int("axis", 1))
		e := g.Sub(entry, onnx.Table(g, column, 1, k))
		near = g.Sub(near, g.Max(e, g.Neg(e)))
	}
	code := g.Node("ArgMax", []onnx.Value{near},
		onnx.Int("axis", 1), onnx.Int("keepdims", 1), onnx.Int("select_last_index", 0))
	return g.Reshape(code, -1, int64(w)), nil
}
