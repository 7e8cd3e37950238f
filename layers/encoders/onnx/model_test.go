package onnx_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers/encoders/onnx"
)

// needLibrary skips a test where there is no ONNX Runtime.
func needLibrary(t *testing.T) {
	if os.Getenv(onnx.Variable) == "" {
		t.Skipf("%s does not name ONNX Runtime's shared library", onnx.Variable)
	}
}

func random(rng *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// convolutional is a network of one 3×3 convolution, ReLU, global average pooling (the
// features) and a linear layer (the logits), and its weights.
type convolutional struct {
	channels, m, c   int
	kernel, shift    []float32 // m×channels×3×3, m
	weight, constant []float32 // c×m, c
}

func newConvolutional(channels, m, c int) *convolutional {
	rng := rand.New(rand.NewPCG(1, 0))
	return &convolutional{channels, m, c, random(rng, m*channels*9), random(rng, m), random(rng, c*m), random(rng, c)}
}

// write makes the model file for batches of rows (−1: any) of side×side images.
func (n *convolutional) write(t *testing.T, rows, side int, features, logits string) string {
	return write(t,
		[]message{
			node("Conv", []string{"images", "kernel", "shift"}, "convolved").bytes(5, intsAttribute("pads", 1, 1, 1, 1)),
			node("Relu", []string{"convolved"}, "positive"),
			node("GlobalAveragePool", []string{"positive"}, features),
			node("Flatten", []string{features}, "flat"),
			node("Gemm", []string{"flat", "weight", "constant"}, logits).bytes(5, intAttribute("transB", 1)),
		},
		[]message{
			weight("kernel", n.kernel, n.m, n.channels, 3, 3), weight("shift", n.shift, n.m),
			weight("weight", n.weight, n.c, n.m), weight("constant", n.constant, n.c),
		},
		[]message{value("images", 1, rows, n.channels, side, side)},
		[]message{value(logits, 1, rows, n.c), value(features, 1, rows, n.m, 1, 1)},
	)
}

// of computes features and logits of one image, channels×side×side.
func (n *convolutional) of(x []float64, side int) (features, logits []float64) {
	for k := range n.m {
		var sum float64
		for y := range side {
			for z := range side {
				v := float64(n.shift[k])
				for c := range n.channels {
					for dy := -1; dy <= 1; dy++ {
						for dz := -1; dz <= 1; dz++ {
							if yy, zz := y+dy, z+dz; yy >= 0 && yy < side && zz >= 0 && zz < side {
								v += float64(n.kernel[((k*n.channels+c)*3+dy+1)*3+dz+1]) * x[(c*side+yy)*side+zz]
							}
						}
					}
				}
				sum += max(v, 0)
			}
		}
		features = append(features, sum/float64(side*side))
	}
	for j := range n.c {
		v := float64(n.constant[j])
		for k, f := range features {
			v += float64(n.weight[j*n.m+k]) * f
		}
		logits = append(logits, v)
	}
	return features, logits
}

// TestAgainstGo: features and logits are those of the formula, to 1e-5, for batches of
// any size, for a network that takes two rows at a time, and whatever names the outputs
// have.
func TestAgainstGo(t *testing.T) {
	needLibrary(t)
	const side, rows = 6, 5
	normal := onnx.Preset{Name: "test", Mean: []float32{0.5, 0.4, 0.3}, SD: []float32{0.2, 0.3, 0.25}}
	for name, c := range map[string]struct {
		batch            int
		features, logits string
		settings         onnx.Settings
	}{
		"any batch":      {-1, "features", "logits", onnx.Settings{}},
		"two rows":       {2, "features", "logits", onnx.Settings{Threads: 1}},
		"by width":       {-1, "pooled", "out", onnx.Settings{Classes: 4}},
		"by one name":    {-1, "pooled", "out", onnx.Settings{Logits: "out"}},
		"by other names": {-1, "logits", "features", onnx.Settings{Features: "logits", Logits: "features"}},
	} {
		network := newConvolutional(3, 7, 4)
		c.settings.Shape, c.settings.Preset = []int{3, side, side}, normal
		m, err := onnx.Open(network.write(t, c.batch, side, c.features, c.logits), c.settings)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Features() != 7 || m.Classes() != 4 {
			t.Fatalf("%s: M = %d, C = %d", name, m.Features(), m.Classes())
		}
		rng := rand.New(rand.NewPCG(2, 0))
		x := make([]float32, rows*3*side*side)
		for i := range x {
			x[i] = rng.Float32()
		}
		features, logits, err := m.Encode(x)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(features) != rows*7 || len(logits) != rows*4 {
			t.Fatalf("%s: %d features and %d logits", name, len(features), len(logits))
		}
		for i := range rows {
			image := make([]float64, 3*side*side)
			for j := range image {
				k := j / (side * side)
				image[j] = (float64(x[i*len(image)+j]) - float64(normal.Mean[k])) / float64(normal.SD[k])
			}
			wantFeatures, wantLogits := network.of(image, side)
			near(t, name+", features", features[i*7:][:7], wantFeatures)
			near(t, name+", logits", logits[i*4:][:4], wantLogits)
		}
		m.Close()
	}
}

// near allows 1e-5, some 20 roundings of float32 at these sizes.
func near(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	for i, w := range want {
		if d := math.Abs(float64(got[i]) - w); !(d <= 1e-5*max(1, math.Abs(w))) {
			t.Errorf("%s: %d is %v, not %v", name, i, got[i], w)
		}
	}
}

// TestTable runs a network on rows that are no images.
func TestTable(t *testing.T) {
	needLibrary(t)
	path := write(t,
		[]message{
			node("MatMul", []string{"x", "w"}, "product"), node("Relu", []string{"product"}, "features"),
			node("MatMul", []string{"features", "v"}, "logits"),
		},
		[]message{weight("w", []float32{1, -1, 2, 0.5}, 2, 2), weight("v", []float32{1, 0, 0, 1}, 2, 2)},
		[]message{value("x", 1, -1, 2)}, []message{value("features", 1, -1, 2), value("logits", 1, -1, 2)})
	m, err := onnx.Open(path, onnx.Settings{Shape: []int{2}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	features, _, err := m.Encode([]float32{1, 1, 3, -1})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "features", features, []float64{3, 0, 1, 0})
	if _, _, err := m.Encode([]float32{float32(math.Inf(1)), 0}); err == nil || !strings.Contains(err.Error(), "features") || !strings.Contains(err.Error(), "row 0") {
		t.Errorf("a feature that is not finite: %v", err)
	}
}

// TestRefuses: what the user got wrong is an *InputError that says what to do.
func TestRefuses(t *testing.T) {
	needLibrary(t)
	network := newConvolutional(3, 7, 4)
	good := network.write(t, -1, 6, "pooled", "out")
	noise := filepath.Join(t.TempDir(), "noise.onnx")
	if err := os.WriteFile(noise, []byte("no network"), 0o666); err != nil {
		t.Fatal(err)
	}
	identity := func(kind uint64, axes ...int) string {
		return write(t, []message{node("Identity", []string{"x"}, "features"), node("Identity", []string{"x"}, "logits")}, nil,
			[]message{value("x", kind, axes...)}, []message{value("features", kind, axes...), value("logits", kind, axes...)})
	}
	two := write(t, []message{node("Identity", []string{"x"}, "features"), node("Identity", []string{"y"}, "logits")}, nil,
		[]message{value("x", 1, -1, 2), value("y", 1, -1, 2)}, []message{value("features", 1, -1, 2), value("logits", 1, -1, 2)})
	one := write(t, []message{node("Identity", []string{"x"}, "logits")}, nil, []message{value("x", 1, -1, 2)}, []message{value("logits", 1, -1, 2)})
	images := []int{3, 6, 6}
	resnet, err := onnx.PresetByName("resnet")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		s    onnx.Settings
		want string
	}{
		"no file":        {filepath.Join(t.TempDir(), "none.onnx"), onnx.Settings{Shape: images}, "cannot be opened"},
		"no network":     {noise, onnx.Settings{Shape: images}, "is no network"},
		"unnamed":        {good, onnx.Settings{Shape: images}, "--features-output"},
		"unknown output": {good, onnx.Settings{Shape: images, Features: "pooled", Logits: "probs"}, `no output "probs"; it has out (?×4), pooled (?×7×1×1)`},
		"the same twice": {good, onnx.Settings{Shape: images, Features: "out", Logits: "out"}, "two outputs"},
		"another size":   {good, onnx.Settings{Shape: images, Logits: "out", Preset: resnet}, "choose another preset"},
		"a table":        {good, onnx.Settings{Shape: []int{108}, Logits: "out"}, "choose another preset"},
		"a resized table": {identity(1, -1, 2), onnx.Settings{Shape: []int{2}, Preset: resnet},
			"is for images"},
		"endless rows": {identity(1, 1<<40, 2), onnx.Settings{Shape: []int{2}}, "open first axis"},
		"float64":      {identity(11, -1, 2), onnx.Settings{Shape: []int{2}}, "float32"},
		"maps":         {identity(1, -1, 2, 3, 4), onnx.Settings{Shape: []int{2, 3, 4}}, "one vector a row"},
		"two inputs":   {two, onnx.Settings{Shape: []int{2}}, "2 inputs"},
		"no features":  {one, onnx.Settings{Shape: []int{2}}, "output of features"},
		"no library":   {good, onnx.Settings{Shape: images, Logits: "out", Library: "/nowhere/libonnxruntime.so"}, "npm pack onnxruntime-node"},
		"no such kind": {good, onnx.Settings{Shape: images, Logits: "out", Library: noise}, onnx.Variable},
	} {
		m, err := onnx.Open(c.path, c.s)
		var input *data.InputError
		if err == nil || !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, without %q", name, err, c.want)
		}
		if err == nil {
			m.Close()
		}
	}
	if _, err := onnx.PresetByName("magic"); err == nil || !strings.Contains(err.Error(), "resnet, convnext, vit") {
		t.Errorf("an unknown preset: %v", err)
	}
}

// TestWithoutLibrary: one sentence says how to get it.
func TestWithoutLibrary(t *testing.T) {
	path := newConvolutional(3, 7, 4).write(t, -1, 6, "features", "logits")
	_, err := onnx.Open(path, onnx.Settings{Shape: []int{3, 6, 6}, Library: "/nowhere/libonnxruntime.so"})
	var input *data.InputError
	if !errors.As(err, &input) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "npm pack") {
		t.Errorf("%v", err)
	}
}
