package layers

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Codes divide the latent space: they give each of the w slots of a row one codeword, or several (see [Assignment]).
// [Codebook] is the paper's kind; [Fixed], [KMeans] and [Indices] are others. [Soft], [Residual], [Scaled] and
// [Cityblock] build upon them. [Divide] and the anchored maps take any.
//
// The learned state of codes stands among the weights, named codebook/…. A kind that has codewords
// keeps them as codebook/codewords (K×d); rows are quantized, embedded and reported by them. A kind without
// codewords serves only bases that read codes.
type Codes interface {
	// Over is the sizes of the problem that cal's features make when they are cut into w slots
	// (0: 64), 1 for a code of the whole row, with how many codes each slot has, of which tables, and what their
	// shares add up to ([Sizes]). What the rows do not allow is a [*SettingError].
	Over(cal *data.Set, slots int) (Sizes, error)
	// Init adds the state that the codes start with, made of cal's features and weights. Here and below features are
	// less the centre, which [StartCodes] takes of them and adds to the state; [AssignAll] takes them as they are. Init
	// sees neither labels nor logits, so that maps on the codes can be judged on rows of cal that are held out.
	Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error
	// State is the names and shapes of what Init adds.
	State(s Sizes) map[string]tensor.Shape
	// Assign describes the codes of features z (B×M).
	Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment
	// Update describes how a step over features z with their codes moves the state, if it does.
	Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes)
	// Reach returns a [*SettingError] if features x (N×M) are too large to be compared in
	// single precision with what is among the weights.
	Reach(x mat.Matrix, w *graph.Weights, s Sizes) error
	// Twin is codes of the same shape that learn nothing: their codewords are drawn from the
	// slots and never move. The gain of a kind over its twin comes from its learning.
	Twin() Codes
}

// Assignment is the codes of a batch, slot by slot: s_1(i), …, s_m(i) of slot i, B×p with p = w·m, the most telling
// first. A code is a number among all K codewords, whatever table (Sizes.Tables) it is of. With the shares e_ij, a row
// has
//
//	n_k(V) = Σ_i σ_i² Σ_j e_ij 1[s_j(i) = k] ,  q⁽ⁱ⁾ = Σ_j e_ij c_s_j(i) ,
//
// which is what maps and heads read. The paper's has m = 1 and e = 1. Soft codes have shares that add up to 1. Residual
// and additive ones have m codewords that add up to the slot, each with a share of 1, and Sizes.Share = m.
type Assignment struct {
	Codes   *gorgonia.Node // B×p
	Shares  *gorgonia.Node // B×p, at least 0; nil: 1 each
	Weights *gorgonia.Node // of the rows, of mean 1 among all (B×1), for Update; nil: 1 each
}

// Quantized describes q of the codewords codebook/codewords (B×M).
func (a Assignment) Quantized(b *graph.Builder, s Sizes) *gorgonia.Node {
	if a.Shares == nil {
		return b.Apply(op.Gather(), b.Weight("codebook/codewords"), a.Codes)
	}
	return b.Apply(op.WordSum(s.Slots), b.Weight("codebook/codewords"), a.Codes, a.Shares)
}

// Weighed is the assignment of rows with the weights that a step takes of a table (N×1), if
// there is one.
func (a Assignment) Weighed(b *graph.Builder, weights *tensor.Dense) Assignment {
	if weights != nil {
		a.Weights = b.Take("weights", weights)
	}
	return a
}

// words are codes by a table of codewords, codebook/codewords, the nearest of which a slot has.
// Kinds embed it.
type words struct{}

// Assign describes the codes of features z (B×M).
func (words) Assign(b *graph.Builder, z *gorgonia.Node, _ Sizes) Assignment {
	return Assignment{Codes: b.Apply(op.Nearest(), z, b.Weight("codebook/codewords"))}
}

// Update describes nothing: the codewords stay.
func (words) Update(*graph.Builder, *gorgonia.Node, Assignment, Sizes) {}

// State is the codewords.
func (words) State(s Sizes) map[string]tensor.Shape {
	return map[string]tensor.Shape{"codebook/codewords": {s.Codewords, s.Features / max(s.Slots, 1)}}
}

// Reach returns a [*SettingError] if features x (N×M) are so large that single precision, in
// which their slots are compared with the codewords among w, cannot hold the products.
func (words) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error {
	word := 0.0
	for _, v := range w.Float64s("codebook/codewords") {
		word = max(word, math.Abs(v))
	}
	return reach(largest(x), word, s)
}

func ones(dt tensor.Dtype, shape ...int) *tensor.Dense {
	return graph.Tensor(dt, slices.Repeat([]float64{1}, tensor.Shape(shape).TotalSize()), shape...)
}

