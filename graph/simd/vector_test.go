package simd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

func normals(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 13))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

func TestDot(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 5, 16, 31, 64, 100, 257} {
			x, y := normals(n, 1), normals(n, 2)
			var want, size float64
			for i := range x {
				want += float64(x[i]) * float64(y[i])
				size += math.Abs(float64(x[i]) * float64(y[i]))
			}
			if got := Dot(x, y); !scalar.EqualWithinAbs(float64(got), want, 1e-6*size) {
				t.Errorf("Dot of %d = %g, want %g", n, got, want)
			}
		}
	})
}

func TestOuter(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 3, 8, 16, 31, 33, 100} {
			a, b := normals(7, 1), normals(n, 2)
			got, want := make([]float32, 7*n), make([]float32, 7*n)
			Outer(got, a, b)
			outerPortable(want, a, b)
			if !slices.Equal(got, want) {
				t.Errorf("%d columns: %v, want %v", n, got, want)
			}
		}
	})
}

func TestTakeRows(t *testing.T) {
	const rows = 5
	list := []int32{3, 0, 3, 3, 4, 1, 0}
	eachInstructionSet(t, func(t *testing.T) {
		for _, c := range []int{0, 1, 3, 8, 16, 31, 32, 50} {
			table, y := normals(rows*c, 1), normals(len(list)*c+1, 2)
			want := slices.Clone(y)
			for i, r := range list {
				copy(want[i*c:(i+1)*c], table[int(r)*c:])
			}
			TakeRows(y[:len(list)*c], table, list, c)
			if !slices.Equal(y, want) {
				t.Errorf("rows of %d: %v, want %v", c, y, want)
			}
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("a row past the last was taken")
				}
			}()
			TakeRows(make([]float32, 4), make([]float32, 8), []int32{2}, 4)
		}()
	})
}

// TestLess holds the difference to its definition, bit by bit, where x and c are so near that float32 would have
// nothing left.
func TestLess(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 9, 31, 32, 100} {
			x, c, want := normals(n, 1), make([]float64, n), make([]float32, n)
			for i := range x {
				x[i] += 1e4
				c[i] = 1e4 + 1e-3*float64(i)/3
				want[i] = float32(float64(x[i]) - c[i])
			}
			z := normals(n+1, 2)
			after := z[n]
			if lessKernel(z[:n], x, c); !slices.Equal(z[:n], want) || z[n] != after {
				t.Errorf("%d numbers: %v, want %v", n, z, want)
			}
		}
	})
}

// TestDots holds each number to the Dot of its row, bit for bit.
func TestDots(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for n := range 70 {
			g, b, y, want := normals(5*n, 1), normals(n, 2), normals(5, 3), make([]float32, 5)
			for i := range want {
				want[i] = Dot(g[i*n:(i+1)*n], b)
			}
			if Dots(y, g, b); !slices.Equal(y, want) {
				t.Errorf("%d columns: %v, want %v", n, y, want)
			}
		}
	})
}

// TestLessMost holds rows less their greatest number to plain Go; a NaN stays one.
func TestLessMost(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, c := range []int{1, 2, 3, 8, 10, 15, 16, 17, 32, 100} {
			x := normals(7*c, uint64(c))
			x[2*c], x[3*c-1] = float32(math.Inf(-1)), float32(math.Inf(-1))
			got, want := make([]float32, len(x)), make([]float32, len(x))
			lessMostPortable(want, x, c)
			LessMost(got, x, c)
			for i, w := range want {
				if got[i] != w && (w == w || got[i] == got[i]) {
					t.Fatalf("%d columns: number %d is %v, want %v", c, i, got[i], w)
				}
			}
			nan := slices.Clone(x)
			nan[c-1] = float32(math.NaN())
			LessMost(nan, nan, c)
			if nan[c-1] == nan[c-1] || !slices.Equal(nan[3*c:], want[3*c:]) {
				t.Errorf("%d columns: a NaN is lost or in other rows", c)
			}
		}
	})
}

