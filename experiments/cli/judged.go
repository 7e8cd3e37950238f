package cli

import (
	"context"
	"path/filepath"

	"calibra/data"

	"gonum.org/v1/gonum/mat"
)

// Judged are predictions with labels to judge them by, and where their rows lie.
type Judged struct {
	*data.Predictions
	Embedding mat.Matrix // nil without
	Pieces    []int      // the file's row of each; nil: they are its rows

	path string
	rows int // of the file
}

// ReadJudged reads predictions with labels, cut into pieces as their weights say.
func ReadJudged(ctx context.Context, path string) (*Judged, error) {
	p, err := data.ReadPredictionsContext(ctx, path)
	if err != nil {
		return nil, err
	}
	if p.Labels == nil {
		return nil, data.Inputf(path, "has no labels to judge the predictions by")
	}
	j := &Judged{Predictions: p, path: path}
	j.rows, _ = p.LogProbs.Dims()
	j.Pieces, err = p.Weigh(path)
	return j, err
}

// Embed reads the embedding of the array named or, where key is "", that of the default name if the file has it.
func (j *Judged) Embed(key string) error {
	if key == "" {
		key = "embedding"
		if has, err := data.HasArray(j.path, key); err != nil || !has {
			return err
		}
	}
	z, err := data.ReadFeatures(j.path, key)
	if err != nil {
		return err
	}
	if n, _ := z.Dims(); n != j.rows {
		return data.Inputf(j.path, "the embedding has %d rows and the predictions have %d; they must have the same", n, j.rows)
	}
	if j.Embedding = z; j.Pieces != nil {
		j.Embedding = data.Select(z, j.Pieces)
	}
	return nil
}

// describe reads the features (N×M) of the rows from another file; their principal components are the embedding.
func (j *Judged) describe(path string) (x *mat.Dense, err error) {
	key := ""
	for _, name := range []string{"embedding", "test_features", "features"} {
		has, err := data.HasArray(path, name)
		if err != nil {
			return nil, err
		}
		if has {
			key = name
		}
	}
	if key == "" {
		return nil, data.Inputf(path, "has no features, test_features or embedding")
	}
	if x, err = data.ReadMatrix(path, key); err != nil {
		return nil, err
	}
	if n, _ := x.Dims(); n != j.rows {
		return nil, data.Inputf(path, "%s has %d rows and the predictions in %s have %d; they must be of the same rows", key, n, filepath.Base(j.path), j.rows)
	}
	if j.Pieces != nil {
		x = data.RowsOf(x, j.Pieces)
	}
	embed, err := data.FitEmbedding(x, 0)
	if err != nil {
		return nil, err
	}
	j.Embedding = embed.Apply(x)
	return x, nil
}

// rowGroups are the groups of the rows and their names, nil where the file has none.
func (j *Judged) rowGroups() (of []int, names []string, err error) {
	of, names, err = data.ReadGroups(j.path, j.rows)
	if j.Pieces != nil {
		of = picked(of, j.Pieces)
	}
	return of, names, err
}

// picked are the values of these rows; nil of nil.
func picked(values, rows []int) []int {
	if values == nil {
		return nil
	}
	out := make([]int, len(rows))
	for i, r := range rows {
		out[i] = values[r]
	}
	return out
}
