package layers

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"calibra/graph"
	"calibra/graph/op"
	"calibra/optim"

	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// golden decodes a section of testdata/reference.json, which the published implementation
// computed in float64.
func golden(t *testing.T, section string, into any) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	sections := map[string]json.RawMessage{}
	if err := json.Unmarshal(raw, &sections); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(sections[section], into); err != nil {
		t.Fatal(err)
	}
}

// exact is how closely float64 arithmetic in another order agrees: values of order
// 10 after some 1e4 roundings of 1e-16.
const exact = 1e-9

func near(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s has %d values, not %d", what, len(got), len(want))
		return
	}
	for i := range want {
		if d := math.Abs(got[i] - want[i]); !(d <= tolerance) {
			t.Errorf("%s[%d] = %.15g, the reference is %.15g", what, i, got[i], want[i])
			return
		}
	}
}

func flat[T any](rows [][]T) []T {
	var all []T
	for _, r := range rows {
		all = append(all, r...)
	}
	return all
}

type calibratorCase struct {
	Codewords, Classes, Slots int
	Probs                     [][]float64
	Indices                   [][]int32
	Labels                    []int
	Receiver                  [][]float64 `json:"receiver_A"`
	Sender                    [][]float64 `json:"sender_B"`
	Scale                     []float64   `json:"slot_scale"`
	Prior                     []float64   `json:"prior_logits"`
	Expect                    struct {
		Scores, Posterior [][]float64
		Alpha             [][][]float64
		Loss              float64
		GradReceiver      [][]float64 `json:"grad_receiver_A"`
		GradSender        [][]float64 `json:"grad_sender_B"`
		GradScale         []float64   `json:"grad_slot_scale"`
		GradPrior         []float64   `json:"grad_prior_logits"`
		Adam              struct {
			Losses   []float64
			Receiver [][]float64 `json:"receiver_A"`
			Sender   [][]float64 `json:"sender_B"`
		} `json:"adam_3_steps"`
	}
}

// problem is the case's map, weights, rows and labels.
func (c *calibratorCase) problem() (m Bilinear, w *graph.Weights, view *Rows, labels *tensor.Dense) {
	w = graph.NewWeights(tensor.Float64)
	w.Add("bilinear/receiver", flat(c.Receiver), c.Codewords, c.Classes)
	w.Add("bilinear/sender", flat(c.Sender), c.Codewords, c.Classes)
	if c.Prior != nil {
		w.Add("bilinear/prior", c.Prior, c.Classes)
	} else {
		m.Prior = UniformPrior{}
		m.Prior.Init(w, "bilinear", Sizes{Classes: c.Classes}, nil)
	}
	if c.Scale != nil {
		m.Scale = LearnedScale{}
		w.Add("bilinear/scale", c.Scale, c.Slots)
	}
	logp := flat(c.Probs)
	for i, p := range logp {
		logp[i] = math.Log(p)
	}
	sizes := Sizes{Classes: c.Classes, Slots: c.Slots, Codewords: c.Codewords}
	codes := flat(c.Indices)
	view = &Rows{
		n:        len(c.Probs),
		logProbs: graph.Tensor(tensor.Float64, logp, len(c.Probs), c.Classes),
		codes:    graph.Codes(codes, c.Slots),
		sizes:    sizes,
		mass:     codewordMass(tensor.Float64, codes, nil, sizes),
	}
	return m, w, view, graph.Labels(c.Labels)
}

func TestBilinearAgainstReference(t *testing.T) {
	var cases []calibratorCase
	golden(t, "calibrator", &cases)
	for _, c := range cases {
		m, w, view, labels := c.problem()
		f := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
			in := view.Batch(b)
			alpha := b.Apply(op.Softplus(2), m.Form(b, in))
			return gorgonia.Nodes{m.scores(b, in), b.Apply(op.Exp(2), m.LogProbs(b, in)), alpha}
		})
		rows := graph.Rows(0, view.Len())
		out, err := f.Of(rows)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "scores", graph.Float64s(out[0]), flat(c.Expect.Scores), exact)
		near(t, "posterior", graph.Float64s(out[1]), flat(c.Expect.Posterior), exact)
		alpha := graph.Float64s(out[2])
		for i := range alpha {
			alpha[i] += op.AlphaFloor
		}
		near(t, "alpha", alpha, flat(flat(c.Expect.Alpha)), exact)

		o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return meanNLL(b, m.LogProbs(b, view.Batch(b)), target{table: labels})
		})
		loss, grads, err := o.Gradient(rows)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "loss", []float64{loss}, []float64{c.Expect.Loss}, exact)
		want := map[string][]float64{
			"bilinear/receiver": flat(c.Expect.GradReceiver), "bilinear/sender": flat(c.Expect.GradSender),
			"bilinear/scale": c.Expect.GradScale, "bilinear/prior": c.Expect.GradPrior,
		}
		for i, name := range w.Learned() {
			near(t, "∂loss/∂"+name, grads[i].Float64s(), want[name], exact)
		}
	}
}

