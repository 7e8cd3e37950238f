package main

import (
	"runtime/debug"

	"calibra/graph/blas"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
)

// Cost is the unavoidable work of a workload: multiplications and additions, and
// bytes that pass memory because they fit no cache.
type Cost struct{ Flops, Bytes float64 }

// Roof is the speed of the machine, measured beside the workloads.
type Roof struct {
	FlopsPerSecond float64 `json:"sgemm_flops_per_s"` // of a 1024×256 by 256×1024 product
	BytesPerSecond float64 `json:"copy_bytes_per_s"`  // read and written by a copy of 64 MiB
}

// MeasureRoof takes the best of five.
func MeasureRoof() Roof {
	const n, k = 1024, 256
	a, b, c := make([]float32, n*k), make([]float32, k*n), make([]float32, n*n)
	for i := range a {
		a[i], b[i] = 1, 1
	}
	product, _ := best(5, func() error {
		blas.Current().Sgemm(gonum.NoTrans, gonum.NoTrans, n, n, k, 1, a, k, b, n, 0, c, n)
		return nil
	})
	x, y := make([]float32, 16<<20), make([]float32, 16<<20)
	for i := range x {
		x[i] = 1 // else all of it is one page of zeros
	}
	copying, _ := best(5, func() error {
		work.Ranges(len(x), len(x)/2, func(lo, hi int) { copy(y[lo:hi], x[lo:hi]) })
		return nil
	})
	rate := 8 * float64(len(x)) / copying
	x, y = nil, nil
	debug.FreeOSMemory() // so that the workloads' peak is their own
	return Roof{2 * n * n * k / product, rate}
}

// Floor is the shortest time, in seconds, that the roof allows for c: the time of its
// arithmetic or of its traffic, whichever is longer.
func (r Roof) Floor(c Cost) float64 {
	return max(c.Flops/r.FlopsPerSecond, c.Bytes/r.BytesPerSecond)
}

// elementary is what one evaluation of α, its slope, ln Γ and ψ costs, counted from
// the polynomials of package simd: some 20 operations each for exp and log, 30 for
// ln Γ and 20 for ψ.
const (
	forwardFlops  = 70 // softplus, ln Γ, contraction
	backwardFlops = 30 // sigmoid, ψ, the products of the slope; the rest is known from forward
	adamFlops     = 12
)

// quantizerCost counts an epoch of stage 1: distances (2MK a row), the head forward
// and back (4MC), the moving averages (M), and Adam. Features are read for codes and
// again for sums; q is written, and read by the head twice.
func quantizerCost(n, c float64) Cost {
	const m, k = Features, Codewords
	steps := n / Batch
	return Cost{n*(2*m*k+4*m*c+m) + steps*adamFlops*m*c, n * 4 * m * 2}
}

// calibratorCost counts an epoch of stage 2: mass × outer products forward and back
// (4KC² a row), the Dirichlet terms, the outer products of each step with their
// gradient (5KC²), and Adam. Everything but the K×C² products of a step fits a cache
// up to C of about 100; beyond, A and its gradient pass memory.
func calibratorCost(n, c float64) Cost {
	const k = Codewords
	steps := n / Batch
	cost := Cost{Flops: n*c*c*(4*k+forwardFlops+backwardFlops) + steps*(5*k*c*c+2*adamFlops*k*c)}
	if intermediate := 4 * Batch * c * c; intermediate > 4<<20 {
		cost.Bytes = n * c * c * 4 * 5 // A written and read twice, ∂A written and read
	}
	return cost
}

// lceCost counts all pairs of rows: the distance, the exponential, the mass and its
// square, and the residual of every class.
func lceCost(n, d, c float64) Cost { return Cost{Flops: n * n * (2*d + 20 + 4 + 2*c)} }

// inferenceCost counts one row: distances, the head's table, the mass product and
// the Dirichlet scores. Features are read once.
func inferenceCost(n, c float64) Cost {
	return Cost{n * (2*Features*Codewords + Slots*c + 2*Codewords*c*c + forwardFlops*c*c), n * 4 * Features}
}
