package layers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/work"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// scored are the scores of labelled rows.
type scored struct {
	*Scores
	rows Observed
	kept [][]float64 // of each row, its scores, once they are known; nil: there are too many to keep
	own  []float64   // P, the score of the row with its label: s_y, or minus the gradient of a Costed map's loss

	// Of a Costed map, else nil: its loss at single rows, and its mean over all by their counts.
	loss, mean *graph.Objective
}

func newScored(x *Sandwich, rows Observed) (*scored, error) {
	of, err := NewScores(x.m, x.weights, rows.View, x.sizes)
	if err != nil {
		return nil, err
	}
	s := &scored{Scores: of, rows: rows, own: make([]float64, x.dim())}
	if C := len(of.LogQ); len(rows.Labels)*C*(1+C+x.dim()) <= keptScores {
		s.kept = make([][]float64, len(rows.Labels))
	}
	if costed, ok := x.m.(Costed); ok {
		seen, err := rows.View.RowsFor(x.m, x.weights, x.sizes)
		if err != nil {
			return nil, about("map", x.m, err)
		}
		counts := &data.Set{Labels: rows.Labels}
		if rows.Counts != nil || rows.Weights != nil {
			for row := range rows.Labels {
				counts.Weights = append(counts.Weights, rows.Count(row))
			}
		}
		aims, err := targetOf(counts, x.sizes.Classes, tensor.Float64)
		if err != nil {
			return nil, err
		}
		objective := func(seen *Rows) *graph.Objective {
			return graph.NewObjective(x.weights, func(b *graph.Builder) *gorgonia.Node {
				return costed.Loss(b, seen.Batch(b), int(math.Round(rows.total())))
			})
		}
		s.loss, s.mean = objective(seen.Labelled(graph.Labels(rows.Labels))), objective(seen.aiming(aims))
	}
	return s, nil
}

// keptScores bounds the scores that are kept from one pass over the rows to the next: 32 MB of them.
const keptScores = 4 << 20

// set is Set, or what it gave before.
func (s *scored) set(row int) error {
	parts := [][]float64{s.LogQ, s.ByWeight.RawMatrix().Data, s.ByInput.RawMatrix().Data}
	switch {
	case s.kept == nil:
		return s.Set(row)
	case s.kept[row] == nil:
		err := s.Set(row)
		s.kept[row] = slices.Concat(parts...)
		return err
	}
	rest := s.kept[row]
	for _, part := range parts {
		rest = rest[copy(part, rest):]
	}
	return nil
}

// each visits the rows that were seen, with the scores set to them. what names the work.
func (s *scored) each(ctx context.Context, what string, visit func(row int)) error {
	for row := range s.rows.Labels {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("layers: intervals, interrupted at calibration row %d: %w", row, err)
		}
		work.Report(ctx, float64(row)/float64(len(s.rows.Labels)), "%s", what)
		if s.rows.Count(row) == 0 {
			continue
		}
		if err := cmp.Or(s.set(row), s.setOwn(row)); err != nil {
			return err
		}
		visit(row)
	}
	return nil
}

func (s *scored) setOwn(row int) error {
	if s.loss == nil {
		copy(s.own, s.ByWeight.RawRowView(s.rows.Labels[row]))
		return nil
	}
	clear(s.own)
	return addGradient(s.own, -1, s.loss, []int32{int32(row)})
}

// addGradient adds scale times the gradient of the mean over rows to dst.
func addGradient(dst []float64, scale float64, of *graph.Objective, rows []int32) error {
	_, gradients, err := of.Gradient(rows)
	for _, g := range gradients {
		floats.AddScaled(dst[:g.DataSize()], scale, g.Float64s())
		dst = dst[g.DataSize():]
	}
	return err
}

// occur counts the occurrences.
func (x *Sandwich) occur(rows Observed) {
	if rows.View.Codes == nil {
		return
	}
	x.Occurrences = make([]float64, x.sizes.Codewords)
	for row := range rows.Labels {
		rows.View.eachCode(row, x.sizes, func(k int32, share float64) { x.Occurrences[k] += rows.Count(row) * share })
	}
}

// information is F but for its ridge.
func (x *Sandwich) information(ctx context.Context, s *scored) (*mat.SymDense, error) {
	if s.loss != nil {
		return x.hessian(ctx, s)
	}
	F := mat.NewSymDense(x.dim(), nil)
	squares := estimate.NewOuter(F)
	err := s.each(ctx, "the map's information", func(row int) {
		for j, logq := range s.LogQ {
			squares.Add(math.Sqrt(s.rows.Count(row)*math.Exp(logq)), s.ByWeight.RawRowView(j))
		}
	})
	squares.Flush()
	return F, err
}

// hessian is Σ_rows ∇²loss by differences of its gradient.
func (x *Sandwich) hessian(ctx context.Context, s *scored) (*mat.SymDense, error) {
	var theta []float64
	for _, name := range x.weights.Learned() {
		theta = append(theta, x.weights.Float64s(name)...)
	}
	set := func(theta []float64) {
		for _, name := range x.weights.Learned() {
			theta = theta[copy(x.weights.Tensor(name).Float64s(), theta):]
		}
	}
	defer set(slices.Clone(theta))
	done, n := 0, len(s.rows.Labels)
	return estimate.Hessian(theta, func(sum []float64, scale float64, theta []float64) error {
		work.Report(ctx, float64(done)/float64(4*x.dim()), "the map's information")
		done++
		set(theta)
		for lo := 0; lo < n; lo += EvaluationBatch {
			batch := graph.Rows(lo, min(lo+EvaluationBatch, n))
			share := s.rows.total() * float64(len(batch)) / float64(n)
			if err := cmp.Or(ctx.Err(), addGradient(sum, share*scale, s.mean, batch)); err != nil {
				return err
			}
		}
		return nil
	})
}
