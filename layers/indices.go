package layers

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// Indices is a control: codes drawn at random for each slot of each row, which tell nothing of its features. ([Fixed]
// has random codewords, of which a slot still has the nearest.) Codes are a hash of the numbers of the row and the
// slot's place, modulo K: equal rows have equal codes at every prediction, and rows that differ in a bit have independent
// ones. The codewords are those of Fixed. It cannot be said in ONNX, which knows no bits of numbers.
type Indices struct {
	Codewords int // K; 0: 64

	words
}

var _ Codes = Indices{}

var _ onnx.Kernel = hashOp{}

// Over is the sizes of cal's features in w slots (0: 64).
func (c Indices) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Init draws the codewords among the slots of cal.
func (Indices) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	return Fixed{}.Init(w, cal, s, rng)
}

// Assign describes the hashes of the rows of z (B×M).
func (Indices) Assign(b *graph.Builder, z *gorgonia.Node, _ Sizes) Assignment {
	return Assignment{Codes: b.Apply(op.New(hashOp{}), z, b.Weight("codebook/codewords"))}
}

func (c Indices) Twin() Codes { return c }

func (Indices) featureless() {}

// featuresRead is a [*SettingError] where c, or what they build upon, tell nothing of features: codes that compare slots
// with their codewords would make the control read features.
func featuresRead(c Codes) error {
	if upon, ok := c.(interface{ of() Codes }); ok {
		return featuresRead(upon.of())
	}
	if _, ok := c.(interface{ featureless() }); ok {
		return &SettingError{"random indices tell nothing of features; codes that compare slots with codewords cannot build upon them"}
	}
	return nil
}

// hashOp hashes features (B×M) to codes among codewords (K×d).
type hashOp struct{}

func (hashOp) Form() string { return "B M, K d -> int B M/d" }

func (o hashOp) Run(out op.Value, in []op.Value) {
	op.Dispatch(o, out, in, hashed[float32], hashed[float64])
}

func hashed[F op.Float](_ hashOp, v op.Args[F]) {
	codes, z, m := v.OutInts(), v.In(0), v.Columns(0)
	w, k := m/v.Columns(1), uint64(len(v.In(1))/v.Columns(1))
	for row := range len(z) / m {
		var h uint64
		for _, x := range z[row*m:][:m] {
			h = mix(h ^ math.Float64bits(float64(x)+0)) // −0 as 0
		}
		for i := range w {
			codes[row*w+i] = int32(mix(h+uint64(i)) % k)
		}
	}
}

// ONNX is an error.
func (hashOp) ONNX(*onnx.Network, []onnx.Operand) (onnx.Value, error) {
	return "", errors.New("random indices (codebook.kind=indices) are hashes of features, and a network cannot compute them")
}

// mix is a step of SplitMix64 (Steele, Lea and Flood 2014).
func mix(h uint64) uint64 {
	h += 0x9e3779b97f4a7c15
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}
