package cuda_test

import (
	"maps"
	"math/rand/v2"
	"slices"

	"calibra/graph/op"

	"gonum.org/v1/gonum/blas"
	"gorgonia.org/tensor"
)

func init() { maps.Copy(onDevice, networksOnDevice) }

var networksOnDevice = map[string]checked{
	"ConvOp": {always(convolutions...), func(rng *rand.Rand) []*tensor.Dense {
		c, k := 1+rng.IntN(9), 1+rng.IntN(3)
		return []*tensor.Dense{pictures(rng, 1+rng.IntN(5), c), normalTensor(rng, 0, 1+rng.IntN(70), c, k, k)}
	}},
	"ConvInputOp": {func(in []*tensor.Dense) []op.Op {
		var all []op.Op
		for _, o := range convolutions {
			k := o.Kernel.(op.ConvOp)
			all = append(all, op.New(op.ConvInputOp{Of: k, H: before(k, in[0].Shape()[2], in[1].Shape()[2]), W: before(k, in[0].Shape()[3], in[1].Shape()[3])}))
		}
		return all
	}, func(rng *rand.Rand) []*tensor.Dense {
		o, k := 1+rng.IntN(40), 1+2*rng.IntN(2)
		return []*tensor.Dense{pictures(rng, 1+rng.IntN(5), o), normalTensor(rng, 0, o, 1+rng.IntN(70), k, k)}
	}},
	"ConvKernelOp": {always(op.New(op.ConvKernelOp{Of: op.ConvOp{Stride: 1, Pad: 1}, KH: 3, KW: 3}), op.New(op.ConvKernelOp{Of: op.ConvOp{Stride: 1, Pad: 0}, KH: 1, KW: 1}), op.New(op.ConvKernelOp{Of: op.ConvOp{Stride: 1, Pad: 2}, KH: 5, KW: 5})), func(rng *rand.Rand) []*tensor.Dense {
		n := 1 + rng.IntN(9)
		x := pictures(rng, n, 1+rng.IntN(9))
		return []*tensor.Dense{x, normalTensor(rng, 0, n, 1+rng.IntN(70), x.Shape()[2], x.Shape()[3])}
	}},
	"ChannelMeanOp":     {always(op.ChannelMean(4)), planar()},
	"ChannelVarianceOp": {always(op.ChannelVariance(4)), planar("channel")},
	"ChannelSumOp":      {always(op.New(op.ChannelSumOp{Of: op.Images})), planar()},
	"BatchNormOp":       {always(op.BatchNorm(4, 1e-5)), planar("channel", "positive", "channel", "channel")},
	"BatchNormScaleOp":  {always(op.New(op.BatchNormScaleOp{Of: op.Images, Eps: 1e-5})), planar("channel", "positive", "same")},
	"BatchNormInputOp":  {always(op.New(op.BatchNormInputOp{Of: op.Images, Eps: 1e-5})), planar("channel", "positive", "channel", "same", "channel", "channel")},
	"PlaneMeanOp":       {always(op.PlaneMean()), planar()},
	"PlaneSpreadOp":     {always(op.New(op.PlaneSpreadOp{H: 3, W: 5})), one},
	"LayerNormOp": {always(op.LayerNorm(1e-5)), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1]), normalTensor(rng, 0, x.Shape()[1])}
	}},
	"LayerNormInputOp": {always(op.New(op.LayerNormInputOp{Eps: 1e-5})), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1]), normalTensor(rng, 0, x.Shape()...)}
	}},
	"LayerNormScaleOp": {always(op.New(op.LayerNormScaleOp{Eps: 1e-5})), func(rng *rand.Rand) []*tensor.Dense {
		x := wide(rng)
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()...)}
	}},
	"BlockMatMulOp": {always(op.BlockMatMul(5), op.New(op.BlockMatMulOp{N: 5, X: blas.NoTrans, Y: blas.Trans}), op.New(op.BlockMatMulOp{N: 5, X: blas.Trans, Y: blas.NoTrans})), func(rng *rand.Rand) []*tensor.Dense {
		k := 1 + rng.IntN(70) // square blocks fit all orientations
		return []*tensor.Dense{normalTensor(rng, 0, 5*k, k), normalTensor(rng, 0, 5*k, k)}
	}},
	"HeadScoresOp": {always(op.HeadScores(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		d := 3 * (1 + rng.IntN(30))
		return []*tensor.Dense{normalTensor(rng, 0, 5*(1+rng.IntN(9)), d), normalTensor(rng, 0, 5*(1+rng.IntN(70)), d)}
	}},
	"HeadMixOp": {always(op.HeadMix(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		t := 1 + rng.IntN(70)
		return []*tensor.Dense{normalTensor(rng, 0, 15*(1+rng.IntN(9)), t), normalTensor(rng, 0, 5*t, 3*(1+rng.IntN(30)))}
	}},
	"HeadMixBackOp": {always(op.HeadMixBack(3, 5)), func(rng *rand.Rand) []*tensor.Dense {
		s := 1 + rng.IntN(9)
		return []*tensor.Dense{normalTensor(rng, 0, 15*s, 1+rng.IntN(70)), normalTensor(rng, 0, 5*s, 3*(1+rng.IntN(30)))}
	}},
	"TokensOp": {always(op.Tokens()), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[1], 1+rng.IntN(40))}
	}},
	"TokenInputsOp": {always(op.New(op.TokenInputsOp{})), func(rng *rand.Rand) []*tensor.Dense {
		w := one(rng)[0]
		return []*tensor.Dense{w, normalTensor(rng, 0, 1+rng.IntN(40), w.Size())}
	}},
	"TokenWeightsOp": {always(op.New(op.TokenWeightsOp{})), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[0], x.Shape()[1]*(1+rng.IntN(40)))}
	}},
	"ReGLUOp": {always(op.ReGLU()), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(60), 2*(1+rng.IntN(70)))}
	}},
	"ReGLUGradOp": {always(op.New(op.ReGLUGradOp{})), func(rng *rand.Rand) []*tensor.Dense {
		g := one(rng)[0]
		return []*tensor.Dense{normalTensor(rng, 0, g.Shape()[0], 2*g.Shape()[1]), g}
	}},
	"ELUOp":     {always(op.ELU(2)), one},
	"ELUGradOp": {always(op.New(op.ELUGradOp{Of: op.Matrix})), two},
	"ReshapeOp": {always(op.Reshape(2, -1, 2, 3)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(60), 6*(1+rng.IntN(9)))}
	}},
	"PickColumnsOp": {always(op.Columns(2, 3, 4, 0, 6), op.Columns(5)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 7+rng.IntN(70))}
	}},
	"PlaceColumnsOp": {always(op.New(op.PlaceColumnsOp{Index: []int{2, 3, 4, 0, 6}, M: 11})), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(90), 5)}
	}},
	"JoinColumnsOp": {always(op.JoinColumns()), func(rng *rand.Rand) []*tensor.Dense {
		x := one(rng)[0]
		return []*tensor.Dense{x, normalTensor(rng, 0, x.Shape()[0], 1+rng.IntN(60))}
	}},
	"CategoryOp": {always(op.Category(2)), func(rng *rand.Rand) []*tensor.Dense {
		x := normalTensor(rng, 0, 1+rng.IntN(90), 3+rng.IntN(7))
		for i := range x.Float64s() {
			x.Float64s()[i] = float64(rng.IntN(1000))
		}
		return []*tensor.Dense{x}
	}},
	"DropoutOp": {always(op.Dropout(0.3, 17), op.Dropout(0, 3)), func(rng *rand.Rand) []*tensor.Dense { return []*tensor.Dense{one(rng)[0], step(rng)} }},
	"AugmentOp": {always(op.Augment(3, 7, 9, 4, 0.5, 1<<63+5), op.Augment(3, 7, 9, 0, 1, 5), op.Augment(1, 9, 21, 2, 0, 5)), func(rng *rand.Rand) []*tensor.Dense {
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(30), 3*7*9), step(rng)}
	}},
}

