package experiments

import (
	"encoding/json"
	"testing"
)

// TestMethodsAreWhole: nothing that is said of a method is left to chance.
func TestMethodsAreWhole(t *testing.T) {
	titles := map[string]string{}
	for _, m := range Methods {
		if m.Group == Outside || !m.Cost.Timed() || m.Line == "" || len(m.Needs) == 0 {
			t.Errorf("%s lacks group, cost, line or needs", m.Name)
		}
		if (m.Group == Paper || m.Group == Baseline && m.Name != "nc") != (m.Reference != "") {
			t.Errorf("%s of group %s has the reference %q", m.Name, m.Group, m.Reference)
		}
		if other := titles[m.Written()]; other != "" {
			t.Errorf("%s and %s are written %s", m.Name, other, m.Written())
		}
		titles[m.Written()] = m.Name
	}
	outside := OnLogits("mine", "a map", nil)
	if cheap, dear := Moment.Of(1e4, 512, 10), outside.Cost.Of(1e4, 512, 10); dear < 10*cheap {
		t.Errorf("a method that nobody timed takes %g s, one that is fitted at once %g s", dear, cheap)
	}
}

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
	if err := spec.Use(Values{"codebook.slots": "8"}); err == nil {
		t.Error("w is 16 and 8")
	}
}
