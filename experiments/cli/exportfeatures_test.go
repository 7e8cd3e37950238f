package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/experiments/source"

	"gonum.org/v1/gonum/mat"
)

// TestExportedFeatures are the rows that a study loads, and say where they come from; the same
// command writes the same bytes, and no command has a word to say of what it does not read.
func TestExportedFeatures(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	for _, name := range []string{"a.npz", "b.npz"} {
		if code, _, stderr := calibra(t, "encode", "--data", "cubic", "--seed", "7", "--out", file(name)); code != 0 {
			t.Fatalf("exit %d: %s", code, stderr)
		}
	}
	a, err := os.ReadFile(file("a.npz"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file("b.npz"))
	if err != nil {
		t.Fatal(err)
	}
	if string(a) != string(b) {
		t.Error("a second file has other bytes")
	}
	got, err := data.Open(file("a.npz"))
	if err != nil {
		t.Fatal(err)
	}
	o, err := source.Registry(nil).Open("cubic", source.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	want, err := o.Load(t.Context(), 7, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for part, sets := range map[string][2]*data.Set{"cal": {got.Cal, want.Source.Cal}, "test": {got.Test, want.Source.Test}} {
		if !mat.Equal(sets[0].Features, sets[1].Features) || !mat.Equal(sets[0].Logits, sets[1].Logits) || len(sets[0].Labels) != len(sets[1].Labels) {
			t.Errorf("the %s rows are not those of the study", part)
		}
	}
	if got.Unread != "" {
		t.Errorf("the file is read with the warning %q", got.Unread)
	}
	if got.Cal.Names.Features != nil {
		t.Errorf("feature names %v", got.Cal.Names.Features)
	}
	var said exported
	if err := json.Unmarshal([]byte(provenanceOf(t, a)), &said); err != nil {
		t.Fatal(err)
	}
	if said.Data != "cubic" || said.Seed != 7 || said.Encoder != "" || said.Digest != o.Digest || said.Program.Digest == "" {
		t.Errorf("the file says %+v", said)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--data", "cubic", "--out", file("a.csv")}, "must end in .npz"},
		{[]string{"--data", "cubic", "--encoder", "mlp", "--out", file("c.npz")}, "cubic has features already; leave --encoder out"},
		{[]string{"--data", "letter", "--encoder", "mpl", "--out", file("c.npz")}, `there is no encoder "mpl"`},
		{[]string{"--data", file("a.npz"), "--out", file("a.npz")}, "a.npz"},
	} {
		if code, _, stderr := calibra(t, append([]string{"encode"}, c.args...)...); code != exitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v exits %d: %s", c.args, code, stderr)
		}
	}
}

// provenanceOf is the JSON among the bytes of a file, whose text has four bytes a letter and is
// stored as it is.
func provenanceOf(t *testing.T, file []byte) string {
	t.Helper()
	plain := strings.ReplaceAll(string(file), "\x00", "")
	from := strings.Index(plain, `{"format"`)
	if from < 0 {
		t.Fatal("the file has no provenance")
	}
	var out json.RawMessage
	if err := json.NewDecoder(strings.NewReader(plain[from:])).Decode(&out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}
