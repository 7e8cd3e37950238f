package op

import (
	"maps"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/tensor"
)

func init() { maps.Copy(onDevice, networksOnDevice) }

var networksOnDevice = map[string]checked{
	"conv": {always(convolutions...), func(rng *rand.Rand) []*tensor.Dense {
		c, k := 1+rng.IntN(9), 1+rng.IntN(3)
		return []*tensor.Dense{pictures(rng, 1+rng.IntN(5), c), normalTensor(rng, 0, 1+rng.IntN(70), c, k, k)}
	}},
	"convInput": {func(in []*tensor.Dense) []Op {
		var all []Op
		for _, o := range convolutions {
			k := o.kernel.(conv)
			all = append(all, Op{convInput{k, before(k, in[0].Shape()[2], in[1].Shape()[2]), before(k, in[0].Shape()[3], in[1].Shape()[3])}})
		}
		return all
	}, func(rng *rand.Rand) []*tensor.Dense {
		o, k := 1+rng.IntN(40), 1+2*rng.IntN(2)
		return []*tensor.Dense{pictures(rng, 1+rng.IntN(5), o), normalTensor(rng, 0, o, 1+rng.IntN(70), k, k)}
	}},
	"convKernel": {always(Op{convKernel{conv{1, 1}, 3, 3}}, Op{convKernel{conv{1, 0}, 1, 1}}, Op{convKernel{conv{1, 2}, 5, 5}}), func(rng *rand.Rand) []*tensor.Dense {
		n := 1 + rng.IntN(9)
		x := pictures(rng, n, 1+rng.IntN(9))
		return []*tensor.Dense{x, normalTensor(rng, 0, n, 1+rng.IntN(70), x.Shape()[2], x.Shape()[3])}
	}},
	"channelMean":     {always(ChannelMean(4)), planar()},
	"channelVariance": {always(ChannelVariance(4)), planar("channel")},
	"channelSum":      {always(Op{channelSum{images}}), planar()},
	"batchNorm":       {always(BatchNorm(4, 1e-5)), planar("channel", "positive", "channel", "channel")},
	"batchNormScale":  {always(Op{batchNormScale{images, 1e-5}}), planar("channel", "positive", "same")},
	"batchNormInput":  {always(Op{batchNormInput{images, 1e-5}}), planar("channel", "positive", "channel", "same", "channel", "channel")},
	"planeMean":       {always(PlaneMean()), planar()},
	"planeSpread":     {always(Op{planeSpread{3, 5}}), one},
	"layerNorm": {always(LayerNorm(1e-5)), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1]), normalTensor(rng, 0, x.Shape()[1])}
	}},
	"layerNormInput": {always(Op{layerNormInput{1e-5}}), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1]), normalTensor(rng, 0, x.Shape()...)}
	}},
	"layerNormScale": {always(Op{layerNormScale{1e-5}}), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()...)}
	}},
	"blockMatMul": {always(BlockMatMul(5), Op{blockMatMul{5, blas.NoTrans, blas.Trans}}, Op{blockMatMul{5, blas.Trans, blas.NoTrans}}), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(70) // square blocks fit all orientations
		return []*tensor.Dense{normalTensor(rng, 0, 5*k, k), normalTensor(rng, 0, 5*k, k)}
	}},
	"headScores": {always(HeadScores(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		d := 3 * (1 + rng.IntN(30))
		return []*tensor.Dense{normalTensor(rng, 0, 5*(1+rng.IntN(9)), d), normalTensor(rng, 0, 5*(1+rng.IntN(70)), d)}
	}},
	"headMix": {always(HeadMix(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		t := 1 + rng.IntN(70)
		return []*tensor.Dense{normalTensor(rng, 0, 15*(1+rng.IntN(9)), t), normalTensor(rng, 0, 5*t, 3*(1+rng.IntN(30)))}
	}},
	"headMixBack": {always(HeadMixBack(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		s := 1 + rng.IntN(9)
		return []*tensor.Dense{normalTensor(rng, 0, 15*s, 1+rng.IntN(70)), normalTensor(rng, 0, 5*s, 3*(1+rng.IntN(30)))}
	}},
	"tokens": {always(Tokens()), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1], 1+rng.IntN(40))}
	}},
	"tokenInputs": {always(Op{tokenInputs{}}), func(rng *rand.Rand) []*tensor.Dense {
		w := one(rng)[0]
		return []*tensor.Dense{w, normalTensor(rng, 0, 1+rng.IntN(40), w.Size())}
	}},
	"tokenWeights": {always(Op{tokenWeights{}}), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[0], x.Shape()[1]*(1+rng.IntN(40)))}
	}},
	"reglu": {always(ReGLU()), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(60), 2*(1+rng.IntN(70)))}
	}},
	"regluGrad": {always(Op{regluGrad{}}), func(rng *rand.Rand) []*tensor.Dense {
		g := one(rng)[0]
		return []*tensor.Dense{normalTensor(rng, 0, g.Shape()[0], 2*g.Shape()[1]), g}
	}},
	"elu":     {always(ELU(2)), one},
	"eluGrad": {always(Op{eluGrad{matrix}}), two},
	"reshape": {always(Reshape(2, -1, 2, 3)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(60), 6*(1+rng.IntN(9)))}
	}},
	"pickColumns": {always(Columns(2, 3, 4, 0, 6), Columns(5)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 7+rng.IntN(70))}
	}},
	"placeColumns": {always(Op{placeColumns{[]int{2, 3, 4, 0, 6}, 11}}), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 5)}
	}},
	"joinColumns": {always(JoinColumns()), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[0], 1+rng.IntN(60))}
	}},
	"category": {always(Category(2)), func(rng *rand.Rand) []*tensor.Dense {
		x := normalTensor(rng, 0, 1+rng.IntN(90), 3+rng.IntN(7))
		for i := range x.Float64s() {
			x.Float64s()[i] = float64(rng.IntN(1000))
		}
		return []*tensor.Dense{x}
	}},
	"dropout": {always(Dropout(0.3, 17), Dropout(0, 3)), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{one(rng)[0], step(rng)} }},
	"augment": {always(Augment(3, 7, 9, 4, 0.5, 1<<63+5), Augment(3, 7, 9, 0, 1, 5), Augment(1, 9, 21, 2, 0, 5)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(30), 3*7*9), step(rng)}
	}},
}

