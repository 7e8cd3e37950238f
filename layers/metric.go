package layers

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Metric are codes of Ωz in place of z, so that rows are near which are alike in what the base errs
// by (as the metrics of Schneider et al. 2009 are learned). With z standardized and B (M×C) the ridge
// regression of q − p, what the base of [Leaf] leaves, on z,
//
//	Ω = (BBᵀ)^½ = U S Uᵀ ,  B = U S Vᵀ ,
//
// of rank r = min(M, C) at most and scaled so that Ωz have variance 1 in the mean. Logits are not
// quantized beside z: those of a linear head are linear in it. Quantized features are those of Ωz.
//
// It adds the state codebook/metric/in (M×r), codebook/metric/out (r×M) and codebook/metric/from
// (M): with z as it comes, z·in·out − from.
type Metric struct{ Of Codes } // nil: Fixed of k-means

var _ Supervised = Metric{}

// errSingular is where features cannot be told apart in double precision.
var errSingular = &SettingError{"what the features tell of the labels has no axes in double precision; look for features that repeat others or are nearly infinite"}

// axes are U (M×r) and S of standardized features (N×M), of (ZᵀZ + 10M·I) B = Zᵀ(q − p): as if a
// tenth of the residual's variance were linear in the features.
func (Metric) axes(z *mat.Dense, left residuals, r int) (*mat.Dense, []float64, error) {
	_, m := z.Dims()
	gram := mat.NewSymDense(m, nil)
	gram.SymOuterK(1, z.T())
	for j := range m {
		gram.SetSym(j, j, gram.At(j, j)+10*float64(m))
	}
	var toward, b, u mat.Dense
	toward.Mul(z.T(), left.gradient) // of the other sign, which U and S do not see
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, nil, errSingular
	}
	if err := factor.SolveTo(&b, &toward); err != nil {
		return nil, nil, err
	}
	var svd mat.SVD
	if !svd.Factorize(&b, mat.SVDThin) {
		return nil, nil, errSingular
	}
	svd.UTo(&u)
	s := svd.Values(nil)[:r]
	if !(floats.Max(s) > 0) {
		floats.AddConst(1, s) // nothing is left to learn: no axis matters more than another
	}
	return mat.DenseCopyOf(u.Slice(0, m, 0, r)), s, nil
}

func (c Metric) of() Codes { return cmp.Or[Codes](c.Of, Fixed{Place: KMeans{}}) }

// rank is r.
func (Metric) rank(s Sizes) int { return min(s.Features, s.Classes) }

// Over is the sizes of Of.
func (c Metric) Over(cal *data.Set, slots int) (Sizes, error) { return c.of().Over(cal, slots) }

// Init finds Ω, and starts Of on Ωz.
func (c Metric) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	scale := data.FitWeighted(cal.Features, cal.Weights)
	z := scale.Apply(cal.Features)
	r := c.rank(s)
	left, err := residualsOf(cal, s)
	if err != nil {
		return err
	}
	u, lengths, err := c.axes(z, left, r)
	if err != nil {
		return err
	}
	var along, seen mat.Dense
	along.Mul(u, mat.NewDiagDense(r, lengths))
	seen.Mul(z, &along) // N×r, whose squares are those of Ωz, as U is orthonormal
	unit := math.Sqrt(float64(cal.Len()*s.Features)) / mat.Norm(&seen, 2)
	if !(unit > 0 && unit <= math.MaxFloat32) {
		return &SettingError{"the features are too large, or too much alike, to be compared by what they tell; scale them, those of the fit and of all other rows alike"}
	}
	along.Scale(unit, &along)
	seen.Scale(unit, &seen)
	quantized := *cal
	mapped := mat.NewDense(cal.Len(), s.Features, nil)
	mapped.Mul(&seen, u.T())
	quantized.Features = mapped
	from := mat.NewDense(1, r, nil)
	for j, sd := range scale.SD {
		row := along.RawRowView(j)
		floats.Scale(1/sd, row)
		floats.AddScaled(from.RawRowView(0), scale.Mean[j], row)
	}
	var out, origin mat.Dense
	out.CloneFrom(u.T())
	origin.Mul(from, &out)
	w.AddState("codebook/metric/in", along.RawMatrix().Data, s.Features, r)
	w.AddState("codebook/metric/out", out.RawMatrix().Data, r, s.Features)
	w.AddState("codebook/metric/from", origin.RawMatrix().Data, s.Features)
	return c.of().Init(ctx, w, &quantized, s, rng)
}

// State is that of Of, with Ω.
func (c Metric) State(s Sizes) map[string]tensor.Shape {
	shapes, r := c.of().State(s), c.rank(s)
	shapes["codebook/metric/in"], shapes["codebook/metric/out"] = tensor.Shape{s.Features, r}, tensor.Shape{r, s.Features}
	shapes["codebook/metric/from"] = tensor.Shape{s.Features}
	return shapes
}

// seen describes Ωz.
func (Metric) seen(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	mapped := b.MatMul(b.MatMul(z, b.Weight("codebook/metric/in")), b.Weight("codebook/metric/out"))
	return b.AddRow(mapped, b.Apply(op.Scale(1, -1), b.Weight("codebook/metric/from")))
}

// Assign describes the codes of Ωz.
func (c Metric) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	return c.of().Assign(b, c.seen(b, z), s)
}

// Quantize is that of Of.
func (c Metric) Quantize(b *graph.Builder, a Assignment, s Sizes) *gorgonia.Node {
	return c.of().Quantize(b, a, s)
}

// Update is that of Of with Ωz.
func (c Metric) Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes) {
	c.of().Update(b, c.seen(b, z), a, s)
}

// Reach is that of Of for z and for the most that Ωz can be.
func (c Metric) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error {
	var omega mat.Dense
	r := c.rank(s)
	omega.Mul(mat.NewDense(s.Features, r, w.Float64s("codebook/metric/in")), mat.NewDense(r, s.Features, w.Float64s("codebook/metric/out")))
	most, from := largest(x), w.Float64s("codebook/metric/from")
	mapped := floats.Norm(from, math.Inf(1)) + most*mat.Norm(&omega, 1) // the largest sum of a column's magnitudes
	return c.of().Reach(mat.NewDense(1, 1, []float64{max(most, mapped)}), w, s)
}

// Twin is that of Of, with z as it comes: an Ω drawn at random, of as low a rank, would throw away
// most of what the features hold, and be no rival.
func (c Metric) Twin() Codes { return c.of().Twin() }

// Supervised is true.
func (Metric) Supervised() bool { return true }
