package layers

import (
	"cmp"
	"context"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Soft shares each slot out among the m codewords of a book that are nearest to it,
//
//	e_k ∝ exp(−(D_k − min D)/τ) ,  D_k = ‖z⁽ⁱ⁾ − c_k‖² ,  Σ_k e_k = 1 ,
//
// where Of gives it to the nearest alone, which τ → 0 does too. τ is Softness times the mean
// over slots of what the second nearest codeword is farther off than the nearest, when the
// codes start. The regions' masses are sums of shares, n_k(V) = Σ_i σ_i² e_ik. Of learns its
// codewords as it does without Soft.
//
// It adds the state codebook/temperature, τ of each stage.
type Soft struct {
	Of       Codes   // with codewords; nil: Codebook{}
	Nearest  int     // m; 0: 8
	Softness float64 // 0: 1
}

var _ Supervised = Soft{}

func (c Soft) of() Codes { return cmp.Or[Codes](c.Of, Codebook{}) }

// Over is the sizes of Of, with m codewords for each slot and stage.
func (c Soft) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.of().Over(cal, slots)
	if err == nil {
		s.Nearest = min(cmp.Or(c.Nearest, 8), s.perBook())
	}
	return s, err
}

// Init is that of Of, with τ.
func (c Soft) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	if err := c.of().Init(ctx, w, cal, s, rng); err != nil || s.Nearest < 2 {
		return err
	}
	tau, _ := gaps(sample(cal.Features), w.Float64s("codebook/codewords"), s)
	floats.Scale(cmp.Or(c.Softness, 1), tau)
	w.AddState("codebook/temperature", tau, len(tau))
	return nil
}

// gapRows is how many rows τ is the mean over.
const gapRows = 2048

// sample is up to gapRows rows of x, evenly spaced.
func sample(x mat.Matrix) *mat.Dense {
	n, m := x.Dims()
	out := mat.NewDense(min(n, gapRows), m, nil)
	for i := range min(n, gapRows) {
		row := out.RawRowView(i)
		copy(row, data.Row(x, i*n/min(n, gapRows), row))
	}
	return out
}

// gaps is the mean over the slots of x (N×M), in each stage, of what the second nearest codeword
// is farther off, squared, than the nearest, and of how far off, squared, the nearest is.
func gaps(x *mat.Dense, codewords []float64, s Sizes) (tau, nearest []float64) {
	d, books := s.Features/s.Slots, s.books()
	books.Nearest = 2
	z := graph.Matrix(tensor.Float64, x)
	c := graph.Tensor(tensor.Float64, codewords, s.Codewords, d)
	found, err := op.Nearby(books).Do(z, c)
	if err != nil {
		panic(err) // the sizes are those of a fit
	}
	codes := found.(*tensor.Dense).Int32s()
	r := make([]float64, d)
	tau, nearest = make([]float64, books.Stages), make([]float64, books.Stages)
	slots := len(codes) / books.Codes()
	for at := range slots {
		copy(r, x.RawMatrix().Data[at*d:(at+1)*d])
		for stage := range tau {
			near := codewords[int(codes[at*books.Codes()+2*stage])*d:][:d]
			next := codewords[int(codes[at*books.Codes()+2*stage+1])*d:][:d]
			for j := range r {
				tau[stage] += ((r[j]-next[j])*(r[j]-next[j]) - (r[j]-near[j])*(r[j]-near[j])) / float64(slots)
				nearest[stage] += (r[j] - near[j]) * (r[j] - near[j]) / float64(slots)
			}
			floats.Sub(r, near)
		}
	}
	return tau, nearest
}

// Twin is as soft over the twin of Of.
func (c Soft) Twin() Codes {
	return Soft{Of: c.of().Twin(), Nearest: c.Nearest, Softness: c.Softness}
}

// State is that of Of, with τ.
func (c Soft) State(s Sizes) map[string]tensor.Shape {
	shapes := c.of().State(s)
	if s.Nearest > 1 {
		shapes["codebook/temperature"] = tensor.Shape{max(1, s.Stages)}
	}
	return shapes
}

// Assign describes the nearest codewords with their shares.
func (c Soft) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	return words{}.Assign(b, z, s)
}

// Quantize describes the codewords summed by their shares.
func (c Soft) Quantize(b *graph.Builder, a Assignment, s Sizes) *gorgonia.Node {
	return words{}.Quantize(b, a, s)
}

// Update is that of Of with the nearest codeword of each slot.
func (c Soft) Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes) {
	s.Nearest = 0
	nearest := c.of().Assign(b, z, s)
	nearest.Weights = a.Weights
	c.of().Update(b, z, nearest, s)
}

// Reach is that of Of.
func (c Soft) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error { return c.of().Reach(x, w, s) }

// Supervised is that of Of.
func (c Soft) Supervised() bool { return UsesLabels(c.of()) }
