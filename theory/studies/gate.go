package studies

import (
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// runGate asks how much of a cell's own map p a prediction should take, between it and a map q that is biased there:
//
//	log r = log q + g (log p − log q) − log Z ,  E KL(q* ‖ r) ≈ ½ (1−g)² Δ + ½ g² d/n_V ,  d = C² − 1
//
// with Δ = 2 KL(q* ‖ q) the bias and d/n_V the variance of the cell's own fit. Its least lies at g* = n_V Δ/(n_V Δ +
// d). Cells of n, 4n and 16n rows have one bias, of which n is so large that nΔ = d/4; their gates are 1/5, 1/2 and
// 4/5.
func runGate(ctx context.Context, s theory.Settings, r *theory.Report) error {
	p := newProblem(s, theory.Fast(), s.RNG(90))
	c := &comparison{problem: p, cellProb: p.law(0)}
	c.population = p.Weights(c.cellProb)
	curvature, err := c.curvatures()
	if err != nil {
		return err
	}
	v := slices.Index(curvature, slices.Max(curvature))
	const settled = 1e4 // n·λ: second order is a hundredth
	d, n := float64(p.Design.Classes*p.Design.Classes-1), int(settled/curvature[v])
	truth, law, at := c.Table.Link(v, c.Theta), c.within(c.population, v), theory.Loss{Model: c.ofCell(v)}
	biased := make([]float64, p.Table.Atoms*p.Table.Classes)
	at.Weights = law
	if err := c.ofCell(v).LogProbs(biased, moved(truth, at.Hessian(truth), d/4/float64(n), s)); err != nil || at.Err != nil {
		return fmt.Errorf("studies: the biased map: %w, %w", err, at.Err)
	}
	t := s.Draws(law, []int{n, 4 * n, 16 * n}, choose(s, 400, 2000), 91)
	kl, losses, err := t.Measure(ctx, c.ofCell(v), 3, func(model theory.Model, x theory.Trial) ([]float64, error) {
		theta, own := slices.Clone(truth), make([]float64, len(biased))
		if err := theory.Fit(model, theory.NullSpace{}, theta, t.Draw(x)); err != nil {
			return nil, err
		}
		err := model.LogProbs(own, theta)
		return data.Each([]float64{0, 0.5, 1}, func(g float64) float64 {
			return cellKL(p.Table.Of(p.Label, v), between(biased, own, g, p.Table.Classes), p.Table.Atoms)
		}), err
	})
	if err != nil {
		return err
	}
	r.Unsettled(losses, t.Total(), theory.LostPart)
	e := theory.Bootstrap(len(t.Sizes), t.Count, s.RNG(92), func(pick [][]int) []float64 {
		var gates, together [3]float64
		gated := 0.
		for size := range t.Sizes {
			var mean [3]float64
			for g := range mean {
				for _, rep := range pick[size] {
					mean[g] += kl[g][size][rep] / float64(len(pick[size]))
				}
				together[g] += mean[g]
			}
			var least float64
			gates[size], least = vertex(mean)
			gated += least
		}
		_, constant := vertex(together)
		return append(gates[:], gated/constant)
	})
	for size, want := range []float64{.2, .5, .8} {
		r.Near(fmt.Sprintf("gate-%d", size+1), fmt.Sprintf("g of the least KL in a cell of %d rows", t.Sizes[size]), e[size], want, 0.02,
			"n_VΔ/(n_VΔ + C² − 1)")
	}
	// Δ/2 times the mean of 1/(1 + nΔ/d) by cells, 1/(1 + 1/mean(d/nΔ)) by one gate for all.
	r.Near("saved", "KL with a gate for each number of rows, of that with one gate for all", e[3], 0.5/(1.75/2.75), 0.02, "0.79: Δ is the same in all cells")
	return nil
}

// moved is θ moved in a random direction u by a bias uᵀHu.
func moved(theta []float64, h *mat.SymDense, bias float64, s theory.Settings) []float64 {
	u, rng := make([]float64, len(theta)), s.RNG(93)
	for i := range u {
		u[i] = rng.NormFloat64()
	}
	to, direction := slices.Clone(theta), mat.NewVecDense(len(u), u)
	floats.AddScaled(to, math.Sqrt(bias/mat.Inner(direction, h, direction)), u)
	return to
}

// between is log r of each atom (rows of C) for a gate g.
func between(q, p []float64, g float64, classes int) []float64 {
	r := make([]float64, len(q))
	floats.AddScaledTo(r, r, 1-g, q)
	floats.AddScaled(r, g, p)
	for atom := range slices.Chunk(r, classes) {
		floats.AddConst(-floats.LogSumExp(atom), atom)
	}
	return r
}

// vertex is the place of the least of a parabola through its values at 0, 1/2 and 1, and that value.
func vertex(k [3]float64) (at, least float64) {
	b, a := -3*k[0]+4*k[1]-k[2], 2*(k[0]-2*k[1]+k[2])
	return -b / (2 * a), k[0] - b*b/(4*a)
}
