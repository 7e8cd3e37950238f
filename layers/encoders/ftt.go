package encoders

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/op"

	"gorgonia.org/gorgonia"
)

// FTTransformer is the feature tokenizer and transformer of Gorishniy et al. (2021,
// section 3.3). Each column becomes a token of width d, a number x_j as
// x_j w_j + b_j and a category as a row of its table plus b_j, behind a token [CLS]
// that is learned. Blocks of
//
//	t ← t + Attention(LayerNorm(t))     without the norm in the first block
//	t ← t + W₂ Dropout(ReGLU(W₁ LayerNorm(t)))
//
// follow, the last one on [CLS] alone. features = ReLU(LayerNorm([CLS])), and a
// linear layer makes the logits. Attention has several heads, softmax(QKᵀ/√(d/h)) V,
// with dropout on its weights. The weights are named as in the Python package
// rtdl_revisiting_models.
type FTTransformer struct {
	Token            int        `json:"token"`             // d, and M; 0: 64
	Blocks           int        `json:"blocks"`            // 0: 2
	Heads            int        `json:"heads"`             // of equal width; 0: 8
	Hidden           int        `json:"hidden"`            // width of ReGLU's output; 0: 4/3 of d
	AttentionDropout float64    `json:"attention_dropout"` // 0: 0.1, below 0 none
	HiddenDropout    float64    `json:"hidden_dropout"`    // 0: 0.1, below 0 none
	Categorical      []Category `json:"categorical"`       // columns that are no numbers
}

var _ Network = (*FTTransformer)(nil)

// Category is a categorical column: its values are the whole numbers 0…Values−1.
type Category struct {
	Column int `json:"column"` // from 0
	Values int `json:"values"`
}

func (*FTTransformer) Name() string { return "ftt" }

func (f *FTTransformer) sizes() (d, blocks, heads, hidden int) {
	d = cmp.Or(f.Token, 64)
	return d, cmp.Or(f.Blocks, 2), cmp.Or(f.Heads, 8), cmp.Or(f.Hidden, 4*d/3)
}

func (f *FTTransformer) rates() (attention, hidden float64) {
	return orRate(f.AttentionDropout, 0.1), orRate(f.HiddenDropout, 0.1)
}

// Width is the width of a token.
func (f *FTTransformer) Width() int { return cmp.Or(f.Token, 64) }

func (f *FTTransformer) categories() []Category { return f.Categorical }

// numbers lists the columns that are no categories.
func (f *FTTransformer) numbers(columns int) []int {
	var index []int
	for j := range columns {
		if f.tableOf(j) < 0 {
			index = append(index, j)
		}
	}
	return index
}

// tableOf is which category column j is, −1 if it is a number.
func (f *FTTransformer) tableOf(j int) int {
	for i, c := range f.Categorical {
		if c.Column == j {
			return i
		}
	}
	return -1
}

const blockOf = "backbone.blocks.%d."

// check refuses sizes, rates and columns that make no network of rows of that shape.
func (f *FTTransformer) check(shape []int) error {
	d, blocks, heads, hidden := f.sizes()
	switch {
	case len(shape) != 1:
		return data.Inputf("", "the FT-Transformer takes tables, not images; choose resnet")
	case d < 1 || blocks < 1 || heads < 1 || hidden < 1 || d%heads != 0:
		return data.Inputf("", "an FT-Transformer of %d blocks with tokens of width %d in %d heads and %d hidden values is none; the heads must divide the width", blocks, d, heads, hidden)
	}
	if err := checkRates(f.rates()); err != nil {
		return err
	}
	for i, c := range f.Categorical {
		if c.Column < 0 || c.Column >= shape[0] || c.Values < 1 || f.tableOf(c.Column) != i {
			return data.Inputf("", "column %d of %d values cannot be a category of a table of %d columns, or is one twice", c.Column+1, c.Values, shape[0])
		}
	}
	return checkSizes(blocks, d, heads, hidden)
}

// Init begins as the reference does: tokens U(−1/√d, 1/√d), the projections to Q, K
// and V by Glorot and Bengio with a gain of 1/√2, all else as PyTorch.
func (f *FTTransformer) Init(shape []int, classes int, rng *rand.Rand) (*graph.Weights, error) {
	if err := f.check(shape); err != nil {
		return nil, err
	}
	d, blocks, _, hidden := f.sizes()
	w := newInitial(rng)
	bound := 1 / math.Sqrt(float64(d))
	w.uniform("cls_embedding.weight", bound, d)
	if n := len(f.numbers(shape[0])); n > 0 {
		w.uniform("cont_embeddings.weight", bound, n, d)
		w.uniform("cont_embeddings.bias", bound, n, d)
	}
	for i, c := range f.Categorical {
		w.uniform(fmt.Sprintf("cat_embeddings.embeddings.%d.weight", i), bound, c.Values, d)
	}
	if n := len(f.Categorical); n > 0 {
		w.uniform("cat_embeddings.bias", bound, n, d)
	}
	for l := range blocks {
		name := fmt.Sprintf(blockOf, l)
		if l > 0 {
			w.norm(name+"attention_normalization", d)
		}
		for _, part := range []string{"W_q", "W_k", "W_v"} {
			w.uniform(name+"attention."+part+".weight", math.Sqrt(0.5*6/float64(2*d)), d, d)
			w.constant(name+"attention."+part+".bias", 0, d)
		}
		w.linear(name+"attention.W_out", d, d)
		w.norm(name+"ffn_normalization", d)
		w.linear(name+"ffn.linear1", d, 2*hidden)
		w.linear(name+"ffn.linear2", hidden, d)
	}
	w.norm("backbone.output.normalization", d)
	w.linear("backbone.output.linear", d, classes)
	return w.done()
}

