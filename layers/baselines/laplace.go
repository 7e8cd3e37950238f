package baselines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Laplace is the last-layer Laplace approximation (Daxberger et al. 2021): the classifier's last
// layer has a Gaussian posterior about the weights it has, and a row's logits f the variances v that
// follow,
//
//	posterior = softmax(f_c / √(1 + π v_c/8)) ,  v_c = φᵀ Σ_cc φ ,  Σ = (A ⊗ B + δI)⁻¹
//
// φ are the row's standardized features and a 1, and A ⊗ B is the Kronecker form of the generalized
// Gauss–Newton matrix Σ_n φφᵀ ⊗ (diag p − ppᵀ) of the calibration rows: A = Σ_n φφᵀ/N and
// B = Σ_n (diag p − ppᵀ) (Ritter, Botev and Barber 2018). It needs neither the layer's weights nor
// labels, only features and logits. The link is the multiclass probit of the published library;
// δ, the precision of the prior, is as there the one of a grid with the least loss of rows held
// out, here a stratified fifth.
//
// The published library takes its rows from the training set, which nobody has here, features as
// they are, and a block of its own for the bias. The link changes with a number added to all of a
// row's logits, so f is their distance from the row's mean.
type Laplace struct {
	Precisions []float64 // that δ is chosen among; nil: 21 from 1e-4 to 1e4

	kept // norm/mean, norm/sd (M), laplace/axes (M+1×M+1), /classes (C×C), /variances (M+1×C)
}

var _ layers.Stateful = (*Laplace)(nil)

// Fit learns from cal, which needs features; there is nothing to stop early.
func (m *Laplace) Fit(ctx context.Context, cal, _ *data.Set, rng *rand.Rand) error {
	return wrap("the last layer's Laplace approximation", m.fitRows(ctx, cal, rng))
}

func (m *Laplace) fitRows(ctx context.Context, cal *data.Set, rng *rand.Rand) error {
	sizes, err := sizesOf(cal, withFeatures)
	if err != nil {
		return err
	}
	precisions := m.Precisions
	if precisions == nil {
		precisions = make([]float64, 21)
		floats.LogSpan(precisions, 1e-4, 1e4)
	}
	if len(precisions) == 0 || !(floats.Min(precisions) > 0) {
		return &layers.SettingError{Reason: fmt.Sprintf("precisions of %v make no prior; choose positive numbers", precisions)}
	}
	var c *kronecker
	best, err := strongest(cal, precisions, rng, func(fitted *data.Set, i int) (_ layers.Calibrator, err error) {
		if i == 0 {
			if c, err = newKronecker(ctx, fitted, sizes); err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted at precision %g: %w", precisions[i], err)
		}
		optim.ReportProgress(ctx, "precisions of the prior", float64(i)/float64(len(precisions)))
		return &Laplace{kept: kept{sizes, c.weights(precisions[i])}}, nil
	})
	if err != nil {
		return err
	}
	if c, err = newKronecker(ctx, cal, sizes); err != nil {
		return err
	}
	m.kept = kept{sizes, c.weights(best)}
	return nil
}

// strongest is the strength whose fit to four fifths of the rows, stratified, loses least on the others;
// where the rows are too few for that, the largest.
func strongest(cal *data.Set, strengths []float64, rng *rand.Rand, fit func(fitted *data.Set, i int) (layers.Calibrator, error)) (float64, error) {
	best, least := slices.Max(strengths), math.Inf(1)
	parts := cal.Stratify([]float64{0.8, 0.2}, rng)
	if len(strengths) == 1 || len(parts[0]) == 0 || len(parts[1]) == 0 {
		return best, nil
	}
	fitted, held := cal.Rows(parts[0]), cal.Rows(parts[1])
	for i, strength := range strengths {
		of, err := fit(fitted, i)
		if err != nil {
			return 0, err
		}
		p, err := of.Predict(held)
		if err != nil {
			return 0, err
		}
		if loss := held.MeanNLL(p.LogProbs, math.Inf(-1)); loss < least {
			best, least = strength, loss
		}
	}
	return best, nil
}

// kronecker is A ⊗ B by its eigenvectors, A = U diag(a) Uᵀ and B = V diag(b) Vᵀ.
type kronecker struct {
	scale         *data.Standardizer
	axes, classes mat.Dense // U, V
	a, b          []float64
}

func newKronecker(ctx context.Context, rows *data.Set, s layers.Sizes) (*kronecker, error) {
	p, err := probabilitiesOf(rows, s)
	if err != nil {
		return nil, err
	}
	c := &kronecker{scale: data.FitWeighted(rows.Features, rows.Weights)}
	features := withOne(c.scale.Apply(rows.Features))
	outer := mat.NewSymDense(s.Classes, nil)
	for i, row := range rowsOf(p) {
		weight := rows.Weight(i)
		floats.Scale(math.Sqrt(weight), features.RawRowView(i))
		for k, v := range row {
			outer.SetSym(k, k, outer.At(k, k)+weight*v)
		}
		floats.Scale(math.Sqrt(weight), row)
	}
	products := gram(p, 1)
	for k := range s.Classes {
		for l := k; l < s.Classes; l++ {
			outer.SetSym(k, l, outer.At(k, l)-products.At(k, l))
		}
	}
	for _, of := range []struct {
		matrix  *mat.SymDense
		values  *[]float64
		vectors *mat.Dense
	}{{gram(features, 1/rows.Total()), &c.a, &c.axes}, {outer, &c.b, &c.classes}} {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("interrupted: %w", err)
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(of.matrix, true) {
			return nil, fmt.Errorf("the curvature of the last layer has no eigenvectors")
		}
		*of.values = eigen.Values(nil)
		eigen.VectorsTo(of.vectors)
	}
	return c, nil
}

