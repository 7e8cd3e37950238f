package theory

import (
	"context"
	"fmt"
	"math"
)

func runTriangular(ctx context.Context, s Settings, r *Report) error {
	d := Fast()
	truth, err := NewTruth(d, newRand(s.Seed, 22))
	if err != nil {
		return err
	}
	model, err := trained(truth.Table, d.Identity)
	if err != nil {
		return err
	}
	gauge := Rescaling{d.Classes, d.Codewords}
	gauge.Fix(truth.Theta, nil)
	target := Products{gauge}
	const rare, share = 0, 8.0 // p_rare = share/√N
	sizes := choose(s, []int{1e5, 1e7, 1e9}, []int{1e5, 1e6, 1e7, 1e8, 1e9})
	replicates := choose(s, 200, 400)
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
		at, err := newAsymptotics(model, gauge, truth.Theta, populations[n])
		if err != nil {
			return err
		}
		logN[n] = math.Log(float64(N))
		logNk[n] = math.Log(float64(N) * truth.Table.Occupancy(cellProb)[rare])
		predicted.X = append(predicted.X, math.Exp(logNk[n]))
		predicted.Y = append(predicted.Y, predictedError(target.Jacobian(rare, truth.Theta), at.covariance, N))
	}
	err = forEach(ctx, len(sizes)*replicates, model.fork, func(model Model, i int) error {
		n, rep := i/replicates, i%replicates
		theta := append([]float64(nil), truth.Theta...)
		sample := Sample(populations[n], sizes[n], newRand(s.Seed, 23, uint64(n), uint64(rep)))
		if err := minimize(model, gauge, theta, sample); err != nil {
			return fmt.Errorf("%d rows: %w", sizes[n], err)
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
	r.judge("slope of the error of M_k on N_k ∝ √N", e[0], "-1/2: the codeword's own rows", bandSlope)
	r.tell("slope of the same error on N", e[1], "-1/4")
	measured := Curve{Label: "measured", Style: Joined}
	for n := range sizes {
		r.tell(fmt.Sprintf("observed/sandwich RMSE at N = %g, N_k = %.0f", float64(sizes[n]), math.Exp(logNk[n])),
			exact(rms(errors[n], everyone(replicates))/predicted.Y[n]), "1")
		measured.add(math.Exp(logNk[n]), rmsEstimate(errors[n], 1, newRand(s.Seed, 24, uint64(n))))
	}
	r.Figures = append(r.Figures, Figure{
		Name: "error", Title: "A codeword whose occurrences grow as √N",
		XLabel: "N_k", YLabel: "RMSE of M_k", LogX: true, LogY: true, Curves: []Curve{measured, predicted},
	})
	return nil
}
