package data

import (
	"math"
	"slices"
	"testing"
)

// speckled are images of each shape, grey or coloured, with every value.
func speckled(n int, shape ...int) *Inputs {
	in, rng := &Inputs{Shape: shape, Labels: make([]int, n), index: UpTo(n)}, newRand(7)
	for i := range n * in.Width() {
		in.pixels = append(in.pixels, byte(128+100*math.Sin(float64(i)/5)+float64(rng.IntN(40))-20))
	}
	return in
}

// TestCorrupt: every kind changes images more at severity 5 than at 1, alike from one seed, and leaves those that it
// read.
func TestCorrupt(t *testing.T) {
	if len(Corruptions) != 13 {
		t.Errorf("%d kinds, not 13: %v", len(Corruptions), Corruptions)
	}
	for _, shape := range [][]int{{3, 32, 32}, {1, 28, 28}} {
		in := speckled(6, shape...)
		before := slices.Clone(in.pixels)
		for _, kind := range append(slices.Clone(Corruptions), AnyCorruption) {
			var changed [2]float64
			for k, severity := range []int{1, Severities} {
				out := in.Rows([]int{4, 1}).Corrupt(kind, severity, newRand(3))
				if out.Digest() != in.Rows([]int{4, 1}).Corrupt(kind, severity, newRand(3)).Digest() {
					t.Errorf("%s: one seed gives two images", kind)
				}
				for j, b := range out.pixels[:in.Width()] {
					changed[k] += math.Abs(float64(b) - float64(in.pixels[4*in.Width()+j]))
				}
			}
			// Glass and elastic have other, and not always larger, parts at each severity.
			ordered := kind == "glass-blur" || kind == "elastic" || changed[1] > changed[0]
			if changed[0] == 0 || !ordered {
				t.Errorf("%s of %v changes %v at severity 1 and %v at 5", kind, shape, changed[0], changed[1])
			}
		}
		if !slices.Equal(in.pixels, before) {
			t.Error("the images that were read are others")
		}
	}
}

// TestCorruptionsOfAPlainPicture: what moves, mixes or resizes pixels leaves one colour as it is.
func TestCorruptionsOfAPlainPicture(t *testing.T) {
	in := &Inputs{Shape: []int{3, 32, 32}, Labels: []int{0}, index: []int{0}, pixels: slices.Repeat([]byte{90}, cifarPixels)}
	for _, kind := range []string{"defocus-blur", "glass-blur", "motion-blur", "zoom-blur", "contrast", "elastic", "pixelate", "jpeg"} {
		for severity := 1; severity <= Severities; severity++ {
			for _, b := range in.Corrupt(kind, severity, newRand(1)).pixels {
				if math.Abs(float64(b)-90) > 1 { // JPEG's colours are rounded
					t.Fatalf("%s at severity %d makes 90 into %d", kind, severity, b)
				}
			}
		}
	}
}
