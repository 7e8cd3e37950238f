package cli

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/layers/encoders"
)

// TestPretrain trains each tabular encoder for two epochs, twice: the same seed gives
// the same weights, which Load reads.
func TestPretrain(t *testing.T) {
	for encoder, network := range map[string]string{
		"mlp": `{"hidden":[12]}`, "resmlp": `{"block":12,"blocks":1}`, "ftt": `{"token":8,"heads":2,"blocks":1}`,
	} {
		var first []byte
		for range 2 {
			out := filepath.Join(t.TempDir(), "encoder")
			code, stdout, stderr := calibra(t, "pretrain", "--data", "digits", "--encoder", encoder, "--network", network, "--epochs", "2", "--held-out", "0.1", "--seed", "5", "--out", out)
			if code != 0 || !strings.Contains(stdout, "shifted") || !strings.Contains(stdout, "calibra encode --model "+out) {
				t.Fatalf("%s: exit code %d: %s%s", encoder, code, stdout, stderr)
			}
			m, err := encoders.Load(out)
			if err != nil {
				t.Fatal(err)
			}
			raw, err := m.Config.Origin.Open(m.Config.Columns)
			if err != nil {
				t.Fatal(err)
			}
			if m.Config.Origin != (encoders.Origin{Data: "digits", HeldOut: 0.1, Seed: 5, Rows: raw.Train.Digest()}) || m.Config.Result.Epochs != 2 {
				t.Errorf("%s: %+v, %+v", encoder, m.Config.Origin, m.Config.Result)
			}
			weights, err := os.ReadFile(filepath.Join(out, "weights.safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = weights
			}
			if !bytes.Equal(first, weights) {
				t.Errorf("%s: the same seed gives other weights", encoder)
			}
		}
	}
}

// TestPretrainInterrupted: what an interrupted run leaves is a model, from which
// another goes on.
func TestPretrainInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out := filepath.Join(t.TempDir(), "encoder")
	c := pretrainCmd{Data: "digits", Encoder: "resmlp", Epochs: -1, Out: out}
	if err := c.Run(ctx, testTerminal(), nil); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "--weights") {
		t.Fatalf("the error is %v", err)
	}
	if _, err := encoders.Load(out); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(out, "weights.safetensors")
	code, stdout, stderr := calibra(t, "pretrain", "--data", "digits", "--weights", weights, "--epochs", "0", "--out", filepath.Join(t.TempDir(), "again"))
	if code != 0 || !strings.Contains(strings.ReplaceAll(stdout, "\n", " "), "weights are those of") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
}

