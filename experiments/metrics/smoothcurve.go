package metrics

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// SmoothCurve is how often predictions hit against their confidence, by the kernel of the smooth calibration error: of rows with
// confidences f_i, weights w_i and hits h_i
//
//	μ(t) = Σ_i K_σ(t, f_i) w_i h_i / Σ_i K_σ(t, f_i) w_i
//
// at the σ where smECE_σ is σ, as relplot draws it (Błasiok and Nakkiran 2023).
type SmoothCurve struct {
	Error float64 `json:"error"` // smECE
	Width float64 `json:"width"` // σ
	// Frequency is μ at each of At, which ascend.
	At        []float64 `json:"at"`
	Frequency []float64 `json:"frequency"`
	// Low and High are where 95 % of the curves of rows that are drawn again lie, with replacement and at the same σ.
	Low  []float64 `json:"low,omitempty"`
	High []float64 `json:"high,omitempty"`
}

const (
	curvePlaces   = 101
	curveRedraws  = 200
	curveFewest   = 40  // redraws
	curveWork     = 2e7 // rows that are redrawn in all: of many rows the band needs fewer redraws
	curveTogether = 34  // places that share a matrix, as they see nearly the same points of the grid
	curveRows     = 5   // as many, by their kernels, lie at each place: where there are fewer the curve has none
)

// NewSmoothCurve is the curve of rows; weight nil: 1. Its band is drawn from rng; nil: it has none.
func NewSmoothCurve(confidence, hit, weight []float64, rng *rand.Rand) *SmoothCurve {
	s := newSmoothed(confidence, weight)
	sigma, smECE := s.width(func(i int) float64 { return hit[i] })
	c := &SmoothCurve{Error: smECE, Width: sigma}
	if weight == nil {
		weight = slices.Repeat([]float64{1}, len(confidence))
	}
	kernel := newSmoothingKernel(max(sigma, smoothLeast))
	low, high := floats.Min(confidence), floats.Max(confidence)
	kernel.at = []float64{low}
	if low < high {
		kernel.at = floats.Span(make([]float64, curvePlaces), low, high)
	}
	enough := curveRows * stat.Mean(weight, nil) * kernel.weight[kernel.half] // the kernel's peak
	for i, density := range kernel.smooth(confidence, weight) {
		if density >= enough {
			c.At = append(c.At, kernel.at[i])
		}
	}
	kernel.at = c.At
	c.Frequency = kernel.regress(confidence, hit, weight)
	if rng != nil && len(c.At) > 0 {
		c.band(kernel, confidence, hit, weight, rng)
	}
	return c
}

// regress is μ at the points t.
func (k *smoothingKernel) regress(confidence, hit, weight []float64) []float64 {
	hits := k.smooth(confidence, floats.MulTo(make([]float64, len(hit)), hit, weight))
	for i, all := range k.smooth(confidence, weight) {
		hits[i] = math.Min(1, math.Max(0, hits[i]/all))
	}
	return hits
}

// band finds Low and High. A place sums the points of the grid that lie within its kernel, so that a matrix smooths all redraws.
func (c *SmoothCurve) band(kernel *smoothingKernel, confidence, hit, weight []float64, rng *rand.Rand) {
	n := len(confidence)
	redraws := max(curveFewest, min(curveRedraws, int(curveWork)/n))
	shares := mat.NewDense(2*redraws, kernel.grid, nil) // of the rows that are drawn, and of those of them that hit
	drawn := make([]float64, n)
	for k := range redraws {
		clear(drawn)
		for range n {
			i := rng.IntN(n)
			drawn[i] += weight[i]
		}
		kernel.share(shares.RawRowView(2*k), confidence, drawn)
		kernel.share(shares.RawRowView(2*k+1), confidence, floats.MulTo(drawn, drawn, hit))
	}
	for places := range slices.Chunk(c.At, curveTogether) {
		sees, from, to := kernel.matrix(places)
		smooth := mat.NewDense(len(places), 2*redraws, nil)
		simd.Dgemm(blas.NoTrans, blas.Trans, len(places), 2*redraws, to-from, 1, sees.RawMatrix().Data, to-from,
			shares.RawMatrix().Data[from:], kernel.grid, 0, smooth.RawMatrix().Data, 2*redraws)
		for i := range places {
			var v []float64
			for pair := range slices.Chunk(smooth.RawRowView(i), 2) {
				if pair[0] > 0 { // a row near the place was drawn
					v = append(v, math.Min(1, pair[1]/pair[0]))
				}
			}
			slices.Sort(v)
			c.Low = append(c.Low, stat.Quantile(0.025, stat.Empirical, v, nil))
			c.High = append(c.High, stat.Quantile(0.975, stat.Empirical, v, nil))
		}
	}
}

// matrix is K_σ at places (rows), which ascend, of the points of the grid from the first that one of them sees to before to.
func (k *smoothingKernel) matrix(places []float64) (kernel *mat.Dense, from, to int) {
	last := k.grid - 1
	first, _ := k.beside(places[0])
	final, _ := k.beside(places[len(places)-1])
	from, to = max(first-k.half, 0), min(final+1+k.half, last)+1
	kernel = mat.NewDense(len(places), to-from, nil)
	add := func(i, j int, w float64) { // to the point of the grid, or to the one that it is the image of
		kernel.RawRowView(i)[last-abs(last-abs(j))-from] += w
	}
	for i, t := range places {
		j, right := k.beside(t)
		for d, w := range k.weight {
			add(i, j+d-k.half, (1-right)*w)
			add(i, j+1+d-k.half, right*w)
		}
	}
	return kernel, from, to
}

func abs(x int) int { return max(x, -x) }
