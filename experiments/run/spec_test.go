package run

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/method"
)

// TestSpecInFiles: files keep w, K and the start of the averages apart, as they did when a Spec
// did, and a Spec comes back from either form.
func TestSpecInFiles(t *testing.T) {
	spec := Spec{Method: "vq", Data: "letter", Split: "paper", Seed: 3, Set: "codebook.codewords=32 codebook.slots=16 codebook.start=zero optim.rate=3e-4"}
	const want = `{"method":"vq","data":"letter","split":"paper","seed":3,"slots":16,"codewords":32,"ema":"zero","set":"optim.rate=3e-4"}`
	text, err := json.Marshal(spec)
	if err != nil || string(text) != want {
		t.Errorf("%s (%v), not %s", text, err, want)
	}
	for _, text := range []string{want, `{"method":"vq","data":"letter","split":"paper","seed":3,"set":"codebook.slots=16 codebook.codewords=32 codebook.start=zero optim.rate=3e-4"}`} {
		var back Spec
		if err := json.Unmarshal([]byte(text), &back); err != nil || back.Others() != spec.Others() || back.Slots() != 16 || back.Codewords() != 32 || back.Start() != "zero" {
			t.Errorf("%s is read as %+v (%v)", text, back, err)
		}
	}
	if err := spec.Use(method.Values{"codebook.slots": "8"}); err == nil {
		t.Error("w is 16 and 8")
	}
}

func TestSettingsAreRefused(t *testing.T) {
	for set, want := range map[string]string{
		"optim.rat=1":         "did you mean optim.rate?",
		"optim.rate=0":        "must be a number > 0",
		"optim.rate=NaN":      "must be a number > 0",
		"optim.rate=inf":      "must be a number > 0",
		"optim.rate=":         "must be a number > 0",
		"divide.epochs=2.5":   "whole number ≥ 1",
		"bilinear.scale=both": "word of unit, learned",
		"optim.momentum=0.9":  "has no setting optim.momentum", // of sgd alone
		"net.hidden=3":        "has no setting net.hidden",
		"codebook.kind=leaf":  "must be a word of ema, random, kmeans, residual, one",
		"codebook.nearest=3":  "codebook.nearest is of soft codes alone",
		"codebook.kind=indices codebook.softness=1":  "codebook.kind=indices and codebook.softness=1 do not go together",
		"codebook.kind=indices codebook.distance=l1": "codebook.kind=indices and codebook.distance=l1 do not go together",
		"codebook.kind=indices codebook.twin=random": "codebook.kind=indices and codebook.twin=random do not go together",
		"codebook.distance=l1 codebook.softness=1":   "codebook.softness=1 and codebook.distance=l1 do not go together",
		"optim.rate":                "is not KEY=VALUE",
		"optim.rate=1 optim.rate=2": "twice",
	} {
		_, err := Spec{Method: "vq", Set: set}.options(nil, nil)
		if err == nil {
			o, _ := Spec{Method: "vq", Set: set}.options(nil, nil)
			m, _ := method.Find("vq")
			_, _, err = m.Build(o)
		}
		var input *data.InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v does not say %q", set, err, want)
		}
	}
	m, _ := method.Find("vq")
	if _, _, err := m.Build(method.Options{Values: method.Values{"optim.rule": "sgd", "optim.momentum": "0.9"}}); err != nil {
		t.Error(err)
	}
}
