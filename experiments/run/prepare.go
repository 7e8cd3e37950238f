package run

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"

	"calibra/data"
	"calibra/experiments/rowcheck"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Prepared holds all that methods share on one problem, seed and split: the rows,
// and the embedding in which every method is measured.
type Prepared struct {
	Source *data.Source // after the split
	whole  *data.Set    // the calibration rows before it
	Truth  *mat.Dense
	Embed  *data.Embedding // of the calibration rows after the split, nil without features
	Shared *mat.Dense      // N×P, the test rows in Embed

	shifted    func(source.Shift) (*shift, error) // found when the first Spec needs it; nil without features
	strata     func() []int                       // of the rows of Shared by density, likewise
	afterSplit rand.PCG                           // the generator as the split left it, from which each fit goes on
}

// Prepare splits the problem by the Spec and fits the shared embedding.
// Specs that differ only in method, settings, fraction, shift or judging may share the
// result, which no run changes. A Spec without validation rows may share it too: it gets back
// the rows that were set aside.
func (s Spec) Prepare(p *source.Problem) (*Prepared, error) {
	pcg := rand.NewPCG(s.Seed, 0)
	out := &Prepared{Truth: p.Truth}
	var err error
	src := *p.Source
	src.Test = counted(src.Test)
	if out.Source, err = src.Split(s.Judged(), rand.New(pcg)); err != nil {
		return nil, err
	}
	out.afterSplit, out.whole = *pcg, p.Source.Cal.ForFit()
	cal, test := out.Source.Cal, out.Source.Test
	if p.Truth != nil && test != nil && p.Truth.RawMatrix().Rows != test.Len() {
		return nil, fmt.Errorf("experiments: a problem of known posterior must bring its own validation rows")
	}
	if cal == nil || cal.Features == nil {
		return out, nil
	}
	if out.Embed, err = data.FitWeightedEmbedding(cal.Features, cal.Weights, 0); err != nil {
		return nil, err
	}
	if test == nil || test.Features == nil {
		return out, nil
	}
	out.Shared = out.Embed.Apply(test.Features)
	calibration := sync.OnceValue(func() *mat.Dense { return out.Embed.Apply(cal.Features) })
	out.strata = sync.OnceValue(func() []int { return densityThirds(out.Shared, calibration()) })
	out.shifted = func(name source.Shift) (*shift, error) { return out.shift(p, name, calibration) }
	return out, nil
}

// counted is the set with the weights by which tests count its rows. Splits keep equal rows in one part.
func counted(x *data.Set) *data.Set {
	if x == nil || x.TestWeights != nil {
		return x
	}
	out := *x
	out.TestWeights, _ = rowcheck.CountCopies(x)
	return &out
}

// Calibration is the rows of a source that a fit of the Spec is given.
func (s Spec) Calibration(src *data.Source) (*data.Set, error) {
	s.Shift = "" // no matter of theirs
	split, err := src.Split(s.Judged(), rand.New(rand.NewPCG(s.Seed, 0)))
	if err != nil {
		return nil, err
	}
	p, err := (&Prepared{Source: split, whole: src.Cal.ForFit()}).partFor(s)
	if err != nil {
		return nil, err
	}
	return p.Source.Cal, nil
}

// partFor is the part of p that the Spec is fitted on and judged on.
func (p *Prepared) partFor(s Spec) (*Prepared, error) {
	if s.Shift != "" && p.shifted == nil {
		return nil, fmt.Errorf("experiments: a shift needs features and test rows")
	}
	out, source := *p, *p.Source
	out.Source = &source
	if s.Split == data.NoValidation && source.Val != nil { // rows set aside for other methods
		source.Cal, source.Val, out.afterSplit = p.whole, nil, *rand.NewPCG(s.Seed, 0)
	}
	if f := s.Fraction; f > 0 && f < 1 {
		parts := source.Cal.Stratify([]float64{f, 1 - f}, rand.New(rand.NewPCG(s.Seed, 2)))
		if len(parts[0]) == 0 {
			return nil, data.Inputf(source.Path, "has %d calibration rows, and %g %% of them are less than one row", source.Cal.Len(), 100*f)
		}
		source.Cal = source.Cal.Rows(parts[0])
	}
	if s.Shift != "" {
		shift, err := p.shifted(s.Shift)
		if err != nil {
			return nil, err
		}
		source.Test, out.Truth, out.Shared, out.strata = shift.rows, shift.truth, shift.shared, shift.strata
	}
	if by, err := s.Measuring(); err == nil && source.Test != nil {
		if err := by.CheckEpsilon(source.Test.Len()); err != nil {
			return nil, data.Inputf("", "metrics.epsilon: %w", err)
		}
	}
	return &out, nil
}

