package metrics

import (
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/floats"
)

// mostFlipped is of how many differences all assignments of signs are counted: 2²⁴ take a tenth of a second.
const mostFlipped = 24

// SignFlip is the two-sided p-value of the exact sign-flip test (Fisher 1935, The Design of Experiments, §21) of
// differences whose signs would be random if there were none: the share of the 2ⁿ assignments of signs for which
// |Σ ±d_i| is at least |Σ d_i|. Its error is one where there are more than 24 differences, or one is not finite.
func SignFlip(d []float64) (float64, error) {
	n := len(d)
	if n == 0 || n > mostFlipped {
		return 0, fmt.Errorf("metrics: the exact sign-flip test takes 1 to %d differences, not %d", mostFlipped, n)
	}
	size := 0.
	for i, v := range d {
		if v-v != 0 {
			return 0, fmt.Errorf("metrics: difference %d is %v; every one must be finite", i, v)
		}
		size += math.Abs(v)
	}
	sum := floats.Sum(d)
	const rounding = 1e-12 // of sums that differ by the order of their terms alone
	least := math.Abs(sum) - rounding*size
	signs := make([]float64, n)
	copy(signs, d)
	reached := 0
	for k := uint(1); ; k++ { // the Gray code flips one sign at a time
		if math.Abs(sum) >= least {
			reached++
		}
		if k == 1<<n {
			return float64(reached) / float64(k), nil
		}
		i := bits.TrailingZeros(k)
		sum -= 2 * signs[i]
		signs[i] = -signs[i]
	}
}
