package checked

import (
	"cmp"
	"slices"
)

// Mean adds in order, and not as gonum's kernels do, which differ from machine to machine in
// the last bits.
func Mean(x []float64) float64 {
	var sum float64
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Ascending are the places of x from its smallest number on, equal ones in their order.
func Ascending(x []float64) []int {
	order := FirstToLast(len(x))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[i], x[j]) })
	return order
}

// Descending are the places of x from its largest number on, equal ones in their order.
func Descending(x []float64) []int {
	order := FirstToLast(len(x))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(x[j], x[i]) })
	return order
}

func FirstToLast(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}
