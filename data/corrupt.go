package data

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Severities is how strong a corruption can be: from 1 to it.
const Severities = 5

// AnyCorruption is the kind that gives each row one of Corruptions, in turn.
const AnyCorruption = "corrupt"

// Corruptions are the kinds of [Inputs.Corrupt]: those of CIFAR-10-C (Hendrycks and Dietterich 2019) but frost, which
// needs photographs of frost, and snow.
var Corruptions = Each(corruptions, func(c corruption) string { return c.name })

// corruption changes a picture at a severity, from 0.
type corruption struct {
	name string
	to   func(p *picture, severity int, rng *rand.Rand)
}

// corruptions have the parameters of CIFAR-10-C, which are those for images of 32×32 pixels.
var corruptions = []corruption{
	{"gaussian-noise", func(p *picture, s int, rng *rand.Rand) {
		p.each(func(v float64) float64 { return v + []float64{.04, .06, .08, .09, .10}[s]*rng.NormFloat64() })
	}},
	{"shot-noise", func(p *picture, s int, rng *rand.Rand) {
		photons := []float64{500, 250, 100, 75, 50}[s]
		p.each(func(v float64) float64 {
			if v == 0 { // Poisson of mean 0
				return 0
			}
			return distuv.Poisson{Lambda: v * photons, Src: rng}.Rand() / photons
		})
	}},
	{"impulse-noise", func(p *picture, s int, rng *rand.Rand) { // salt and pepper
		p.each(func(v float64) float64 {
			if rng.Float64() < []float64{.01, .02, .03, .05, .07}[s] {
				return float64(rng.IntN(2))
			}
			return v
		})
	}},
	{"defocus-blur", func(p *picture, s int, _ *rand.Rand) {
		p.defocus([]float64{.3, .4, .5, 1, 1.5}[s], []float64{.4, .5, .6, .2, .1}[s])
	}},
	{"glass-blur", func(p *picture, s int, rng *rand.Rand) {
		sigma := []float64{.05, .25, .4, .25, .4}[s]
		p.smooth(sigma, 4)
		for range []int{1, 1, 1, 2, 2}[s] {
			for y := p.h - 1; y > 1; y-- {
				for x := p.w - 1; x > 1; x-- {
					p.swap(y*p.w+x, (y-rng.IntN(2))*p.w+x-rng.IntN(2))
				}
			}
		}
		p.smooth(sigma, 4)
	}},
	{"motion-blur", func(p *picture, s int, rng *rand.Rand) {
		p.move([]int{6, 6, 6, 8, 9}[s], []float64{1, 1.5, 2, 2, 2.5}[s], (2*rng.Float64()-1)*math.Pi/4)
	}},
	{"zoom-blur", func(p *picture, s int, _ *rand.Rand) { p.zoom([]int{6, 11, 16, 21, 26}[s]) }},
	{"fog", func(p *picture, s int, rng *rand.Rand) {
		density, side, brightest := []float64{.2, .5, .75, 1, 1.5}[s], 1, floats.Max(p.v)
		for side < max(p.h, p.w) {
			side *= 2
		}
		fog := plasma(side, []float64{3, 3, 2.5, 2, 1.75}[s], rng)
		for i := range p.v {
			at := i % (p.h * p.w)
			p.v[i] = (p.v[i] + density*fog[at/p.w*side+at%p.w]) * brightest / (brightest + density)
		}
	}},
	{"brightness", func(p *picture, s int, _ *rand.Rand) { // of the value in HSV: hue and saturation stay
		area := p.h * p.w
		for at := range area {
			value := 0.0
			for i := at; i < len(p.v); i += area {
				value = max(value, p.v[i])
			}
			brighter := min(value+[]float64{.05, .1, .15, .2, .3}[s], 1)
			for i := at; i < len(p.v); i += area {
				if p.v[i] *= brighter / value; value == 0 {
					p.v[i] = brighter
				}
			}
		}
	}},
	{"contrast", func(p *picture, s int, _ *rand.Rand) {
		for plane := range slices.Chunk(p.v, p.h*p.w) {
			mean := floats.Sum(plane) / float64(len(plane))
			for i, v := range plane {
				plane[i] = mean + (v-mean)*[]float64{.75, .5, .4, .3, .15}[s]
			}
		}
	}},
	{"elastic", func(p *picture, s int, rng *rand.Rand) {
		p.bend([]float64{0, .05, .08, .1, .1}[s], []float64{0, .2, .06, .04, .03}[s], []float64{.08, .07, .06, .05, .03}[s], rng)
	}},
	{"pixelate", func(p *picture, s int, _ *rand.Rand) {
		share, h, w := []float64{.95, .9, .85, .75, .65}[s], p.h, p.w
		p.box(int(share*float64(h)), int(share*float64(w)))
		p.box(h, w)
	}},
	{"jpeg", func(p *picture, s int, _ *rand.Rand) { p.compress([]int{80, 65, 58, 50, 40}[s]) }},
}