// weights are what the variances are made of, under a precision of the prior: U, V ⊙ V, and
// 1/(a_j b_k + δ).
func (c *kronecker) weights(precision float64) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	m, k := len(c.scale.Mean), len(c.b)
	variances := mat.NewDense(m+1, k, nil)
	variances.Apply(func(i, j int, _ float64) float64 { return 1 / (max(c.a[i], 0)*max(c.b[j], 0) + precision) }, variances)
	var squares mat.Dense
	squares.MulElem(&c.classes, &c.classes)
	w.AddState("norm/mean", c.scale.Mean, m)
	w.AddState("norm/sd", c.scale.SD, m)
	w.AddState("laplace/axes", mat.DenseCopyOf(&c.axes).RawMatrix().Data, m+1, m+1)
	w.AddState("laplace/classes", squares.RawMatrix().Data, k, k)
	w.AddState("laplace/variances", variances.RawMatrix().Data, m+1, k)
	return w
}

// withOne adds a column of ones.
func withOne(x *mat.Dense) *mat.Dense {
	n, m := x.Dims()
	out := mat.NewDense(n, m+1, nil)
	for i, row := range rowsOf(out) {
		copy(row, x.RawRowView(i))
		row[m] = 1
	}
	return out
}

// Predict divides each logit by what its variance calls for.
func (m *Laplace) Predict(x *data.Set) (*data.Predictions, error) {
	l, err := m.rows(x)
	if err != nil {
		return nil, err
	}
	f := l // less the mean of each row, of the classes that can be
	for _, row := range rowsOf(f) {
		sum, classes := 0.0, 0
		for _, v := range row {
			if !data.Masked(v) {
				sum, classes = sum+v, classes+1
			}
		}
		floats.AddConst(-sum/float64(classes), row)
	}
	scale := data.Standardizer{Mean: m.w.Float64s("norm/mean"), SD: m.w.Float64s("norm/sd")}
	var turned, along, v mat.Dense
	turned.Mul(withOne(scale.Apply(x.Features)), m.matrix("laplace/axes"))
	turned.MulElem(&turned, &turned)
	along.Mul(&turned, m.matrix("laplace/variances"))
	v.Mul(&along, m.matrix("laplace/classes").T())
	f.Apply(func(i, k int, of float64) float64 { return of / math.Sqrt(1+math.Pi/8*v.At(i, k)) }, f)
	return data.NewPredictions(layers.LogSoftmax(f), x)
}

// ONNX does so in a network.
func (m *Laplace) ONNX(g *onnx.Network) (onnx.Outputs, error) {
	if m.w == nil {
		return onnx.Outputs{}, layers.ErrUnfitted
	}
	n, c := m.sizes.Features+1, m.sizes.Classes
	table := func(name string, axes ...int) onnx.Value { return onnx.Table(g, m.w.Float64s(name), axes...) }
	l := g.Logits(m.sizes.Classes)
	can := g.Unmasked(onnx.Table(g, ones(c), 1, c), 0)
	f := g.Sub(l, g.Div(g.Sum(g.Unmasked(l, 0), 1, 1), g.Sum(can, 1, 1)))
	z := g.Div(g.Sub(g.Features(n-1), table("norm/mean", n-1)), table("norm/sd", n-1))
	axes := m.matrix("laplace/axes") // of which the last row is the ones'
	turned := g.MatMul(z, onnx.Table(g, axes.RawMatrix().Data[:(n-1)*n], n-1, n))
	turned = g.Add(turned, onnx.Table(g, axes.RawRowView(n-1), n))
	along := g.MatMul(g.Mul(turned, turned), table("laplace/variances", n, c))
	squares := mat.DenseCopyOf(m.matrix("laplace/classes").T())
	v := g.MatMul(along, onnx.Table(g, squares.RawMatrix().Data, c, c))
	by := g.Node("Sqrt", []onnx.Value{g.Add(g.Mul(v, g.Scalar(math.Pi/8)), g.Scalar(1))})
	return onnx.Outputs{LogProbs: g.Div(f, by), Classes: c}, nil
}

// Restore sets what the variances are made of.
func (m *Laplace) Restore(s layers.State) error {
	of, err := readKept(s, func(of layers.Sizes) map[string]tensor.Shape {
		n, c := of.Features+1, of.Classes
		return map[string]tensor.Shape{
			"norm/mean": {n - 1}, "norm/sd": {n - 1}, "laplace/axes": {n, n}, "laplace/classes": {c, c}, "laplace/variances": {n, c},
		}
	})
	if err != nil {
		return err
	}
	for _, v := range s.Weights.Float64s("laplace/variances") {
		if !(v >= 0) {
			return fmt.Errorf("baselines: a variance of %v makes no posterior", v)
		}
	}
	m.kept = of
	return nil
}
