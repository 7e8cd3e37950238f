package cli

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/data/disk"
	"calibra/data/synthetic"
	"calibra/experiments/method"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
)

// TestApplyInBatchesIsApply: rows that come in several batches get the bytes of all at once.
func TestApplyInBatchesIsApply(t *testing.T) {
	const features, rows = 3000, 2100 // batches of 2,048 rows
	rng := rand.New(rand.NewPCG(3, 3))
	g := synthetic.NewProximity(synthetic.Settings{Features: features}, rng)
	cal, _ := g.Draw(60, rng)
	test, _ := g.Draw(rows, rng)
	test.Labels = nil
	dir := t.TempDir()
	in, model := filepath.Join(dir, "f.npz"), filepath.Join(dir, "model")
	if err := disk.WriteNPZ(in, data.Array{Name: "cal_features", Value: cal.Features}, data.Array{Name: "cal_logits", Value: cal.Logits}, data.Array{Name: "cal_labels", Value: cal.Labels},
		data.Array{Name: "test_features", Value: test.Features}, data.Array{Name: "test_logits", Value: test.Logits}); err != nil {
		t.Fatal(err)
	}
	if code, _, stderr := calibra(t, "fit", "--in", in, "--method", "ts", "--out", model); code != 0 {
		t.Fatalf("fit exits %d: %s", code, stderr)
	}
	out := filepath.Join(dir, "p.npz")
	if code, _, stderr := calibra(t, "apply", "--in", in, "--model", model, "--out", out); code != 0 {
		t.Fatalf("apply exits %d: %s", code, stderr)
	}
	got, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	fitted, _, err := method.NewCatalog().Load(filepath.Join(model, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := fitted.Predict(test)
	if err != nil {
		t.Fatal(err)
	}
	e, err := data.ReadEmbedding(filepath.Join(model, "embedding.npz"))
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if err := data.NPZ(append(p.Arrays(), data.Array{Name: "embedding", Value: e.Apply(test.Features)})...)(&want); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Error("the predictions are not those of all rows at once")
	}

	s, err := data.OpenStream(in, "test", data.Names{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j := &applied{stream: s, model: saved{embedding: filepath.Join(model, "embedding.npz")}, room: 1} // too little for all rows
	arrays, _, err := j.embedding(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var again, all bytes.Buffer
	if err := errors.Join(data.NPZ(arrays...)(&again), data.NPZ(data.Array{Name: "embedding", Value: e.Apply(test.Features)})(&all)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(again.Bytes(), all.Bytes()) {
		t.Error("the embedding of rows that are read once more is another")
	}
}

// overflow predicts a NaN in row 3 of its second batch.
type overflow struct{ layers.Stateful }

func (overflow) Predict(x *data.Set) (*data.Predictions, error) {
	p := mat.NewDense(x.Len(), 2, nil)
	for i := range x.Len() {
		p.SetRow(i, []float64{0, -1000})
		if x.Features.At(i, 0) == 1 {
			p.SetRow(i, []float64{1, 1})
		}
	}
	return data.NewPredictions(p, &data.Set{})
}

// TestBatchesNameTheRowOfTheFile that cannot be predicted.
func TestBatchesNameTheRowOfTheFile(t *testing.T) {
	x := mat.NewDense(3*layers.EvaluationBatch, 2, nil)
	row := 2*layers.EvaluationBatch + 3
	x.Set(row, 0, 1)
	path := filepath.Join(t.TempDir(), "f.npz")
	if err := disk.WriteNPZ(path, data.Array{Name: "test_features", Value: x}); err != nil {
		t.Fatal(err)
	}
	s, err := data.OpenStream(path, "test", data.Names{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	j := &applied{stream: s, path: path, model: saved{model: overflow{}}, far: (*layers.Profile)(nil).Watch(), sample: layers.NewSample(0), room: 1}
	head, err := j.head(context.Background())
	if err == nil {
		_, err = j.classes(head)
	}
	if err != nil {
		t.Fatal(err)
	}
	err = j.predict(context.Background(), func([]float64) error { return nil })
	if want := "row 2051 sum"; err == nil || !bytes.Contains([]byte(err.Error()), []byte(want)) {
		t.Errorf("%v does not name %s", err, want)
	}
}
