package encoders

import (
	"context"
	"fmt"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Model is a trained network with what its rows are standardized by. Its features are the input of its last layer.
type Model struct {
	Network Network
	Config  Config
	// Optimizer is the state of the rule that trains the model, if the model is a checkpoint
	// from which another training may go on: see [optim.Epoch.State].
	Optimizer *graph.Weights

	weights *graph.Weights // in the type that the model was trained in, or float32
	encode  *graph.Function
	rows    *tensor.Dense // evaluationBatch × width, the rows that encode reads
}

// evaluationBatch is the most rows that are encoded or validated at a time.
const evaluationBatch = 1024

// imageBatch is the same for images, whose activations take more memory.
const imageBatch = 128

func batchOf(shape []int) int {
	if len(shape) == 3 {
		return imageBatch
	}
	return evaluationBatch
}

// Shape is the shape of a row.
func (m *Model) Shape() []int { return m.Config.Shape }

// Features is M.
func (m *Model) Features() int { return m.Network.Width() }

// Classes is C.
func (m *Model) Classes() int { return len(m.Config.Classes) }

// Weights are the network's, not copies.
func (m *Model) Weights() *graph.Weights { return m.weights }

// Encode gives the features (B×Features) and the logits (B×Classes) of B raw rows, x (B×product of Shape) as
// [data.Inputs.Read] writes them: columns as they are, pixels in [0, 1]. The results hold until the next call.
func (m *Model) Encode(x []float32) (features, logits []float32, err error) {
	width, batch := Values(m.Config.Shape), batchOf(m.Config.Shape)
	if len(x)%width != 0 {
		return nil, nil, fmt.Errorf("encoders: %d values are no rows of %d", len(x), width)
	}
	if err := checkCategories(m.Network, x, width); err != nil {
		return nil, nil, err
	}
	if m.encode == nil {
		m.rows = tensor.New(tensor.Of(m.weights.Dtype()), tensor.WithShape(batch, width))
		m.encode = graph.NewFunction(m.weights, func(b *graph.Builder) gorgonia.Nodes {
			f, l := m.Network.Forward(&Pass{Builder: b, Shape: m.Config.Shape}, b.Take("x", m.rows))
			return gorgonia.Nodes{f, l}
		})
	}
	n := len(x) / width
	features, logits = make([]float32, 0, n*m.Features()), make([]float32, 0, n*m.Classes())
	for lo := 0; lo < n; lo += batch {
		hi := min(lo+batch, n)
		m.Config.Scale.apply(m.rows, 0, x[lo*width:hi*width])
		out, err := m.encode.Of(graph.Rows(0, hi-lo))
		if err != nil {
			return nil, nil, err
		}
		features = appendFloat32s(features, out[0])
		logits = appendFloat32s(logits, out[1])
	}
	for _, out := range []struct {
		what   string
		values []float32
	}{{"feature", features}, {"logit", logits}} {
		for i, v := range out.values {
			if v-v != 0 {
				return nil, nil, data.Inputf("", "encoders: %s %d of row %d is %v; every value must be finite, and those of this row are too large to compute with", out.what, i%(len(out.values)/n), i/(len(out.values)/n), v)
			}
		}
	}
	return features, logits, nil
}

func appendFloat32s(to []float32, v gorgonia.Value) []float32 {
	t := v.(*tensor.Dense)
	if t.Dtype() == tensor.Float32 {
		return append(to, t.Float32s()...)
	}
	for _, x := range t.Float64s() {
		to = append(to, float32(x))
	}
	return to
}

// EncodeInputs encodes labelled rows: a set to be calibrated.
func EncodeInputs(ctx context.Context, e *Model, in *data.Inputs) (*data.Set, error) {
	if err := in.Fits(e.Shape()); err != nil {
		return nil, err
	}
	m, c, batch := e.Features(), e.Classes(), batchOf(e.Shape())
	made := mat.NewDense(in.Len(), m, nil)
	out := &data.Set{Features: made, Logits: mat.NewDense(in.Len(), c, nil), Labels: in.Labels}
	x := make([]float32, batch*in.Width())
	for lo := 0; lo < in.Len(); lo += batch {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := min(lo+batch, in.Len())
		in.Read(x, lo, hi)
		features, logits, err := e.Encode(x[:(hi-lo)*in.Width()])
		if err != nil {
			return nil, fmt.Errorf("encode rows %d to %d of %s: %w", lo, hi-1, in.Name, err)
		}
		widen(made.RawMatrix().Data[lo*m:], features)
		widen(out.Logits.RawMatrix().Data[lo*c:], logits)
		for i := lo; i < hi; i++ {
			unmask(out.Logits.RawRowView(i))
		}
		work.Report(ctx, float64(hi)/float64(in.Len()), "row %d of %d", hi, in.Len())
	}
	return out, nil
}

// unmask raises logits so low that they would count as masks ([data.MaskDepth]): a network excludes no class.
func unmask(logits []float64) {
	least := floats.Max(logits) - data.MaskDepth
	for k, v := range logits {
		logits[k] = max(v, least)
	}
}

// Judge is the accuracy and the NLL of an encoder's logits on labelled rows.
func Judge(e *Model, in *data.Inputs) (accuracy, nll float64, err error) {
	out, err := EncodeInputs(context.Background(), e, in)
	if err != nil {
		return 0, 0, err
	}
	for i, y := range out.Labels {
		row := out.Logits.RawRowView(i)
		if floats.MaxIdx(row) == y {
			accuracy++
		}
		nll += floats.LogSumExp(row) - row[y]
	}
	return accuracy / float64(in.Len()), nll / float64(in.Len()), nil
}

func widen(dst []float64, src []float32) {
	for i, v := range src {
		dst[i] = float64(v)
	}
}

// Values is how many values a row of the shape has.
func Values(shape []int) int { return tensor.Shape(shape).TotalSize() }
