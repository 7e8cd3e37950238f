package layers

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Fold is one division of rows for cross-validation, by their numbers: a fit is to Fit and
// judged by Held.
type Fold struct{ Fit, Held []int }

// CheckFolds refuses a number of folds that so many rows do not allow.
func CheckFolds(folds, rows int) error {
	if folds < 2 || folds > rows {
		return &SettingError{Reason: fmt.Sprintf("%d folds of %d rows; choose from 2 to the number of rows", folds, rows)}
	}
	return nil
}

// Folds divides labelled rows into folds by [data.Set.Stratify]: each row is held out by one, equal rows by the same.
func Folds(rows *data.Set, folds int, rng *rand.Rand) []Fold {
	if rows == nil || folds < 1 {
		return nil
	}
	return foldsOf(rows.Stratify(slices.Repeat([]float64{1 / float64(folds)}, folds), rng))
}

// foldsOf are the folds that hold out each part, and fit to the others one after another.
func foldsOf(parts [][]int) []Fold {
	all := make([]Fold, len(parts))
	for k, held := range parts {
		all[k].Held = held
		for other, part := range parts {
			if other != k {
				all[k].Fit = append(all[k].Fit, part...)
			}
		}
	}
	return all
}

// GroupFolds divides labelled rows into folds and keeps each group of rows in one fold. Fewer groups than folds are an
// error. The largest group comes first; each goes to the fold where it makes the counts of classes most even.
func GroupFolds(rows *data.Set, folds int, rng *rand.Rand) ([]Fold, error) {
	if rows == nil || folds < 2 || rng == nil {
		return nil, &SettingError{Reason: "folds of groups need rows, at least 2 folds and random numbers"}
	}
	of := map[int][]int{}
	for i, g := range rows.Groups.Of {
		of[g] = append(of[g], i)
	}
	groups := slices.Sorted(maps.Keys(of))
	if len(groups) < folds {
		return nil, &SettingError{Reason: fmt.Sprintf("%d folds of %d groups of rows; choose from 2 to the number of groups", folds, len(groups))}
	}
	rng.Shuffle(len(groups), func(i, j int) { groups[i], groups[j] = groups[j], groups[i] })
	slices.SortStableFunc(groups, func(a, b int) int { return cmp.Compare(len(of[b]), len(of[a])) })
	even := rows.Counts(rows.Classes())
	floats.Scale(1/float64(folds), even)
	held, counts := make([][]int, folds), mat.NewDense(folds, len(even), nil)
	for at, g := range groups {
		own := rows.Rows(of[g]).Counts(len(even))
		best, least := 0, math.Inf(1)
		for k := range folds {
			apart := 0.0 // how much further from even the fold comes to be
			for y, n := range own {
				d := counts.At(k, y) - even[y]
				apart += (d+n)*(d+n) - d*d
			}
			if free := at >= folds || held[k] == nil; free && apart < least { // each fold has a group
				best, least = k, apart
			}
		}
		floats.Add(counts.RawRowView(best), own)
		held[best] = append(held[best], of[g]...)
	}
	for _, part := range held {
		slices.Sort(part)
	}
	all := foldsOf(held)
	for k := range all {
		slices.Sort(all[k].Fit)
	}
	return all, nil
}

// FewRows are n of the rows with these labels, stratified, for a choice that needs no more.
func FewRows(labels []int, n int, rng *rand.Rand) []int {
	if n <= 0 || n >= len(labels) {
		return data.UpTo(min(max(n, 0), len(labels)))
	}
	share := float64(n) / float64(len(labels))
	return data.Stratify(labels, []float64{share, 1 - share}, rng)[0]
}

// CrossFit fits c to the rows outside each fold, one fold after another, and gives the log-probabilities of the rows
// inside (N×C). val are validation rows for each of the fits, or nil.
func CrossFit(ctx context.Context, c Calibrator, rows, val *data.Set, folds []Fold, rng *rand.Rand) (*mat.Dense, error) {
	var said *mat.Dense
	alike := slices.Repeat([]float64{1}, len(folds))
	for k, f := range folds {
		if err := c.Fit(work.Piece(ctx, "fold", k, alike...), rows.Rows(f.Fit), val, rng); err != nil {
			return nil, fmt.Errorf("fit to the rows outside fold %d of %d: %w", k+1, len(folds), err)
		}
		p, err := c.Predict(rows.Rows(f.Held))
		if err != nil {
			return nil, err
		}
		if said == nil {
			said = mat.NewDense(rows.Len(), p.LogProbs.RawMatrix().Cols, nil)
		}
		for at, i := range f.Held {
			said.SetRow(i, p.LogProbs.RawRowView(at))
		}
	}
	return said, nil
}

// Probe divides calibration rows where nobody brought validation rows: a first fit is to nine
// tenths of them, stratified, and the last judges it. The fit that is kept is then to all rows,
// for as many epochs as [BestEpochs] of the first.
func Probe(cal *data.Set, rng *rand.Rand) (fit, judge *data.Set) {
	if cal == nil {
		return nil, nil
	}
	parts := cal.Stratify([]float64{0.9, 0.1}, rng)
	return cal.Rows(parts[0]), cal.Rows(parts[1])
}

// BestEpochs is how long each stage of a fitted calibrator trained until it was best, 0 where
// that was its start.
func BestEpochs(c Calibrator) map[string]int {
	epochs := map[string]int{}
	if s, ok := c.(Staged); ok {
		for _, stage := range s.Stages() {
			epochs[stage.Name] = stage.Result.Best
		}
	}
	return epochs
}
