package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// eachInstructionSet runs f on every family of kernels this machine has.
func eachInstructionSet(t *testing.T, f func(t *testing.T)) {
	best := isa
	defer func() { isa = best }()
	for _, isa = range instructionSets() {
		t.Run(InstructionSet(), f)
	}
}

// instructionSets lists the families of kernels this machine has.
func instructionSets() []instructionSet {
	return map[instructionSet][]instructionSet{
		portable: {portable},
		avx2:     {portable, avx2},
		avx512:   {portable, avx2, avx512},
		vnni:     {portable, avx2, avx512, vnni},
		amx:      {portable, avx2, avx512, vnni, amx},
		neon:     {portable, neon},
	}[isa]
}

// sweep returns float32 numbers over the whole of [lo, hi], spaced as spaced does, and
// the neighbours of the marks. A short test meets a twentieth of them.
func sweep(lo, hi float32, marks ...float32) []float32 {
	perSign, neighbours := 400_000, 2000
	if testing.Short() {
		perSign, neighbours = perSign/20, neighbours/20
	}
	x := spaced(lo, hi, perSign)
	for _, m := range marks {
		u := math.Float32bits(m)
		for d := -neighbours; d <= neighbours; d++ {
			if v := math.Float32frombits(uint32(int(u) + d)); v >= lo && v <= hi {
				x = append(x, v)
			}
		}
	}
	return x
}

// spaced returns float32 numbers over the whole of [lo, hi], so many of each sign,
// equally spaced in their bit patterns, so that every binade is met.
func spaced(lo, hi float32, perSign int) []float32 {
	var x []float32
	span := func(a, b uint32, sign float32) {
		step := max(1, (b-a)/uint32(perSign))
		for u := uint64(a); u <= uint64(b); u += uint64(step) {
			x = append(x, sign*math.Float32frombits(uint32(u)))
		}
	}
	switch {
	case lo >= 0:
		span(math.Float32bits(lo), math.Float32bits(hi), 1)
	default:
		span(0, math.Float32bits(-lo), -1)
		span(0, math.Float32bits(hi), 1)
	}
	return x
}

// ulps is |got − want| in units of the last place of the float32 nearest to want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	if got == w || w != w && got != got {
		return 0
	}
	if math.IsInf(float64(w), 0) || math.IsInf(float64(got), 0) || got != got {
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// function is one elementary function with its float64 reference and the special
// values that it promises.
type function struct {
	name      string
	of        func(dst, x []float32)
	reference func(float64) float64
	lo, hi    float32
	marks     []float32
	ulps      float64
	special   [][2]float64
}

var (
	inf, nan = math.Inf(1), math.NaN()
	tiny     = float64(math.SmallestNonzeroFloat32)
	huge     = float32(math.MaxFloat32)
)

var functions = []function{
	{"Exp", Exp, math.Exp, -110, 90, []float32{0.34657, -0.34657, 88.72, -87.3, -103.9}, 1.1,
		[][2]float64{{0, 1}, {-inf, 0}, {inf, inf}, {nan, nan}, {89, inf}, {1e30, inf}, {-1e30, 0}, {-104, 0}, {tiny, 1}}},
	{"Softplus", Softplus, func(x float64) float64 { return math.Max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) },
		-110, huge, []float32{1, -1, -0.34657, -87.3, -103.9, 16, 17}, 2,
		[][2]float64{{0, math.Ln2}, {-inf, 0}, {inf, inf}, {nan, nan}, {-104, 0}, {-1e30, 0}}},
	{"Sigmoid", Sigmoid, func(x float64) float64 { return 1 / (1 + math.Exp(-x)) },
		-110, huge, []float32{1, -1, -0.34657, -87.3, -103.9, 16, 17}, 2.5,
		[][2]float64{{0, 0.5}, {-inf, 0}, {inf, 1}, {nan, nan}, {-104, 0}}},
}