// convolutions fit images of 3×3 pixels and more and kernels of up to 3×3.
var convolutions = []Op{Conv(1, 0), Conv(1, 1), Conv(2, 0), Conv(2, 1), Conv(3, 2)}

// before is the largest size of an image that o shrinks to places by kernels of that size.
func before(o conv, places, kernel int) int {
	return max(1, places*o.Stride-1+kernel-2*o.Pad)
}

// step is the number of a step.
func step(rng *rand.Rand) *tensor.Dense {
	return tensor.New(tensor.WithShape(1), tensor.WithBacking([]float64{float64(rng.IntN(1000))}))
}

// pictures are n images of c channels.
func pictures(rng *rand.Rand, n, c int) *tensor.Dense {
	return normalTensor(rng, 0, n, c, 3+rng.IntN(12), 3+rng.IntN(12))
}

// wide is a matrix of two columns at least, so that rows have a variance.
func wide(rng *rand.Rand) *tensor.Dense {
	return normalTensor(rng, 0, 1+rng.IntN(60), 2+rng.IntN(140))
}

// planar draws images, and beside them vectors of a number for each channel, or images of
// the same shape.
func planar(more ...string) draw {
	return func(rng *rand.Rand) []*tensor.Dense {
		x := pictures(rng, 1+rng.IntN(60), 1+rng.IntN(9))
		in := []*tensor.Dense{x}
		for _, kind := range more {
			switch kind {
			case "same":
				in = append(in, normalTensor(rng, 0, x.Shape()...))
			default:
				v := normalTensor(rng, 0, x.Shape()[1])
				if kind == "positive" {
					for i, y := range v.Float64s() {
						v.Float64s()[i] = 0.5 + float64(float32(y*y))
					}
				}
				in = append(in, v)
			}
		}
		return in
	}
}

