package experiments

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
)

// TestEarlierModelsLoad reads the models that earlier commits wrote (testdata/models) and
// holds their predictions to what those commits said. Those that read logits up to the constant of a row are refused.
func TestEarlierModelsLoad(t *testing.T) {
	said := filepath.Join("testdata", "models", "said.npz")
	x := &data.Set{}
	var err error
	if x.Features, err = data.ReadMatrix(said, "features"); err != nil {
		t.Fatal(err)
	}
	if x.Logits, err = data.ReadMatrix(said, "logits"); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "models", "*", "*.safetensors"))
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	for _, file := range files {
		commit, method := filepath.Base(filepath.Dir(file)), strings.TrimSuffix(filepath.Base(file), ".safetensors")
		want, err := data.ReadMatrix(said, commit+"/"+method)
		if err != nil {
			t.Fatal(err)
		}
		model, found, err := LoadModel(file)
		if slices.Contains([]string{"anchored-bilinear", "auto", "kc", "ln", "order-preserving", "stacked"}, method) {
			if err == nil || !strings.Contains(err.Error(), "fit it again") {
				t.Errorf("%s: %v, which does not say that it must be fitted again", file, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		p, err := model.Predict(x)
		if err != nil || found.Name != method {
			t.Errorf("%s: is %s, %v", file, found.Name, err)
			continue
		}
		apart := 0.0
		for i := range x.Len() {
			for k, l := range p.LogProbs.RawRowView(i) {
				apart = max(apart, math.Abs(math.Exp(l)-want.At(i, k)))
			}
		}
		// Maps predicted in float32 then, which keeps probabilities to 1e-5.
		if !(apart <= 1e-5) {
			t.Errorf("%s: probabilities are %.2g from what they were", file, apart)
		}
	}
}

// TestNewerModelsAreRefused in one sentence that says so.
func TestNewerModelsAreRefused(t *testing.T) {
	file, err := os.ReadFile(filepath.Join("testdata", "models", "99f3401", "ts.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	newer := strings.Replace(string(file), `"version":"1"`, `"version":"7"`, 1)
	if err := os.WriteFile(path, []byte(newer), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := LoadModel(path); err == nil || !strings.Contains(err.Error(), "newer than this program") {
		t.Errorf("error %v does not say that the model is newer", err)
	}
}