// TestPretrainCategories: a column of whole numbers becomes a table of tokens.
func TestPretrainCategories(t *testing.T) {
	var csv strings.Builder
	csv.WriteString("size,kind,label\n")
	for i := range 200 {
		csv.WriteString([]string{"1.5,0,a\n", "2.5,1,b\n", "0.5,3,a\n"}[i%3])
	}
	path := filepath.Join(t.TempDir(), "kinds.csv")
	if err := os.WriteFile(path, []byte(csv.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "encoder")
	code, stdout, stderr := calibra(t, "pretrain", "--data", path, "--encoder", "ftt", "--network", `{"categorical":[{"column":1,"values":4}]}`, "--epochs", "1", "--out", out)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	m, err := encoders.Load(out)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Weights().Tensor("cat_embeddings.embeddings.0.weight").Shape(); s[0] != 4 {
		t.Errorf("the table of kinds has shape %v", s)
	}
	if _, _, err := m.Encode([]float32{1, 4}); err == nil || !strings.Contains(err.Error(), "0…3") {
		t.Errorf("an unknown kind: %v", err)
	}
}

// TestPretrainedDataChanged: rows in another order would be divided so that some that
// trained the network calibrate it.
func TestPretrainedDataChanged(t *testing.T) {
	dir := t.TempDir()
	var lines []string
	for i := range 60 {
		lines = append(lines, fmt.Sprintf("%d,%d,%c", i, i*i%13, 'a'+i%2))
	}
	path, model := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "model")
	write := func() {
		if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	encode := func() (int, string) {
		code, _, stderr := calibra(t, "encode", "--model", model, "--out", filepath.Join(dir, "rows.npz"))
		return code, stderr
	}
	write()
	if code, _, stderr := calibra(t, "pretrain", "--data", path, "--encoder", "mlp", "--epochs", "1", "--out", model); code != 0 {
		t.Fatal(stderr)
	}
	if code, stderr := encode(); code != 0 {
		t.Errorf("the same rows exit %d: %s", code, stderr)
	}
	slices.Reverse(lines)
	write()
	if code, stderr := encode(); code != exitUsage || !strings.Contains(stderr, "pretrain anew") {
		t.Errorf("other rows exit %d: %s", code, stderr)
	}
}

// TestPretrainImages goes from an archive in CIFAR-10's format to features of its
// images.
func TestPretrainImages(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{"data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"} {
		records := make([]byte, 8*3073)
		for i := range records {
			records[i] = byte(rng.IntN(256))
			if i%3073 == 0 {
				records[i] = byte(i / 3073 % 2)
			}
		}
		if err := w.WriteHeader(&tar.Header{Name: name + ".bin", Mode: 0o644, Size: int64(len(records))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(records); err != nil {
			t.Fatal(err)
		}
	}
	archive, model, out := filepath.Join(dir, "cifar-10-binary.tar.gz"), filepath.Join(dir, "model"), filepath.Join(dir, "cifar10-resnet.npz")
	if err := errors.Join(w.Close(), z.Close(), os.WriteFile(archive, b.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
	if code, stdout, stderr := calibra(t, "pretrain", "--data", archive, "--encoder", "resnet", "--network", `{"widths":[4,6],"blocks":1}`, "--epochs", "1", "--out", model); code != 0 {
		t.Fatalf("pretrain exits %d: %s%s", code, stdout, stderr)
	}
	if code, stdout, stderr := calibra(t, "encode", "--model", model, "--out", out); code != 0 {
		t.Fatalf("encode exits %d: %s%s", code, stdout, stderr)
	}
	clean, err := data.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	if _, width := clean.Test.Features.Dims(); width != 6 || clean.Cal.Len() != 8 || clean.Classes != 10 {
		t.Errorf("%d features, %d calibration rows, %d classes", width, clean.Cal.Len(), clean.Classes)
	}
}

func TestPretrainBadInput(t *testing.T) {
	ids := filepath.Join(t.TempDir(), "ids.csv")
	if err := os.WriteFile(ids, []byte(strings.Repeat("2000000000,1,a\n3,4,b\n", 20)), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no data":       {[]string{"--data", "nowhere"}, "nowhere"},
		"encoder":       {[]string{"--encoder", "cnn"}, "cnn"},
		"network":       {[]string{"--network", `{"width":3}`}, "width"},
		"two networks":  {[]string{"--network", `{"blocks":1} {"blocks":2}`}, "follows"},
		"rate":          {[]string{"--set", "rate=nan"}, `rate is "nan"`},
		"same category": {[]string{"--data", ids, "--encoder", "ftt", "--network", `{"categorical":[{"column":1,"values":5},{"column":1,"values":5}]}`}, "column 2 of"},
		"label":         {[]string{"--label", "x"}, "is not a csv file"},
		"heads":         {[]string{"--encoder", "ftt", "--network", `{"heads":7}`}, "heads"},
		"dropout":       {[]string{"--network", `{"hidden_dropout":1}`}, "dropout"},
		"images":        {[]string{"--encoder", "resnet"}, "tables"},
		"held out":      {[]string{"--held-out", "0.9"}, "0.9"},
		"nothing":       {[]string{"--epochs", "0"}, "--weights"},
		"epochs":        {[]string{"--epochs=-3"}, "negative"},
		"identifiers":   {[]string{"--data", ids, "--encoder", "ftt", "--network", `{"categorical":[{"column":0,"values":5}]}`}, "holds 2e+09"},
		"no categories": {[]string{"--network", `{"categorical":[]}`}, "categorical"},
		"no weights":    {[]string{"--weights", "none.safetensors"}, "none.safetensors"},
	} {
		out := filepath.Join(t.TempDir(), "encoder")
		code, _, stderr := calibra(t, append([]string{"pretrain", "--data", "digits", "--out", out}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.want) || strings.Count(strings.TrimSpace(stderr), "\n") > 0 {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%s: %s was left behind", name, out)
		}
	}
}

// TestPretrainAbsurdRows: a value that no network computes with is the user's to mend,
// in whatever part its row is, and is found before anything is written.
func TestPretrainAbsurdRows(t *testing.T) {
	for _, value := range []string{"1e308", "3e38", "1e16"} {
		refused := 0
		for row := range 25 {
			var lines []string
			for i := range 60 {
				x := fmt.Sprint(i * i % 13)
				if i == row {
					x = value
				}
				lines = append(lines, fmt.Sprintf("%d,%s,%c", i, x, 'a'+i%2))
			}
			dir := t.TempDir()
			path, out := filepath.Join(dir, "rows.csv"), filepath.Join(dir, "model")
			if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o666); err != nil {
				t.Fatal(err)
			}
			code, _, stderr := calibra(t, "pretrain", "--data", path, "--encoder", "mlp", "--network", `{"hidden":[4]}`, "--epochs", "1", "--out", out)
			if code == 0 { // among those that train it, a large value is but a large standard deviation
				continue
			}
			refused++
			if code != exitUsage || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, fmt.Sprintf("row %d is", row+1)) {
				t.Errorf("%s in row %d exits %d: %s", value, row+1, code, stderr)
			}
			if _, err := os.Stat(out); err == nil {
				t.Errorf("%s in row %d leaves %s", value, row+1, out)
			}
		}
		if refused < 10 {
			t.Errorf("%s: %d of 25 are refused", value, refused)
		}
	}
}