// The references are Go's math functions in float64, whose own error is below
// 1e-7 ulp of float32.
func TestElementaryAccuracy(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, f := range functions {
			x := sweep(f.lo, f.hi, f.marks...)
			y := make([]float32, len(x))
			f.of(y, x)
			worst, at := 0.0, float32(0)
			for i, v := range x {
				if e := ulps(y[i], f.reference(float64(v))); e > worst || math.IsNaN(e) {
					worst, at = e, v
				}
			}
			t.Logf("%s: %.3f ulp at %g", f.name, worst, at)
			if !(worst <= f.ulps) {
				t.Errorf("%s(%g) is off by %.3f ulp, more than %g", f.name, at, worst, f.ulps)
			}
		}
	})
}

func TestElementarySpecialValues(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, f := range append(functions, gammaFunctions...) {
			for _, s := range f.special {
				y := []float32{0}
				f.of(y, []float32{float32(s[0])})
				if ulps(y[0], s[1]) > 1 {
					t.Errorf("%s(%g) = %g, want %g", f.name, s[0], y[0], float32(s[1]))
				}
			}
		}
	})
}

// An element's result is the same whatever the slice's length and its place in it,
// nothing past the end is touched, and dst may be x.
func TestElementaryTails(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	eachInstructionSet(t, func(t *testing.T) {
		for _, f := range append(functions, gammaFunctions...) {
			long := make([]float32, 70)
			for i := range long {
				long[i] = float32(math.Exp(3 * rng.NormFloat64()))
			}
			want := make([]float32, len(long))
			f.of(want, long)
			for n := range len(long) {
				got := make([]float32, n+1)
				got[n] = -7
				f.of(got[:n], long[len(long)-n:])
				for i, v := range got[:n] {
					if v != want[len(long)-n+i] {
						t.Fatalf("%s: element %d of %d is %g, in a longer slice %g", f.name, i, n, v, want[len(long)-n+i])
					}
				}
				if got[n] != -7 {
					t.Fatalf("%s of %d elements writes past the end", f.name, n)
				}
			}
			f.of(long, long)
			for i := range long {
				if long[i] != want[i] {
					t.Fatalf("%s in place differs at %d", f.name, i)
				}
			}
		}
	})
}

// AVX2 and AVX-512 give the same bits, so a result does not tell the two apart.
func TestInstructionSetsAgree(t *testing.T) {
	best := isa
	defer func() { isa = best }()
	if best < avx512 || best == neon {
		t.Skip("needs a processor with AVX-512 to compare with AVX2")
	}
	for _, f := range append(functions, gammaFunctions...) {
		x := sweep(f.lo, f.hi, f.marks...)
		a, b := make([]float32, len(x)), make([]float32, len(x))
		isa = avx2
		f.of(a, x)
		isa = avx512
		f.of(b, x)
		for i := range x {
			if math.Float32bits(a[i]) != math.Float32bits(b[i]) {
				t.Fatalf("%s(%g): AVX2 %g, AVX-512 %g", f.name, x[i], a[i], b[i])
			}
		}
	}
}

func TestLengthsMustAgree(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Exp of slices of different lengths did not panic")
		}
	}()
	Exp(make([]float32, 3), make([]float32, 4))
}

func TestElementaryAllocatesNothing(t *testing.T) {
	x, y := make([]float32, 1000), make([]float32, 1000)
	for _, f := range append(functions, gammaFunctions...) {
		if n := testing.AllocsPerRun(10, func() { f.of(y, x) }); n != 0 {
			t.Errorf("%s allocates %g times", f.name, n)
		}
	}
}

func BenchmarkElementary(b *testing.B) {
	x, y := make([]float32, 4096), make([]float32, 4096)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = float32(math.Exp(2 * rng.NormFloat64()))
	}
	best := isa
	defer func() { isa = best }()
	for _, isa = range instructionSets() {
		for _, f := range append(functions, gammaFunctions...) {
			b.Run(fmt.Sprintf("%s/%s", f.name, InstructionSet()), func(b *testing.B) {
				for b.Loop() {
					f.of(y, x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/elem")
			})
		}
	}
}

func ExampleSoftplus() {
	x := []float32{-100, 0, 1, 100}
	Softplus(x, x)
	fmt.Printf("%.3g\n", x)
	// Output: [3.78e-44 0.693 1.31 100]
}
