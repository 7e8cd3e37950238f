package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Soft shares each slot out among the m codewords that are nearest to it,
//
//	e_k ∝ exp(−(D_k − min D)/τ) ,  D_k = ‖z⁽ⁱ⁾ − c_k‖² ,  Σ_k e_k = 1 ,
//
// while Of, like τ → 0, assigns it only to the nearest. τ is Softness times a mean over slots when
// the codes start: how much farther away the second nearest codeword is than the nearest. The
// regions' masses are sums of shares, n_k(V) = Σ_i σ_i² e_ik. Of learns its codewords as it does
// without Soft.
//
// It adds the state codebook/temperature, τ.
type Soft struct {
	Of       Codes   // with codewords; nil: Codebook{}
	Nearest  int     // m; 0: 8
	Softness float64 // 0: 1
}

var _ Codes = Soft{}

func (c Soft) of() Codes { return cmp.Or[Codes](c.Of, Codebook{}) }

// Over is the sizes of Of, with m codewords for each slot; [Indices] are a [*SettingError].
func (c Soft) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.of().Over(cal, slots)
	if err == nil {
		if s.Each > 1 || s.Tables != nil {
			return s, &SettingError{fmt.Sprintf(
				"a slot is shared out among codewords of one table, of which it has one; the codes %s have more", NameOf(c.of()))}
		}
		s.Each = min(cmp.Or(c.Nearest, 8), s.Codewords)
	}
	return s, cmp.Or(err, featuresRead(c.of()))
}

// Init is the Init of Of, with τ.
func (c Soft) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	if err := c.of().Init(w, cal, s, rng); err != nil || s.Each < 2 {
		return err
	}
	tau := cmp.Or(c.Softness, 1) * meanGap(sample(cal.Features), w.Float64s("codebook/codewords"), s)
	w.AddState("codebook/temperature", []float64{tau}, 1)
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

// meanGap is the mean over the slots of x (N×M) of what the second nearest codeword is farther off, squared,
// than the nearest.
func meanGap(x *mat.Dense, codewords []float64, s Sizes) (gap float64) {
	d, z := s.Features/s.Slots, x.RawMatrix().Data
	found, err := op.Nearby(2).Do(graph.Matrix(tensor.Float64, x), graph.Tensor(tensor.Float64, codewords, s.Codewords, d))
	if err != nil {
		panic(err) // the sizes are those of a fit
	}
	codes := found.(*tensor.Dense).Int32s()
	slots := len(codes) / 2
	for at := range slots {
		near, next := codewords[int(codes[2*at])*d:][:d], codewords[int(codes[2*at+1])*d:][:d]
		for j, v := range z[at*d : (at+1)*d] {
			gap += ((v-next[j])*(v-next[j]) - (v-near[j])*(v-near[j])) / float64(slots)
		}
	}
	return gap
}

// Twin is as soft over the twin of Of.
func (c Soft) Twin() Codes {
	return Soft{Of: c.of().Twin(), Nearest: c.Nearest, Softness: c.Softness}
}

// State is the state of Of, with τ.
func (c Soft) State(s Sizes) map[string]tensor.Shape {
	shapes := c.of().State(s)
	if s.Each > 1 {
		shapes["codebook/temperature"] = tensor.Shape{1}
	}
	return shapes
}

// Assign describes the nearest codewords with their shares.
func (c Soft) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	if s.Each < 2 {
		return c.of().Assign(b, z, s)
	}
	words := b.Weight("codebook/codewords")
	codes := b.Apply(op.Nearby(s.Each), z, words)
	return Assignment{Codes: codes, Shares: b.Apply(op.NearShares(s.Each), z, words, codes, b.Weight("codebook/temperature"))}
}

// Update is the Update of Of with the nearest codeword of each slot.
func (c Soft) Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes) {
	s.Each = 0
	nearest := c.of().Assign(b, z, s)
	nearest.Weights = a.Weights
	c.of().Update(b, z, nearest, s)
}

// Reach is the Reach of Of.
func (c Soft) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error { return c.of().Reach(x, w, s) }
