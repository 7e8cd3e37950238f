package theory

import (
	"context"
	"fmt"
	"math"
)

func runTriangular(ctx context.Context, s Settings, r *Report) error {
	d := s.fast()
	truth, err := NewTruth(d, newRand(s.Seed, 22))
	if err != nil {
		return err
	}
	model, err := s.model(truth.Table, d.Identity)
	if err != nil {
		return err
	}
	gauge := Rescaling{d.Classes, d.Codewords}
	gauge.Fix(truth.Theta, nil)
	target, representative := Products{gauge}, s.rescaling(d)
	const rare, share = 0, 8.0 // p_rare = share/√N
	sizes := choose(s, []int{1e5, 1e7, 1e9}, []int{1e5, 1e6, 1e7, 1e8, 1e9})
	replicates := s.replicates(120, 400)
	errors := grid(len(sizes), replicates)
	logN := make([]float64, len(sizes))
	logNk := make([]float64, len(sizes))
	populations := make([][]float64, len(sizes))
	predicted := Curve{Label: "sandwich at each N", Style: Prediction}
	for n, N := range sizes {
		p := d.Frequencies(0)
		rest := 1 - p[rare]
		p[rare] = share / math.Sqrt(float64(N))
		for k := range p {
			if k != rare {
				p[k] *= (1 - p[rare]) / rest
			}
		}
		cellProb := truth.Table.Multinomial(p)
		populations[n] = truth.Weights(cellProb)
		at, err := newAsymptotics(cheapest(model), gauge, truth.Theta, populations[n])
		if err != nil {
			return err
		}
		logN[n] = math.Log(float64(N))
		logNk[n] = math.Log(float64(N) * truth.Table.Occupancy(cellProb)[rare])
		predicted.X = append(predicted.X, math.Exp(logNk[n]))
		predicted.Y = append(predicted.Y, predictedError(target.Jacobian(rare, truth.Theta), at.covariance, N))
	}
	lost := make([]string, len(sizes)*replicates)
	err = forEach(ctx, len(lost), model.fork, func(model Model, i int) error {
		n, rep := i/replicates, i%replicates
		theta := append([]float64(nil), truth.Theta...)
		sample := s.sample(populations[n], sizes[n], newRand(s.Seed, 23, uint64(n), uint64(rep)))
		if minimize(model, representative, theta, sample) != nil {
			lost[i] = fmt.Sprintf("seed %d, N = %d, replicate %d", s.Seed, sizes[n], rep)
			errors[n][rep] = math.NaN()
			return nil
		}
		errors[n][rep] = target.Distance(rare, theta, truth.Theta)
		return nil
	})
	if err != nil {
		return err
	}
	slopes := func(pick [][]int) []float64 {
		y := make([]float64, len(sizes))
		for n := range sizes {
			y[n] = math.Log(rms(errors[n], pick[n]))
		}
		group := make([]int, len(sizes))
		return []float64{slope(logNk, y, group), slope(logN, y, group)}
	}
	e := bootstrap(len(sizes), replicates, newRand(s.Seed, 24), slopes)
	r.unsettled(lost)
	// What second order adds to the first error changes the slope by it over the range.
	left := 0.005 + square(predicted.Y[0]/target.Size(rare, truth.Theta))/(logNk[len(sizes)-1]-logNk[0])
	r.near("slope-nk", "slope of the error of M_k on N_k ∝ √N", e[0], -0.5, left, "-1/2: the codeword's own rows")
	r.near("slope-n", "slope of the same error on N", e[1], -0.25, left/2, "-1/4")
	measured := Curve{Label: "measured", Style: Joined}
	for n := range sizes {
		observed := rmsEstimate(errors[n])
		r.ratio(fmt.Sprintf("ratio-%g", float64(sizes[n])), fmt.Sprintf("observed/sandwich RMSE at N = %g, N_k = %.0f", float64(sizes[n]), math.Exp(logNk[n])),
			observed.over(predicted.Y[n]), 1, 0.02+square(predicted.Y[n]/target.Size(rare, truth.Theta)), "1")
		measured.add(math.Exp(logNk[n]), observed)
	}
	r.Figures = append(r.Figures, Figure{
		Name: "error", Title: "A codeword whose occurrences grow as √N",
		XLabel: "N_k", YLabel: "RMSE of M_k", LogX: true, LogY: true, Curves: []Curve{measured, predicted},
	})
	return nil
}
