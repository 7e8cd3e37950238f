package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/graph/work/worktest"
)

// problem is a batch with scores and slopes from the formulas in float64.
type dirichletProblem struct {
	a, logp, g    []float32
	score, slope  []float64
	scale, steeps []float64 // sums of the magnitudes of their terms
}

const dirichletDelta, dirichletEpsilon = 1, 1e-8

func newDirichletProblem(batch, c int) *dirichletProblem {
	p := &dirichletProblem{a: normals(batch*c*c, 1), logp: make([]float32, batch*c), g: normals(batch*c, 2)}
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range p.logp {
		p.logp[i] = float32(-rng.ExpFloat64())
	}
	p.score, p.scale = make([]float64, batch*c), make([]float64, batch*c)
	p.slope, p.steeps = make([]float64, batch*c*c), make([]float64, batch*c*c)
	for at := range p.score {
		b, j := at/c, at%c
		var sum float64
		for i := range c {
			alpha := Softplus64(float64(p.a[(b*c+i)*c+j])) + dirichletEpsilon
			l := float64(p.logp[b*c+i])
			lg, _ := LgammaDigamma64(alpha)
			sum += alpha
			p.score[at] += (alpha-1)*l - lg
			p.scale[at] += math.Abs((alpha-1)*l) + math.Abs(lg)
		}
		lg, psi := LgammaDigamma64(sum)
		p.score[at] += dirichletDelta*float64(p.logp[at]) + lg
		p.scale[at] += math.Abs(float64(p.logp[at])) + math.Abs(lg) + math.Abs(sum*psi)
		for i := range c {
			x := float64(p.a[(b*c+i)*c+j])
			_, psiAlpha := LgammaDigamma64(Softplus64(x) + dirichletEpsilon)
			factor := float64(p.g[at]) * Sigmoid64(x)
			p.slope[(b*c+i)*c+j] = factor * (float64(p.logp[b*c+i]) - psiAlpha + psi)
			p.steeps[(b*c+i)*c+j] = math.Abs(factor) * (math.Abs(float64(p.logp[b*c+i])) + math.Abs(psiAlpha) + math.Abs(psi))
		}
	}
	return p
}

// Scores and slopes against the formulas in float64. A score is a float32 sum of C
// terms of either sign, a slope one of three: 1e-6 of the terms' magnitudes is asked.
func TestDirichletScoresAndGradient(t *testing.T) {
	for _, size := range [][2]int{{1, 1}, {3, 2}, {50, 3}, {40, 10}, {3, 16}, {5, 31}, {2, 33}, {3, 100}, {1, 1100}} {
		batch, c := size[0], size[1]
		if testing.Short() && c > 100 {
			continue // a million entries of A, each with a reference in float64
		}
		p := newDirichletProblem(batch, c)
		score, slope := make([]float32, batch*c), make([]float32, batch*c*c)
		eachInstructionSet(t, func(t *testing.T) {
			DirichletScores(score, p.a, p.logp, c, dirichletDelta, dirichletEpsilon)
			for i, v := range score {
				if !(math.Abs(float64(v)-p.score[i]) <= 1e-6*p.scale[i]) {
					t.Fatalf("%v: score %d is %g, want %g", size, i, v, p.score[i])
				}
			}
			DirichletGradient(slope, p.a, p.logp, p.g, c, dirichletEpsilon)
			for i, v := range slope {
				if !(math.Abs(float64(v)-p.slope[i]) <= 1e-6*p.steeps[i]) {
					t.Fatalf("%v: slope %d is %g, want %g", size, i, v, p.slope[i])
				}
			}
			together, slopes := make([]float32, batch*c), make([]float32, batch*c*c)
			DirichletScoresAndGradient(together, slopes, p.a, p.logp, c, dirichletDelta, dirichletEpsilon)
			if !slices.Equal(together, score) {
				t.Fatalf("%v: the scores differ from those without slopes", size)
			}
			ScaleColumns(slopes, p.g, c)
			for i, v := range slopes {
				if !(math.Abs(float64(v)-p.slope[i]) <= 1e-6*p.steeps[i]) {
					t.Fatalf("%v: slope %d taken with the scores is %g, want %g", size, i, v, p.slope[i])
				}
			}
		})
	}
}

// A batch row's scores and slopes are the same alone and in a batch.
func TestDirichletRowsAreIndependent(t *testing.T) {
	for _, c := range []int{3, 10, 40} {
		const batch = 37
		p := newDirichletProblem(batch, c)
		score, slope := make([]float32, batch*c), make([]float32, batch*c*c)
		DirichletScores(score, p.a, p.logp, c, 1, 1e-8)
		DirichletGradient(slope, p.a, p.logp, p.g, c, 1e-8)
		for b := range batch {
			row, matrix := make([]float32, c), slices.Clone(p.a[b*c*c:(b+1)*c*c])
			DirichletScores(row, matrix, p.logp[b*c:(b+1)*c], c, 1, 1e-8)
			DirichletGradient(matrix, matrix, p.logp[b*c:(b+1)*c], p.g[b*c:(b+1)*c], c, 1e-8)
			if !slices.Equal(row, score[b*c:(b+1)*c]) || !slices.Equal(matrix, slope[b*c*c:(b+1)*c*c]) {
				t.Fatalf("C = %d: row %d differs alone", c, b)
			}
		}
	}
}

func TestDirichletAllocatesNothing(t *testing.T) {
	const batch, c = 16, 30
	p := newDirichletProblem(batch, c)
	score, slope := make([]float32, batch*c), make([]float32, batch*c*c)
	if n := testing.AllocsPerRun(20, func() {
		DirichletScores(score, p.a, p.logp, c, 1, 1e-8)
		DirichletGradient(slope, p.a, p.logp, p.g, c, 1e-8)
	}); n >= 1 && !worktest.PoolsAllocate { // a pool may be emptied by the garbage collector in between
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkDirichlet(b *testing.B) {
	for _, size := range [][2]int{{128, 10}, {16, 100}} {
		batch, c := size[0], size[1]
		n := batch * c * c
		a, logp, g := make([]float32, n), normals(batch*c, 1), normals(batch*c, 2)
		for i := range a {
			a[i] = 0.54 + float32(i%100)/500
		}
		score, slope := make([]float32, batch*c), make([]float32, n)
		b.Run(fmt.Sprintf("scores/C=%d", c), func(b *testing.B) {
			for b.Loop() {
				DirichletScores(score, a, logp, c, 1, 1e-8)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
		b.Run(fmt.Sprintf("slopes/C=%d", c), func(b *testing.B) {
			for b.Loop() {
				DirichletGradient(slope, a, logp, g, c, 1e-8)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/elem")
		})
	}
}

func ExampleDirichletScores() {
	// One row, two classes, A = softplus⁻¹(1): α = 1, the flat Dirichlet density.
	a := []float32{0.5413249, 0.5413249, 0.5413249, 0.5413249}
	score := make([]float32, 2)
	DirichletScores(score, a, []float32{-0.1, -2.4}, 2, 1, 0)
	fmt.Printf("%.4f\n", score)
	// Output: [-0.1000 -2.4000]
}
