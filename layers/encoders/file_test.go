package encoders

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"calibra/data"
	"calibra/optim"
)

// trained is a small network of one epoch, with the rows it was trained on.
func trained(t *testing.T, n Network) (*Model, *data.Raw) {
	t.Helper()
	raw, err := Origin{Data: "digits", Seed: 3}.Open(nil)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := Train(t.Context(), n, raw.Train, raw.Val, Settings{Optim: optim.Settings{Epochs: 1}}, newRand(4))
	if err != nil {
		t.Fatal(err)
	}
	m.Config.Origin = Origin{Data: "digits", Seed: 3}
	return m, raw
}

func TestSaveLoad(t *testing.T) {
	m, raw := trained(t, &MLP{Hidden: []int{9}})
	dir := t.TempDir()
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	again, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if again.Features() != 9 || again.Classes() != 10 || again.Config.Origin != m.Config.Origin {
		t.Errorf("loaded %+v", again.Config)
	}
	x := make([]float32, raw.Cal.Len()*raw.Cal.Width())
	raw.Cal.Read(x, 0, raw.Cal.Len())
	features, logits, err := m.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	f, l, err := again.Encode(x)
	if err != nil {
		t.Fatal(err)
	}
	if len(f) != raw.Cal.Len()*9 || !slices.Equal(f, features) || !slices.Equal(l, logits) {
		t.Error("the loaded model encodes otherwise")
	}
}

func TestDamagedFiles(t *testing.T) {
	m, _ := trained(t, &MLP{Hidden: []int{9}})
	for name, damage := range map[string]func(dir string){
		"no config":    func(dir string) { os.Remove(filepath.Join(dir, configFile)) },
		"no weights":   func(dir string) { os.Remove(filepath.Join(dir, weightsFile)) },
		"no json":      func(dir string) { rewrite(t, dir, configFile, "{", "[") },
		"architecture": func(dir string) { rewrite(t, dir, configFile, `"mlp"`, `"mpl"`) },
		"other width":  func(dir string) { rewrite(t, dir, configFile, "9", "8") },
		"other shape":  func(dir string) { rewrite(t, dir, configFile, "64", "63") },
		"large shape":  func(dir string) { rewrite(t, dir, configFile, "64", "64, 65536, 65536") },
		"other name":   func(dir string) { rewrite(t, dir, weightsFile, "output.bias", "output.bios") },
		"truncated": func(dir string) {
			path := filepath.Join(dir, weightsFile)
			whole, _ := os.ReadFile(path)
			os.WriteFile(path, whole[:len(whole)-3], 0o644)
		},
	} {
		dir := t.TempDir()
		if err := m.Save(dir); err != nil {
			t.Fatal(err)
		}
		damage(dir)
		_, err := Load(dir)
		var input *data.InputError
		if !errors.As(err, &input) {
			t.Errorf("%s: %v is no input error", name, err)
		}
	}
}

func rewrite(t *testing.T, dir, name, from, to string) {
	t.Helper()
	path := filepath.Join(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Replace(text, []byte(from), []byte(to), 1)
	if bytes.Equal(changed, text) {
		t.Fatalf("%s holds no %s", name, from)
	}
	if err := os.WriteFile(path, changed, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A checkpoint keeps what the optimizer remembers, from which another training goes on; a model
// that is done does not.
func TestCheckpointGoesOn(t *testing.T) {
	dir, rows := t.TempDir(), deviceInputs(21, []int{6})
	s := Settings{Optim: optim.Settings{Rule: optim.Lion{Rate: 1e-3}, Epochs: 2, Batch: 16}}
	s.Checkpoint = func(m *Model, e optim.Epoch) {
		var err error
		if m.Optimizer, err = e.State(); err != nil {
			t.Fatal(err)
		}
	}
	m, _, err := Train(t.Context(), &MLP{Hidden: []int{5}}, rows, nil, s, newRand(2))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	weights := filepath.Join(dir, weightsFile)
	start, err := ReadOptimizer(weights)
	if err != nil || start == nil || start.Float64s("steps")[0] != 4 {
		t.Fatalf("the optimizer is read as %v (%v)", start, err)
	}
	s.Optim.Start, s.Start = start, m.Weights()
	if _, _, err := Train(t.Context(), &MLP{Hidden: []int{5}}, rows, nil, s, newRand(3)); err != nil {
		t.Fatal(err)
	}
	m.Optimizer = nil
	if err := m.Save(dir); err != nil {
		t.Fatal(err)
	}
	if start, err := ReadOptimizer(weights); start != nil || err != nil {
		t.Errorf("a model that is done has the optimizer %v (%v)", start, err)
	}
}
