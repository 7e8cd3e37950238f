package data

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// correlated is N×M normal rows with falling variances, mixed by a random matrix
// and moved off the origin, so that neither axes nor means are trivial.
func correlated(n, m int, seed uint64) *mat.Dense {
	rng := newRand(seed)
	z := mat.NewDense(n, m, nil)
	z.Apply(func(_, j int, _ float64) float64 { return rng.NormFloat64() / math.Sqrt(float64(j+1)) }, z)
	mix := mat.NewDense(m, m, nil)
	mix.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, mix)
	var x mat.Dense
	x.Mul(z, mix)
	x.Apply(func(_, j int, v float64) float64 { return 3*v + float64(j) }, &x)
	return &x
}

func TestStandardizerLaws(t *testing.T) {
	x := correlated(200, 7, 1)
	for i := range 200 {
		x.Set(i, 3, 0.1) // its mean is not 0.1 to the last bit
	}
	s := FitStandardizer(x)
	if s.SD[3] != 1 {
		t.Errorf("sd of a constant column = %v, want 1", s.SD[3])
	}
	z := s.Apply(x)
	for j := range 7 {
		mean, sd := stat.PopMeanStdDev(mat.Col(nil, j, z), nil)
		want := 1.0
		if j == 3 {
			want = 0
		}
		// 200 rounded terms of size ≤ 4
		if !(math.Abs(mean) <= 1e-13) || !scalar.EqualWithinAbs(sd, want, 1e-13) {
			t.Errorf("column %d: mean %v, sd %v", j, mean, sd)
		}
	}
}

// The axes agree with gonum's own principal components, which come from a singular
// value decomposition of the rows instead.
func TestEmbeddingAgainstPC(t *testing.T) {
	x := correlated(300, 20, 2)
	e, err := FitEmbedding(x, 5)
	if err != nil {
		t.Fatal(err)
	}
	var pc stat.PC
	if !pc.PrincipalComponents(e.Scale.Apply(x), nil) {
		t.Fatal("gonum's decomposition failed")
	}
	var want mat.Dense
	pc.VectorsTo(&want)
	vars := pc.VarsTo(nil)
	for j := range 5 {
		var dot float64
		for i := range 20 {
			dot += e.Axes.At(i, j) * want.At(i, j)
		}
		// Two backward stable methods; eigenvectors move by rounding over the gap.
		if !scalar.EqualWithinAbs(math.Abs(dot), 1, 1e-12) {
			t.Errorf("axis %d: |cos| = %v", j, math.Abs(dot))
		}
		if w := vars[j] * 299 / 300; !scalar.EqualWithinAbs(e.Variances[j], w, 1e-12*w) {
			t.Errorf("variance %d = %v, want %v", j, e.Variances[j], w)
		}
	}
}

func TestEmbeddingLaws(t *testing.T) {
	x := correlated(400, 30, 3)
	e, err := FitEmbedding(x, 8)
	if err != nil {
		t.Fatal(err)
	}
	var gramian mat.Dense
	gramian.Mul(e.Axes.T(), e.Axes)
	eye := mat.NewDiagDense(8, []float64{1, 1, 1, 1, 1, 1, 1, 1})
	if !mat.EqualApprox(&gramian, eye, 1e-12) {
		t.Error("the axes are not orthonormal")
	}
	z := e.Apply(x)
	for j := range 8 {
		col := mat.Col(nil, j, z)
		if v := stat.PopVariance(col, nil); !scalar.EqualWithinAbs(v, e.Variances[j], 1e-11*v) {
			t.Errorf("component %d has variance %v, Variances says %v", j, v, e.Variances[j])
		}
		largest := 0.0
		for i := range 30 {
			if v := e.Axes.At(i, j); math.Abs(v) > math.Abs(largest) {
				largest = v
			}
		}
		if largest < 0 {
			t.Errorf("axis %d points the wrong way", j)
		}
	}
	wide := correlated(80, 90, 3) // by Lanczos on the rows, on several goroutines
	two, err := FitEmbedding(wide, 8)
	if err != nil {
		t.Fatal(err)
	}
	before := runtime.GOMAXPROCS(1)
	one, err := FitEmbedding(wide, 8)
	runtime.GOMAXPROCS(before)
	if err != nil || !mat.Equal(one.Axes, two.Axes) {
		t.Error("the number of processors changes the axes")
	}
	again, err := FitEmbedding(x, 8)
	if err != nil || !mat.Equal(again.Axes, e.Axes) {
		t.Error("the same rows gave other axes")
	}
}