// sizesOver are the sizes of w slots (0: 64) of cal's features with K codewords.
// Slots that do not divide M, an empty codebook, fewer rows than codewords, a single class
// and features that are out of reach are a [*SettingError].
func sizesOver(cal *data.Set, slots, codewords int) (Sizes, error) {
	slots = cmp.Or(slots, 64)
	if cal.Features == nil || cal.Labels == nil {
		return Sizes{}, errors.New("layers: dividing the latent space needs features and labels of the calibration rows")
	}
	n, m := cal.Features.Dims()
	switch {
	case slots < 1 || m%slots != 0:
		return Sizes{}, &SettingError{fmt.Sprintf("%d slots do not divide %d features; choose a divisor of %d", slots, m, m)}
	case codewords < 1:
		return Sizes{}, &SettingError{fmt.Sprintf("a codebook of %d codewords is empty; choose at least 1", codewords)}
	case n < codewords:
		return Sizes{}, &SettingError{fmt.Sprintf("%d calibration rows are fewer than %d codewords; choose fewer codewords or bring more rows", n, codewords)}
	}
	sizes := SizesOf(cal)
	if sizes.Classes < 2 {
		return Sizes{}, &SettingError{"calibration needs at least two classes"}
	}
	sizes.Features, sizes.Slots, sizes.Codewords = m, slots, codewords
	most := largest(cal.Features)
	return sizes, reach(most, most, sizes)
}

// reach bounds what the comparison computes of slots and codewords of width d, whose largest
// entries are z and c: |z·c_k| + |c_k|² ≤ d z c + d c². Codewords are means of slots, so those
// of a fit are no larger than its features.
func reach(z, c float64, s Sizes) error {
	d := float64(s.Features / s.Slots)
	if max(z, d*z*c+d*c*c) <= math.MaxFloat32 {
		return nil
	}
	return &SettingError{fmt.Sprintf("features as large as %.0e are too large for single precision, in which slots are compared with codewords; scale the features down, those of the fit and of all other rows alike", z)}
}

// largest is the largest magnitude among the numbers of x.
func largest(x mat.Matrix) float64 {
	return once(x, "largest", func() (most float64) {
		n, m := x.Dims()
		buffer := make([]float64, m)
		for i := range n {
			for _, v := range data.Row(x, i, buffer) {
				if v = math.Abs(v); v > most {
					most = v
				}
			}
		}
		return most
	})
}

// StartCodes is the centre of cal's features and the state that codes start with on features less
// the centre, in the float type that resolves them, checked against their declaration: its names and
// shapes, finite numbers, and codewords that there are.
func StartCodes(c Codes, cal *data.Set, s Sizes, rng *rand.Rand) (started *graph.Weights, err error) {
	if c == nil || cal == nil || cal.Features == nil {
		return nil, errors.New("layers: there are no codes, or no features for them")
	}
	defer graph.Recover(&err)
	w, centre := graph.NewWeights(tensor.Float64), graph.NewWeights(tensor.Float64)
	at, dt := centreOf(c, cal, s)
	centre.AddExact(centreName, at, s.Features)
	seen := &data.Set{Features: LessCentre(cal.Features, centre), Weights: cal.Weights}
	if err := c.Init(w, seen, s, rng); err != nil {
		return nil, err
	}
	if err := w.Require(c.State(s)); err != nil {
		return nil, fmt.Errorf("layers: the State of %s is not what its Init adds: %w", NameOf(c), err)
	}
	for _, name := range w.Names() {
		if slices.ContainsFunc(w.Float64s(name), func(v float64) bool { return v-v != 0 }) {
			return nil, fmt.Errorf("layers: the Init of %s gives weight %q a value that is not finite", NameOf(c), name)
		}
	}
	w = w.Join(centre).As(dt)
	few := cal.Rows(data.UpTo(min(cal.Len(), 64)))
	codes, shares, err := AssignAll(c, w, few.Features, s)
	if err != nil {
		return nil, err
	}
	return w, assigned(c, codes, shares, few.Len(), s)
}

