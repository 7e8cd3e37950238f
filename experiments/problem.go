package experiments

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Problem is a Source before its split, with what is known of it besides.
type Problem struct {
	Source *data.Source
	Truth  *mat.Dense // N×C, the true posterior of the test rows; nil where it is not known
	// Shifted are rows that the classifier was not made for, to be judged on in
	// place of the test rows; nil if the problem brings none (see Spec.Shifted).
	Shifted *data.Set
	Classes []string // C names, nil if the classes have none
}

// Prepared is what all methods share on one problem, seed and split: the rows,
// and the embedding in which every method is measured alike.
type Prepared struct {
	Source *data.Source // after the split
	Truth  *mat.Dense
	Embed  *data.Embedding // of all calibration rows, nil without features
	Shared *mat.Dense      // N×P, the test rows in Embed

	// Redraws is the number of label redraws behind the noise floor of each run; 0
	// measures none.
	Redraws int

	Shift       *data.Set // the shifted test rows
	ShiftTruth  *mat.Dense
	ShiftShared *mat.Dense
	afterSplit  rand.PCG // the generator as the split left it, from which each fit goes on
}

// Prepare splits the problem as the Spec says and fits the shared embedding.
// Specs that differ in method, sizes, fraction or shift alone may share the result.
func (s Spec) Prepare(p *Problem) (*Prepared, error) {
	pcg := rand.NewPCG(s.Seed, 0)
	out := &Prepared{Truth: p.Truth}
	var err error
	if out.Source, err = p.Source.Split(s.Split, rand.New(pcg)); err != nil {
		return nil, err
	}
	out.afterSplit = *pcg
	cal, test := out.Source.Cal, out.Source.Test
	if p.Truth != nil && test != nil && p.Truth.RawMatrix().Rows != test.Len() {
		return nil, fmt.Errorf("experiments: a problem of known posterior must bring its own validation rows")
	}
	if test == nil || test.Features == nil || cal == nil || cal.Features == nil {
		return out, nil
	}
	if out.Embed, err = data.FitEmbedding(cal.Features, 0); err != nil {
		return nil, err
	}
	out.Shared = out.Embed.Apply(test.Features)
	if p.Shifted != nil {
		out.Shift, out.ShiftShared = p.Shifted, out.Embed.Apply(p.Shifted.Features)
		return out, nil
	}
	far := farthest(out.Shared)
	out.Shift, out.ShiftShared = test.Rows(far), rowsOf(out.Shared, far)
	if p.Truth != nil {
		out.ShiftTruth = rowsOf(p.Truth, far)
	}
	return out, nil
}

// farthest is the half of the rows of z, N×P, that lie farthest from the origin,
// the centre of the calibration rows; ascending.
func farthest(z *mat.Dense) []int {
	n, _ := z.Dims()
	distance, rows := make([]float64, n), make([]int, n)
	for i := range rows {
		rows[i], distance[i] = i, floats.Norm(z.RawRowView(i), 2)
	}
	slices.SortStableFunc(rows, func(i, j int) int { return cmp.Compare(distance[j], distance[i]) })
	rows = rows[:(n+1)/2]
	slices.Sort(rows)
	return rows
}

func rowsOf(x *mat.Dense, index []int) *mat.Dense {
	_, m := x.Dims()
	out := mat.NewDense(len(index), m, nil)
	for to, from := range index {
		out.SetRow(to, x.RawRowView(from))
	}
	return out
}

// under is the part of p that the Spec is fitted on and judged on.
func (p *Prepared) under(s Spec) *Prepared {
	out, source := *p, *p.Source
	out.Source = &source
	if f := s.Fraction; f > 0 && f < 1 {
		parts := data.Stratify(source.Cal.Labels, []float64{f, 1 - f}, rand.New(rand.NewPCG(s.Seed, 2)))
		source.Cal = source.Cal.Rows(parts[0])
	}
	if s.Shifted {
		source.Test, out.Truth, out.Shared = p.Shift, p.ShiftTruth, p.ShiftShared
	}
	return &out
}
