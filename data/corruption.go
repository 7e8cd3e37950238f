package data

import (
	"math"
	"math/rand/v2"
)

// Corruption is a change of images that leaves what they show recognizable, in five
// degrees of severity: a shift of the test rows' distribution. Constants and formulas
// are those by which Hendrycks and Dietterich (2019) made CIFAR-10-C; their code,
// make_cifar_c.py, makes images of 32×32 pixels in colour, and what it does is said
// here of any size and any number of channels.
type Corruption struct {
	Name  string
	apply func(p *picture, severity int, rng *rand.Rand)
}

// Corruptions in the order of Hendrycks and Dietterich.
var Corruptions = []Corruption{
	{"gaussian_noise", gaussianNoise},
	{"shot_noise", shotNoise},
	{"defocus_blur", defocusBlur},
	{"brightness", brightness},
	{"contrast", contrast},
	{"pixelate", pixelate},
}

// CorruptionByName finds one of [Corruptions]; an unknown name is an *InputError.
func CorruptionByName(name string) (Corruption, error) {
	return Find("corruption", name, Corruptions, func(c Corruption) string { return c.Name })
}

// severities is the number of degrees of a corruption, the first the mildest.
const severities = 5

// Apply is the images corrupted to a severity of 1 to 5. The same rng gives the same
// images, the draws of one image following those of the image before it. It panics
// at another severity.
func (c Corruption) Apply(im *Images, severity int, rng *rand.Rand) *Images {
	if severity < 1 || severity > severities {
		panic("data: Corruption: the severity must lie in 1…5")
	}
	out := *im
	out.Pixels = make([]byte, len(im.Pixels))
	size := im.Size()
	p := &picture{channels: im.Channels, height: im.Height, width: im.Width, x: make([]float64, size), next: make([]float64, size)}
	for i := range im.Len() {
		for j, b := range im.Image(i) {
			p.x[j] = float64(b) / 255
		}
		c.apply(p, severity-1, rng)
		for j, v := range p.x {
			// numpy's uint8 cuts the fraction off, too; k/255 stays k
			out.Pixels[i*size+j] = byte(255*min(max(v, 0), 1) + 1e-9)
		}
	}
	return &out
}

// Corrupt is the rows of in corrupted, if they are images: an *InputError if they
// are not or the severity is none.
func (c Corruption) Corrupt(in *Inputs, severity int, rng *rand.Rand) (*Inputs, error) {
	if severity < 1 || severity > severities {
		return nil, Inputf("", "a severity is 1…%d, not %d", severities, severity)
	}
	im, err := in.Images()
	if err != nil {
		return nil, err
	}
	out := c.Apply(im, severity, rng).Inputs()
	out.Name = in.Name + "/" + c.Name
	return out, nil
}

// picture is one image at work.
type picture struct {
	channels, height, width int
	x, next                 []float64 // channels×height×width in [0, 1], and room for another
}

// plane is channel c of x.
func (p *picture) plane(x []float64, c int) []float64 {
	area := p.height * p.width
	return x[c*area : (c+1)*area]
}

// gaussianNoise adds N(0, c²) to each value.
func gaussianNoise(p *picture, severity int, rng *rand.Rand) {
	c := [severities]float64{.04, .06, .08, .09, .10}[severity]
	for j := range p.x {
		p.x[j] += c * rng.NormFloat64()
	}
}

// shotNoise counts Poisson(c·x) photons of 1/c each.
func shotNoise(p *picture, severity int, rng *rand.Rand) {
	c := [severities]float64{500, 250, 100, 75, 50}[severity]
	for j, v := range p.x {
		p.x[j] = float64(poisson(c*v, rng)) / c
	}
}

// contrast moves each value to its channel's mean.
func contrast(p *picture, severity int, _ *rand.Rand) {
	c := [severities]float64{.75, .5, .4, .3, .15}[severity]
	for channel := range p.channels {
		plane := p.plane(p.x, channel)
		mean := 0.0
		for _, v := range plane {
			mean += v / float64(len(plane))
		}
		for j, v := range plane {
			plane[j] = (v-mean)*c + mean
		}
	}
}

// brightness adds c to V in the HSV model. V is the largest channel, and hue and
// saturation keep the ratios of the channels, so all grow by the same factor; black
// becomes grey. Grey images are their own V.
func brightness(p *picture, severity int, _ *rand.Rand) {
	c := [severities]float64{.05, .1, .15, .2, .3}[severity]
	area := p.height * p.width
	for j := range area {
		value := 0.0
		for channel := range p.channels {
			value = math.Max(value, p.x[channel*area+j])
		}
		brighter := math.Min(value+c, 1)
		for channel := range p.channels {
			if at := channel*area + j; value > 0 {
				p.x[at] *= brighter / value
			} else {
				p.x[at] = brighter
			}
		}
	}
}

// defocusBlur averages over a disk of pixels, its edge softened by a Gaussian of 3×3
// pixels.
func defocusBlur(p *picture, severity int, _ *rand.Rand) {
	c := [severities]struct{ radius, soft float64 }{{.3, .4}, {.4, .5}, {.5, .6}, {1, .2}, {1.5, .1}}[severity]
	p.filter(disk(c.radius, c.soft))
}