func init() { maps.Copy(onDevice, neighboursOnDevice) }

var neighboursOnDevice = map[string]checked{
	"gaussian": {always(Gaussian(0.3)), func(rng *rand.Rand) []*tensor.Dense {
		d := 1 + rng.IntN(20)
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(140), d), normalTensor(rng, 0, 1+rng.IntN(140), d)}
	}},
	"pull": {func(in []*tensor.Dense) []Op {
		all := []Op{{pull{0.3, blas.NoTrans}}}
		if in[0].Shape()[0] == in[0].Shape()[1] {
			all = append(all, Op{pull{0.3, blas.Trans}})
		}
		return all
	}, func(rng *rand.Rand) []*tensor.Dense {
		d, m, n := 1+rng.IntN(20), 1+rng.IntN(140), 1+rng.IntN(140)
		if rng.IntN(2) == 0 {
			n = m // fits both orientations
		}
		return []*tensor.Dense{normalTensor(rng, 0, m, n), normalTensor(rng, 0, m, d), normalTensor(rng, 0, n, d)}
	}},
	"omitSelf": {always(OmitSelf()), func(rng *rand.Rand) []*tensor.Dense {
		k := one(rng)[0]
		return []*tensor.Dense{k, integers(rng, 9, k.Shape()[0]), integers(rng, 9, k.Shape()[1])}
	}},
	"shares": {always(Shares()), kernelRowsDrawn},
	"sharesGrad": {always(Op{sharesGrad{}}), func(rng *rand.Rand) []*tensor.Dense {
		k := kernelRowsDrawn(rng)[0]
		return []*tensor.Dense{k, normalTensor(rng, 0, k.Shape()...)}
	}},
	"softmax":       {always(Softmax()), one},
	"softmaxGrad":   {always(Op{softmaxGrad{}}), two},
	"jensenShannon": {always(JensenShannon()), twoProbabilities},
	"jensenShannonGrad": {always(Op{jensenShannonGrad{}}), func(rng *rand.Rand) []*tensor.Dense {
		return append(twoProbabilities(rng), normalTensor(rng, 0))
	}},
	"background": {always(Background(1<<63 + 17)), func(rng *rand.Rand) []*tensor.Dense {
		var begins, places []int32
		rows := 0
		for c := range 1 + rng.IntN(20) {
			size := 1 + rng.IntN(200)
			begins = append(begins, int32(rows))
			places = append(places, slices.Repeat([]int32{int32(c)}, rng.IntN(size+1))...)
			rows += size
		}
		begins = append(begins, int32(rows))
		if len(places) == 0 {
			places = []int32{0}
		}
		sorted := make([]int32, rows)
		for i, r := range rng.Perm(rows) {
			sorted[i] = int32(r)
		}
		vector := func(x []int32) *tensor.Dense { return tensor.New(tensor.WithShape(len(x)), tensor.WithBacking(x)) }
		return []*tensor.Dense{vector(sorted), vector(begins), vector(places), step(rng)}
	}},
}

// kernelRowsDrawn are rows that are not negative, some entries 0.
func kernelRowsDrawn(rng *rand.Rand) []*tensor.Dense {
	k := normalTensor(rng, 0, 1+rng.IntN(60), 1+rng.IntN(140))
	for i, v := range k.Float64s() {
		k.Float64s()[i] = max(0, v)
	}
	return []*tensor.Dense{k}
}

// twoProbabilities are matrices of numbers from 0 to 1, some of them 0 or 1.
func twoProbabilities(rng *rand.Rand) []*tensor.Dense {
	in := two(rng)
	for _, x := range in {
		for i, v := range x.Float64s() {
			x.Float64s()[i] = float64(float32(min(1, max(0, 0.5+0.4*v))))
		}
	}
	return in
}
