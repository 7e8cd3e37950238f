package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// The float64 kernels repeat Go's operations of amd64, so there the bits are those of package
// math. Elsewhere Go multiplies and adds with one rounding where it can: a few ulp, or of the terms
// that ln Γ is a difference of.
const roundings = 4 * 0x1p-52

// numbers64 are doubles over many binades, the neighbours of the marks, and what is special.
func numbers64(lo, hi float64, marks ...float64) []float64 {
	perKind, neighbours := 2_000_000, 3000
	if testing.Short() {
		perKind, neighbours = perKind/20, neighbours/10
	}
	rng := rand.New(rand.NewPCG(7, 8))
	var x []float64
	for range perKind {
		x = append(x, math.Exp(math.Log(lo)+rng.Float64()*math.Log(hi/lo)), 16*rng.Float64())
	}
	for _, m := range marks {
		below, above := m, m
		for range neighbours {
			x = append(x, below, above)
			below, above = math.Nextafter(below, math.Inf(-1)), math.Nextafter(above, math.Inf(1))
		}
	}
	return append(x, math.Inf(1), math.NaN())
}

func mustAgree(t *testing.T, name string, x, got, want []float64) {
	t.Helper()
	wrong := 0
	for i, w := range want {
		same := math.Float64bits(got[i]) == math.Float64bits(w) || w != w && got[i] != got[i]
		if runtime.GOARCH != "amd64" && !same {
			same = math.Abs(got[i]-w) <= roundings*math.Max(1, math.Abs(w))
		}
		if !same {
			if wrong++; wrong <= 10 {
				t.Errorf("%s(%.17g) = %.17g, want %.17g", name, x[i], got[i], w)
			}
		}
	}
	if wrong > 0 {
		t.Errorf("%s: %d of %d differ", name, wrong, len(x))
	}
}

// The marks of ln Γ are where its formula changes.
func TestLgamma64(t *testing.T) {
	few := []float64{1, 0, 3, math.Copysign(0, -1), -0.5, -2, 5e-324, math.Inf(-1), math.NaN(), 0.3} // not the kernels' but Go's
	Lgamma64(few, few)
	for i, v := range []float64{0, math.Inf(1), math.Ln2, math.Inf(1), lgamma64(-0.5), math.Inf(1), lgamma64(5e-324), math.Inf(-1), math.NaN(), lgamma64(0.3)} {
		if few[i] != v && v == v || v != v && few[i] == few[i] {
			t.Errorf("entry %d of ln Γ of few is %g, not %g", i, few[i], v)
		}
	}
	x := numbers64(1e-300, 1e305, 1, 2, 3, 4, 5, 6, 7, 8, 0.9, 0.46163214496836226-0.23, 0.46163214496836226, 0.46163214496836226+0.27,
		1.4616321449683623-0.27, 1.4616321449683623-0.23, 1.4616321449683623, 1.4616321449683623+0.27, 0x1p58, 0x1p-70, 0.5, math.Sqrt2, math.Sqrt2/2)
	want, got := make([]float64, len(x)), make([]float64, len(x))
	lgamma64Portable(want, x)
	eachInstructionSet(t, func(t *testing.T) {
		Lgamma64(got, x)
		mustAgree(t, "Lgamma64", x, got, want)
	})
}

func TestExpNegative64(t *testing.T) {
	x := []float64{0, math.Copysign(0, -1), -300, -301, -1e300, math.Inf(-1), math.NaN()}
	for _, v := range numbers64(1e-300, 300, 0x1p-53, math.Ln2/2, math.Ln2, 29*math.Ln2, 300) {
		x = append(x, -v)
	}
	want, got := make([]float64, len(x)), make([]float64, len(x))
	expNegative64Portable(want, x)
	eachInstructionSet(t, func(t *testing.T) {
		ExpNegative64(got, x)
		mustAgree(t, "ExpNegative64", x, got, want)
	})
}

func TestLog64(t *testing.T) {
	x := numbers64(0x1p-1022, math.MaxFloat64, 0x1p-1022, math.Sqrt2/2, 1, math.Sqrt2, 2)
	x = slices.DeleteFunc(x, func(v float64) bool { return !(v >= 0x1p-1022 && v <= math.MaxFloat64) })
	beside := append([]float64{2, 0, -1, 5e-324, math.Inf(1), math.NaN()}, x[:100]...) // not the kernel's but Go's
	for _, x := range [][]float64{x, beside} {
		want, got := make([]float64, len(x)), make([]float64, len(x))
		log64Portable(want, x)
		eachInstructionSet(t, func(t *testing.T) {
			Log64(got, x)
			mustAgree(t, "Log64", x, got, want)
		})
	}
}

// The marks of softplus are where e^−|x| crosses a bound of log1p, both ways.
func TestSoftplusPlus64(t *testing.T) {
	x := numbers64(1e-18, 1e4, 0x1p-53, math.Log1p(math.Sqrt2-1)*2, -math.Log(math.Sqrt2-1), 29*math.Ln2, 54*math.Ln2, 300, 700, 745)
	for _, v := range x {
		x = append(x, -v)
	}
	x = append(x, 0, math.Copysign(0, -1))
	plain, want, got := make([]float64, len(x)), make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		plain[i] = Softplus64(v)
	}
	for k, epsilon := range []float64{1e-8, 1e-100, 0, 0.5} {
		for i, y := range plain {
			want[i] = y + epsilon
		}
		eachInstructionSet(t, func(t *testing.T) {
			if isa == portable && k > 0 { // what plain is of
				return
			}
			SoftplusPlus64(got, x, epsilon)
			mustAgree(t, "SoftplusPlus64", x, got, want)
		})
	}
}

func BenchmarkFloat64(b *testing.B) {
	x, y := make([]float64, 676), make([]float64, 676) // a matrix of 26 classes
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = math.Exp(rng.NormFloat64())
	}
	best := isa
	defer func() { isa = best }()
	for _, isa = range instructionSets() {
		for name, of := range map[string]func(dst, x []float64){
			"Lgamma64": Lgamma64, "SoftplusPlus64": func(dst, x []float64) { SoftplusPlus64(dst, x, 1e-8) },
		} {
			b.Run(fmt.Sprintf("%s/%s", name, InstructionSet()), func(b *testing.B) {
				for b.Loop() {
					of(y, x)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/elem")
			})
		}
	}
}
