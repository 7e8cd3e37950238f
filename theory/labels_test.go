package theory_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/theory"

	"gonum.org/v1/gonum/floats"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// labels asks where a penalty leads when a fifth of the labels is drawn anew. v (K×C) is fitted with
//
//	loss = −mean log softmax(log p̂ + Σ_k n_k(V) v_k)_y + λ Σ |v|,  |v| = h softplus(v/h) + h softplus(−v/h),
//
// λ = 0.01, an L1 penalty that is smooth within h = 0.1 of 0. Without it a shift of all classes is free.
var labels = theory.NewStudy("labels", "label noise and an L1 penalty", theory.Question{
	Population: theory.Population{
		Design: theory.Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1},
		Disturb: func(t *theory.Truth, _ *rand.Rand) {
			for i, q := range t.Label {
				t.Label[i] = 0.8*q + 0.2/float64(t.Table.Classes)
			}
		},
	},
	Estimator: theory.Estimator{Map: shares{}},
	Statistics: []theory.Statistic{{
		Key: "limit", Quantity: "part of θ* that fits reach, mean", Target: 1, Within: 0.01, Theory: "1",
		Of: func(o *theory.Outcome) theory.Estimate {
			limit := o.Limits[0].Theta // of the one shift of the law
			return o.Mean(func(_ int, v []float64) float64 { return floats.Dot(v, limit) / floats.Dot(limit, limit) })
		},
	}},
})

type shares struct{}

func (shares) Init(s layers.Sizes, rng *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("shares/v", graph.Normals(s.Codewords*s.Classes, 0, 0.1, rng), s.Codewords, s.Classes)
	return w, nil
}

func (shares) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Plus(in.LogProbs, b.MatMul(in.Mass, b.Weight("shares/v"))))
}

func (m shares) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	loss, v := layers.NLL(b, m, in), b.Weight("shares/v")
	for _, sign := range []float64{1, -1} {
		part := b.Apply(op.Softplus(2), b.Apply(op.Scale(2, sign/0.1), v))
		loss = b.Plus(loss, b.Apply(op.Scale(0, 0.01*0.1), b.Apply(op.Sum(2), part)))
	}
	return loss
}

// A study of one's own: calibra has it by cli.Main(experiments.Study(labels)), as calibra theory labels.
func ExampleNewStudy() {
	r, err := labels.Run(context.Background(), theory.Settings{Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Rows[0].Quantity, r.Rows[0].Value)
	fmt.Println("outside their bands:", r.Failures())
	// Output:
	// null directions of the population Hessian 0
	// outside their bands: []
}
