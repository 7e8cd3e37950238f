package cli

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/mat"
)

// writeDiagnosable writes predictions of 2 classes that are wrong where the first coordinate is
// above 1, a features file of the same rows, and one of fewer rows.
func writeDiagnosable(t *testing.T, n int, extra ...data.Array) (predictions, features, others string) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 1))
	probs, z, labels := mat.NewDense(n, 2, nil), mat.NewDense(n, 3, nil), make([]int, n)
	for i := range n {
		for j := range 3 {
			z.Set(i, j, rng.NormFloat64())
		}
		p := .1 + .8*rng.Float64()
		probs.SetRow(i, []float64{p, 1 - p})
		if z.At(i, 0) > 1 {
			p = 1 - p
		}
		if rng.Float64() > p {
			labels[i] = 1
		}
	}
	dir := t.TempDir()
	write := func(name string, arrays ...data.Array) string {
		path := filepath.Join(dir, name)
		if err := disk.WriteNPZ(path, arrays...); err != nil {
			t.Fatal(err)
		}
		return path
	}
	predictions = write("p.npz", append([]data.Array{{Name: "probs", Value: probs}, {Name: "labels", Value: labels}}, extra...)...)
	features = write("f.npz", data.Array{Name: "features", Value: z})
	others = write("o.npz", data.Array{Name: "test_features", Value: mat.DenseCopyOf(z.Slice(0, n-1, 0, 3))})
	return predictions, features, others
}

func TestDiagnoseJSON(t *testing.T) {
	const n = 1500
	groups := make([]int, n)
	for i := range groups {
		groups[i] = i % 2
	}
	in, features, _ := writeDiagnosable(t, n, data.Array{Name: "groups", Value: groups})
	out := filepath.Join(t.TempDir(), "d")
	code, text, _ := calibra(t, "diagnose", "--in", in, "--features", features, "--redraws", "199", "--out", out, "--json", "--all-rows")
	if code != 0 {
		t.Fatalf("exit code %d", code)
	}
	var d struct {
		Found   string
		Regions []struct {
			Rows  []int
			Size  int
			Gap   float64
			Wrong bool
		}
		Groups []struct{ Describe string }
	}
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(d.Found, "wrong where ") || len(d.Groups) != 2 || d.Groups[1].Describe != "group 1" {
		t.Errorf("verdict %q, groups %v", d.Found, d.Groups)
	}
	if r := d.Regions[0]; !r.Wrong || math.Abs(r.Gap) < .1 || len(r.Rows) != r.Size {
		t.Errorf("the first region is %+v", r)
	}
	if _, short, _ := calibra(t, "diagnose", "--in", in, "--features", features, "--redraws", "19", "--out", out, "--json"); strings.Contains(short, `"rows": [`) || !strings.HasPrefix(short, "{\n  ") {
		t.Errorf("without --all-rows it lists rows, or lies in one line: %.300s", short)
	}
	for _, name := range []string{"diagnosis.html", "diagnosis.json"} {
		if info, err := os.Stat(filepath.Join(out, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s: %v", name, err)
		}
	}
	page, err := os.ReadFile(filepath.Join(out, "diagnosis.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, stray := range []string{"http://", "https://", "ZgotmplZ", ">NaN<"} {
		if strings.Contains(string(page), stray) {
			t.Errorf("the page holds %q", stray)
		}
	}
}

func TestDiagnoseBadInput(t *testing.T) {
	in, features, others := writeDiagnosable(t, 200)
	grouped, _, _ := writeDiagnosable(t, 200, data.Array{Name: "groups", Value: []int{0, 1}})
	out := filepath.Join(t.TempDir(), "d")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--in", in, "--features", others}, "test_features has 199 rows and the predictions in p.npz have 200"},
		{[]string{"--in", in, "--features", in}, "has no features, test_features or embedding"},
		{[]string{"--in", grouped, "--features", features}, "groups has 2 rows and there are 200"},
		{[]string{"--in", in, "--features", features, "--rows", "1"}, "--rows is 1"},
		{[]string{"--in", in, "--features", features, "--redraws", "10"}, "--redraws is 10"},
	} {
		code, _, said := calibra(t, append([]string{"diagnose", "--out", out}, c.args...)...)
		if code != exitUsage || !strings.Contains(said, c.want) || strings.Count(strings.TrimSpace(said), "\n") > 0 {
			t.Errorf("%v: exit code %d, %q, want %q", c.args, code, said, c.want)
		}
		if _, err := os.Stat(out); err == nil {
			t.Errorf("%v: the output directory was made", c.args)
		}
	}
}

// TestDiagnoseWithoutAnEmbedding: it says that no region is searched, and all else.
func TestDiagnoseWithoutAnEmbedding(t *testing.T) {
	in, _, _ := writeDiagnosable(t, 200)
	out := t.TempDir()
	code, said, notes := calibra(t, "diagnose", "--in", in, "--redraws", "19", "--out", out, "--json")
	var d struct {
		Regions, Classes []any
		Verdict          struct{ Say string }
	}
	if err := json.Unmarshal([]byte(said), &d); err != nil || code != 0 || d.Regions != nil || d.Classes == nil || d.Verdict.Say == "" || !strings.Contains(notes, "no regions are searched") {
		t.Errorf("exit code %d, %v, %+v, %q", code, err, d, notes)
	}
	page, err := os.ReadFile(filepath.Join(out, "diagnosis.html"))
	if err != nil || strings.Contains(string(page), ">Map<") || !strings.Contains(string(page), "Classes") {
		t.Errorf("the page: %v, with a map or without classes", err)
	}
}

// TestDiagnosisSaysWhatToDo: the verdict comes first, regions go by the names of features and classes.
func TestDiagnosisSaysWhatToDo(t *testing.T) {
	in, features, _ := writeDiagnosable(t, 1500, data.Array{Name: "class_names", Value: []string{"cat", "dog"}})
	x, err := data.ReadMatrix(features, "features")
	if err != nil {
		t.Fatal(err)
	}
	if err := disk.WriteNPZ(features, data.Array{Name: "features", Value: x}, data.Array{Name: "feature_names", Value: []string{"age", "height", "weight"}}); err != nil {
		t.Fatal(err)
	}
	code, text, _ := calibra(t, "diagnose", "--in", in, "--features", features, "--redraws", "199", "--out", t.TempDir())
	if code != 0 || !strings.HasPrefix(strings.TrimSpace(text), "Use a correction by the predictions and the latent space. It lowers the NLL by ") {
		t.Fatalf("exit code %d, %q", code, text)
	}
	for _, want := range []string{"Wrong where age > ", "fit --in FEATURES.npz --method pool", "age > "} {
		if !strings.Contains(strings.Join(strings.Fields(text), " "), want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
}