// convolutions fit images of 3×3 pixels and more and kernels of up to 3×3.
var convolutions = []op.Op{op.Conv(1, 0), op.Conv(1, 1), op.Conv(2, 0), op.Conv(2, 1), op.Conv(3, 2)}

// before is the largest size of an image that o shrinks to places by kernels of that size.
func before(o op.ConvOp, places, kernel int) int {
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
	"GaussianOp": {always(op.Gaussian(0.3)), func(rng *rand.Rand) []*tensor.Dense {
		d := 1 + rng.IntN(20)
		return []*tensor.Dense{normalTensor(rng, 0, 1+rng.IntN(140), d), normalTensor(rng, 0, 1+rng.IntN(140), d)}
	}},
	"PullOp": {func(in []*tensor.Dense) []op.Op {
		all := []op.Op{op.New(op.PullOp{C: 0.3, E: blas.NoTrans})}
		if in[0].Shape()[0] == in[0].Shape()[1] {
			all = append(all, op.New(op.PullOp{C: 0.3, E: blas.Trans}))
		}
		return all
	}, func(rng *rand.Rand) []*tensor.Dense {
		d, m, n := 1+rng.IntN(20), 1+rng.IntN(140), 1+rng.IntN(140)
		if rng.IntN(2) == 0 {
			n = m // fits both orientations
		}
		return []*tensor.Dense{normalTensor(rng, 0, m, n), normalTensor(rng, 0, m, d), normalTensor(rng, 0, n, d)}
	}},
	"OmitSelfOp": {always(op.OmitSelf()), func(rng *rand.Rand) []*tensor.Dense {
		k := one(rng)[0]
		return []*tensor.Dense{k, integers(rng, 9, k.Shape()[0]), integers(rng, 9, k.Shape()[1])}
	}},
	"SharesOp": {always(op.Shares()), kernelRowsDrawn},
	"SharesGradOp": {always(op.New(op.SharesGradOp{})), func(rng *rand.Rand) []*tensor.Dense {
		k := kernelRowsDrawn(rng)[0]
		return []*tensor.Dense{k, normalTensor(rng, 0, k.Shape()...)}
	}},
	"SoftmaxOp":     {always(op.Softmax()), one},
	"SoftmaxGradOp": {always(op.New(op.SoftmaxGradOp{})), two},
	"JensenShannonOp": {always(op.JensenShannon()), func(rng *rand.Rand) []*tensor.Dense {
		in := twoProbabilities(rng)
		return append(in, normalTensor(rng, 0, in[0].Shape()[0]))
	}},
	"JensenShannonGradOp": {always(op.New(op.JensenShannonGradOp{})), func(rng *rand.Rand) []*tensor.Dense {
		in := twoProbabilities(rng)
		return append(in, normalTensor(rng, 0, in[0].Shape()[0]), normalTensor(rng, 0))
	}},
	"BackgroundOp": {always(op.Background(1<<63 + 17)), func(rng *rand.Rand) []*tensor.Dense {
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
