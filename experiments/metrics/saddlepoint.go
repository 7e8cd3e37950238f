package metrics

import (
	"math"
	"slices"
)

// bootstrapTail is the chance that the mean of N draws with replacement from x (N) lies as
// far from their mean m as |m| or farther, on either side: the p-value of a paired bootstrap
// of endless replicates, by the saddlepoint of Lugannani and Rice, within a few per cent
// however small (Davison & Hinkley 1988, Saddlepoint approximations in resampling methods).
func bootstrapTail(x []float64) float64 {
	m := mean(x)
	centred := make([]float64, len(x))
	for i := range x {
		centred[i] = x[i] - m
	}
	upper := meanTail(centred, math.Abs(m))
	for i := range centred {
		centred[i] = -centred[i]
	}
	return min(1, upper+meanTail(centred, math.Abs(m)))
}

// meanTail is P(mean of N draws ≥ a) for x of mean 0, a ≥ 0. With the cumulant function
// K(t) = log mean exp(t x) and t where K'(t) = a,
//
//	w = √(2N(ta − K(t))) ,  u = t √(N K''(t)) ,  P = 1 − Φ(w) + φ(w)(1/u − 1/w)
func meanTail(x []float64, a float64) float64 {
	n, most := float64(len(x)), slices.Max(x)
	var variance float64
	for _, v := range x {
		variance += v * v / n
	}
	switch {
	case variance == 0 && a == 0:
		return 0.5 // and as much on the other side
	case a >= most: // all draws must be the largest value
		if a > most {
			return 0
		}
		var ties float64
		for _, v := range x {
			if v == most {
				ties++
			}
		}
		return math.Pow(ties/n, n)
	case a < 0.05*math.Sqrt(variance/n): // near the centre, where w and u vanish together
		return math.Erfc(a/math.Sqrt(2*variance/n)) / 2
	}
	c := cumulants{x, most}
	t := c.where(a, variance)
	k, _, k2 := c.at(t)
	w, u := math.Sqrt(2*n*(t*a-k)), t*math.Sqrt(n*k2)
	return math.Erfc(w/math.Sqrt2)/2 + math.Exp(-w*w/2)/math.Sqrt(2*math.Pi)*(1/u-1/w)
}

// cumulants are those of a draw from x.
type cumulants struct {
	x    []float64
	most float64 // of x
}

// at is K(t) with its first two derivatives.
func (c cumulants) at(t float64) (k, k1, k2 float64) {
	var sum, first, second float64
	for _, v := range c.x {
		e := math.Exp(t * (v - c.most))
		sum += e
		first += e * v
		second += e * v * v
	}
	k1 = first / sum
	return math.Log(sum/float64(len(c.x))) + t*c.most, k1, second/sum - k1*k1
}

// where is the t of K'(t) = a.
func (c cumulants) where(a, variance float64) (t float64) {
	lo, hi := 0.0, a/variance
	for {
		if _, k1, _ := c.at(hi); k1 >= a || hi > 1e12/c.most {
			break
		}
		lo, hi = hi, 2*hi
	}
	t = hi
	for range 100 { // Newton's step where it stays between the bounds, else their middle
		_, k1, k2 := c.at(t)
		if math.Abs(k1-a) <= 1e-12*c.most {
			break
		}
		if k1 > a {
			hi = t
		} else {
			lo = t
		}
		if t -= (k1 - a) / k2; !(lo < t && t < hi) {
			t = (lo + hi) / 2
		}
	}
	return t
}
