package op

import "fmt"

// PlaneMean is the mean of each plane of images (N×C×H×W), an N×C matrix: global
// average pooling.
func PlaneMean() Op { return Op{PlaneMeanOp{}} }

// PlaneMeanOp is the op of [PlaneMean].
type PlaneMeanOp struct{}

func (PlaneMeanOp) Form() string                { return "N C H W -> N C" }
func (o PlaneMeanOp) Run(out Value, in []Value) { Dispatch(o, out, in, planeMeans, planeMeans) }

func planeMeans[F Float](_ PlaneMeanOp, v Args[F]) {
	mean, x := v.Out(), v.In(0)
	area := len(x) / len(mean)
	for i := range mean {
		mean[i] = sumOf(x[i*area:(i+1)*area]) / F(area)
	}
}

func (PlaneMeanOp) Grad(in Nodes, _, g *Node) (Nodes, error) {
	return Nodes{Op{PlaneSpreadOp{in[0].Shape()[2], in[0].Shape()[3]}}.Of(g)}, nil
}

// PlaneSpreadOp gives each place of a plane an equal part of g, the transpose of
// planeMean.
type PlaneSpreadOp struct{ H, W int }

func (o PlaneSpreadOp) Form() string              { return fmt.Sprintf("N C -> N C %d %d", o.H, o.W) }
func (o PlaneSpreadOp) Run(out Value, in []Value) { Dispatch(o, out, in, spreadPlanes, spreadPlanes) }

func spreadPlanes[F Float](_ PlaneSpreadOp, v Args[F]) {
	out, g := v.Out(), v.In(0)
	area := len(out) / len(g)
	for i, x := range g {
		fillWith(out[i*area:(i+1)*area], x/F(area))
	}
}
