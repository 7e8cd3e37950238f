package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"calibra/data"
	"calibra/data/disk"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// judgedByOracle are the methods that testdata/oracle.py knows, their settings, and how near its float64 they answer:
// where they train in float32 the README's 1e-3 of the cases, else 1e-5.
var judgedByOracle = []struct {
	method   string
	settings []string
	within   float64
}{
	{"vq", []string{"--set", "codebook.slots=6", "--set", "optim.epochs=20"}, nearOracle},
	{"vq-dc", []string{"--set", "codebook.slots=3", "--set", "optim.epochs=20"}, nearOracle},
	{"ts", nil, nearNLL},
	{"dc", nil, nearNLL},
	{"ir", nil, nearNLL},
}

// TestOracle: apply and the exported network say of every row what numpy says of the saved model in float64, and ts, dc
// and ir are where scipy and scikit-learn put them: wherever the features lie, and the logits, and whatever their
// scales. The logits of all rows have the same offset, features the same in standard deviations, or each column its
// own; all numbers are such that float32 holds them.
func TestOracle(t *testing.T) {
	python := os.Getenv("CALIBRA_PYTHON")
	if python == "" {
		t.Skip("the oracle is Python's: set CALIBRA_PYTHON to one with numpy, scikit-learn and onnxruntime")
	}
	dir := t.TempDir()
	var names, files []string
	var within []float64
	for _, offset := range [][2]float64{{0, 0}, {100, 0}, {1e4, 0}, {0, 2000}} {
		for _, scale := range []float64{1, 1. / 64} {
			in := scaledProblem(t, offset[0], offset[1], scale)
			for _, m := range judgedByOracle {
				name := fmt.Sprintf("%s at %v times %g", m.method, offset, scale)
				model := filepath.Join(dir, name)
				applied, network := model+".npz", model+".onnx"
				for _, args := range [][]string{
					append([]string{"fit", "--in", in, "--method", m.method, "--out", model, "--logits"}, m.settings...),
					{"apply", "--in", in, "--model", model, "--out", applied, "--logits"},
					{"export", "--model", model, "--onnx", network},
				} {
					if code, _, stderr := calibra(t, args...); code != 0 {
						t.Fatalf("%s: %s exits %d: %s", name, args[0], code, stderr)
					}
				}
				names, files, within = append(names, name), append(files, model, in, applied, network), append(within, m.within)
			}
		}
	}
	out, err := exec.Command(python, append([]string{"-B", filepath.Join("testdata", "oracle.py")}, files...)...).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, err.(*exec.ExitError).Stderr)
	}
	lines := json.NewDecoder(bytes.NewReader(out))
	for i, name := range names {
		var said struct{ Apply, Network, Refit, Loss, Codes, Rows float64 }
		if err := lines.Decode(&said); err != nil {
			t.Fatal(err)
		}
		t.Run(name, func(t *testing.T) {
			isNear(t, "rows", said.Rows, 120, 0)
			isNear(t, "furthest probability of apply", said.Apply, 0, within[i])
			isNear(t, "furthest probability of the network", said.Network, 0, within[i])
			isNear(t, "codes that are not the nearest", said.Codes, 0, 0)
			isNear(t, "furthest probability from a new fit", said.Refit, 0, within[i])
			isNear(t, "loss beside a new fit's", said.Loss, 0, nearNLL)
		})
	}
}

// scaledProblem writes a problem of 6 features and 4 classes whose features lie at an offset, each column so much
// farther than the one before, in standard deviations of that scale, and whose logits have the offset, and are doubled
// where the scale is small.
func scaledProblem(t *testing.T, offset, each, scale float64) string {
	t.Helper()
	rng := rand.New(rand.NewPCG(50, 0))
	const columns, classes, sharp = 6, 4, 2.5
	logitScale := 1.
	if scale < 1 {
		logitScale = 2
	}
	w := mat.NewDense(columns, classes, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return 1.8 * rng.NormFloat64() / math.Sqrt(columns) }, w)
	var arrays []data.Array
	for _, part := range []struct {
		name string
		rows int
	}{{"cal", 200}, {"test", 120}} {
		z, l, y := mat.NewDense(part.rows, columns, nil), mat.NewDense(part.rows, classes, nil), make([]int, part.rows)
		z.Apply(func(_, _ int, _ float64) float64 { return math.Round(512*rng.NormFloat64()) / 512 }, z)
		l.Mul(z, w)
		for i := range y {
			row := l.RawRowView(i)
			noisy := data.Each(row, func(s float64) float64 { return s - math.Log(-math.Log(rng.Float64())) })
			y[i] = floats.MaxIdx(noisy)
			for k, s := range row {
				row[k] = math.Round(512*sharp*(s+rng.NormFloat64()/4))/512*logitScale + offset
			}
		}
		z.Apply(func(_, j int, v float64) float64 { return (v + offset + float64(j)*each) * scale }, z)
		arrays = append(arrays, data.Array{Name: part.name + "_features", Value: z}, data.Array{Name: part.name + "_logits", Value: l}, data.Array{Name: part.name + "_labels", Value: y})
	}
	path := filepath.Join(t.TempDir(), "features.npz")
	if err := disk.WriteNPZ(path, arrays...); err != nil {
		t.Fatal(err)
	}
	return path
}
