package optim

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/optimize/functions"
)

// TestLimitedMemoryIsGonums: the same points, to the bit, after as many evaluations, with fewer pairs than there are
// iterations and with more, to a small gradient and to one that no search reaches.
func TestLimitedMemoryIsGonums(t *testing.T) {
	start := []float64{-1.2, 1, .3, 2, -.7, .1, 1.5, -2}
	for _, store := range []int{1, 3, 20, 200} {
		for _, gradient := range []float64{1e-3, 1e-10, 1e-300} {
			visit := func(m optimize.Method) (visited []float64, status optimize.Status, err error) {
				f := functions.ExtendedRosenbrock{}
				out, err := optimize.Minimize(optimize.Problem{Func: func(x []float64) float64 {
					visited = append(visited, x...)
					return f.Func(x)
				}, Grad: f.Grad}, start, &optimize.Settings{GradientThreshold: gradient, Converger: optimize.NeverTerminate{}}, m)
				return visited, out.Status, err
			}
			wolfe := func() optimize.Linesearcher {
				return &optimize.MoreThuente{DecreaseFactor: wolfeDecrease, CurvatureFactor: wolfeCurvature}
			}
			got, status, err := visit(&limitedMemory{history: pairs{most: store, least: math.Inf(-1)}, search: wolfe()})
			want, wantStatus, wantErr := visit(&optimize.LBFGS{Linesearcher: wolfe(), Store: store, GradStopThreshold: math.NaN()})
			if !slices.Equal(got, want) || status != wantStatus || (err == nil) != (wantErr == nil) {
				t.Errorf("%d pairs, to %g: %d numbers, %v, %v; gonum's has %d, %v, %v", store, gradient, len(got), status, err, len(want), wantStatus, wantErr)
			}
		}
	}
}
