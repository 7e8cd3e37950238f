// Command outside does with Calibra what a researcher does. Without arguments it uses the
// library: it checks the gradient of an op of its own, fits a Map of its own and Local Nets on
// the embedded letters with an optimizer of its own, saves and loads the model, and studies how
// fast the Map converges. With arguments it is calibra, which knows the parts of this module as
// its own.
//
//	go run .
//	go run . fit --in features.npz --method rank --set codebook.kind=kmeans --out runs/rank
//	sh commands.sh
//
// Each part has a file: a Map (rank.go), an op and a Map that uses it (elu.go, squash.go), a rule
// (lion.go), codes (farthest.go), a baseline (bias.go), a metric (spherical.go), a raw source
// (svmlight.go).
package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/experiments"
	"calibra/experiments/cli"
	"calibra/graph"
	"calibra/graph/graphtest"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/layers/baselines"
	"calibra/optim"
	"calibra/theory"

	"gorgonia.org/tensor"
)

// parts are what calibra is to know.
func parts() []experiments.Part {
	return []experiments.Part{rank, squash, bias, lion, spherical, svmlight}
}

func main() {
	if len(os.Args) > 1 {
		os.Exit(cli.Main(parts()...))
	}
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "outside:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if err := graphtest.Op(ELU(op.Vector), graph.Tensor(tensor.Float64, []float64{-2, -0.5, 0.3, 2}, 4)); err != nil {
		return err
	}
	fmt.Println("ELU: the gradient agrees with central differences")
	if err := layers.CheckMap(Rank{R: 2, Prior: Bounded{}}, rand.New(rand.NewPCG(1, 0))); err != nil {
		return err
	}
	fmt.Println("the Map: so does that of its loss")

	letters, err := letters(ctx)
	if err != nil {
		return err
	}
	short := func(rate float64) optim.Settings { return optim.Settings{Rule: warmed(rate), Epochs: 8} }
	vq := layers.Train(&layers.Divide{Slots: 16, Codebook: layers.Codebook{Codewords: 32}, Optim: short(1e-3)}, Rank{R: 2, Prior: Bounded{}}, short(1e-4))
	nets := &baselines.LocalNets{Optim: short(1e-4)}
	for _, m := range []struct {
		name string
		layers.Stateful
	}{{"VQ of rank 2", vq}, {"Local Nets", nets}} {
		if err := m.Fit(ctx, letters.Cal, letters.Val, rand.New(rand.NewPCG(1, 0))); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		loss, err := nll(m, letters.Test)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		fmt.Printf("%-12s NLL %.3f on the test rows\n", m.name, loss)
	}
	if err := reload(vq, letters.Test); err != nil {
		return err
	}
	return converge(ctx)
}

// letters are features and logits of the embedded letters, split as the paper does.
func letters(ctx context.Context) (*data.Source, error) {
	problem, err := experiments.EncodeTable(ctx, data.Letter(), experiments.MLPs[0], 1, func(optim.Epoch) {})
	if err != nil {
		return nil, err
	}
	return problem.Source.Split(data.PaperText, rand.New(rand.NewPCG(1, 0)))
}

// nll is the mean negative log-likelihood of the labels of x, in nats.
func nll(c layers.Calibrator, x *data.Set) (float64, error) {
	p, err := c.Predict(x)
	if err != nil {
		return 0, err
	}
	var sum float64
	for i, y := range x.Labels {
		sum -= p.LogProbs.At(i, y)
	}
	return sum / float64(x.Len()), nil
}

// reload saves the model, reads it back and compares what the two predict.
func reload(fitted *layers.Trained, x *data.Set) error {
	dir, err := os.MkdirTemp("", "outside")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	if err := layers.WriteModel(path, "mine", fitted); err != nil {
		return err
	}
	model, err := layers.ReadModel(path)
	if err != nil {
		return err
	}
	read := layers.Train(&layers.Divide{}, Rank{R: 2, Prior: Bounded{}}, optim.Settings{})
	if err := model.Restore(read); err != nil {
		return err
	}
	before, err := nll(fitted, x)
	if err != nil {
		return err
	}
	after, err := nll(read, x)
	if err != nil {
		return err
	}
	if before != after {
		return fmt.Errorf("the model read back has NLL %v, the one saved %v", after, before)
	}
	fmt.Println("the model read back predicts the same")
	return nil
}

// converge studies how the error of the Map falls with the number of rows. The factors of a
// codeword are free up to an invertible 2×2 matrix; the study finds what is free, takes it
// out, and chooses numbers of rows at which the rest is certain enough.
func converge(ctx context.Context) error {
	design := theory.Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 6, Decades: 1, Identity: 1}
	settings := theory.RateSettings{
		Shifts: 2, Replicates: 60,
		Target: Products{K: design.Codewords, C: design.Classes, R: 2},
	}
	report, err := theory.Rate(ctx, Rank{R: 2, Prior: Bounded{}}, design, settings)
	if err != nil {
		return err
	}
	if failures := report.Failures(); failures != nil {
		return fmt.Errorf("outside their bands: %v", failures)
	}
	for _, row := range report.Rows {
		if row.Quantity == "β_N, mean of blocks" {
			fmt.Printf("the error of Σ_ρ a_kρ b_kρᵀ falls as N^(%.2f)\n", row.Value)
			if !(math.Abs(row.Value+0.5) < 0.05) {
				return fmt.Errorf("theory says N^(−0.50)")
			}
		}
	}
	return nil
}
