package tile

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func random(n int, rng *rand.Rand) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// same holds two sums of n products of size 1 together: they differ in the order
// of rounding alone.
func same(t *testing.T, what string, got, want []float32, n int) {
	t.Helper()
	for i := range want {
		if d := math.Abs(float64(got[i] - want[i])); !(d <= 0x1p-22*float64(n)*(1+math.Abs(float64(want[i])))) {
			t.Fatalf("%s: value %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// eachInstructionSet runs f with every family of kernels this machine has.
func eachInstructionSet(t *testing.T, f func(t *testing.T)) {
	best := isa
	defer func() { isa = best }()
	for _, isa = range map[instructionSet][]instructionSet{
		portable: {portable},
		avx2:     {portable, avx2},
		avx512:   {portable, avx2, avx512},
		neon:     {portable, neon},
	}[best] {
		t.Run(fmt.Sprint("instruction set ", isa), f)
	}
}

func TestKernelsAgainstPlainGo(t *testing.T) { eachInstructionSet(t, testAgainstPlainGo) }

func testAgainstPlainGo(t *testing.T) {
	if isa == portable {
		t.Skip("this is plain Go")
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for m := range 15 {
		for _, k := range []int{0, 1, 2, 53} {
			stride := k + 3
			a, b := random(m*stride+k, rng), random(k*Lanes, rng)
			got := random(m*Lanes, rng)
			want := append([]float32(nil), got...)
			Multiply(got, a, stride, m, k, b)
			multiplyPortable(want, a, stride, m, k, b)
			same(t, "Multiply", got, want, k)
			MultiplySquares(got, a, stride, m, k, b)
			multiplySquaresPortable(want, a, stride, m, k, b)
			same(t, "MultiplySquares", got, want, 5*k) // squares of 5 and more
			Distances(got, a, stride, m, k, b)
			distancesPortable(want, a, stride, m, k, b)
			same(t, "Distances", got, want, k)
		}
	}
	x, index := random(40*Lanes, rng), make([]int32, 6*40)
	for j := range index {
		index[j] = int32(rng.IntN(7))
	}
	got := random(6*7*Lanes, rng)
	want := append([]float32(nil), got...)
	AddRows(got, index, 40, x)
	addRowsPortable(want, 7, index, 40, x)
	same(t, "AddRows", got, want, 0)
	got, want = got[:7*Lanes], want[:7*Lanes]
	columns, lists := someColumns(), someLists()
	SumLists(got, columns, lists, x)
	sumListsPortable(want, columns.all, lists, x)
	same(t, "SumLists", got, want, 4)
	total, plain := make([]float64, 7*Lanes), make([]float64, 7*Lanes)
	for range 2 {
		Accumulate(total, want)
		accumulatePortable(plain, want)
	}
	if !slices.Equal(total, plain) {
		t.Error("Accumulate differs from plain Go")
	}
}

func TestGaussian(t *testing.T) { eachInstructionSet(t, testGaussian) }

func testGaussian(t *testing.T) {
	x := exponents(1 << 16)
	at := append([]float32(nil), x...)
	Gaussian(x)
	worst := 0.0
	for i, v := range at {
		want := math.Exp(float64(v))
		if v < leastExponent {
			want = 0
		}
		if want == 0 && x[i] != 0 {
			t.Fatalf("exp(%v) = %v, want %v", v, x[i], want)
		}
		if want > 0 {
			worst = max(worst, math.Abs(float64(x[i])/want-1))
		}
	}
	if x[0] != 1 {
		t.Errorf("exp(0) = %v", x[0])
	}
	if !(worst <= 2*0x1p-24) { // two roundings
		t.Errorf("exp is off by %.2g of its value", worst)
	}
}

func TestShortSlicesPanic(t *testing.T) { eachInstructionSet(t, testShortSlices) }

func testShortSlices(t *testing.T) {
	for name, call := range map[string]func(){
		"Multiply":  func() { Multiply(make([]float32, 2*Lanes-1), make([]float32, 4), 2, 2, 2, make([]float32, 2*Lanes)) },
		"Distances": func() { Distances(make([]float32, 2*Lanes), make([]float32, 3), 2, 2, 2, make([]float32, 2*Lanes)) },
		"MultiplySquares": func() {
			MultiplySquares(make([]float32, 2*Lanes), make([]float32, 4), 2, 2, 2, make([]float32, 2*Lanes-1))
		},
		"Gaussian":         func() { Gaussian(make([]float32, 65)) },
		"AddRows":          func() { AddRows(make([]float32, 4*Lanes), []int32{1, 2}, 1, make([]float32, Lanes)) },
		"Accumulate":       func() { Accumulate(make([]float64, Lanes-1), make([]float32, Lanes)) },
		"SumLists to few":  func() { SumLists(make([]float32, 3*Lanes-1), someColumns(), someLists(), make([]float32, 4*Lanes)) },
		"SumLists of few":  func() { SumLists(make([]float32, 3*Lanes), someColumns(), someLists(), make([]float32, 4*Lanes-1)) },
		"SumLists of none": func() { SumLists(make([]float32, 3*Lanes), someColumns(), Lists{}, make([]float32, 4*Lanes)) },
		"lists that cross": func() { NewLists([]int32{0, 2, 1}, []int32{0, 0}, make([]float32, 2)) },
		"a list too long":  func() { NewLists([]int32{0, 2}, []int32{0}, make([]float32, 2)) },
		"a list's row":     func() { NewLists([]int32{0, 1}, []int32{-1}, make([]float32, 1)) },
		"a list's factors": func() { NewLists([]int32{0, 1}, []int32{0}, nil) },
		"a column of sums": func() { NewColumns([]Column{{R: -1}}) },
		"a column's list":  func() { NewColumns([]Column{{List: -1}}) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			call()
		})
	}
}

func BenchmarkTile(b *testing.B) {
	rng := rand.New(rand.NewPCG(2, 2))
	const rows, width = 256, 50
	a, points := random(rows*width, rng), random(width*Lanes, rng)
	k, total := make([]float32, rows*Lanes), make([]float64, 24*Lanes)
	sums, columns := make([]float32, 24*Lanes), random(24*rows, rng)
	index := make([]int32, rows)
	for j := range index {
		index[j] = int32(rng.IntN(24))
	}
	lists, all := NewLists([]int32{0, 4, 8, 16}, index[:16], columns), make([]Column, 160)
	for j := range all {
		all[j] = Column{int32(j), int32(j), int32(j), int32(rng.IntN(3))}
	}
	places := NewColumns(all)
	for name, call := range map[string]func(){
		"distances":       func() { Distances(k, a, width, rows, width, points) },
		"gaussian":        func() { Gaussian(k) },
		"multiply":        func() { Multiply(sums, columns, rows, 24, rows, k) },
		"multiplySquares": func() { MultiplySquares(sums, columns, rows, 24, rows, k) },
		"addRows":         func() { AddRows(sums, index, rows, k) },
		"sumLists":        func() { SumLists(sums, places, lists, k) },
		"accumulate":      func() { Accumulate(total, sums) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				call()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(rows*Lanes), "ns/pair")
		})
	}
}
