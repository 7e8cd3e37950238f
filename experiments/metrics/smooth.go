package metrics

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
)

// smoothed measures the smooth calibration error of the top class (Błasiok and Nakkiran
// 2023), discretized as relplot 1.0 does. With confidences f_i, residuals
// r_i = f_i − 1[the top class of row i is its label] and the Gaussian kernel K_σ on [0, 1]
// reflected at both ends,
//
//	smECE_σ = ∫ |Σ_i K_σ(t, f_i) r_i| dt / ∫ Σ_i K_σ(t, f_i) dt
//
// at the σ where it is σ, found by ten halvings, but no smaller than 1e-3.
type smoothed struct {
	confidence []float64
	cosines    *fourier.DCT                 // of the coarsest grid
	kernels    map[float64]*smoothingKernel // by σ
}

// smoothingKernel is K_σ on a grid, and what depends on σ alone.
type smoothingKernel struct {
	weight   []float64 // at the distances half … −half
	half     int
	grid     int       // points of the grid
	at       []float64 // where the integrals are summed
	mass     []float64 // Σ_t K_σ(t, ·) at each point of the grid
	spectrum []float64 // of the coarsest grid: what the kernel multiplies the cosines by, or nil
}

const (
	smoothHalvings = 10
	smoothLeast    = 1e-3 // of σ
	smoothFloor    = 1e-4 // what relplot adds to a density
	coarsestGrid   = 1001 // points, for σ of .01 or more
)

func newSmoothed(confidence []float64) *smoothed {
	return &smoothed{confidence, fourier.NewDCT(coarsestGrid), map[float64]*smoothingKernel{}}
}

// SmoothECE is the smooth calibration error of rows with these confidences, hits and weights.
func SmoothECE(confidence, hit, weight []float64) float64 {
	return newSmoothed(confidence).error(weight, func(i int) float64 { return hit[i] })
}