func (f *FTTransformer) Forward(p *Pass, x *gorgonia.Node) (features, logits *gorgonia.Node) {
	d, blocks, _, _ := f.sizes()
	if p.Err() != nil {
		return nil, nil
	}
	b := x.Shape()[0]
	t := f.tokens(p, x)                            // B×(S·d)
	rows := p.Apply(op.Reshape(2, -1, d), t)       // (B·S)×d
	cls := p.Apply(op.Columns(data.UpTo(d)...), t) // B×d
	for l := range blocks {
		name := fmt.Sprintf(blockOf, l)
		query, keys := rows, rows
		if l > 0 {
			keys = p.LayerNorm(name+"attention_normalization", rows)
			query = keys
		}
		if l == blocks-1 { // of the last block only [CLS] is read
			rows = cls
			query = p.first(b, d, keys)
		}
		rows = p.Plus(rows, f.attention(p, name+"attention.", b, query, keys))
		rows = p.Plus(rows, f.feedForward(p, name, rows))
		cls = p.first(b, d, rows)
	}
	features = p.ReLU(p.LayerNorm("backbone.output.normalization", rows))
	return features, p.Linear("backbone.output.linear", features)
}

// first is the first token (B×d) of each of b sequences.
func (p *Pass) first(b, d int, rows *gorgonia.Node) *gorgonia.Node {
	if p.Err() != nil || rows.Shape()[0] == b {
		return rows
	}
	return p.Apply(op.Columns(data.UpTo(d)...), p.Apply(op.Reshape(2, b, rows.Shape()[0]/b*d), rows))
}

// tokens is [CLS], the numbers and the categories of each row, side by side.
func (f *FTTransformer) tokens(p *Pass, x *gorgonia.Node) *gorgonia.Node {
	b, columns := x.Shape()[0], x.Shape()[1]
	t := p.Apply(op.RepeatRow(b), p.Weight("cls_embedding.weight"))
	if index := f.numbers(columns); len(index) > 0 {
		numbers := x
		if len(index) < columns {
			numbers = p.Apply(op.Columns(index...), x)
		}
		numbers = p.Apply(op.Tokens(), numbers, p.Weight("cont_embeddings.weight"))
		t = p.Apply(op.JoinColumns(), t, p.AddRow(numbers, p.flat("cont_embeddings.bias")))
	}
	if len(f.Categorical) == 0 {
		return t
	}
	var all *gorgonia.Node
	for i, c := range f.Categorical {
		table := p.Weight(fmt.Sprintf("cat_embeddings.embeddings.%d.weight", i))
		token := p.Apply(op.Gather(), table, p.Apply(op.Category(c.Column), x))
		if all == nil {
			all = token
		} else {
			all = p.Apply(op.JoinColumns(), all, token)
		}
	}
	return p.Apply(op.JoinColumns(), t, p.AddRow(all, p.flat("cat_embeddings.bias")))
}

// flat is a matrix weight as a vector, row after row.
func (p *Pass) flat(name string) *gorgonia.Node {
	return p.Apply(op.Reshape(2, -1), p.Weight(name))
}

func (f *FTTransformer) attention(p *Pass, name string, b int, query, keys *gorgonia.Node) *gorgonia.Node {
	d, _, heads, _ := f.sizes()
	rate, _ := f.rates()
	scores := p.Apply(op.HeadScores(heads, b), p.Linear(name+"W_q", query), p.Linear(name+"W_k", keys))
	weights := p.Apply(op.Softmax(), p.Apply(op.Scale(2, 1/math.Sqrt(float64(d/heads))), scores))
	weights = p.Dropout(rate, weights)
	return p.Linear(name+"W_out", p.Apply(op.HeadMix(heads, b), weights, p.Linear(name+"W_v", keys)))
}

func (f *FTTransformer) feedForward(p *Pass, name string, rows *gorgonia.Node) *gorgonia.Node {
	_, rate := f.rates()
	hidden := p.Apply(op.ReGLU(), p.Linear(name+"ffn.linear1", p.LayerNorm(name+"ffn_normalization", rows)))
	return p.Linear(name+"ffn.linear2", p.Dropout(rate, hidden))
}