// Corrupt is the images, each changed by a kind of corruption at a severity in 1…Severities, which are to be known.
// Values are rounded to bytes. It panics of a table.
func (in *Inputs) Corrupt(kind string, severity int, rng *rand.Rand) *Inputs {
	if len(in.Shape) != 3 {
		panic("data: columns of a table cannot be corrupted as images are")
	}
	out, width, seed := *in, in.Width(), rng.Uint64()
	out.pixels, out.index = make([]byte, in.Len()*width), UpTo(in.Len())
	first := slices.Index(Corruptions, kind)
	work.Each(in.Len(), 1, func(i int) {
		p := &picture{h: in.Shape[1], w: in.Shape[2], v: make([]float64, width)}
		readInputs(in, p.v, i, i+1)
		c := corruptions[max(first, 0)]
		if kind == AnyCorruption {
			c = corruptions[i%len(corruptions)]
		}
		c.to(p, severity-1, rand.New(rand.NewPCG(seed, uint64(i))))
		for j, v := range p.v {
			out.pixels[i*width+j] = byte(math.Round(255 * min(max(v, 0), 1)))
		}
	})
	return &out
}

// picture is planes of h×w values in [0, 1], one a channel.
type picture struct {
	h, w int
	v    []float64
}

func (p *picture) each(to func(float64) float64) {
	for i, v := range p.v {
		p.v[i] = to(v)
	}
}

// swap exchanges two pixels.
func (p *picture) swap(a, b int) {
	for plane := range slices.Chunk(p.v, p.h*p.w) {
		plane[a], plane[b] = plane[b], plane[a]
	}
}

// redraw makes each pixel anew from the plane that it was in.
func (p *picture) redraw(of func(plane []float64, y, x int) float64) {
	next := make([]float64, 0, len(p.v))
	for plane := range slices.Chunk(p.v, p.h*p.w) {
		for at := range plane {
			next = append(next, of(plane, at/p.w, at%p.w))
		}
	}
	p.v = next
}

// at is the value of a plane at a place between pixels, by its four neighbours, as it is mirrored beyond the edge.
func (p *picture) at(plane []float64, y, x float64) float64 {
	top, left := math.Floor(y), math.Floor(x)
	sum := 0.0
	for dy := range 2 {
		for dx := range 2 {
			weight := (1 - math.Abs(y-top-float64(dy))) * (1 - math.Abs(x-left-float64(dx)))
			sum += weight * plane[mirrored(int(top)+dy, p.h)*p.w+mirrored(int(left)+dx, p.w)]
		}
	}
	return sum
}

// mirrored is a place within 0…n−1 of one outside, mirrored at the last pixels.
func mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2 * (n - 1)
	i = ((i % period) + period) % period
	return min(i, period-i)
}

