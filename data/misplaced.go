package data

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Misplaced describes labels (N) that seem to number the classes in another order than the columns of the scores (N×C);
// it is "" where they do not. The commonest label, and that of the rows of each column, are learned from every other row.
// On the other rows one of the two must be right more often than the scores, by more than three standard errors.
func Misplaced(scores *mat.Dense, labels []int) string {
	if scores == nil || labels == nil {
		return ""
	}
	const all = -1 // columns together
	seen := map[int]map[int]int{all: {}}
	mostly := map[int]int{}
	var rows, right, commonest, moved int
	for _, learn := range []bool{true, false} {
		for i, y := range labels {
			switch top := floats.MaxIdx(scores.RawRowView(i)); {
			case learn != (i%2 == 0):
			case learn:
				if seen[top] == nil {
					seen[top] = map[int]int{}
				}
				seen[top][y]++
				seen[all][y]++
			default:
				rows++
				right += one(top == y)
				commonest += one(mostly[all] == y)
				to, known := mostly[top]
				moved += one(known && to == y)
			}
		}
		for k, counts := range seen {
			mostly[k] = slices.MaxFunc(slices.Sorted(maps.Keys(counts)), func(a, b int) int { return counts[a] - counts[b] })
		}
	}
	if len(seen[all]) < 2 {
		return "" // one class alone is a fault of its own
	}
	surely := func(n int) bool { return float64(n-right) > 3*math.Sqrt(float64(n+right)) }
	percent := func(n int) float64 { return 100 * float64(n) / float64(rows) }
	than := ""
	switch {
	case moved > 2*right && surely(moved):
		than = fmt.Sprintf("%.0f %% if its columns stood for other classes", percent(moved))
	case surely(commonest):
		than = fmt.Sprintf("%.0f %% if it always took the commonest class", percent(commonest))
	default:
		return ""
	}
	return fmt.Sprintf("the classifier is right in %.0f %% of the rows, and would be in %s: the labels seem to number the classes in another order than the columns do; "+
		"number them by the columns or, where labels are names, add class_names in the order of the columns", percent(right), than)
}

func one(holds bool) int {
	if holds {
		return 1
	}
	return 0
}