// Lanczos and the full decomposition find the same variances, and axes that each
// satisfies S a = λ a; rank-deficient rows included.
func TestLanczosAgainstEigen(t *testing.T) {
	lowRank := correlated(300, 200, 8)
	lowRank.Apply(func(i, j int, _ float64) float64 { return lowRank.At(i, j%7) * float64(j+1) }, lowRank)
	white := mat.NewDense(500, 200, nil)
	rng := newRand(9)
	white.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, white)
	for name, x := range map[string]*mat.Dense{"falling": correlated(300, 200, 8), "low rank": lowRank, "white": white, "zero": mat.NewDense(300, 200, nil)} {
		asIs := &Standardizer{Mean: make([]float64, 200), SD: slices.Repeat([]float64{1}, 200)}
		formed := covariance(x, asIs)
		apply := gramProduct(x, asIs)
		axes, got, ok := leadingByLanczos(200, 12, apply)
		_, short, also := leadingByLanczos(200, 12, func(dst, v []float64) {
			mat.NewVecDense(200, dst).MulVec(formed, mat.NewVecDense(200, v))
		})
		if !ok || !also {
			t.Errorf("%s: Lanczos gave up", name)
			continue
		}
		_, want, err := leadingByEigen(formed, 12)
		if err != nil {
			t.Fatal(err)
		}
		var gramian mat.Dense
		gramian.Mul(axes.T(), axes)
		for j := range 12 {
			if !scalar.EqualWithinAbs(got[j], want[j], 1e-11*want[0]) {
				t.Errorf("%s: variance %d = %v, want %v", name, j, got[j], want[j])
			}
			if !scalar.EqualWithinAbs(short[j], want[j], 1e-11*want[0]) {
				t.Errorf("%s: of the covariance variance %d = %v, want %v", name, j, short[j], want[j])
			}
			a := mat.Col(nil, j, axes)
			sa := make([]float64, 200)
			apply(sa, a)
			floats.AddScaled(sa, -got[j], a)
			if r := floats.Norm(sa, 2); r > 1e-11*want[0] {
				t.Errorf("%s: axis %d has residual %v", name, j, r)
			}
			gramian.Set(j, j, gramian.At(j, j)-1)
		}
		if d := mat.Norm(&gramian, 2); !(d <= 1e-12) {
			t.Errorf("%s: axes are orthonormal to %v only", name, d)
		}
	}
}

// A Krylov space of one start vector holds one direction of a repeated
// eigenvalue; what FitEmbedding returns must hold them all.
func TestRepeatedVariances(t *testing.T) {
	const m = 200
	diagonal := make([]float64, m)
	for j := range diagonal {
		diagonal[j] = 1 / float64(j/4+1) // every value four times
	}
	_, values, ok := leadingByLanczos(m, 8, func(dst, v []float64) { floats.MulTo(dst, diagonal, v) })
	if ok && (!scalar.EqualWithinAbs(values[3], 1, 1e-9) || !scalar.EqualWithinAbs(values[7], 0.5, 1e-9)) {
		t.Errorf("Lanczos missed repeated eigenvalues and did not say so: %v", values)
	}
	// One-hot rows, each as often: all 199 variances are equal.
	x := mat.NewDense(400, m, nil)
	for i := range 400 {
		x.Set(i, i%m, 1)
	}
	e, err := FitEmbedding(x, 8)
	if err != nil {
		t.Fatal(err)
	}
	for j, v := range e.Variances {
		if want := float64(m) / (m - 1); !scalar.EqualWithinAbs(v, want, 1e-12*want) {
			t.Errorf("one-hot rows: variance %d = %v, want %v", j, v, want)
		}
	}
}

func TestEmbeddingSizes(t *testing.T) {
	for _, c := range []struct{ n, m, components, want int }{
		{100, 60, 0, 50}, {100, 10, 0, 10}, {20, 60, 0, 20}, {100, 60, 3, 3}, {100, 300, 40, 40}, {700, 600, 0, 50},
	} {
		e, err := FitEmbedding(correlated(c.n, c.m, 4), c.components)
		if err != nil {
			t.Fatal(err)
		}
		z := e.Apply(correlated(5, c.m, 5))
		if n, p := z.Dims(); n != 5 || p != c.want {
			t.Errorf("%d rows of %d: embedding of 5 rows is %d×%d, want 5×%d", c.n, c.m, n, p, c.want)
		}
	}
}

func BenchmarkFitEmbedding(b *testing.B) {
	b.Run("cifar10", func(b *testing.B) {
		s, err := Open(shared(b, "data", "cifar10-resnet.npz"))
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := FitEmbedding(s.Cal.Features, 50); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, m := range []int{512, 2048} { // white noise: the spectrum Lanczos likes least
		rng := newRand(1)
		x := mat.NewDense(10000, m, nil)
		x.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, x)
		b.Run(fmt.Sprint(m), func(b *testing.B) {
			for b.Loop() {
				if _, err := FitEmbedding(x, 50); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestEmbeddingOverflow: values that no variance holds are said to be that at once, where
// the eigenvalues of NaN would be sought for minutes.
func TestEmbeddingOverflow(t *testing.T) {
	x := mat.NewDense(4, 1000, nil)
	x.Set(1, 3, 1e200)
	if _, err := FitEmbedding(x, 0); !isInput(err) || !strings.Contains(err.Error(), "column 3") {
		t.Errorf("got %v", err)
	}
}