// TestSumListed holds the sum of rows that a list names to the definition.
func TestSumListed(t *testing.T) {
	const rows = 5
	list := []int32{3, 0, 3, 3, 4, 1, 0}
	eachInstructionSet(t, func(t *testing.T) {
		for _, c := range []int{0, 1, 3, 8, 16, 31, 32, 64, 67, 128, 150} {
			for _, list := range [][]int32{list, nil} {
				x, want := normals(rows*c, 1), make([]float32, c)
				for _, r := range list {
					for l := range c {
						want[l] += x[int(r)*c+l]
					}
				}
				y := normals(c, 3)
				SumListed(y, x, list)
				if !slices.Equal(y, want) {
					t.Errorf("%d columns of %d rows: the sum is %v, want %v", c, len(list), y, want)
				}
			}
		}
		for _, outside := range []int32{-1, 2} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("row %d of two was taken", outside)
					}
				}()
				SumListed(make([]float32, 4), make([]float32, 8), []int32{1, outside})
			}()
		}
	})
}

// TestSumRows holds the sum of rows, and its transpose, to the definition.
func TestSumRows(t *testing.T) {
	const k = 5
	codes := []int32{3, 0, 3, 3, 4, 1, 0}
	eachInstructionSet(t, func(t *testing.T) {
		for _, c := range []int{0, 1, 3, 8, 16, 31, 32, 64, 67, 128, 150} {
			table, x := normals(len(codes)*k*c, 1), normals(c, 2)
			sum, added := make([]float32, c), slices.Clone(table)
			for i, code := range codes {
				for l := range c {
					at := (i*k+int(code))*c + l
					sum[l] += table[at]
					added[at] += x[l]
				}
			}
			y := normals(c, 3)
			SumRows(y, table, codes, k)
			if !slices.Equal(y, sum) {
				t.Errorf("%d columns: the sum is %v, want %v", c, y, sum)
			}
			AddToRows(table, x, codes, k)
			if !slices.Equal(table, added) {
				t.Errorf("%d columns: the table is %v, want %v", c, table, added)
			}
		}
		for _, f := range []func(x, table []float32, codes []int32, k int){SumRows, func(x, table []float32, codes []int32, k int) { AddToRows(table, x, codes, k) }} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("a code past the last row was taken")
					}
				}()
				f(make([]float32, 4), make([]float32, 8), []int32{2}, 2)
			}()
		}
	})
}

func TestVectorsAllocateNothing(t *testing.T) {
	x, y := normals(1000, 1), normals(1000, 2)
	if n := testing.AllocsPerRun(10, func() {
		Dot(x, y)
		GaussianRow(x, y, 1, 1)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}

func BenchmarkVector(b *testing.B) {
	x, y := normals(2048, 1), normals(2048, 2)
	b.Run("Dot", func(b *testing.B) {
		for b.Loop() {
			Dot(x, y)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(x)), "ns/elem")
	})
	b.Run("Dots", func(b *testing.B) { // of rows of ten
		for b.Loop() {
			Dots(y[:200], x[:2000], x[:10])
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*200), "ns/row")
	})
}

// BenchmarkLessMost is of 1,024 rows of 10 classes and of 100.
func BenchmarkLessMost(b *testing.B) {
	for _, c := range []int{10, 100} {
		x, z := normals(1024*c, 1), make([]float32, 1024*c)
		for _, bench := range []struct {
			name string
			run  func(z, x []float32, c int)
		}{{"Go", lessMostPortable}, {"LessMost", LessMost}} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, c), func(b *testing.B) {
				for b.Loop() {
					bench.run(z, x, c)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*1024), "ns/row")
			})
		}
	}
}

