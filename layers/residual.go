package layers

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Residual quantizes each slot in L levels (Juang and Gray 1982). Each level has K codewords of its own, and takes the
// nearest to what the levels before it leave of the slot:
//
//	r_1 = z⁽ⁱ⁾ ,  s_l(i) = argmin_k ‖r_l − c_lk‖² ,  r_l+1 = r_l − c_l,s_l(i) ,  q⁽ⁱ⁾ = Σ_l c_l,s_l(i)
//
// So L·K codewords tell K^L slots apart. Of places the K codewords of one level after another, among what is left of up
// to 6,400 rows; then they never move. Codeword k of level l is (l − 1)·K + k among all.
type Residual struct {
	Of     Codes // a kind whose state is its codewords, such as Fixed; nil: KMeans{}
	Levels int   // L; 0: 2

	words
}

var _ Codes = Residual{}

func (c Residual) of() Codes { return cmp.Or[Codes](c.Of, KMeans{}) }

// Over is the sizes of Of, with L codes for each slot; [Indices] are a [*SettingError].
func (c Residual) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.of().Over(cal, slots)
	if err = cmp.Or(err, featuresRead(c.of())); err != nil {
		return s, err
	}
	if l := cmp.Or(c.Levels, 2); l > 0 && s.CodesOf() == 1 && len(c.of().State(s)) == 1 {
		s.Codewords, s.Each, s.Share = l*s.Codewords, l, float64(l)
		return s, nil
	}
	return s, &SettingError{fmt.Sprintf(
		"residual codes have at least one level, of codewords that never move, not %d of %s", c.Levels, NameOf(c.of()))}
}

// Init places the codewords.
func (c Residual) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	few := cal.Rows(rng.Perm(cal.Len())[:min(cal.Len(), seedRows)])
	left, d, one := mat.DenseCopyOf(few.Features), s.Features/s.Slots, s
	one.Codewords, one.Each, one.Share = s.Codewords/s.Each, 0, 0
	var all []float64
	for range s.Each {
		level := graph.NewWeights(tensor.Float64)
		if err := c.of().Init(level, &data.Set{Features: left, Weights: few.Weights}, one, rng); err != nil {
			return err
		}
		words := level.Float64s("codebook/codewords")
		codes, err := op.Nearest().Do(graph.Matrix(tensor.Float64, left), level.Tensor("codebook/codewords"))
		if err != nil {
			return err
		}
		for at, k := range codes.(*tensor.Dense).Int32s() {
			floats.Sub(left.RawMatrix().Data[at*d:][:d], words[int(k)*d:][:d])
		}
		all = append(all, words...)
	}
	w.AddState("codebook/codewords", all, s.Codewords, d)
	return nil
}

// Assign describes the codes of all levels.
func (Residual) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	words, codes := b.Weight("codebook/codewords"), make(gorgonia.Nodes, s.CodesOf())
	k := s.Codewords / len(codes)
	for l := range codes {
		if l > 0 { // what the level before leaves
			z = b.Plus(z, b.Apply(op.Scale(2, -1), b.Apply(op.Gather(), words, codes[l-1])))
		}
		codes[l] = b.Apply(op.NearestIn(l*k, (l+1)*k), z, words)
	}
	return Assignment{Codes: b.Apply(op.Interleave(len(codes)), codes...)}
}

// Twin has the levels of the twin of Of.
func (c Residual) Twin() Codes { return Residual{Of: c.of().Twin(), Levels: c.Levels} }