// error is smECE of rows with these weights, hit being the share of the top class in each.
func (s *smoothed) error(weight []float64, hit func(i int) float64) float64 {
	residual := make([]float64, len(s.confidence))
	for i, f := range s.confidence {
		residual[i] = weight[i] * (f - hit(i))
	}
	at := s.of(weight, residual)
	low, high := 1.0, 0.0
	for range smoothHalvings {
		if middle := (low + high) / 2; middle < smoothLeast || middle < at(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	return at(low)
}

// of returns smECE_σ of rows with these weights and residuals.
func (s *smoothed) of(weight, residual []float64) func(sigma float64) float64 {
	var mass, cosines []float64 // on the coarsest grid
	return func(sigma float64) float64 {
		k := s.kernels[sigma]
		if k == nil {
			k = newSmoothingKernel(sigma, s.cosines)
			s.kernels[sigma] = k
		}
		if k.spectrum == nil {
			return k.integral(k.smooth(k.share(s.confidence, residual)), k.share(s.confidence, weight))
		}
		if mass == nil {
			mass = k.share(s.confidence, weight)
			cosines = s.cosines.Transform(nil, k.share(s.confidence, residual))
		}
		smooth := floats.MulTo(make([]float64, coarsestGrid), cosines, k.spectrum)
		return k.integral(s.cosines.Transform(smooth, smooth), mass)
	}
}

func newSmoothingKernel(sigma float64, cosines *fourier.DCT) *smoothingKernel {
	k := &smoothingKernel{grid: max(2*(coarsestGrid-1), int(math.RoundToEven(20/sigma)))/2 + 1}
	k.half = min(k.grid/2, int(math.Ceil(9*sigma*float64(k.grid)))) // beyond 9σ the kernel is below 1e-17
	for d := k.half; d >= -k.half; d-- {
		t := float64(d+k.grid/2)/float64(k.grid-1) - 0.5
		k.weight = append(k.weight, math.Exp(-t*t/(2*sigma*sigma))/(math.Sqrt(2*math.Pi)*sigma))
	}
	points := max(200, int(math.RoundToEven(10/sigma)))
	on := make([]float64, k.grid)
	for i := range points {
		t := float64(i) / float64(points-1)
		j, right := k.beside(t)
		k.at = append(k.at, t)
		on[j] += 1 - right
		on[j+1] += right
	}
	k.mass = k.transposed(on)
	if k.grid == coarsestGrid {
		// A kernel that is even, on a line that is reflected at both ends, is diagonal in the cosines.
		even := make([]float64, k.grid)
		copy(even, k.weight[k.half:])
		k.spectrum = cosines.Transform(nil, even)
		floats.Scale(1/float64(2*(k.grid-1)), k.spectrum) // the transform of a transform is 2(n − 1) times what it is of
	}
	return k
}

// smooth is Σ_j K_σ(i, j) y_j at each point i of the grid.
func (k *smoothingKernel) smooth(y []float64) []float64 {
	last := k.grid - 1
	reflected := make([]float64, k.grid+2*k.half)
	copy(reflected[k.half:], y)
	for d := 1; d <= k.half; d++ {
		reflected[k.half-d] = y[d]
		reflected[k.half+last+d] = y[last-d]
	}
	out := make([]float64, k.grid)
	for i := range out {
		out[i] = floats.Dot(reflected[i:i+len(k.weight)], k.weight)
	}
	return out
}

// transposed is Σ_i x_i K_σ(i, j) at each point j of the grid.
func (k *smoothingKernel) transposed(x []float64) []float64 {
	last := k.grid - 1
	reflected := make([]float64, k.grid+2*k.half)
	for i, v := range x {
		if v != 0 {
			floats.AddScaled(reflected[i:i+len(k.weight)], v, k.weight)
		}
	}
	out := append([]float64(nil), reflected[k.half:k.half+k.grid]...)
	for d := 1; d <= k.half; d++ {
		out[d] += reflected[k.half-d]
		out[last-d] += reflected[k.half+last+d]
	}
	return out
}

// integral is smECE_σ of residuals that are smooth on the grid, beside the mass of the rows there.
func (k *smoothingKernel) integral(residuals, mass []float64) float64 {
	sum := 0.0
	for _, t := range k.at {
		j, right := k.beside(t)
		sum += math.Abs(residuals[j] + right*(residuals[j+1]-residuals[j]))
	}
	return sum / (floats.Dot(k.mass, mass) + smoothFloor*float64(len(k.at)))
}

// share parts each y_i among the two points of the grid beside f_i.
func (k *smoothingKernel) share(f, y []float64) []float64 {
	out := make([]float64, k.grid)
	for i, x := range f {
		j, right := k.beside(x)
		out[j] += (1 - right) * y[i]
		out[j+1] += right * y[i]
	}
	return out
}

// beside is the point of the grid on the left of x, and the share of x that the point on its right has.
func (k *smoothingKernel) beside(x float64) (j int, right float64) {
	at := x * float64(k.grid-1)
	j = min(max(int(at), 0), k.grid-2)
	return j, at - float64(j)
}

// smoothWork is how many rows are measured at most in all replicates: of more rows there are fewer, but no fewer than
// 40.
const smoothWork = 2e7

// smooth fills SmoothECE, its interval from the replicates, and its noise from the redraws.
func (b *binned) smooth(ctx context.Context, x *resamples, out *Report) error {
	confidence := b.Confidences()
	under := func(s *smoothed, as variant) float64 {
		return s.error(as.weight, func(i int) float64 { return as.Share(i, int(b.Top[i])) })
	}
	replicates := min(len(x.replicates), max(FewestReplicates, int(smoothWork)/b.N))
	errors, err := across(ctx, x, replicates, len(x.redraws), func() func(variant) float64 {
		rows := newSmoothed(confidence)
		return func(as variant) float64 { return under(rows, as) }
	})
	if err != nil {
		return fmt.Errorf("metrics: smooth calibration error: %w", err)
	}
	out.SmoothECE = under(newSmoothed(confidence), b.observed())
	if replicates > 0 {
		out.SmoothInterval = around(out.SmoothECE, errors[:replicates], x.wider()).possible(out.SmoothECE)
	}
	if len(x.redraws) > 0 {
		out.SmoothNoise = upperNoise(out.SmoothECE, errors[replicates:])
	}
	return nil
}
