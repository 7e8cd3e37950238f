package metrics

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Map is the rows of an embedding in two planes (N×2 each), every axis with standard deviation 1.
type Map struct {
	Principal  *mat.Dense // the two directions of largest variance
	Separating *mat.Dense // those that best separate rows of wrong regions from the others; nil if none is wrong
}

// Map projects the embedding (N×d) that the diagnosis was made in. The separating
// directions are Fisher's, (Σ + λI)⁻¹(μ_k − μ) for the rows claimed too much of and those
// claimed too little of, λ a hundredth of Σ's mean variance; where one kind is absent, the second direction is
// the largest of the variance that the first leaves.
func (d *Diagnosis) Map(embedding *mat.Dense) (*Map, error) {
	n, dim := embedding.Dims()
	if n != d.Rows {
		return nil, fmt.Errorf("metrics: map: the embedding has %d rows, the diagnosis %d", n, d.Rows)
	}
	centred := mat.DenseCopyOf(embedding)
	mean, _ := moments(centred)
	for i := range n {
		floats.Sub(centred.RawRowView(i), mean)
	}
	var cov mat.SymDense
	cov.SymOuterK(1/float64(n), centred.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(&cov, true) {
		return nil, fmt.Errorf("metrics: map: the eigenvalues of the covariance did not converge")
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	axis := func(k int) []float64 { return mat.Col(nil, max(0, dim-1-k), &vectors) }
	m := &Map{Principal: project(centred, axis(0), axis(1))}

	kind := make([]int, n)  // 1: claimed too much of, 2: too little
	least := make([]int, n) // rows of the innermost wrong region
	for _, r := range d.Regions {
		for _, i := range r.Rows {
			if !r.Wrong || least[i] > 0 && least[i] <= r.Size {
				continue
			}
			least[i], kind[i] = r.Size, 1
			if r.Gap < 0 {
				kind[i] = 2
			}
		}
	}
	var directions [][]float64
	for k := 1; k <= 2; k++ {
		mu, rows := make([]float64, dim), 0
		for i := range n {
			if kind[i] == k {
				floats.Add(mu, centred.RawRowView(i))
				rows++
			}
		}
		if rows == 0 || rows == n {
			continue
		}
		floats.Scale(1/float64(rows), mu)
		ridged := mat.NewSymDense(dim, nil)
		ridged.CopySym(&cov)
		for j := range dim {
			ridged.SetSym(j, j, cov.At(j, j)+mat.Trace(&cov)/float64(dim)/100)
		}
		var cholesky mat.Cholesky
		var w mat.VecDense
		if !cholesky.Factorize(ridged) || cholesky.SolveVecTo(&w, mat.NewVecDense(dim, mu)) != nil || floats.Norm(w.RawVector().Data, 2) == 0 {
			continue
		}
		directions = append(directions, w.RawVector().Data)
	}
	if len(directions) == 0 {
		return m, nil
	}
	if len(directions) == 1 {
		// the first principal direction less what it shares with the other
		w, second := directions[0], axis(0)
		floats.AddScaled(second, -floats.Dot(w, second)/floats.Dot(w, w), w)
		directions = append(directions, second)
	}
	m.Separating = project(centred, directions[0], directions[1])
	return m, nil
}

// project is the rows along two directions, each scaled to standard deviation 1.
func project(x *mat.Dense, a, b []float64) *mat.Dense {
	n, _ := x.Dims()
	out := mat.NewDense(n, 2, nil)
	for i := range n {
		out.Set(i, 0, floats.Dot(x.RawRowView(i), a))
		out.Set(i, 1, floats.Dot(x.RawRowView(i), b))
	}
	_, sd := moments(out)
	for i := range n {
		for k, s := range sd {
			if s > 0 {
				out.Set(i, k, out.At(i, k)/s)
			}
		}
	}
	return out
}