// assigned is an error unless the codes of n rows are those that the Over of c tells of.
func assigned(c Codes, codes []int32, shares []float32, n int, s Sizes) error {
	p, total := s.Slots*s.CodesOf(), 0.0
	if len(codes) != n*p {
		return fmt.Errorf("layers: the Assign of %s gives a row %d codes, not %d", NameOf(c), len(codes)/n, p)
	}
	for at, k := range codes {
		if lo, hi := s.table(at); int(k) < lo || int(k) >= hi {
			return fmt.Errorf("layers: the Assign of %s gives slot %d of row %d the code %d; its codewords are %d to %d",
				NameOf(c), at%p/s.CodesOf(), at/p, k, lo, hi-1)
		}
		if shares != nil {
			if !(shares[at] >= 0) {
				return fmt.Errorf("layers: the Assign of %s gives row %d a share of %g", NameOf(c), at/p, shares[at])
			}
			total += float64(shares[at])
		}
	}
	// Maps start by it: within a factor of 2 they start near the identity.
	if usual := float64(n) * s.Whole(); shares != nil && !(total >= usual/2 && total <= usual*2) {
		return fmt.Errorf("layers: the shares of a slot by the Assign of %s add up to %.3g, and its Over says %g: "+
			"set Share among its Sizes", NameOf(c), total/float64(n*s.Slots), s.Whole()/float64(s.Slots))
	}
	return nil
}

// assign describes the codes of features z, checked, with shares unless each slot has one code among all codewords.
func assign(b *graph.Builder, c Codes, z *gorgonia.Node, s Sizes) Assignment {
	a := c.Assign(b, z, s)
	switch {
	case b.Err() != nil:
	case a.Codes == nil || a.Codes.Dtype() != tensor.Int32:
		b.Fail(fmt.Errorf("layers: the Assign of %s gives no codes of int32", NameOf(c)))
	case a.Shares != nil && !a.Shares.Shape().Eq(a.Codes.Shape()):
		b.Fail(fmt.Errorf("layers: the Assign of %s gives shares %v of codes %v; give one for each code",
			NameOf(c), a.Shares.Shape(), a.Codes.Shape()))
	case a.Shares == nil && (s.CodesOf() > 1 || s.Tables != nil):
		a.Shares = b.Apply(op.Gather(), b.Table("codebook/one_each", ones(b.Dtype(), s.Codewords, 1)), a.Codes)
	}
	return a
}

// codesOf describes the codes of features z, then what else is made of them, and last the shares, if they
// have any.
func codesOf(
	b *graph.Builder, c Codes, z *gorgonia.Node, s Sizes, also ...func(*graph.Builder, Assignment) *gorgonia.Node,
) gorgonia.Nodes {
	a := assign(b, c, z, s)
	if b.Err() != nil {
		return nil
	}
	out := gorgonia.Nodes{a.Codes}
	for _, describe := range also {
		out = append(out, describe(b, a))
	}
	if a.Shares != nil {
		out = append(out, a.Shares)
	}
	return out
}

// assignBlock is how many rows [AssignAll] holds less the centre at a time.
const assignBlock = 16 * EvaluationBatch

// AssignAll is the codes of each row of features x (N×M), as the file has them, with their shares if they have any.
func AssignAll(c Codes, w *graph.Weights, x mat.Matrix, s Sizes) (codes []int32, shares []float32, err error) {
	if c == nil || w == nil || x == nil {
		return nil, nil, errors.New("layers: there are no codes, no weights or no features to assign")
	}
	n, _ := x.Dims()
	for block := range slices.Chunk(data.UpTo(n), assignBlock) {
		part := x
		if len(block) < n {
			part = data.Select(unshared(x), block)
		}
		features := NewFeatures(part, w)
		f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes { return codesOf(b, c, features.Take(b, "features"), s) })
		tables, err := f.Tables(len(block), EvaluationBatch)
		if err != nil {
			return nil, nil, err
		}
		codes = append(codes, tables[0].Int32s()...)
		if len(tables) > 1 {
			shares = append(shares, sharesIn(tables[1])...)
		}
	}
	return codes, shares, nil
}

// sharesIn are the shares in a table of either float type.
func sharesIn(t *tensor.Dense) []float32 {
	return graph.Tensor(tensor.Float32, graph.Float64s(t), t.DataSize()).Float32s()
}

// RestoreCodes is saved weights of these sizes, the centre, the state of codes c and others of those shapes.
// It refuses what does not fit.
func RestoreCodes(c Codes, saved *graph.Weights, s Sizes, others map[string]tensor.Shape) (*graph.Weights, error) {
	if _, err := s.SlotWidth(); err != nil {
		return nil, err
	}
	shapes := map[string]tensor.Shape{}
	maps.Copy(shapes, c.State(s))
	maps.Copy(shapes, others)
	shapes[centreName] = tensor.Shape{s.Features}
	if !slices.ContainsFunc(saved.Names(), func(name string) bool { return saved.Tensor(name).Dtype() != tensor.Float64 }) {
		saved = graph.NewWeights(tensor.Float64).Join(saved)
	}
	return saved, saved.Require(shapes)
}