// shift is what a shifted Spec is judged on in place of the test rows.
type shift struct {
	rows   *data.Set
	truth  *mat.Dense   // nil where the posterior is not known
	shared *mat.Dense   // in the embedding shared by all methods
	strata func() []int // of rows by density
}

// shift is that of the name. A shift that the problem has not is a *data.InputError.
func (out *Prepared) shift(p *source.Problem, name source.Shift, calibration func() *mat.Dense) (*shift, error) {
	s := &shift{}
	switch {
	case name == source.ThinShift:
		thin := thinnest(out.Shared, calibration())
		s.rows, s.shared = out.Source.Test.Rows(thin), data.RowsOf(out.Shared, thin)
		if out.Truth != nil {
			s.truth = data.RowsOf(out.Truth, thin)
		}
	case p.Corrupted != nil && slices.Contains(source.Corruptions, name):
		rows, err := p.Corrupted(name)
		if err != nil {
			return nil, err
		}
		s.rows, s.shared = counted(rows), out.Embed.Apply(rows.Features)
	case p.Shifted != nil && p.Shift == name:
		s.rows, s.shared = counted(p.Shifted), out.Embed.Apply(p.Shifted.Features)
	default:
		return nil, source.NoShift(p.Source.Path, name, []source.Shift{p.Shift, source.ThinShift})
	}
	s.strata = sync.OnceValue(func() []int { return densityThirds(s.shared, calibration()) })
	return s, nil
}

// densityThirds cuts the rows of z, N×P, into thirds by how thick the calibration rows are
// around them: 0 the sparse third, 1 the middle, 2 the dense. As the embedding and its
// rows are fixed before any method is fitted, no method can move a row to another third.
func densityThirds(z, cal *mat.Dense) []int {
	strata := make([]int, z.RawMatrix().Rows)
	for at, i := range sparseFirst(z, cal) {
		strata[i] = 3 * at / len(strata)
	}
	return strata
}

// thinnest is the half of the rows of z with the least density of the rows of cal,
// ascending.
func thinnest(z, cal *mat.Dense) []int {
	rows := sparseFirst(z, cal)
	rows = rows[:(len(rows)+1)/2]
	slices.Sort(rows)
	return rows
}

// neighbourhood is how many calibration rows measure how thin they are around a row.
const neighbourhood = 10

// sparseFirst orders the rows of z, N×P, by the density of the rows of cal, R×P, the least
// first: the density is estimated by the distance to the k-th nearest of them
// (Loftsgaarden & Quesenberry 1965).
func sparseFirst(z, cal *mat.Dense) []int {
	n, p := z.Dims()
	r, _ := cal.Dims()
	k := min(neighbourhood, r)
	sizes := make([]float64, r)
	for j := range sizes {
		sizes[j] = floats.Dot(cal.RawRowView(j), cal.RawRowView(j))
	}
	rows, distance := make([]int, n), make([]float64, n)
	var products mat.Dense
	const block = 256
	for lo := 0; lo < n; lo += block {
		hi := min(lo+block, n)
		products.Reset()
		products.Mul(z.Slice(lo, hi, 0, p), cal.T())
		nearest := make([]float64, 0, k+1) // ‖c‖² − 2zᵀc: the squared distance less ‖z‖², ascending
		for i := lo; i < hi; i++ {
			nearest = nearest[:0]
			for j, product := range products.RawRowView(i - lo) {
				d := sizes[j] - 2*product
				if len(nearest) == k && d >= nearest[k-1] {
					continue
				}
				at, _ := slices.BinarySearch(nearest, d)
				nearest = slices.Insert(nearest, at, d)[:min(k, len(nearest)+1)]
			}
			rows[i] = i
			distance[i] = nearest[k-1] + floats.Dot(z.RawRowView(i), z.RawRowView(i))
		}
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(distance[j], distance[i]) })
	return rows
}
