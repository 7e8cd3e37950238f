package data

import (
	"bytes"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
)

// scene is n images of gentle gradients, away from black and white.
func scene(n, channels int) *Images {
	im := &Images{Name: "scene", Channels: channels, Height: 32, Width: 32, Labels: make([]int, n)}
	for i := range n {
		for c := range channels {
			for u := range 32 {
				for v := range 32 {
					im.Pixels = append(im.Pixels, byte(60+20*c+3*(u*(i+1)%32)+v))
				}
			}
		}
	}
	return im
}

// change is the root mean square difference of two sets of pixels, of 255.
func change(a, b *Images) float64 {
	sum := 0.0
	for i, v := range a.Pixels {
		d := float64(v) - float64(b.Pixels[i])
		sum += d * d
	}
	return math.Sqrt(sum / float64(len(a.Pixels)))
}

// TestCorruptionsGrowWithSeverity: every corruption changes the images, more with
// each degree, by its rng alone, and leaves what it was given. Pixelate to 30 and to
// 28 of 32 pixels averages other boxes, not always fewer.
func TestCorruptionsGrowWithSeverity(t *testing.T) {
	for _, channels := range []int{1, 3} {
		im := scene(3, channels)
		before := bytes.Clone(im.Pixels)
		for _, c := range Corruptions {
			last := 0.0
			for severity := 1; severity <= severities; severity++ {
				out := c.Apply(im, severity, newRand(1))
				d := change(im, out)
				if !(d > last) && c.Name != "pixelate" || d == 0 {
					t.Errorf("%s %d of %d channels changes %.3f, the degree before %.3f", c.Name, severity, channels, d, last)
				}
				last = d
				if !bytes.Equal(out.Pixels, c.Apply(im, severity, newRand(1)).Pixels) {
					t.Errorf("%s: the same rng gives other images", c.Name)
				}
			}
		}
		if !bytes.Equal(before, im.Pixels) {
			t.Error("a corruption wrote into its input")
		}
	}
}

// TestNoiseHasItsMoments on grey images of 128/255, 10·3072 values: a standard
// deviation estimated from n values errs by 1/√(2n), 0.4 %; the pixels' steps, cut
// off, add 1/12 to a variance of 100 and more.
func TestNoiseHasItsMoments(t *testing.T) {
	im := &Images{Channels: 3, Height: 32, Width: 32, Labels: make([]int, 10), Pixels: bytes.Repeat([]byte{128}, 10*3072)}
	gray := 128. / 255
	for severity, c := range []float64{.04, .06, .08, .09, .10} {
		d := change(im, Corruptions[0].Apply(im, severity+1, newRand(2))) / 255
		if !scalar.EqualWithinAbs(d/c, 1, 0.02) {
			t.Errorf("gaussian noise of severity %d has a standard deviation of %v, not %v", severity+1, d, c)
		}
	}
	for severity, c := range []float64{500, 250, 100, 75, 50} {
		d := change(im, Corruptions[1].Apply(im, severity+1, newRand(2))) / 255
		if want := math.Sqrt(gray / c); !scalar.EqualWithinAbs(d/want, 1, 0.02) {
			t.Errorf("shot noise of severity %d has a standard deviation of %v, not %v", severity+1, d, want)
		}
	}
}

// TestBrightnessIsV goes through hue, saturation and value as Smith (1978) defines
// them. A pixel may differ by the last step, which is cut off.
func TestBrightnessIsV(t *testing.T) {
	im := scene(2, 3)
	im.Pixels[5], im.Pixels[5+1024], im.Pixels[5+2048] = 0, 0, 0 // black
	for severity, c := range []float64{.05, .1, .15, .2, .3} {
		out := Corruptions[3].Apply(im, severity+1, newRand(1))
		for j := range 1024 {
			var rgb, want [3]float64
			for k := range rgb {
				rgb[k] = float64(im.Pixels[k*1024+j]) / 255
			}
			h, s, v := toHSV(rgb)
			want = fromHSV(h, s, math.Min(v+c, 1))
			for k := range rgb {
				if got := float64(out.Pixels[k*1024+j]); !scalar.EqualWithinAbs(got, math.Floor(255*want[k]), 1) {
					t.Fatalf("severity %d: channel %d of %v is %v, not %v", severity+1, k, rgb, got, 255*want[k])
				}
			}
		}
	}
}

func toHSV(x [3]float64) (h, s, v float64) {
	v = max(x[0], x[1], x[2])
	span := v - min(x[0], x[1], x[2])
	if span == 0 {
		return 0, 0, v
	}
	switch v {
	case x[0]:
		h = (x[1] - x[2]) / span
	case x[1]:
		h = 2 + (x[2]-x[0])/span
	default:
		h = 4 + (x[0]-x[1])/span
	}
	return math.Mod(h+6, 6), span / v, v
}

func fromHSV(h, s, v float64) [3]float64 {
	var out [3]float64
	for k, n := range []float64{5, 3, 1} {
		a := math.Mod(n+h, 6)
		out[k] = v - v*s*max(0, min(a, 4-a, 1))
	}
	return out
}

func TestContrastKeepsTheMean(t *testing.T) {
	im := scene(1, 3)
	out := Corruptions[4].Apply(im, 5, newRand(1))
	for c := range 3 {
		mean := 0.0
		for _, b := range im.Pixels[c*1024 : (c+1)*1024] {
			mean += float64(b) / 1024
		}
		for j, b := range im.Pixels[c*1024 : (c+1)*1024] {
			want := math.Floor(mean + 0.15*(float64(b)-mean) + 1e-9)
			if got := float64(out.Pixels[c*1024+j]); got != want {
				t.Fatalf("channel %d, pixel %d: %v, not %v", c, j, got, want)
			}
		}
	}
}

