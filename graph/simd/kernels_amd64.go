//go:build amd64 && !noasm

package simd

import "golang.org/x/sys/cpu"

// isa is the instruction set the kernels run on, chosen once at start-up.
var isa = detect()

func detect() instructionSet {
	x := &cpu.X86
	switch {
	case x.HasAVX512F && x.HasAVX512DQ && x.HasAVX512BW && x.HasAVX512VL && x.HasFMA:
		switch {
		case tilesGranted():
			return amx
		case x.HasAVX512VNNI:
			return vnni
		}
		return avx512
	case x.HasAVX2 && x.HasFMA:
		return avx2
	}
	return portable
}

func init() {
	sets[amx], sets[vnni] = sets[avx512], sets[avx512]
	sets[amx].screenTiles = screenAMX
	k := &sets[vnni]
	k.plus, k.quantizeSlots, k.nearestPairs = plusAVX512, quantizeSlotsAVX512, nearestPairsAVX512
}

var sets = [neon + 1]kernels{
	avx512: {
		exp: expAVX512, sigmoid: sigmoidAVX512, lgamma: lgammaAVX512, digamma: digammaAVX512,
		softplus: softplusAVX512, softplusSigmoid: softplusSigmoidAVX512, lgammaDigamma: lgammaDigammaAVX512, gaussianRow: gaussianRowAVX512,
		mulAdd: mulAddAVX512, times: timesAVX512, greatest: greatestAVX512, expLess: expLessAVX512,
		softplus64: softplus64AVX512, lgamma64: lgamma64AVX512, expNegative64: expNegative64AVX512, log64: log64AVX512,
		dot: dotAVX512, dots: dotsAVX512, less: lessAVX512, lessMost: lessMostAVX512, outer: outerAVX512, nearestTwo: nearestTwoAVX512, leastScores: leastScoresAVX512,
		takeRows: takeRowsAVX512, addToRows: addToRowsAVX512, sumRows: sumRowsAVX512, sumShares: sumSharesAVX512, sumSharesFour: sumSharesFourAVX512, mostCode: mostCodeAVX512, addShares: addSharesAVX512,
		adam:      adamAVX512,
		scoreSums: scoreSumsAVX512, columnSums: columnSumsAVX512, slopes: slopesAVX512, scaleColumns: scaleColumnsAVX512,
		singles: (&gemmKernels[float32]{
			size: 4, lanes: 16,
			rows:           [2]panelProduct[float32]{sgemmRows1AVX512, sgemmRows2AVX512},
			columns:        [2]panelProduct[float32]{sgemmColumns1AVX512, sgemmColumns2AVX512},
			packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1AVX512, spackRows2AVX512},
			packTransposed: spackTransposedAVX512,
		}).withPools(),
		doubles: (&gemmKernels[float64]{
			size: 8, lanes: 8,
			rows:           [2]panelProduct[float64]{dgemmRows1AVX512, dgemmRows2AVX512},
			columns:        [2]panelProduct[float64]{dgemmColumns1AVX512, dgemmColumns2AVX512},
			packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1AVX512, dpackRows2AVX512},
			packTransposed: dpackTransposedAVX512,
		}).withPools(),
	},
	avx2: {
		exp: expAVX2, sigmoid: sigmoidAVX2, lgamma: lgammaAVX2, digamma: digammaAVX2,
		softplus: softplusAVX2, softplusSigmoid: softplusSigmoidAVX2, lgammaDigamma: lgammaDigammaAVX2, gaussianRow: gaussianRowAVX2,
		mulAdd: mulAddAVX2, times: timesAVX2, greatest: greatestAVX2, expLess: expLessAVX2,
		softplus64: softplus64AVX2, lgamma64: lgamma64AVX2, expNegative64: expNegative64AVX2, log64: log64AVX2,
		dot: dotAVX2, dots: dotsAVX2, less: lessAVX2, lessMost: lessMostAVX2, outer: outerAVX2, nearestTwo: nearestTwoAVX2, leastScores: leastScoresAVX2,
		takeRows: takeRowsAVX2, addToRows: addToRowsAVX2, sumRows: sumRowsAVX2, sumShares: sumSharesAVX2, sumSharesFour: sumSharesFourAVX2, mostCode: mostCodeAVX2, addShares: addSharesAVX2,
		adam:      adamAVX2,
		scoreSums: scoreSumsAVX2, columnSums: columnSumsAVX2, slopes: slopesAVX2, scaleColumns: scaleColumnsAVX2,
		singles: (&gemmKernels[float32]{
			size: 4, lanes: 8,
			rows:           [2]panelProduct[float32]{sgemmRows1AVX2, sgemmRows2AVX2},
			columns:        [2]panelProduct[float32]{sgemmColumns1AVX2, sgemmColumns2AVX2},
			packRows:       [2]func(dst, src *float32, lds, k, n int){spackRows1AVX2, spackRows2AVX2},
			packTransposed: spackTransposedAVX2,
		}).withPools(),
		doubles: (&gemmKernels[float64]{
			size: 8, lanes: 4,
			rows:           [2]panelProduct[float64]{dgemmRows1AVX2, dgemmRows2AVX2},
			columns:        [2]panelProduct[float64]{dgemmColumns1AVX2, dgemmColumns2AVX2},
			packRows:       [2]func(dst, src *float64, lds, k, n int){dpackRows1AVX2, dpackRows2AVX2},
			packTransposed: dpackTransposedAVX2,
		}).withPools(),
	},
}
