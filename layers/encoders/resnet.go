package encoders

import (
	"cmp"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// ResNet is a residual network for images of 28×28 or 32×32 pixels (He et al. 2016,
// section 4.2): a 3×3 convolution, stages of basic blocks
//
//	y = ReLU(BN(conv(ReLU(BN(conv(x))))) + x)
//
// and global average pooling, whose values are the features. Every stage but the first
// begins with a stride of 2. Dropout and a linear layer follow. If a block changes the
// shape, a 1×1 convolution with batch norm replaces x in the sum. Training rows are
// shifted and mirrored at random. The weights are named as in torchvision's ResNet of
// basic blocks: with a 3×3 first convolution of stride 1 and no max pooling, it is this
// network.
type ResNet struct {
	Widths  []int   `json:"widths"`  // channels of each stage, the last is M; nil: 16, 32, 64
	Blocks  int     `json:"blocks"`  // of each stage; 0: 3, which makes ResNet-20
	Dropout float64 `json:"dropout"` // before the linear layer; 0: 0.1, below 0 none
	Shift   int     `json:"shift"`   // most pixels a training image moves; 0: 4, below 0 none
	Mirror  float64 `json:"mirror"`  // share of training images mirrored; 0: 0.5, below 0 none
}

var _ Network = (*ResNet)(nil)

func (*ResNet) Name() string { return "resnet" }

func (r *ResNet) widths() []int {
	if r.Widths == nil {
		return []int{16, 32, 64}
	}
	return r.Widths
}

// Width is the width of the last stage.
func (r *ResNet) Width() int { return r.widths()[len(r.widths())-1] }

// basicBlock is one block's place in the network.
type basicBlock struct {
	name            string
	in, out, stride int
}

// reshapes reports whether the block's sum needs a projection of x.
func (b basicBlock) reshapes() bool { return b.stride != 1 || b.in != b.out }

func (r *ResNet) blocks() []basicBlock {
	var blocks []basicBlock
	in := r.widths()[0]
	for s, out := range r.widths() {
		for l := range cmp.Or(r.Blocks, 3) {
			b := basicBlock{name: fmt.Sprintf("layer%d.%d.", s+1, l), in: in, out: out, stride: 1}
			if s > 0 && l == 0 {
				b.stride = 2
			}
			blocks = append(blocks, b)
			in = out
		}
	}
	return blocks
}

// Init begins as torchvision does.
func (r *ResNet) Init(shape []int, classes int, rng *rand.Rand) (*graph.Weights, error) {
	if len(shape) != 3 {
		return nil, data.Inputf("", "the ResNet takes images, not tables; choose mlp, resmlp or ftt")
	}
	if r.Widths != nil && len(r.Widths) == 0 || r.Blocks < 0 {
		return nil, data.Inputf("", "a ResNet needs stages and blocks")
	}
	for _, width := range r.widths() {
		if width < 1 {
			return nil, data.Inputf("", "a stage of %d channels is none", width)
		}
	}
	if err := checkRates(orRate(r.Dropout, 0.1)); err != nil {
		return nil, err
	}
	if least := 1 << (len(r.widths()) - 1); min(shape[1], shape[2]) < max(least, r.shift()+1) {
		return nil, data.Inputf("", "images of %d×%d pixels are too small for %d stages and shifts of %d pixels", shape[1], shape[2], len(r.widths()), r.shift())
	}
	if err := checkSizes(max(len(r.widths()), cmp.Or(r.Blocks, 3)), r.widths()...); err != nil {
		return nil, err
	}
	w := newInitial(rng)
	w.conv("conv1", shape[0], r.widths()[0], 3)
	w.batchNorm("bn1", r.widths()[0])
	for _, b := range r.blocks() {
		w.conv(b.name+"conv1", b.in, b.out, 3)
		w.batchNorm(b.name+"bn1", b.out)
		w.conv(b.name+"conv2", b.out, b.out, 3)
		w.batchNorm(b.name+"bn2", b.out)
		if b.reshapes() {
			w.conv(b.name+"downsample.0", b.in, b.out, 1)
			w.batchNorm(b.name+"downsample.1", b.out)
		}
	}
	w.linear("fc", r.Width(), classes)
	return w.done()
}

func (r *ResNet) shift() int { return max(cmp.Or(r.Shift, 4), 0) }

func (r *ResNet) mirror() float64 { return orRate(r.Mirror, 0.5) }

func (r *ResNet) Forward(p *Pass, x *gorgonia.Node) (features, logits *gorgonia.Node) {
	c, h, w := p.Shape[0], p.Shape[1], p.Shape[2]
	if p.train != nil {
		x = p.Apply(op.Augment(c, h, w, r.shift(), r.mirror(), p.seed()), x, p.counter())
	}
	x = p.Apply(op.Reshape(2, -1, c, h, w), x) // B×channels×height×width
	x = p.ReLU(p.BatchNorm("bn1", p.Conv("conv1", 1, 1, x)))
	for _, b := range r.blocks() {
		y := p.ReLU(p.BatchNorm(b.name+"bn1", p.Conv(b.name+"conv1", b.stride, 1, x)))
		y = p.BatchNorm(b.name+"bn2", p.Conv(b.name+"conv2", 1, 1, y))
		if b.reshapes() {
			x = p.BatchNorm(b.name+"downsample.1", p.Conv(b.name+"downsample.0", b.stride, 0, x))
		}
		x = p.ReLU(p.Plus(y, x))
	}
	features = p.Apply(op.PlaneMean(), x)
	return features, p.Linear("fc", p.Dropout(orRate(r.Dropout, 0.1), features))
}
