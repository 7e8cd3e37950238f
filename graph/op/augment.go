package op

import "fmt"

// Augment shifts each image of X (B×(C·H·W)) by up to pad pixels along both axes,
// zeros coming in, and mirrors it with the given probability: the random crop and
// flip of He et al. (2016, section 4.2). What happens to an image is a hash of the seed, the step
// number t (1) and the image's place in the batch, as in [Dropout]. Images are
// data: they have no derivative.
func Augment(channels, height, width, pad int, mirror float64, seed uint64) Op {
	if pad < 0 || pad >= height || pad >= width {
		panic(fmt.Sprintf("op: %d×%d images shifted by up to %d pixels", height, width, pad))
	}
	return Op{AugmentOp{C: channels, H: height, W: width, Pad: pad, Mirror: mirror, Seed: seed}}
}

// AugmentOp is the op of [Augment].
type AugmentOp struct {
	C, H, W, Pad int
	Mirror       float64
	Seed         uint64
}

func (o AugmentOp) Form() string              { return fmt.Sprintf("B %[1]d, 1 -> B %[1]d", o.C*o.H*o.W) }
func (o AugmentOp) Run(out Value, in []Value) { Dispatch(o, out, in, augment, augment) }

func augment[F Float](o AugmentOp, v Args[F]) {
	out, x, t := v.Out(), v.In(0), uint64(v.In(1)[0])
	size, area, shifts := o.C*o.H*o.W, o.H*o.W, uint64(2*o.Pad+1)
	key := mix(o.Seed + mix(t))
	parallel(len(x)/size, func(i int) {
		draw := mix(key + uint64(i))
		down, right := int(draw%shifts)-o.Pad, int(draw/shifts%shifts)-o.Pad
		mirrored := float64(mix(draw)>>11) < o.Mirror*(1<<53)
		image, dst := x[i*size:(i+1)*size], out[i*size:(i+1)*size]
		clear(dst)
		for c := range o.C {
			for u := max(0, -down); u < min(o.H, o.H-down); u++ {
				from := image[c*area+(u+down)*o.W:][:o.W]
				to := dst[c*area+u*o.W:][:o.W]
				for v := max(0, -right); v < min(o.W, o.W-right); v++ {
					if mirrored {
						to[o.W-1-v] = from[v+right]
					} else {
						to[v] = from[v+right]
					}
				}
			}
		}
	})
}
