package onnx

import (
	"fmt"
	"math"
	"testing"

	"calibra/layers/encoders"

	"gonum.org/v1/gonum/floats/scalar"
)

// TestResizeAgainstTorch: PyTorch 1.13, F.interpolate(x, size, mode="bilinear",
// antialias=True, align_corners=False) of the 3×5 image i^1.5/15, printed to 6 places.
func TestResizeAgainstTorch(t *testing.T) {
	x := make([]float32, 15)
	for i := range x {
		x[i] = float32(math.Pow(float64(i), 1.5) / 15)
	}
	for _, c := range []struct {
		height, width int
		want          []float64
	}{
		{2, 3, []float64{0.335043, 0.587428, 0.911416, 1.721589, 2.19864, 2.712373}},
		{4, 9, []float64{
			0.0, 0.022222, 0.059259, 0.120842, 0.188562, 0.276255, 0.367179, 0.471026, 0.533333,
			0.465847, 0.523022, 0.618314, 0.728491, 0.842388, 0.970346, 1.100745, 1.240904, 1.325,
			1.256417, 1.345759, 1.494663, 1.651761, 1.810908, 1.979633, 2.150165, 2.327924, 2.43458,
			2.108185, 2.216187, 2.396191, 2.582898, 2.771281, 2.967687, 3.165633, 3.369746, 3.492213,
		}},
	} {
		got := make([]float32, c.height*c.width)
		resize(got, c.height, c.width, x, 3, 5)
		for i, want := range c.want {
			if !scalar.EqualWithinAbs(float64(got[i]), want, 1e-6) { // the last place printed
				t.Errorf("%d×%d: %d is %v, torch has %v", c.height, c.width, i, got[i], want)
			}
		}
	}
}

// TestPresetsKeepConstants: a grey image of one value is that value, standardized, in
// every pixel of each channel.
func TestPresetsKeepConstants(t *testing.T) {
	for _, p := range presets {
		raw := []int{1, 28, 28}
		shape, err := p.Shape(raw)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 28*28)
		for i := range x {
			x[i] = 0.25
		}
		got := make([]float32, encoders.Values(shape))
		p.apply(got, x, raw, shape)
		for i, v := range got {
			want := float32(0.25)
			if p.Mean != nil {
				c := i / (shape[1] * shape[2])
				want = (0.25 - p.Mean[c]) / p.SD[c]
			}
			if !(math.Abs(float64(v-want)) <= 1e-6) { // weights that sum to 1 but for rounding
				t.Fatalf("%s: %d is %v, not %v", p.Name, i, v, want)
			}
		}
	}
}

func ExamplePreset_Shape() {
	p, err := PresetByName("resnet")
	if err != nil {
		fmt.Println(err)
		return
	}
	shape, err := p.Shape([]int{3, 32, 32}) // CIFAR
	fmt.Println(shape, err)
	// Output: [3 224 224] <nil>
}
