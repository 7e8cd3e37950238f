//go:build arm64 && !noasm

package simd

// isa is the instruction set the kernels run on: every arm64 processor has NEON. The
// tests set portable too.
var isa = neon

var sets = [neon + 1]kernels{
	neon: {
		exp: expNEON, sigmoid: sigmoidNEON, lgamma: lgammaNEON, digamma: digammaNEON,
		softplus: softplusNEON, softplusSigmoid: softplusSigmoidNEON, lgammaDigamma: lgammaDigammaNEON, gaussianRow: gaussianRowNEON,
		mulAdd: mulAddNEON, times: timesNEON, greatest: greatestNEON, expLess: expLessNEON,
		softplus64: softplus64NEON, lgamma64: lgamma64NEON, expNegative64: expNegative64NEON, log64: log64NEON,
		dot: dotNEON, dots: dotsNEON, outer: outerNEON, nearestTwo: nearestTwoNEON, leastScores: leastScoresNEON,
		takeRows: takeRowsNEON, addToRows: addToRowsNEON, sumRows: sumRowsNEON, sumShares: sumSharesNEON, addShares: addSharesNEON,
		adam:      adamNEON,
		scoreSums: scoreSumsNEON, columnSums: columnSumsNEON, slopes: slopesNEON, scaleColumns: scaleColumnsNEON,
		singles: (&gemmKernels[float32]{
			size: 4, lanes: 4,
			rows:           [2]panelProduct[float32]{sgemmRows1NEON, sgemmRows2NEON},
			columns:        [2]panelProduct[float32]{sgemmColumns1NEON, sgemmColumns2NEON},
			packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1NEON, spackRows2NEON},
			packTransposed: spackTransposedNEON,
		}).withPools(),
		doubles: (&gemmKernels[float64]{
			size: 8, lanes: 2,
			rows:           [2]panelProduct[float64]{dgemmRows1NEON, dgemmRows2NEON},
			columns:        [2]panelProduct[float64]{dgemmColumns1NEON, dgemmColumns2NEON},
			packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1NEON, dpackRows2NEON},
			packTransposed: dpackTransposedNEON,
		}).withPools(),
	},
}
