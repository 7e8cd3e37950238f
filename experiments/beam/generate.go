package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strings"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// Generation describes which predictions are drawn: classifiers that return softmax(l·(1 + s)) where
// softmax(l) is true, l ~ N(0, 2²) in each class, s = the sigmoid of the first of the
// embedding z ~ N(0, 10²)^d over 10: overconfident on one side.
type Generation struct {
	Rows       int    `default:"100000" help:"Rows in all (${default})."`
	Shards     int    `default:"10" help:"Files to write, of about as many rows each (${default})."`
	Classes    int    `default:"10" help:"Classes (${default})."`
	Dimensions int    `default:"4" help:"Dimensions of the embedding (${default})."`
	Seed       uint64 `default:"0" help:"Seed (${default})."`
	Out        string `required:"" placeholder:"FILES" help:"Files to write, * for the shard's number: 'rows/part-*.npz'. Without * all rows go to one file; they are the same."`
}

const generateHelp = `Write predictions to try evaluate on.

  calibra-beam generate --rows 10000000 --shards 100 --out 'rows/part-*.npz'`

// generate writes predictions for evaluate.
func generate(ctx context.Context, args []string, out io.Writer) error {
	var flags struct {
		Generation
		tempFlag
	}
	if err := parse("generate", generateHelp, &flags, args, out); err != nil {
		return err
	}
	g := flags.Generation
	if g.Out == "" || g.Rows < 1 || g.Shards < 1 || g.Shards > g.Rows || g.Classes < 2 || g.Dimensions < 1 {
		return data.Inputf("", "name the files by --out, and ask for a row in each shard, two classes and one dimension at least")
	}
	shards := []Shard{{0, g.Out}}
	if strings.Contains(g.Out, "*") {
		shards = nil
		for i := range g.Shards {
			shards = append(shards, Shard{int64(i), strings.Replace(g.Out, "*", fmt.Sprintf("%05d", i), 1)})
		}
	}
	failed, total, err := each(ctx, shards, &generateFn{g}, flags.Temp)
	if err != nil {
		return err
	}
	if err := failures(failed, total, "files"); err != nil {
		return err
	}
	fmt.Fprintf(out, "wrote %d rows to %s\n", g.Rows, g.Out)
	return nil
}

// generateFn writes one file.
type generateFn struct{ G Generation }

func (f *generateFn) ProcessElement(ctx context.Context, shard Shard) (Outcome, error) {
	return outcome(shard.Number, shard.Path, f.write(ctx, shard))
}

func (f *generateFn) write(ctx context.Context, shard Shard) error {
	g := f.G
	first, last := int(shard.Number), int(shard.Number)
	if !strings.Contains(g.Out, "*") {
		last = g.Shards - 1
	}
	from, to := first*g.Rows/g.Shards, (last+1)*g.Rows/g.Shards
	logProbs, z := mat.NewDense(to-from, g.Classes, nil), mat.NewDense(to-from, g.Dimensions, nil)
	labels := make([]int, to-from)
	for k := first; k <= last; k++ {
		rng := rand.New(rand.NewPCG(g.Seed, uint64(k)))
		for i := k * g.Rows / g.Shards; i < (k+1)*g.Rows/g.Shards; i++ {
			labels[i-from] = g.draw(logProbs.RawRowView(i-from), z.RawRowView(i-from), rng)
		}
	}
	var content strings.Builder
	if err := data.NPZ(data.Array{Name: "log_probs", Value: logProbs}, data.Array{Name: "labels", Value: labels}, data.Array{Name: "embedding", Value: z})(&content); err != nil {
		return err
	}
	return store(ctx, shard.Path, []byte(content.String()))
}

// draw draws a row: what is said of it (C), where it lies (d), and its label.
func (g *Generation) draw(said, z []float64, rng *rand.Rand) (label int) {
	for k := range z {
		z[k] = 10 * rng.NormFloat64()
	}
	sharper := 1 + 1/(1+math.Exp(-z[0]/10))
	most, sum := math.Inf(-1), 0.0
	for c := range said {
		l := 2 * rng.NormFloat64()
		if gumbel := l - math.Log(rng.ExpFloat64()); gumbel > most {
			most, label = gumbel, c
		}
		said[c] = sharper * l
		sum += math.Exp(said[c])
	}
	for c := range said {
		said[c] -= math.Log(sum)
	}
	return label
}
