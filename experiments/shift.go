package experiments

import (
	"cmp"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// shift is what a shifted Spec is judged on in place of the test rows.
type shift struct {
	rows   *data.Set
	truth  *mat.Dense // nil where the posterior is not known
	shared *mat.Dense // in the embedding shared by all methods
}

// shift is that of the problem or, if it brings none, the half of the test rows where
// the calibration rows are thinnest.
func (out *Prepared) shift(p *Problem) *shift {
	if p.Shifted != nil {
		return &shift{rows: p.Shifted, shared: out.Embed.Apply(p.Shifted.Features)}
	}
	thin := thinnest(out.Shared, out.Embed.Apply(out.Source.Cal.Features))
	s := &shift{rows: out.Source.Test.Rows(thin), shared: data.RowsOf(out.Shared, thin)}
	if out.Truth != nil {
		s.truth = data.RowsOf(out.Truth, thin)
	}
	return s
}

// neighbourhood is how many calibration rows tell how thin they are around a row.
const neighbourhood = 10

// thinnest is the half of the rows of z, N×P, with the least density of the rows of
// cal, R×P: the density is estimated by the distance to the k-th nearest of them
// (Loftsgaarden & Quesenberry 1965); ascending.
func thinnest(z, cal *mat.Dense) []int {
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
	rows = rows[:(n+1)/2]
	slices.Sort(rows)
	return rows
}
