package encoders

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"calibra/optim"
)

// stripes is n records of CIFAR-10's binary layout of which the first three classes
// occur: stripes across, stripes down and a checkerboard, of any phase, in noise.
func stripes(n int, rng *rand.Rand) []byte {
	var records []byte
	for range n {
		label, phase := rng.IntN(3), rng.IntN(8)
		records = append(records, byte(label))
		for range 3 {
			for u := range 32 {
				for v := range 32 {
					across, down := (u+phase)/4%2, (v+phase)/4%2
					bright := []int{across, down, across ^ down}[label]
					records = append(records, byte(60+100*bright+rng.IntN(90)))
				}
			}
		}
	}
	return records
}

// cifarArchive writes a CIFAR-10 archive of n records a file.
func cifarArchive(t *testing.T, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cifar-10-binary.tar.gz")
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	rng := newRand(8)
	for i := range 6 {
		name := fmt.Sprintf("cifar-10-batches-bin/data_batch_%d.bin", i+1)
		if i == 5 {
			name = "cifar-10-batches-bin/test_batch.bin"
		}
		records := stripes(n, rng)
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(records))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(w, bytes.NewReader(records)); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	z.Close()
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestResNetLearnsACIFARArchive goes from an archive in CIFAR-10's format to features:
// stripes are told apart, on rows not trained on.
// A network of chance gets a third right; its pixels' means tell the classes nothing.
func TestResNetLearnsACIFARArchive(t *testing.T) {
	raw, err := Origin{Data: cifarArchive(t, 60), Seed: 1}.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	n := &ResNet{Widths: []int{8, 12}, Blocks: 1}
	m, result, err := Train(t.Context(), n, raw.Train, raw.Val, Settings{Optim: optim.Settings{Rule: optim.AdamW{Rate: 5e-3}, Batch: 16, Epochs: 12, Patience: 12}}, newRand(2))
	if err != nil {
		t.Fatal(err)
	}
	accuracy, nll, err := Judge(m, raw.Cal)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy < 0.9 {
		t.Errorf("accuracy %.3f, NLL %.3f after %d epochs", accuracy, nll, result.Epochs)
	}
	out, err := EncodeInputs(t.Context(), m, raw.Test)
	if err != nil {
		t.Fatal(err)
	}
	if rows, width := out.Features.Dims(); rows != raw.Test.Len() || width != 12 || out.Classes() != 10 {
		t.Errorf("features %d×%d of %d classes", rows, width, out.Classes())
	}
}