// TestDefocusBlurKernels: a disk of radius below 1 is one pixel, so the kernel is the
// 3×3 Gaussian; all kernels sum to 1; radius 1 is a cross of five.
func TestDefocusBlurKernels(t *testing.T) {
	for _, soft := range []float64{.4, .5, .6} {
		k := disk(0.5, soft)
		e := math.Exp(-1 / (2 * soft * soft))
		for i := range 3 {
			for j := range 3 {
				want := math.Pow(e, float64((i-1)*(i-1)+(j-1)*(j-1))) / ((1 + 2*e) * (1 + 2*e))
				if !scalar.EqualWithinAbs(k[i][j], want, 1e-15) {
					t.Errorf("softened by %v, (%d, %d) is %v, not %v", soft, i, j, k[i][j], want)
				}
			}
		}
	}
	for _, c := range []struct{ radius, soft float64 }{{.3, .4}, {1, .2}, {1.5, .1}} {
		sum := 0.0
		for _, line := range disk(c.radius, c.soft) {
			for _, v := range line {
				sum += v
			}
		}
		if !scalar.EqualWithinAbs(sum, 1, 1e-12) {
			t.Errorf("the kernel of radius %v sums to %v", c.radius, sum)
		}
	}
	if k := disk(1, 0.02); k[2][2] != 0.2 || k[2][1] != 0.2 || k[1][2] != 0.2 || k[1][1] != 0 {
		t.Errorf("a disk of radius 1 is %v", k)
	}
	if mirrored(-2, 5) != 2 || mirrored(5, 5) != 3 || mirrored(3, 5) != 3 || mirrored(-1, 1) != 0 {
		t.Error("the image does not go on mirrored about its outermost pixels")
	}
}

// TestPixelateIsPillow: Pillow 9.4, im.resize((int(7·c), int(10·c)), BOX) and back, of
// a grey image of 10×7 random pixels.
func TestPixelateIsPillow(t *testing.T) {
	im := &Images{Channels: 1, Height: 10, Width: 7, Labels: []int{0}, Pixels: []byte{
		130, 183, 14, 238, 127, 26, 80, 57, 190, 240, 126, 194, 52, 127, 6, 110, 208, 143, 93, 199, 81, 36, 71, 227, 64, 67, 0, 2, 107, 110, 84, 85, 148, 160, 101,
		104, 93, 100, 196, 152, 11, 184, 212, 84, 74, 135, 33, 169, 154, 1, 173, 33, 158, 181, 156, 246, 161, 94, 246, 241, 90, 29, 131, 11, 183, 206, 9, 214, 187, 192}}
	for severity, want := range map[int][]byte{
		1: {130, 183, 126, 127, 127, 26, 80, 57, 190, 183, 194, 194, 52, 127, 6, 110, 176, 93, 93, 199, 81, 36, 71, 146, 67, 67, 0, 2, 106, 102, 117, 150, 150, 86, 143, 106, 102, 117, 150, 150, 86, 143, 212, 84, 105, 33, 33, 169, 154, 1, 173, 96, 181, 181, 156, 246, 161, 94, 244, 90, 90, 29, 131, 11, 183, 108, 214, 214, 187, 192},
		3: {130, 99, 99, 238, 77, 77, 80, 32, 187, 187, 135, 135, 135, 104, 36, 149, 149, 64, 34, 34, 2, 36, 149, 149, 64, 34, 34, 2, 107, 97, 97, 85, 154, 154, 101, 104, 97, 97, 196, 82, 82, 184, 107, 91, 91, 147, 135, 135, 200, 161, 170, 170, 241, 60, 60, 131, 161, 170, 170, 241, 60, 60, 131, 11, 195, 195, 9, 201, 201, 192},
		5: {141, 141, 155, 161, 161, 72, 72, 141, 141, 155, 161, 161, 72, 72, 58, 58, 176, 93, 93, 140, 140, 82, 82, 116, 108, 108, 66, 66, 82, 82, 116, 108, 108, 66, 66, 124, 124, 127, 93, 93, 130, 130, 124, 124, 127, 93, 93, 130, 130, 87, 87, 96, 181, 181, 201, 201, 113, 113, 176, 152, 152, 135, 135, 113, 113, 176, 152, 152, 135, 135},
	} {
		if got := Corruptions[5].Apply(im, severity, newRand(1)).Pixels; !bytes.Equal(got, want) {
			t.Errorf("severity %d:\n%v\nPillow has\n%v", severity, got, want)
		}
	}
}

func TestCorruptInputs(t *testing.T) {
	for _, c := range Corruptions {
		if found, err := CorruptionByName(c.Name); err != nil || found.Name != c.Name {
			t.Errorf("%s is not found: %v", c.Name, err)
		}
	}
	if _, err := CorruptionByName("fog"); !isInput(err) {
		t.Errorf("fog: %v", err)
	}
	if _, err := Corruptions[0].Corrupt(Digits().Inputs(), 1, newRand(1)); !isInput(err) {
		t.Errorf("a table: %v", err)
	}
	in := scene(3, 3).Inputs().Rows([]int{2, 0})
	if _, err := Corruptions[0].Corrupt(in, 6, newRand(1)); !isInput(err) {
		t.Errorf("severity 6: %v", err)
	}
	out, err := Corruptions[4].Corrupt(in, 3, newRand(1))
	if err != nil || out.Len() != 2 || out.Name != "scene/contrast" {
		t.Errorf("%v, %v", out, err)
	}
}
