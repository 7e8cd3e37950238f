package metrics

import "gonum.org/v1/gonum/mathext"

// ShareInterval is the 95 % interval of a share of which n rows show so many hits (Clopper & Pearson 1934): the shares
// p for which as many hits, and as few, have a probability of 2.5 % or more,
//
//	I_low(h, n − h + 1) = .025 ,   I_high(h + 1, n − h) = .975
//
// with the regularized incomplete beta function I. It has a width where all rows hit or none. n need be no whole
// number: rows that count differently or depend on one another are taken as their effective number (Korn & Graubard
// 1998).
func ShareInterval(hits, n float64) Interval {
	const rounding = 1e-9 // of sums of weights
	i := Interval{0, 1}
	if hits > n*rounding {
		i.Low = mathext.InvRegIncBeta(hits, n-min(hits, n)+1, .025)
	}
	if hits < n*(1-rounding) {
		i.High = mathext.InvRegIncBeta(hits+1, n-hits, .975)
	}
	return i
}