// TestAdamAgainstReference takes three full-batch steps with learning rate 1e-3 and
// coupled weight decay 1e-3. Adam divides by √v, which lifts rounding errors of
// small gradients: 1e-8.
func TestAdamAgainstReference(t *testing.T) {
	var cases []calibratorCase
	golden(t, "calibrator", &cases)
	for _, c := range cases {
		m, w, view, labels := c.problem()
		o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return meanNLL(b, m.LogProbs(b, view.Batch(b)), target{table: labels})
		})
		var losses []float64
		settings := optim.Settings{Rule: optim.Adam{WeightDecay: 1e-3}, Batch: view.Len(), Epochs: 3,
			Observe: func(e optim.Epoch) { losses = append(losses, e.Loss) }}
		if _, err := optim.Minimize(t.Context(), optim.Problem{Loss: o, Rows: view.Len()}, settings, newRand(1)); err != nil {
			t.Fatal(err)
		}
		near(t, "losses", losses, c.Expect.Adam.Losses, 1e-8)
		near(t, "receiver after 3 steps", w.Float64s("bilinear/receiver"), flat(c.Expect.Adam.Receiver), 1e-8)
		near(t, "sender after 3 steps", w.Float64s("bilinear/sender"), flat(c.Expect.Adam.Sender), 1e-8)
	}
}

func TestCodebookAgainstReference(t *testing.T) {
	var cases []struct {
		Batch, Slots, Dim, Codewords int
		Decay                        float64
		Init                         [][]float64 `json:"codebook_init"`
		Steps                        []struct {
			Z         [][][]float64
			Indices   [][]int32
			Quantized [][][]float64 `json:"quantized_before_update"`
			Codebook  [][]float64   `json:"codebook_after"`
			Counts    []float64     `json:"cluster_size_after"`
			Sums      [][]float64   `json:"embed_sum_after"`
		}
	}
	golden(t, "quantizer", &cases)
	for _, c := range cases {
		book := Codebook{Codewords: c.Codewords, Decay: c.Decay, Start: ZeroStart{}}
		w := graph.NewWeights(tensor.Float64)
		book.add(w, flat(c.Init), c.Dim)
		z := tensor.New(tensor.Of(tensor.Float64), tensor.WithShape(c.Batch, c.Slots*c.Dim))
		var codes, quantized *gorgonia.Node
		b := graph.NewBuilder(w, c.Batch)
		features := b.Take("features", z)
		sizes := Sizes{Slots: c.Slots, Codewords: c.Codewords}
		assigned := book.Assign(b, features, sizes)
		codes, quantized = assigned.Codes, assigned.Quantized(b, sizes)
		book.Update(b, features, assigned, sizes)
		copy(b.RowNumbers(), graph.Rows(0, c.Batch))
		p, err := b.Compile(codes, quantized)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.Steps {
			copy(z.Float64s(), flat(flat(s.Z)))
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			for i, k := range flat(s.Indices) {
				if got := p.Output(0).(*tensor.Dense).Int32s()[i]; got != k {
					t.Fatalf("slot %d is assigned to codeword %d, the reference to %d", i, got, k)
				}
			}
			near(t, "quantized", graph.Float64s(p.Output(1)), flat(flat(s.Quantized)), exact)
			if err := p.Commit(); err != nil {
				t.Fatal(err)
			}
			near(t, "counts", w.Float64s("codebook/counts"), s.Counts, exact)
			near(t, "sums", w.Float64s("codebook/sums"), flat(s.Sums), exact)
			near(t, "codewords", w.Float64s("codebook/codewords"), flat(s.Codebook), exact)
		}
	}
}