// disk is a square kernel of odd width that sums to 1.
func disk(radius, soft float64) [][]float64 {
	reach := int(radius) + 1 // the softening reaches one pixel beyond
	width := 2*reach + 1
	hard, sum := square(width), 0.0
	for i := range width {
		for j := range width {
			if u, v := float64(i-reach), float64(j-reach); u*u+v*v <= radius*radius {
				hard[i][j] = 1
				sum++
			}
		}
	}
	side := math.Exp(-1 / (2 * soft * soft))
	line := [3]float64{side / (1 + 2*side), 1 / (1 + 2*side), side / (1 + 2*side)}
	kernel := square(width)
	for i := range width {
		for j := range width {
			for a := -1; a <= 1; a++ {
				for b := -1; b <= 1; b++ {
					if u, v := i+a, j+b; u >= 0 && u < width && v >= 0 && v < width {
						kernel[i][j] += line[a+1] * line[b+1] * hard[u][v] / sum
					}
				}
			}
		}
	}
	return kernel
}

func square(width int) [][]float64 {
	rows := make([][]float64, width)
	for i := range rows {
		rows[i] = make([]float64, width)
	}
	return rows
}

// filter correlates each channel with a kernel. Beyond the border the image goes on
// mirrored about its outermost pixels, as OpenCV's filter2D has it.
func (p *picture) filter(kernel [][]float64) {
	reach := len(kernel) / 2
	for c := range p.channels {
		from, to := p.plane(p.x, c), p.plane(p.next, c)
		for u := range p.height {
			for v := range p.width {
				sum := 0.0
				for i, line := range kernel {
					row := mirrored(u+i-reach, p.height)
					for j, w := range line {
						sum += w * from[row*p.width+mirrored(v+j-reach, p.width)]
					}
				}
				to[u*p.width+v] = sum
			}
		}
	}
	p.x, p.next = p.next, p.x
}

// mirrored is where position i of a line of n pixels is found: 2 1 | 0 1 2 … n−1 |
// n−2 n−3.
func mirrored(i, n int) int {
	if n == 1 {
		return 0
	}
	i = (i%(2*n-2) + 2*n - 2) % (2*n - 2)
	if i >= n {
		i = 2*n - 2 - i
	}
	return i
}

// pixelate makes the image smaller by c, and as large as before, by averages over
// boxes (Pillow's BOX): what one small pixel covers becomes alike.
func pixelate(p *picture, severity int, _ *rand.Rand) {
	c := [severities]float64{.95, .9, .85, .75, .65}[severity]
	high, wide := max(int(float64(p.height)*c), 1), max(int(float64(p.width)*c), 1)
	for channel := range p.channels {
		plane := p.plane(p.x, channel)
		small := boxed(plane, p.height, p.width, high, wide)
		copy(plane, boxed(small, high, wide, p.height, p.width))
	}
}

// boxed resizes an image, along the lines first and then along the columns, each to
// whole 255ths as Pillow does.
func boxed(x []float64, high, wide, toHigh, toWide int) []float64 {
	lines := make([]float64, high*toWide)
	for v, b := range boxes(wide, toWide) {
		for u := range high {
			lines[u*toWide+v] = b.mean(x[u*wide:], 1)
		}
	}
	out := make([]float64, toHigh*toWide)
	for u, b := range boxes(high, toHigh) {
		for v := range toWide {
			out[u*toWide+v] = b.mean(lines[v:], toWide)
		}
	}
	return out
}

// box is the pixels that one pixel of the result averages.
type box struct{ from, n int }

// mean is that of the pixels of x, of which one comes every step, to whole 255ths.
func (b box) mean(x []float64, step int) float64 {
	sum := 0.0
	for i := range b.n {
		sum += 1 / float64(b.n) * x[(b.from+i)*step]
	}
	return math.Floor(255*sum+0.5+1e-9) / 255 // halves up, whatever the division left of them
}

// boxes resizes a line of n pixels to m. Result i is the mean of the pixels whose
// centres lie within n/m, or one pixel if that is less, around (i + ½)·n/m; a centre
// on the upper end counts, one on the lower end does not.
func boxes(n, m int) []box {
	scale := float64(n) / float64(m)
	width := math.Max(scale, 1)
	out := make([]box, m)
	for i := range out {
		centre := (float64(i) + 0.5) * scale
		for j := min(int(centre+width/2+0.5), n) - 1; j >= max(int(centre-width/2+0.5), 0); j-- {
			if at := (float64(j) - centre + 0.5) / width; at > -0.5 && at <= 0.5 {
				out[i] = box{j, out[i].n + 1}
			}
		}
	}
	return out
}

// poisson draws a Poisson number by multiplying uniforms until they fall below e^−λ
// (Knuth), a λ above 30 in parts, whose sum is Poisson again.
func poisson(lambda float64, rng *rand.Rand) int {
	n := 0
	for lambda > 30 {
		n += poisson(30, rng)
		lambda -= 30
	}
	limit, product := math.Exp(-lambda), rng.Float64()
	for ; product > limit; n++ {
		product *= rng.Float64()
	}
	return n
}
