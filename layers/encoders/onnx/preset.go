package onnx

import (
	"math"
	"slices"

	"calibra/data"
)

// Preset is what is done to an image, pixels in [0, 1], before the network sees it:
// resized to Side×Side and standardized by channel,
//
//	x ← (x − Mean)/SD.
//
// The paper names the networks and their weights, and of the images only the 224 of
// vit-base-patch16-224; the normalizations are those the weights were published with.
type Preset struct {
	Name string
	Side int // 0 leaves images as they are
	Mean []float32
	SD   []float32 // by channel, red, green, blue; nil: 0 and 1
}

// presets lists the presets by name.
var presets = []Preset{
	// torchvision 0.14, ResNet50_Weights.IMAGENET1K_V2 and ConvNeXt_Tiny_Weights.
	{Name: "resnet", Side: 224, Mean: []float32{0.485, 0.456, 0.406}, SD: []float32{0.229, 0.224, 0.225}},
	{Name: "convnext", Side: 224, Mean: []float32{0.485, 0.456, 0.406}, SD: []float32{0.229, 0.224, 0.225}},
	// timm, vit_base_patch16_224 and its ViT-B/16 siblings: IMAGENET_INCEPTION_MEAN and _STD.
	{Name: "vit", Side: 224, Mean: []float32{0.5, 0.5, 0.5}, SD: []float32{0.5, 0.5, 0.5}},
	// The images' own size, with the statistics of the CIFAR-10 training images.
	{Name: "cifar10", Mean: []float32{0.4914, 0.4822, 0.4465}, SD: []float32{0.2470, 0.2435, 0.2616}},
	{Name: "none"},
}

// PresetByName finds a preset; an unknown name is a *data.InputError that lists them.
func PresetByName(name string) (Preset, error) {
	return data.Find("preset", name, presets, func(p Preset) string { return p.Name })
}

// Shape is what apply makes of rows of such a shape: {channels, height, width}, grey
// images getting the preset's three channels. Rows that are no images, {columns},
// stay as they are, and only the preset none leaves them so.
func (p Preset) Shape(raw []int) ([]int, error) {
	if len(raw) != 3 {
		if p.Side > 0 || p.Mean != nil {
			return nil, data.Inputf("", "the preset %s is for images, these rows have %d columns; choose the preset none", p.Name, raw[0])
		}
		return raw, nil
	}
	out := slices.Clone(raw)
	if p.Side > 0 {
		out[1], out[2] = p.Side, p.Side
	}
	if p.Mean != nil && out[0] == 1 {
		out[0] = len(p.Mean)
	}
	if p.Mean != nil && out[0] != len(p.Mean) {
		return nil, data.Inputf("", "the preset %s is for images of 1 or %d channels, these have %d", p.Name, len(p.Mean), raw[0])
	}
	return out, nil
}

// apply writes the row x of shape raw, pixels in [0, 1], prepared, into dst.
func (p Preset) apply(dst, x []float32, raw, shape []int) {
	if len(raw) != 3 {
		copy(dst, x)
		return
	}
	in, area := raw[1]*raw[2], shape[1]*shape[2]
	for c := range shape[0] {
		out := dst[c*area:][:area]
		resize(out, shape[1], shape[2], x[min(c, raw[0]-1)*in:][:in], raw[1], raw[2])
		if p.Mean != nil {
			for j := range out {
				out[j] = (out[j] - p.Mean[c]) / p.SD[c]
			}
		}
	}
}

// resize interpolates linearly along either axis, with the triangle widened to the
// step where the image shrinks, which is antialiasing, and pixels taken at their
// centres: torch's interpolate(mode="bilinear", antialias=True), torchvision's Resize.
func resize(dst []float32, height, width int, src []float32, h, w int) {
	if h == height && w == width {
		copy(dst, src)
		return
	}
	rows, columns := triangles(height, h), triangles(width, w)
	middle := make([]float32, h*width) // h×width
	for y := range h {
		for x, t := range columns {
			middle[y*width+x] = t.sum(src[y*w:], 1)
		}
	}
	for y, t := range rows {
		for x := range width {
			dst[y*width+x] = t.sum(middle[x:], width)
		}
	}
}

// triangle is the weights of the inputs first, first+1, … of one output.
type triangle struct {
	first   int
	weights []float32 // sum to 1
}

func (t triangle) sum(x []float32, stride int) float32 {
	var s float32
	for k, w := range t.weights {
		s += w * x[(t.first+k)*stride]
	}
	return s
}

// triangles are those of n outputs from m inputs.
func triangles(n, m int) []triangle {
	out := make([]triangle, n)
	step := float64(m) / float64(n)
	support := math.Max(step, 1)
	for i := range out {
		centre := (float64(i)+0.5)*step - 0.5
		first := max(int(math.Floor(centre-support))+1, 0)
		last := min(int(math.Ceil(centre+support))-1, m-1)
		var weights []float64
		var total float64
		for j := first; j <= last; j++ {
			w := 1 - math.Abs(float64(j)-centre)/support
			weights, total = append(weights, w), total+w
		}
		t := triangle{first: first}
		for _, w := range weights {
			t.weights = append(t.weights, float32(w/total))
		}
		out[i] = t
	}
	return out
}
