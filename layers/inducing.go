package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Inducing are codes whose codewords are the inducing points c_k of a kernel,
//
//	e_k = k(z⁽ⁱ⁾, c_k) / (Σ_l k(z⁽ⁱ⁾, c_l) + κ) ,  k(z, c) = exp(−(‖z − c‖² − D̄)/τ) ,
//
// the sum over the m codewords that are nearest, of which [Soft] leaves out those of small shares.
// D̄ is the mean over slots of the squared distance to the nearest codeword, τ is as of Soft, and κ
// the weight of a share that belongs to no codeword. So Σ_k e_k < 1, and a slot far from all
// codewords, where there were few rows, reads nothing: what a map adds to the classifier by tables
// with a Gaussian prior, Σ_i Σ_k e_ik u_ik, goes to the prior's mean, 0 (as latent functions of
// Wenger et al. 2020 do). κ → 0 is Soft. The codewords never move.
//
// It adds the state codebook/temperature, τ, and codebook/distance, D̄, to the codewords.
type Inducing struct {
	Codewords int       // K; 0: 64
	Place     Placement // nil: KMeans{}
	Nearest   int       // m; 0: 8
	Softness  float64   // of τ, as of Soft; 0: 1
	Outside   float64   // κ; 0: 1

	words
}

var _ Codes = Inducing{}

// leastBandwidth is τ at least, in mean squares of a slot: where each slot is as near to a second
// codeword as to the first, τ would be 0 and rounding decide who is far. Of slots that are 0 it is
// leastTau.
const (
	leastBandwidth = 1e-9
	leastTau       = 1e-30
)

// soft are the codes that κ = 0 leaves.
func (c Inducing) soft() Soft {
	place := cmp.Or[Placement](c.Place, KMeans{})
	return Soft{Of: Fixed{Codewords: c.Codewords, Place: place}, Nearest: c.Nearest, Softness: c.Softness}
}

// Over is that of Soft. One codeword, or one near, has no second to take the bandwidth from.
func (c Inducing) Over(cal *data.Set, slots int) (Sizes, error) {
	s, err := c.soft().Over(cal, slots)
	if err == nil && s.Nearest < 2 {
		err = &SettingError{fmt.Sprintf("inducing points take their bandwidth from the two nearest, and %d of %d are looked at; choose at least 2 of both", s.Nearest, s.Codewords)}
	}
	return s, err
}

// Init places the inducing points and finds τ and D̄.
func (c Inducing) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	if err := c.soft().Init(ctx, w, cal, s, rng); err != nil {
		return err
	}
	some := sample(cal.Features)
	slots, square := float64(len(some.RawMatrix().Data)*s.Slots)/float64(s.Features), floats.Norm(some.RawMatrix().Data, 2)
	tau := w.Tensor("codebook/temperature").Float64s()
	tau[0] = max(tau[0], leastBandwidth*square*square/slots, leastTau)
	_, near := gaps(some, w.Float64s("codebook/codewords"), s)
	w.AddState("codebook/distance", near, 1)
	return nil
}

// Twin draws the inducing points.
func (c Inducing) Twin() Codes {
	c.Place = Draw{}
	return c
}

// State is that of Soft, with D̄.
func (c Inducing) State(s Sizes) map[string]tensor.Shape {
	shapes := c.soft().State(s)
	shapes["codebook/distance"] = tensor.Shape{1}
	return shapes
}

// Assign describes the nearest codewords with the shares ẽ of Soft, each times what codewords have
// of the slot, 1/(1 + κ ẽ_1 exp((D_1 − D̄)/τ)), the nearest being the first.
func (c Inducing) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	a := c.words.Assign(b, z, s)
	rows, p, d, m := b.Dim(a.Codes, 0), s.Slots*s.Nearest, s.Features/s.Slots, s.Nearest
	first := make([]float64, rows*p)
	for at := range rows * s.Slots {
		first[at*m] = 1
	}
	nearest := b.Table("codebook/nearest", graph.Tensor(b.Dtype(), first, rows, p))
	off := b.Plus(z, b.Apply(op.Scale(2, -1), b.Apply(op.WordSum(s.Slots), b.Weight("codebook/codewords"), a.Codes, nearest)))
	apart := b.MatMul(b.Apply(op.Reshape(2, -1, d), b.Times(off, off)), b.Table("codebook/width", ones(b.Dtype(), d, 1))) // D_1, Bw×1
	apart = b.AddRow(apart, b.Apply(op.Scale(1, -1), b.Weight("codebook/distance")))
	log := b.Apply(op.FlooredLog(1, leastTau), b.Weight("codebook/temperature"))
	apart = b.Apply(op.TimesScalar(), apart, b.Apply(op.Exp(1), b.Apply(op.Scale(1, -1), log)))

	soft := b.Apply(op.Reshape(2, -1, m), a.Shares) // ẽ, Bw×m
	largest := b.MatMul(soft, b.Table("codebook/first", graph.Tensor(b.Dtype(), first[:m], m, 1)))
	odds := b.Plus(apart, b.Apply(op.FlooredLog(2, op.LeastShare/2), largest)) // without κ, Bw×1
	outside := b.Table("codebook/outside", graph.Tensor(b.Dtype(), []float64{math.Log(cmp.Or(c.Outside, 1))}, 1))
	inside := b.Apply(op.Sigmoid(2), b.Apply(op.Scale(2, -1), b.AddRow(odds, outside)))
	a.Shares = b.Apply(op.Reshape(2, -1, p), b.Times(soft, b.MatMul(inside, b.Table("codebook/each", ones(b.Dtype(), 1, m)))))
	return a
}
