package metrics

import (
	"context"
	"fmt"
	"math"

	"calibra/graph/work"

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
	weight     []float64                    // of the rows; nil: 1
	kernels    map[float64]*smoothingKernel // by σ, as redrawn labels need few
}

// smoothingKernel is K_σ on a grid, and what does not depend on the labels.
type smoothingKernel struct {
	weight []float64 // at the distances half … −half
	half   int
	grid   int       // points of the grid
	at     []float64 // where the integrals are summed
	mass   float64   // ∫ Σ_i K_σ(t, f_i) dt but for a constant
}

const (
	smoothHalvings = 10
	smoothLeast    = 1e-3 // of σ
	smoothFloor    = 1e-4 // what relplot adds to a density
)

func newSmoothed(confidence, weight []float64) *smoothed {
	return &smoothed{confidence, weight, map[float64]*smoothingKernel{}}
}

// SmoothECE is the smooth calibration error of rows with these confidences, hits and weights.
func SmoothECE(confidence, hit, weight []float64) float64 {
	return newSmoothed(confidence, weight).error(func(i int) float64 { return hit[i] })
}

// error is smECE of the rows, hit being the share of the top class in each.
func (s *smoothed) error(hit func(i int) float64) float64 {
	residual := make([]float64, len(s.confidence))
	for i, f := range s.confidence {
		residual[i] = f - hit(i)
		if s.weight != nil {
			residual[i] *= s.weight[i]
		}
	}
	low, high := 1.0, 0.0
	for range smoothHalvings {
		if middle := (low + high) / 2; middle < smoothLeast || middle < s.at(middle, residual) {
			high = middle
		} else {
			low = middle
		}
	}
	return s.at(low, residual)
}

// at is smECE_σ.
func (s *smoothed) at(sigma float64, residual []float64) float64 {
	k := s.kernels[sigma]
	if k == nil {
		k = newSmoothingKernel(sigma)
		for _, density := range k.smooth(s.confidence, s.weight) {
			k.mass += density + smoothFloor
		}
		s.kernels[sigma] = k
	}
	sum := 0.0
	for _, r := range k.smooth(s.confidence, residual) {
		sum += math.Abs(r)
	}
	return sum / k.mass
}

func newSmoothingKernel(sigma float64) *smoothingKernel {
	k := &smoothingKernel{grid: max(2000, int(math.RoundToEven(20/sigma)))/2 + 1}
	k.half = min(k.grid/2, int(math.Ceil(9*sigma*float64(k.grid)))) // beyond 9σ the kernel is below 1e-17
	for d := k.half; d >= -k.half; d-- {
		t := float64(d+k.grid/2)/float64(k.grid-1) - 0.5
		k.weight = append(k.weight, math.Exp(-t*t/(2*sigma*sigma))/(math.Sqrt(2*math.Pi)*sigma))
	}
	points := max(200, int(math.RoundToEven(10/sigma)))
	for i := range points {
		k.at = append(k.at, float64(i)/float64(points-1))
	}
	return k
}

// smooth is Σ_i K_σ(t, f_i) y_i at the points t; y of nil is 1.
func (k *smoothingKernel) smooth(f, y []float64) []float64 {
	last := k.grid - 1
	mass := make([]float64, k.grid+2*k.half) // reflected at both ends
	inner := mass[k.half : k.half+k.grid]
	k.share(inner, f, y)
	for d := 1; d <= k.half; d++ {
		mass[k.half-d] = inner[d]
		mass[k.half+last+d] = inner[last-d]
	}
	on := func(j int) float64 { return floats.Dot(mass[j:j+len(k.weight)], k.weight) } // at a point of the grid
	out := make([]float64, len(k.at))
	next, high := -1, 0.0 // the point of the grid after the last t, and the sum there
	for i, t := range k.at {
		j, right := k.beside(t)
		low := high
		if j != next {
			low = on(j)
		}
		next, high = j+1, on(j+1)
		out[i] = low + right*(high-low)
	}
	return out
}

// share adds each y_i to the two points of the grid beside f_i; y of nil is 1.
func (k *smoothingKernel) share(mass, f, y []float64) {
	for i, x := range f {
		v := 1.0
		if y != nil {
			v = y[i]
		}
		j, right := k.beside(x)
		mass[j] += (1 - right) * v
		mass[j+1] += right * v
	}
}

// beside is the point of the grid on the left of x, and the share of x that the point on its right has.
func (k *smoothingKernel) beside(x float64) (j int, right float64) {
	at := x * float64(k.grid-1)
	j = min(max(int(at), 0), k.grid-2)
	return j, at - float64(j)
}

// smoothWork is how many rows are measured at most in all replicates: of more rows there are fewer, but no fewer than 40.
const smoothWork = 2e7

// smooth fills SmoothECE, its interval from the replicates, and its noise from the redraws.
func (b *binned) smooth(ctx context.Context, x *resamples, out *Report) error {
	confidence := b.Confidences()
	under := func(s *smoothed, as variant) float64 {
		return s.error(func(i int) float64 { return as.Share(i, int(b.Top[i])) })
	}
	replicates := min(len(x.replicates), max(fewestReplicates, int(smoothWork)/b.N))
	errors := make([]float64, replicates+len(x.redraws))
	err := work.Parts{N: len(errors)}.With(ctx, func() func(context.Context, int) error {
		rows := newSmoothed(confidence, b.Weight) // whose kernels all redraws share
		return func(_ context.Context, k int) error {
			if k < replicates {
				as := x.at(k)
				errors[k] = under(newSmoothed(confidence, as.weight), as)
			} else {
				errors[k] = under(rows, x.at(x.firstRedraw()+k-replicates))
			}
			return nil
		}
	})
	if err != nil {
		return fmt.Errorf("metrics: smooth calibration error: %w", err)
	}
	out.SmoothECE = under(newSmoothed(confidence, b.Weight), b.observed())
	if replicates > 0 {
		out.SmoothInterval = around(out.SmoothECE, errors[:replicates], x.wider()).possible(out.SmoothECE)
	}
	if len(x.redraws) > 0 {
		out.SmoothNoise = upperNoise(out.SmoothECE, errors[replicates:])
	}
	return nil
}
