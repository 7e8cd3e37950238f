package simd

import "testing"

// Transpose is its definition, on every instruction set, for whole blocks and for rests.
func TestTranspose(t *testing.T) {
	eachInstructionSet(t, func(t *testing.T) {
		for _, size := range [][2]int{{1, 1}, {16, 16}, {64, 64}, {7, 64}, {64, 21}, {33, 17}} {
			n, k := size[0], size[1]
			stride, width := k+3, n+2
			src, dst := make([]float32, n*stride), make([]float32, k*width)
			for i := range src {
				src[i] = float32(i)
			}
			Transpose(dst, width, src, stride, n, k)
			for i := range n {
				for l := range k {
					if dst[l*width+i] != src[i*stride+l] {
						t.Fatalf("%d×%d: entry %d, %d is %v, not %v", n, k, l, i, dst[l*width+i], src[i*stride+l])
					}
				}
			}
			for l := range k - 1 {
				if dst[l*width+n] != 0 || dst[l*width+n+1] != 0 {
					t.Fatalf("%d×%d: row %d is written past its end", n, k, l)
				}
			}
		}
	})
}