// smooth convolves with a Gaussian of standard deviation sigma, cut at so many of it; the edge goes on.
func (p *picture) smooth(sigma, cut float64) {
	reach := int(cut*sigma + .5)
	kernel := make([]float64, 2*reach+1)
	for k := range kernel {
		kernel[k] = math.Exp(-float64((k-reach)*(k-reach)) / max(2*sigma*sigma, 1e-12))
	}
	floats.Scale(1/floats.Sum(kernel), kernel)
	for _, down := range []int{0, 1} {
		p.redraw(func(plane []float64, y, x int) (sum float64) {
			for k, weight := range kernel {
				at := min(max(y+down*(k-reach), 0), p.h-1)*p.w + min(max(x+(1-down)*(k-reach), 0), p.w-1)
				sum += weight * plane[at]
			}
			return sum
		})
	}
}

// defocus convolves with a disk of a radius below 2, its edge softened by a Gaussian of 3×3 pixels.
func (p *picture) defocus(radius, sigma float64) {
	const reach = 2 // 1 of the disk and 1 of the Gaussian
	kernel := make([]float64, (2*reach+1)*(2*reach+1))
	for at := range kernel {
		y, x := at/(2*reach+1)-reach, at%(2*reach+1)-reach
		for dy := -1; dy <= 1; dy++ {
			for dx := -1; dx <= 1; dx++ {
				if far := (y-dy)*(y-dy) + (x-dx)*(x-dx); float64(far) <= radius*radius {
					kernel[at] += math.Exp(-float64(dy*dy+dx*dx) / (2 * sigma * sigma))
				}
			}
		}
	}
	floats.Scale(1/floats.Sum(kernel), kernel)
	p.redraw(func(plane []float64, y, x int) (sum float64) {
		for at, weight := range kernel {
			dy, dx := at/(2*reach+1)-reach, at%(2*reach+1)-reach
			sum += weight * plane[mirrored(y+dy, p.h)*p.w+mirrored(x+dx, p.w)]
		}
		return sum
	})
}

// move blurs along a direction: half a Gaussian, over twice the radius.
func (p *picture) move(radius int, sigma, angle float64) {
	sin, cos := math.Sincos(angle)
	p.redraw(func(plane []float64, y, x int) float64 {
		sum, weights := 0.0, 0.0
		for k := range 2*radius + 1 {
			weight, far := math.Exp(-float64(k*k)/(2*sigma*sigma)), float64(k)
			row, column := y+int(math.Round(far*sin)), x+int(math.Round(far*cos))
			sum += weight * plane[min(max(row, 0), p.h-1)*p.w+min(max(column, 0), p.w-1)]
			weights += weight
		}
		return sum / weights
	})
}

// zoom is the mean of the picture and its enlargements by 1, 1.01, …, so many.
func (p *picture) zoom(steps int) {
	p.redraw(func(plane []float64, y, x int) float64 {
		sum := plane[y*p.w+x]
		for k := range steps {
			near := 1 / (1 + .01*float64(k))
			cy, cx := float64(p.h-1)/2, float64(p.w-1)/2
			sum += p.at(plane, cy+(float64(y)-cy)*near, cx+(float64(x)-cx)*near)
		}
		return sum / float64(steps+1)
	})
}

// bend maps three corners to places near by, a share of the side away at most, and moves each pixel by a smooth field
// of a strength and a width, shares of the side too.
func (p *picture) bend(strength, width, corners float64, rng *rand.Rand) {
	side := float64(min(p.h, p.w))
	third, middle := math.Floor(side/3), math.Floor(side/2)
	from, to := mat.NewDense(3, 3, nil), mat.NewDense(3, 2, nil)
	for k, corner := range [][2]float64{{third, third}, {third, -third}, {-third, -third}} {
		y, x := middle+corner[0], middle+corner[1]
		to.SetRow(k, []float64{y, x})
		jitter := func() float64 { return (2*rng.Float64() - 1) * corners * side }
		from.SetRow(k, []float64{y + jitter(), x + jitter(), 1})
	}
	var affine mat.Dense // place in the new picture → place in the old
	if err := affine.Solve(from, to); err != nil {
		return // three places on one line, which chance does not give
	}
	field := func() *picture {
		f := &picture{p.h, p.w, make([]float64, p.h*p.w)}
		f.each(func(float64) float64 { return (2*rng.Float64() - 1) * strength * side })
		f.smooth(width*side, 3)
		return f
	}
	dy, dx := field(), field()
	p.redraw(func(plane []float64, y, x int) float64 {
		fy, fx := float64(y)+dy.v[y*p.w+x], float64(x)+dx.v[y*p.w+x]
		place := func(k int) float64 { return fy*affine.At(0, k) + fx*affine.At(1, k) + affine.At(2, k) }
		return p.at(plane, place(0), place(1))
	})
}