// BenchmarkRows adds 256 rows out of a table of 25 for each, of 10 numbers and of 100: in plain
// Go, and all at once.
func BenchmarkRows(b *testing.B) {
	const w, k, batch = 256, 25, 64
	codes := make([]int32, batch*w)
	for i := range codes {
		codes[i] = int32(i * i % k)
	}
	for _, c := range []int{10, 100} {
		table, x := normals(w*k*c, 1), make([]float32, c)
		for _, bench := range []struct {
			name string
			add  func(codes []int32)
		}{
			{"Go", func(codes []int32) { sumRowsPortable(x, table, codes, k) }},
			{"SumRows", func(codes []int32) { SumRows(x, table, codes, k) }},
			{"AddToRows", func(codes []int32) { AddToRows(table, x, codes, k) }},
		} {
			b.Run(fmt.Sprintf("%s/%d", bench.name, c), func(b *testing.B) {
				clear(x)
				for b.Loop() {
					for r := range batch {
						bench.add(codes[r*w:][:w])
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*batch*w), "ns/row")
			})
		}
	}
}

func ExampleDot() {
	y := []float32{11, 12}
	fmt.Println(Dot(y, y))
	// Output: 265
}

// axpy adds a·x to y, each product and its sum rounded at once as the kernels do, not plain Go.
func axpy(y []float32, a float32, x []float32) {
	if isa == portable {
		axpyPortable(y, a, x)
		return
	}
	for i, v := range x {
		y[i] = float32(math.FMA(float64(a), float64(v), float64(y[i])))
	}
}

// TestShares holds the sums of rows by shares, and their transpose, to one axpy after the other: of lists of any
// lengths, behind others.
func TestShares(t *testing.T) {
	places, shares := []int32{7, 3, 0, 3, 8, 4, 1, 0, 5, 5, 2, 6, 1, 8}, []float32{9, 0.5, 0, 0.25, 1, 0.1, 0.7, 0.3, 2, 3, -1, 4, 0.2, 0.6}
	eachInstructionSet(t, func(t *testing.T) {
		for _, ends := range [][]int32{{}, {1}, {8}, {3, 5, 7, 9}, {1, 4, 4, 9}, {4, 6, 8, 10, 14}, {8, 9, 10, 11, 12, 13, 13, 14, 14}} {
			for _, c := range []int{0, 1, 3, 8, 16, 26, 31, 32, 64, 67, 128, 150} {
				table, y := normals(9*c, 1), normals(len(ends)*c, 3)
				sums := make([]float32, len(y))
				begin := int32(1)
				for l, end := range ends {
					for ; begin < end; begin++ {
						axpy(sums[l*c:(l+1)*c], shares[begin], table[int(places[begin])*c:][:c])
					}
				}
				SumShares(y, table, c, 1, ends, places, shares)
				if !slices.Equal(y, sums) {
					t.Errorf("lists to %v of %d columns: the sums are %v, want %v", ends, c, y, sums)
				}
				x, added := normals(c, 2), slices.Clone(table)
				for j, place := range places {
					axpy(added[int(place)*c:][:c], shares[j], x)
				}
				AddShares(table, x, places, shares)
				if !slices.Equal(table, added) {
					t.Errorf("%d columns: the table is %v, want %v", c, table, added)
				}
			}
		}
		long := make([]int32, 40)
		for _, refused := range []func(){
			func() { SumShares(make([]float32, 4), make([]float32, 8), 4, 0, []int32{1}, []int32{2}, []float32{1}) },
			func() { SumShares(make([]float32, 4), make([]float32, 8), 4, 1, []int32{0}, []int32{0}, []float32{1}) },
			func() { AddShares(make([]float32, 8), make([]float32, 4), []int32{-1}, []float32{1}) },
			func() { long[7] = -1; AddShares(make([]float32, 8), make([]float32, 4), long, make([]float32, 40)) },
			func() { long[7] = 2; AddShares(make([]float32, 8), make([]float32, 4), long, make([]float32, 40)) },
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Error("a place past the last row was taken, or a list that ends before it begins")
					}
				}()
				refused()
			}()
		}
	})
}
