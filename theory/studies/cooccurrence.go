package studies

import (
	"context"
	"fmt"
	"math"

	"calibra/data"
	"calibra/theory"
	"calibra/theory/internal/numeric"
)

// pairShare is the part of rows that hold codeword 0, and that hold codeword 1.
const pairShare = 0.1

// overlapping returns the probability of each cell when codewords 0 and 1 each fill
// one slot of a tenth of the rows, share of which hold both; the other slots are
// uniform over the other codewords. N_0 and N_1 do not depend on share.
func overlapping(t *theory.Table, share float64) []float64 {
	prob := make([]float64, len(t.Cells))
	for v, cell := range t.Cells {
		var count [2]int
		others := 0
		arrangements := 1.0
		for _, o := range cell.Occurrences {
			if o.Codeword < 2 {
				count[o.Codeword] = int(o.Count)
				continue
			}
			for n := range int(o.Count) { // multinomial coefficient of the other slots
				others++
				arrangements *= float64(others) / float64(n+1)
			}
		}
		rest := arrangements * math.Pow(1/float64(t.Codewords-2), float64(others))
		switch count {
		case [2]int{1, 1}:
			prob[v] = pairShare * share * rest
		case [2]int{1, 0}, [2]int{0, 1}:
			prob[v] = pairShare * (1 - share) * rest
		case [2]int{0, 0}:
			prob[v] = (1 - pairShare*share - 2*pairShare*(1-share)) * rest
		}
	}
	return prob
}

// overlaps are the shares of the rows of codewords 0 and 1 that hold both.
var overlaps = []float64{0, 0.5, 0.9, 0.99, 0.999}

func runCooccurrence(ctx context.Context, s theory.Settings, r *theory.Report) error {
	problem := newProblem(s, theory.Fast(), s.RNG(20))
	laws := data.Each(overlaps, func(share float64) []float64 { return overlapping(problem.Table, share) })
	e, err := problem.experiment(ctx, laws...)
	if err != nil {
		return err
	}
	e.Sizes, e.Count, e.Stream = []int{1e7}, replicates(s, 30, 100), 21<<32
	// Codewords that almost always meet are told apart by few rows: more rows are drawn
	// until the first-order theory describes them.
	e.Aim(e.Target)
	for e.Relative(len(overlaps)-1, 0, 0) > 0.1 {
		e.Sizes[0] *= 10
	}
	o, err := e.Run(ctx)
	if err != nil {
		return err
	}
	r.Record("n", "N of every overlap", theory.Exact(float64(e.Sizes[0])), "")
	r.Unsettled(o.Unsettled, e.Total(), theory.LostPart)
	constants := theory.Curve{Label: "Schur constant c_0", Style: theory.Joined}
	for n, p := range e.Limits {
		c := schurConstant(p.Hessian, e.Gauge.(theory.Rescaling).Coordinates(0), p.Free, p.Free)
		constants.X, constants.Y = append(constants.X, 1-overlaps[n]), append(constants.Y, c)
	}
	errors := overlapped{o}.report(r, constants.Y)
	last := len(overlaps) - 1
	r.Below("schur-falls", "c_0 at overlap 0.999 over that at 0", theory.Exact(constants.Y[last]/constants.Y[0]), 0.05, "→ 0, at fixed N_0 and N_1")
	r.Figures = append(r.Figures,
		theory.LogLog("error", "Two codewords at fixed N_0, N_1 that co-occur more and more",
			"1 − overlap", "RMSE of M_k · √N_k", errors...),
		theory.LogLog("schur", "A6: the Schur constant of a codeword that loses its own rows", "1 − overlap", "c_0", constants))
	return nil
}

// overlapped is the outcome of all overlaps.
type overlapped struct{ *theory.Outcome }

// report reports the error of codeword 0 beside the sandwich's, and that of the codewords
// that do not overlap, at each overlap. It returns the curves of the three.
func (o overlapped) report(r *theory.Report, constants []float64) []theory.Curve {
	measured := theory.Curve{Label: "RMSE·√N_0 of codeword 0", Style: theory.Joined}
	others := theory.Curve{Label: "the other codewords, mean", Style: theory.Joined}
	predicted := theory.Curve{Label: "sandwich", Style: theory.Prediction}
	var atFirst float64
	for n, overlap := range overlaps {
		occupancy := o.Limits[n].Occupancy[0]
		sandwich := o.Limits[n].Predicted[0] * math.Sqrt(occupancy)
		error0 := theory.RMS(o.Errors(n, 0, 0)).Over(1 / math.Sqrt(float64(o.Sizes[0])*occupancy))
		rest := o.errorOfOthers(n)
		if n == 0 {
			atFirst = rest.Value
		}
		name, key := fmt.Sprintf("overlap %g: ", overlap), fmt.Sprintf("-%g", overlap)
		r.Record("schur"+key, name+"Schur constant c_0", theory.Exact(constants[n]), "→ 0 as codewords 0 and 1 merge")
		r.Ratio("error"+key, name+"RMSE·√N_0", error0, sandwich, sandwich*(0.02+numeric.Square(o.Relative(n, 0, 0))), "the sandwich's")
		r.Record("others"+key, name+"RMSE·√N_k of the others, mean", rest, "unmoved")
		measured.Add(1-overlap, error0)
		predicted.X, predicted.Y = append(predicted.X, 1-overlap), append(predicted.Y, sandwich)
		others.Add(1-overlap, rest)
		if n == len(overlaps)-1 {
			r.Record("others-moved", "the others' RMSE·√N_k at overlap 0.999 over that at 0", rest.Over(atFirst), "1: they do not mind")
		}
	}
	return []theory.Curve{measured, others, predicted}
}

// errorOfOthers is the mean RMSE·√N_k of the codewords that do not overlap, at the n-th overlap.
func (o overlapped) errorOfOthers(n int) theory.Estimate {
	N, codewords := float64(o.Sizes[0]), o.Target.Blocks()
	return theory.Bootstrap(1, o.Count, o.RNG(21, uint64(n)), func(pick [][]int) []float64 {
		var sum float64
		for k := 2; k < codewords; k++ {
			sum += numeric.RMS(o.Errors(n, 0, k), pick[0]) * math.Sqrt(N*o.Limits[n].Occupancy[k]) / float64(codewords-2)
		}
		return []float64{sum}
	})[0]
}