// box resizes by the mean of the pixels whose middle is in a new pixel, or else the nearest.
func (p *picture) box(h, w int) {
	next := &picture{h, w, make([]float64, len(p.v)/(p.h*p.w)*h*w)}
	span := func(k, from, to int) (lo, hi int) {
		scale := float64(from) / float64(to)
		middle, reach := (float64(k)+.5)*scale, max(scale, 1)/2
		lo = int(middle - reach + .5)
		return lo, max(lo+1, min(int(middle+reach+.5), from))
	}
	for i := range next.v {
		plane, at := p.v[i/(h*w)*p.h*p.w:], i%(h*w)
		top, bottom := span(at/w, p.h, h)
		left, right := span(at%w, p.w, w)
		for y := top; y < bottom; y++ {
			for x := left; x < right; x++ {
				next.v[i] += plane[y*p.w+x] / float64((bottom-top)*(right-left))
			}
		}
	}
	*p = *next
}

// compress is what JPEG of a quality leaves.
func (p *picture) compress(quality int) {
	area := p.h * p.w
	level := func(at, channel int) uint8 { return uint8(math.Round(255 * p.v[channel%(len(p.v)/area)*area+at])) }
	whole := image.NewRGBA(image.Rect(0, 0, p.w, p.h))
	for at := range area {
		whole.SetRGBA(at%p.w, at/p.w, color.RGBA{level(at, 0), level(at, 1), level(at, 2), 255})
	}
	var file bytes.Buffer
	err := jpeg.Encode(&file, whole, &jpeg.Options{Quality: quality})
	var read image.Image
	if err == nil {
		read, err = jpeg.Decode(&file)
	}
	if err != nil {
		panic("data: a picture in memory is no JPEG: " + err.Error())
	}
	for at := range area {
		r, g, b, _ := read.At(at%p.w, at/p.w).RGBA()
		for channel, v := range []uint32{r, g, b}[:len(p.v)/area] {
			p.v[channel*area+at] = float64(v>>8) / 255
		}
	}
}

// plasma is a cloud of side×side values in [0, 1], side a power of 2, by the diamond-square algorithm on a torus; detail
// falls by decay from scale to scale.
func plasma(side int, decay float64, rng *rand.Rand) []float64 {
	v := make([]float64, side*side)
	at := func(y, x int) *float64 { return &v[(y+side)%side*side+(x+side)%side] }
	wibble := 100.0
	mean := func(a, b, c, d *float64) float64 { return (*a+*b+*c+*d)/4 + wibble*wibble*(2*rng.Float64()-1) }
	for step := side; step >= 2; step, wibble = step/2, wibble/decay {
		half := step / 2
		for y := half; y < side; y += step {
			for x := half; x < side; x += step {
				*at(y, x) = mean(at(y-half, x-half), at(y-half, x+half), at(y+half, x-half), at(y+half, x+half))
			}
		}
		for y := 0; y < side; y += half {
			for x := (y/half + 1) % 2 * half; x < side; x += step {
				*at(y, x) = mean(at(y-half, x), at(y+half, x), at(y, x-half), at(y, x+half))
			}
		}
	}
	least, most := floats.Min(v), floats.Max(v)
	for i := range v {
		v[i] = (v[i] - least) / (most - least)
	}
	return v
}
