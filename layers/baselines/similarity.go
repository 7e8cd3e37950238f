package baselines

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// similarityNet is the network that Local Nets and the published kernel baseline
// share:
//
//	a = Dropout(ReLU(W₁ z + b₁))
//	s = W_s a + b_s + α_s ⊙ pca(z) + β_s
//	u = W_c a + b_c + α_c ⊙ logits + β_c
//
// with the similarity s in as many dimensions as pca(z) has, 50 as a rule, and
// scores u that Local Nets alone has. α and β are single numbers for C ≤ 10 and
// vectors beyond. α starts at 1; β and all matrices start at N(0, 0.01²), the biases
// b at U(−1/√in, 1/√in) as torch.nn.Linear does.
type similarityNet struct {
	Sizes  layers.Sizes `json:"sizes"`
	Hidden int          `json:"hidden"` // width of a
	Scores bool         `json:"scores"` // whether there is u
}

// Widths and dropout rates of the published nets, by the number of classes: those of
// CIFAR-10 up to 10, those of CIFAR-100 beyond.
func defaultNet(hidden int, dropout *float64, classes int) (int, float64) {
	width, rate := 64, 0.3
	if classes > 10 {
		width, rate = 128, 0.5
	}
	if hidden != 0 {
		width = hidden
	}
	if dropout != nil {
		rate = *dropout
	}
	return width, rate
}

func (n similarityNet) weights(e *data.Embedding, rng *rand.Rand) *graph.Weights {
	w := graph.NewWeights(tensor.Float64)
	p, c := len(e.Variances), n.Sizes.Classes
	linear := func(name string, in, out int) {
		bound := 1 / math.Sqrt(float64(in))
		w.Add(name+"/weight", graph.Normals(in*out, 0, 0.01, rng), in, out)
		w.Add(name+"/bias", graph.Uniforms(out, bound, rng), out)
	}
	blend := func(name string, dims int) {
		if c <= 10 {
			dims = 1
		}
		w.Add(name+"/scale", ones(dims), dims)
		w.Add(name+"/shift", graph.Normals(dims, 0, 0.01, rng), dims)
	}
	linear("hidden", n.Sizes.Features, n.Hidden)
	linear("similarity", n.Hidden, p)
	blend("similarity", p)
	if n.Scores {
		linear("scores", n.Hidden, c)
		blend("scores", c)
	}
	addEmbedding(w, e)
	return w
}

// netTables are a set in the memory that the network's graphs read.
type netTables struct {
	features, pca, logits  *tensor.Dense // N×M, N×P, N×C
	labels, onehot, number *tensor.Dense // N, N×C, N
}

func (n similarityNet) tables(x *data.Set, w *graph.Weights) (*netTables, error) {
	if n.Scores {
		if _, err := logProbsOf(x, n.Sizes); err != nil {
			return nil, err
		}
	}
	z, err := embed(w, x)
	if err != nil {
		return nil, err
	}
	t := &netTables{
		features: graph.Matrix(tensor.Float32, x.Features), pca: graph.Matrix(tensor.Float32, z),
		number: graph.Labels(upTo(x.Len())),
	}
	if n.Scores {
		t.logits = graph.Matrix(tensor.Float32, finite(x.Logits))
	}
	if x.Labels != nil {
		t.labels, t.onehot = graph.Labels(x.Labels), onehot(tensor.Float32, x.Labels, n.Sizes.Classes)
	}
	return t, nil
}

// finite is logits with none further below its row's maximum than logFloor.
func finite(logits *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(logits)
	for _, row := range rowsOf(out) {
		least := floats.Max(row) + logFloor
		for k, v := range row {
			row[k] = max(v, least)
		}
	}
	return out
}

// hidden describes a before dropout (B×H).
func (similarityNet) hidden(b *graph.Builder, t *netTables) *gorgonia.Node {
	return b.Apply(op.ReLU(2), b.Linear("hidden", b.Take("features", t.features)))
}

// similarity describes s (B×P).
func (n similarityNet) similarity(b *graph.Builder, a *gorgonia.Node, t *netTables) *gorgonia.Node {
	return n.blend(b, "similarity", a, b.Take("pca", t.pca))
}

// scores describes u (B×C).
func (n similarityNet) scores(b *graph.Builder, a *gorgonia.Node, t *netTables) *gorgonia.Node {
	return n.blend(b, "scores", a, b.Take("logits", t.logits))
}

// blend describes W a + b + α ⊙ x + β.
func (n similarityNet) blend(b *graph.Builder, name string, a, x *gorgonia.Node) *gorgonia.Node {
	scale, shift := b.Weight(name+"/scale"), b.Weight(name+"/shift")
	if b.Err() != nil {
		return nil
	}
	if width := x.Shape()[1]; scale.Shape()[0] != width {
		scale, shift = b.Apply(op.Spread(width), scale), b.Apply(op.Spread(width), shift)
	}
	return b.AddRow(b.Plus(b.Linear(name, a), b.Apply(op.TimesRow(), x, scale)), shift)
}

// embed is s of each row of x, row by row, with the number of its columns.
func (n similarityNet) embed(x *data.Set, w *graph.Weights) ([]float32, int, error) {
	n.Scores = false
	t, err := n.tables(x, w)
	if err != nil {
		return nil, 0, err
	}
	_, p := w.Tensor("embedding/axes").Shape()[0], w.Tensor("embedding/axes").Shape()[1]
	s := make([]float32, 0, x.Len()*p)
	f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		return gorgonia.Nodes{n.similarity(b, n.hidden(b, t), t)}
	})
	err = f.Each(x.Len(), layers.EvaluationBatch, func(_ int, out []gorgonia.Value) error {
		s = append(s, out[0].(*tensor.Dense).Float32s()...)
		return nil
	})
	return s, p, err
}

// neighbourhood describes the kernel estimate P₁ = wY (B×C) of the similarities s
// (B×P) within the batch,
//
//	w_ij ∝ exp(−‖s_j − s_i‖² / (2σ² + 1e-6)) ,  w_ii = 0
//
// normalized and clamped as op.Shares does; onehot is Y (B×C) and rows the B row
// numbers.
func neighbourhood(b *graph.Builder, s, onehot, rows *gorgonia.Node, sigma float64) *gorgonia.Node {
	kernel := b.Apply(op.Gaussian(kernelConstant(sigma)), s, s)
	return b.MatMul(b.Apply(op.Shares(), b.Apply(op.OmitSelf(), kernel, rows, rows)), onehot)
}

// kernelConstant is c in exp(−c‖·‖²).
func kernelConstant(sigma float64) float64 { return 1 / (2*sigma*sigma + 1e-6) }

// publishedSigma is σ of the published nets.
const publishedSigma = 10

// kernelCrossEntropy describes −mean log P₁[y], P₁ clipped at 1e-8.
func kernelCrossEntropy(b *graph.Builder, p1, labels *gorgonia.Node) *gorgonia.Node {
	return b.NLL(b.Apply(op.FlooredLog(2, 1e-8), p1), labels)
}

// onehot is 1[y = k] of each row (N×C).
func onehot(dt tensor.Dtype, labels []int, c int) *tensor.Dense {
	y := make([]float64, len(labels)*c)
	for i, k := range labels {
		y[i*c+k] = 1
	}
	return graph.Tensor(dt, y, len(labels), c)
}

// upTo is 0…n−1.
func upTo(n int) []int {
	x := make([]int, n)
	for i := range x {
		x[i] = i
	}
	return x
}
