// Package pav finds isotonic regressions by pooling adjacent violators (Barlow et al. 1972).
package pav

// Pool is neighbouring values that share one mean.
type Pool struct {
	First, Last int     // of the values
	Weight, Sum float64 // Σ w and Σ w y of their rows
}

// Mean is the value of the regression in the pool, NaN of weight 0.
func (p Pool) Mean() float64 { return p.Sum / p.Weight }

// Pools is the non-decreasing function that is closest in squares to the targets y of rows, which are given by their
// values in ascending order: weight[k] = Σ w and sum[k] = Σ w y of the rows of the k-th value. A value of weight 0
// joins a pool beside it. The pools are appended to dst.
func Pools(dst []Pool, weight, sum []float64) []Pool {
	from := len(dst)
	for k, w := range weight {
		p := Pool{First: k, Last: k, Weight: w, Sum: sum[k]}
		for n := len(dst); n > from && dst[n-1].Sum*p.Weight >= p.Sum*dst[n-1].Weight; n-- { // means not in order
			before := dst[n-1]
			p.First, p.Weight, p.Sum = before.First, before.Weight+p.Weight, before.Sum+p.Sum
			dst = dst[:n-1]
		}
		dst = append(dst, p)
	}
	return dst
}
