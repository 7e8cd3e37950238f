package simd

import (
	"fmt"
	"slices"
	"testing"
)

// TestAdam: the kernels round as plain Go does, so the bits are the same.
func TestAdam(t *testing.T) {
	a := Adam{Beta1: 0.9, Beta2: 0.999, Decay: 1e-3, Shrink: 0.99, Rate: 0.01, Scale: 3, Epsilon: 1e-8}
	eachInstructionSet(t, func(t *testing.T) {
		for _, n := range []int{0, 1, 7, 8, 16, 31, 100, 257} {
			state := func() (all [4][]float32) {
				for i := range all {
					all[i] = normals(n+1, uint64(i))
				}
				for i, x := range all[3] {
					all[3][i] = x * x
				}
				return all
			}
			got, want := state(), state()
			a.Step(got[0][:n], got[1][:n], got[2][:n], got[3][:n])
			adamPortable(a, want[0][:n], want[1][:n], want[2][:n], want[3][:n])
			for i := range got {
				if !slices.Equal(got[i], want[i]) {
					t.Errorf("%d parameters: array %d is %v, want %v", n, i, got[i], want[i])
				}
			}
		}
	})
}

func BenchmarkAdam(b *testing.B) {
	theta, grad, m, v := normals(20480, 1), normals(20480, 2), make([]float32, 20480), make([]float32, 20480)
	a := Adam{Beta1: 0.9, Beta2: 0.999, Shrink: 1, Rate: 1e-3, Scale: 1, Epsilon: 1e-8}
	for b.Loop() {
		a.Step(theta, grad, m, v)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(theta)), "ns/elem")
}

func ExampleAdam_Step() {
	theta, m, v := []float32{1}, []float32{0}, []float32{0}
	first := Adam{Beta1: 0.9, Beta2: 0.999, Shrink: 1, Rate: 0.1 / (1 - 0.9), Scale: 31.622776, Epsilon: 1e-8}
	first.Step(theta, []float32{4}, m, v)
	fmt.Printf("%.4f\n", theta[0]) // the first step is η whatever the gradient's size
	// Output: 0.9000
}
