package theory

import (
	"context"
	"math"
	"slices"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// shiftedSlot is the calibrator with a gather that is off by one: slot i reads the
// code of slot i + 1, and the last slot its own.
type shiftedSlot struct {
	layers.Bilinear
	mass *tensor.Dense // rows × K, counted from the shifted codes
}

func (m shiftedSlot) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	rows := 1
	if b.Err() == nil {
		rows = in.Mass.Shape()[0]
	}
	if rows == m.mass.Shape()[0] {
		in.Mass = b.Table("mutant/mass", m.mass)
	}
	return m.Bilinear.LogProbs(b, in)
}

func newShiftedSlot(t *Table) layers.Map {
	mass := make([]float64, t.Rows()*t.Codewords)
	for row := range t.Rows() {
		codes := t.Cells[row/t.Atoms].Codes
		for slot := range codes {
			mass[row*t.Codewords+codes[min(slot+1, len(codes)-1)]]++
		}
	}
	return shiftedSlot{
		layers.Bilinear{Prior: layers.UniformPrior{}},
		tensor.New(tensor.WithShape(t.Rows(), t.Codewords), tensor.WithBacking(mass)),
	}
}

// identityInBeta is the calibrator with the identity added to α everywhere, so that
// it enters log B too: softplus(A') = softplus(A) + I for A' = log(e^{softplus(A)+I} − 1).
type identityInBeta struct{ layers.Bilinear }

func (m identityInBeta) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	form := m.Form(b, in)
	C := 3
	eye := make([]float64, C*C)
	for j := range C {
		eye[j*C+j] = 1
	}
	raised := b.AddRow(b.Apply(op.Softplus(2), form), b.Table("mutant/identity", tensor.New(tensor.WithShape(C*C), tensor.WithBacking(eye))))
	shifted := b.Call(func() (*gorgonia.Node, error) { return gorgonia.Expm1(raised) })
	shifted = b.Call(func() (*gorgonia.Node, error) { return gorgonia.Log(shifted) })
	return b.LogSoftmax(b.Apply(op.DirichletScores(0), shifted, in.LogProbs))
}

// differenced takes Newton steps with the Hessian of its own graph, as the right
// loss's would lead a wrong one astray.
type differenced struct{ *layered }

func (m differenced) precondition(*mat.SymDense) {}

func (m differenced) fork() (Model, error) {
	other, err := m.layered.fork()
	if err != nil {
		return nil, err
	}
	return differenced{other.(*layered)}, nil
}

// A study is worth what it catches: each wrong loss must fail it, and the right one
// must not.
func TestRateCatchesWrongLosses(t *testing.T) {
	d := Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 6, Decades: 1, Identity: 1}
	truth, err := NewTruth(d, newRand(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	right, err := trained(truth.Table, d.Identity)
	if err != nil {
		t.Fatal(err)
	}
	mustFail := []string{"‖∇L(θ*)‖ of the population", "observed/sandwich RMSE at N = 1e+06, mean of blocks", "β_N, mean of blocks"}
	for _, test := range []struct {
		name  string
		layer layers.Map // nil: the calibrator itself
		fails []string
	}{
		{"the calibrator", nil, nil},
		{"gather from a shifted slot", newShiftedSlot(truth.Table), mustFail},
		{"log B with the identity added", identityInBeta{layers.Bilinear{Prior: layers.UniformPrior{}}}, mustFail},
	} {
		// The prediction is the right loss's: at the truth a wrong one may not even have
		// a positive definite Hessian.
		e, err := newExperiment(context.Background(), truth, right, []int{0}, []int{1e5, 1e6}, 3, 1)
		if err != nil {
			t.Fatal(err)
		}
		if test.layer != nil {
			wrong, err := newLayered(test.layer, truth.Table)
			if err != nil {
				t.Fatal(err)
			}
			e.model = differenced{wrong}
		}
		var r Report
		if err := e.report(context.Background(), &r); err != nil {
			t.Fatalf("%s: %v", test.name, err)
		}
		failures := r.Failures()
		for _, quantity := range test.fails {
			if !slices.Contains(failures, quantity) {
				t.Errorf("%s: %q stays within its band", test.name, quantity)
			}
		}
		// Three replicates leave the other bands of the right loss to chance.
		if test.fails == nil && slices.Contains(failures, mustFail[0]) {
			t.Errorf("%s fails %v", test.name, failures)
		}
	}
}

// Proposition 2's comparison with gonum's Dirichlet density catches the identity in log B.
func TestPropositionsCatchTheIdentityInBeta(t *testing.T) {
	truth, err := NewTruth(Fast(), newRand(1, 1))
	if err != nil {
		t.Fatal(err)
	}
	model, err := newLayered(identityInBeta{layers.Bilinear{Prior: layers.UniformPrior{}}}, truth.Table)
	if err != nil {
		t.Fatal(err)
	}
	logq := make([]float64, len(truth.Label))
	if err := model.LogProbs(logq, truth.Theta); err != nil {
		t.Fatal(err)
	}
	var gap float64
	for i, l := range logq {
		gap = math.Max(gap, math.Abs(math.Exp(l)-truth.Label[i]))
	}
	if gap < 1e-3 {
		t.Errorf("the posterior moves by %g only", gap)
	}
}
