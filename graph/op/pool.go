package op

import (
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// PlaneMean is the mean of each plane of images (N×C×H×W), an N×C matrix: global
// average pooling.
func PlaneMean() Op { return Op{planeMean{}} }

type planeMean struct{}

func (planeMean) signature() []kind { return []kind{images, matrix} }

func (planeMean) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], in[0][1]}, nil
}

func (planeMean) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		planeMeans(values[float32](out), values[float32](in[0]))
	} else {
		planeMeans(values[float64](out), values[float64](in[0]))
	}
}

func planeMeans[F float](mean, x []F) {
	area := len(x) / len(mean)
	for i := range mean {
		mean[i] = sumOf(x[i*area:(i+1)*area]) / F(area)
	}
}

func (planeMean) wrt() []bool { return []bool{true} }

func (planeMean) grad(in gorgonia.Nodes, _, g *gorgonia.Node) (gorgonia.Nodes, error) {
	var c grads
	s := in[0].Shape()
	return gorgonia.Nodes{c.apply(Op{planeSpread{s[2], s[3]}}, g)}, c.err
}

// planeSpread gives each place of a plane an equal part of g, the transpose of
// planeMean.
type planeSpread struct{ H, W int }

func (planeSpread) signature() []kind { return []kind{matrix, images} }

func (o planeSpread) shape(in []tensor.Shape) (tensor.Shape, error) {
	return tensor.Shape{in[0][0], in[0][1], o.H, o.W}, nil
}

func (o planeSpread) run(out gorgonia.Value, in []gorgonia.Value) {
	if isFloat32(out) {
		spreadPlanes(values[float32](out), values[float32](in[0]))
	} else {
		spreadPlanes(values[float64](out), values[float64](in[0]))
	}
}

func spreadPlanes[F float](out, g []F) {
	area := len(out) / len(g)
	for i, v := range g {
		fillWith(out[i*area:(i+1)*area], v/F(area))
	}
}
