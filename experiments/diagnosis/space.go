package diagnosis

import (
	"math"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// residualDirections are added to an embedding, with as much variance as all of it.
const residualDirections = 2

// space is the embedding's coordinates less their mean, and directions along which the residuals p_ic − 1[y_i = c]
// (N×C) vary most, each part with a total variance of 1. So rows that are near in it tend to be wrong alike.
type space struct {
	mean, sd   []float64 // d
	unit       float64
	directions *mat.Dense // d×r, of standardized coordinates; nil where the residuals have none
	scale      float64    // of the directions
}

func newSpace(z, residuals *mat.Dense) space {
	n, d := z.Dims()
	s := space{}
	s.mean, s.sd = checked.Moments(z)
	total := floats.Dot(s.sd, s.sd)
	s.unit = 1
	if total > 0 {
		s.unit = 1 / math.Sqrt(total)
	}
	standard := mat.NewDense(n, d, nil)
	for i := range n {
		s.standardize(standard.RawRowView(i), z.RawRowView(i))
	}
	var cross mat.Dense // ZᵀE, d×C
	cross.Mul(standard.T(), residuals)
	var svd mat.SVD
	if !svd.Factorize(&cross, mat.SVDThin) {
		return s
	}
	var u mat.Dense
	svd.UTo(&u)
	_, most := u.Dims()
	s.directions = mat.DenseCopyOf(u.Slice(0, d, 0, min(residualDirections, most)))
	var along mat.Dense
	along.Mul(standard, s.directions)
	_, sd := checked.Moments(&along)
	if total := floats.Dot(sd, sd); total > 0 {
		s.scale = 1 / math.Sqrt(total)
	}
	return s
}

func (s *space) standardize(dst, z []float64) {
	for j, x := range z {
		dst[j] = 0
		if s.sd[j] > 0 {
			dst[j] = (x - s.mean[j]) / s.sd[j]
		}
	}
}

// place is the rows in the space, N×(d+r).
func (s *space) place(z *mat.Dense) *mat.Dense {
	n, d := z.Dims()
	r := 0
	if s.directions != nil {
		_, r = s.directions.Dims()
	}
	out := mat.NewDense(n, d+r, nil)
	standard := make([]float64, d)
	for i := range n {
		row := out.RawRowView(i)
		for j, x := range z.RawRowView(i) {
			row[j] = (x - s.mean[j]) * s.unit
		}
		if r > 0 {
			s.standardize(standard, z.RawRowView(i))
			for k := range r {
				for j, x := range standard {
					row[d+k] += s.scale * x * s.directions.At(j, k)
				}
			}
		}
	}
	return out
}
