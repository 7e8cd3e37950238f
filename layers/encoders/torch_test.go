package encoders

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// torchValues are what testdata/reference.py (torch 1.13) makes of rows x.
type torchValues struct {
	X              [][]float64          `json:"x"`
	Features       [][]float64          `json:"features"`
	Logits         [][]float64          `json:"logits"`
	TrainingLogits [][]float64          `json:"training_logits"`
	Running        map[string][]float64 `json:"running"` // batch norm's averages after that step
}

// TestTorchStateDicts loads state dicts by name and compares the networks with
// PyTorch's, at inference and in a training step. Both compute in float32: values
// near 1 behind a dozen layers agree to 1e-5.
func TestTorchStateDicts(t *testing.T) {
	const tolerance = 1e-5
	for _, c := range []struct {
		network Network
		shape   []int
	}{
		{&MLP{Hidden: []int{5, 3}}, []int{4}},
		{&ResMLP{Block: 5, Hidden: 6, Blocks: 2, HiddenDropout: -1, ResidualDropout: -1}, []int{4}},
		{&FTTransformer{Token: 8, Heads: 2, Hidden: 5, Blocks: 3, AttentionDropout: -1, HiddenDropout: -1, Categorical: []Category{{1, 3}, {3, 2}}}, []int{5}},
		{&ResNet{Widths: []int{8, 9}, Blocks: 2, Dropout: -1, Shift: -1, Mirror: -1}, []int{2, 6, 7}},
	} {
		name := c.network.Name()
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var want torchValues
			if err := json.Unmarshal(text, &want); err != nil {
				t.Fatal(err)
			}
			state, err := ReadWeights(filepath.Join("testdata", name+".safetensors"))
			if err != nil {
				t.Fatal(err)
			}
			var x []float64
			for _, row := range want.X {
				x = append(x, row...)
			}
			n, width := len(want.X), Values(c.shape)
			in := (&data.Table{Features: mat.NewDense(n, width, x), Labels: make([]int, n), Classes: []string{"a", "b", "c"}}).Inputs()
			in.Shape = c.shape
			m, err := Start(c.network, in, Settings{Start: state}, newRand(1))
			if err != nil {
				t.Fatal(err)
			}
			m.Config.Scale = Scale{make([]float64, c.shape[0]), slices.Repeat([]float64{1}, Values(c.shape[:1]))}
			out, err := EncodeInputs(t.Context(), m, in)
			if err != nil {
				t.Fatal(err)
			}
			compare(t, "features", out.Features, want.Features, tolerance)
			compare(t, "logits", out.Logits, want.Logits, tolerance)

			counter := graph.NewWeights(tensor.Float32)
			counter.AddState(stepName, []float64{0}, 1)
			weights := graph.NewWeights(tensor.Float32).Join(m.weights, counter)
			b := graph.NewBuilder(weights, n)
			train := &training{graph.Tensor(tensor.Float32, []float64{1}, 1), func() uint64 { return 1 }}
			_, logits := c.network.Forward(&Pass{Builder: b, Shape: c.shape, train: train}, b.Table("x", graph.Tensor(tensor.Float32, x, n, width)))
			p, err := b.Compile(logits)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Run(); err != nil {
				t.Fatal(err)
			}
			compare(t, "training logits", mat.NewDense(n, 3, graph.Float64s(p.Output(0))), want.TrainingLogits, tolerance)
			if err := p.Commit(); err != nil {
				t.Fatal(err)
			}
			for name, average := range want.Running {
				compare(t, name, mat.NewDense(1, len(average), m.weights.Float64s(name)), [][]float64{average}, tolerance)
			}
			if averages := strings.Count(strings.Join(m.weights.Names(), " "), "running"); averages != len(want.Running) {
				t.Errorf("%d moving averages, %d in torch", averages, len(want.Running))
			}
		})
	}
}

func compare(t *testing.T, what string, got mat.Matrix, want [][]float64, tolerance float64) {
	t.Helper()
	for i, row := range want {
		for j, w := range row {
			if g := got.At(i, j); !(math.Abs(g-w) <= tolerance*(1+math.Abs(w))) {
				t.Errorf("%s (%d, %d) is %v, torch has %v", what, i, j, g, w)
				return
			}
		}
	}
}
