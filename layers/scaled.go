package layers

import (
	"cmp"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Scaled are codes of standardized features: each column minus its mean on the calibration
// rows, over its standard deviation. The standardized features are quantized.
//
// It adds the state codebook/mean and codebook/scale (M each), the mean and one over the
// standard deviation.
type Scaled struct{ Of Codes } // nil: Codebook{}

var _ Codes = Scaled{}

func (c Scaled) of() Codes { return cmp.Or[Codes](c.Of, Codebook{}) }

// Over is the sizes of Of.
func (c Scaled) Over(cal *data.Set, slots int) (Sizes, error) { return c.of().Over(cal, slots) }

// Init is the Init of Of on standardized features.
func (c Scaled) Init(w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	scale := data.FitStandardizer(cal.Features)
	standard := *cal
	standard.Features = scale.Apply(cal.Features)
	over := make([]float64, len(scale.SD))
	for j, sd := range scale.SD {
		if over[j] = 1 / sd; !(over[j] > 0) {
			return &SettingError{"the features are too large to be standardized; scale them down, those of the fit and of all other rows alike"}
		}
	}
	w.AddState("codebook/mean", scale.Mean, len(over))
	w.AddState("codebook/scale", over, len(over))
	return c.of().Init(w, &standard, s, rng)
}

// State is the state of Of, with mean and scale.
func (c Scaled) State(s Sizes) map[string]tensor.Shape {
	shapes := c.of().State(s)
	shapes["codebook/mean"], shapes["codebook/scale"] = tensor.Shape{s.Features}, tensor.Shape{s.Features}
	return shapes
}

func (Scaled) byColumn() {}

// standard describes the standardized features.
func (Scaled) standard(b *graph.Builder, z *gorgonia.Node) *gorgonia.Node {
	centred := b.AddRow(z, b.Apply(op.Scale(1, -1), b.Weight("codebook/mean")))
	return b.Apply(op.TimesRow(), centred, b.Weight("codebook/scale"))
}

// Assign describes the codes of the standardized features.
func (c Scaled) Assign(b *graph.Builder, z *gorgonia.Node, s Sizes) Assignment {
	return c.of().Assign(b, c.standard(b, z), s)
}

// Update is the Update of Of with the standardized features.
func (c Scaled) Update(b *graph.Builder, z *gorgonia.Node, a Assignment, s Sizes) {
	c.of().Update(b, c.standard(b, z), a, s)
}

// Reach is the Reach of Of for the standardized features.
func (c Scaled) Reach(x mat.Matrix, w *graph.Weights, s Sizes) error {
	mean, scale := w.Float64s("codebook/mean"), w.Float64s("codebook/scale")
	most := once(x, "reach", func() (most float64) {
		n, _ := x.Dims()
		buffer := make([]float64, s.Features)
		for i := range n {
			for j, v := range data.Row(x, i, buffer) {
				if z := math.Abs(v-mean[j]) * scale[j]; !(math.Abs(v) <= most && z <= most) {
					most = max(most, math.Abs(v), z)
				}
			}
		}
		return most
	}, mean, scale)
	return c.of().Reach(mat.NewDense(1, 1, []float64{most}), w, s)
}

// Twin is scaled alike.
func (c Scaled) Twin() Codes { return Scaled{c.of().Twin()} }
