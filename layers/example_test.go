package layers_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"calibra/data"
	"calibra/data/synthetic"
	"calibra/graph"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// overconfident is calibration, validation and test rows of a classifier that grows
// overconfident where data are sparse: M = 8 features, C = 3 classes.
func overconfident() (cal, val, test *data.Set) {
	world := synthetic.NewProximity(synthetic.Settings{Features: 8, Classes: 3, Strength: 3}, seeded(1))
	cal, _ = world.Draw(2000, seeded(2))
	val, _ = world.Draw(500, seeded(3))
	test, _ = world.Draw(2000, seeded(4))
	return cal, val, test
}

func seeded(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// nll is the mean negative log-likelihood of predictions, in nats.
func nll(p *data.Predictions) float64 {
	var sum float64
	for i, y := range p.Labels {
		sum -= p.LogProbs.At(i, y)
	}
	return sum / float64(len(p.Labels))
}

// The paper's calibrator: 4 slots of width 2, 16 codewords, one bilinear Dirichlet
// map for each region.
func ExampleTrain() {
	cal, val, test := overconfident()
	c := layers.Train(
		&layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 16}},
		layers.Bilinear{},
		optim.Settings{},
	)
	if err := c.Fit(context.Background(), cal, val, seeded(5)); err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	before := nll(&data.Predictions{LogProbs: layers.LogSoftmax(test.Logits), Labels: test.Labels})
	fmt.Printf("NLL %.2f before, %.2f after\n", before, nll(p))
	var sum float64
	for j := range 3 {
		sum += math.Exp(p.LogProbs.At(0, j))
	}
	fmt.Printf("a row sums to %.6f\n", sum)
	// Output:
	// NLL 0.49 before, 0.25 after
	// a row sums to 1.000000
}

// regionBias is a Map of one's own: every region shifts the scores of the classes,
//
//	posterior = softmax(log p̂ + Σ_k n_k(V) v_k) ,   v_k in R^C
type regionBias struct{}

func (regionBias) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	if s.Codewords == 0 {
		return nil, fmt.Errorf("regionBias needs a base that divides the latent space")
	}
	w := graph.NewWeights(tensor.Float64)
	w.Add("region/bias", make([]float64, s.Codewords*s.Classes), s.Codewords, s.Classes)
	return w, nil
}

func (regionBias) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	shift := b.MatMul(in.Mass, b.Weight("region/bias")) // B×K · K×C
	return b.LogSoftmax(b.Plus(in.LogProbs, shift))
}

// Another parameterization is one type with two methods.
func ExampleMap() {
	cal, val, test := overconfident()
	loss := func(m layers.Map) float64 {
		c := layers.Train(&layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 16}}, m, optim.Settings{Epochs: 20})
		if err := c.Fit(context.Background(), cal, val, seeded(5)); err != nil {
			panic(err)
		}
		p, err := c.Predict(test)
		if err != nil {
			panic(err)
		}
		return nll(p)
	}
	fmt.Println("better than the quantized head:", loss(regionBias{}) < loss(layers.Identity{}))
	// Output:
	// better than the quantized head: true
}

// A form of its own is checked in a line each: describe it, evaluate it.
func ExampleBilinear_Form() {
	sizes := layers.Sizes{Classes: 2, Slots: 4, Codewords: 3, Counts: []float64{5, 5}}
	w, err := layers.Bilinear{}.Init(sizes, seeded(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	codes := graph.Codes([]int32{0, 0, 1, 2}, 4) // one row: codeword 0 in two slots
	ones := graph.Tensor(tensor.Float64, []float64{1, 1, 1, 1}, 4)
	form := graph.NewFunction(w, func(b *graph.Builder) gorgonia.Nodes {
		s := b.Take("codes", codes)
		in := layers.Batch{Codes: s, Mass: b.Apply(op.Mass(sizes.Codewords), s, b.Table("scale", ones))}
		return gorgonia.Nodes{layers.Bilinear{}.Form(b, in)}
	})
	outputs, err := form.Of([]int32{0})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("A(V) = %.3f, softplus⁻¹(1) = %.3f\n", graph.Float64s(outputs[0]), math.Log(math.E-1))
	// Output: A(V) = [0.541 0.541 0.541 0.541], softplus⁻¹(1) = 0.541
}

func ExampleTemperature() {
	logits := mat.NewDense(4, 2, []float64{4, 0, 4, 0, 4, 0, 4, 0}) // 98 % sure, right three times of four
	cal := &data.Set{Logits: logits, Labels: []int{0, 0, 0, 1}}
	var m layers.Temperature
	if err := m.Fit(context.Background(), cal, nil, nil); err != nil {
		fmt.Println(err)
		return
	}
	p, err := m.Predict(cal)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("T = 4/log 3 = %.3f, p = %.2f\n", m.T(), math.Exp(p.LogProbs.At(0, 0)))
	// Output: T = 4/log 3 = 3.641, p = 0.75
}

// fitted is a small calibrator that the examples below look into.
func fitted(cal, val *data.Set) *layers.Trained {
	short := optim.Settings{Epochs: 5}
	c := layers.Train(&layers.Divide{Slots: 4, Codebook: layers.Codebook{Codewords: 8}, Optim: short}, layers.Bilinear{}, short)
	if err := c.Fit(context.Background(), cal, val, seeded(5)); err != nil {
		panic(err)
	}
	return c
}

// A Predictor serves single rows without a graph, of any calibrator that has a network.
func ExampleCompile() {
	cal, val, test := overconfident()
	c := fitted(cal, val)
	predictor, err := layers.Compile(c)
	if err != nil {
		fmt.Println(err)
		return
	}
	logProbs := make([]float64, 3)
	if err := predictor.Predict(logProbs, data.Row(test.Features, 0, make([]float64, 8)), nil); err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.Predict(test.Rows([]int{0}))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("as the graph says:", floats.EqualApprox(logProbs, p.LogProbs.RawRowView(0), 1e-6)) // the head is of single precision
	// Output: as the graph says: true
}

// A web server that calibrates rows: any number of requests at once.
func ExamplePredictor() {
	cal, val, _ := overconfident()
	predictor, err := layers.Compile(fitted(cal, val))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var features []float64
		if err := json.NewDecoder(r.Body).Decode(&features); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		logProbs := make([]float64, 3)
		if err := predictor.Predict(logProbs, features, nil); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		json.NewEncoder(w).Encode(logProbs)
	}))
	defer server.Close()
	var requests sync.WaitGroup
	answers := make([]int, 8)
	for i := range answers {
		requests.Go(func() {
			answer, err := http.Post(server.URL, "application/json", strings.NewReader("[1, 0, 0, 0, 0, 0, 0, 0]"))
			if err == nil {
				answers[i] = answer.StatusCode
				answer.Body.Close()
			}
		})
	}
	requests.Wait()
	fmt.Println(answers)
	// Output: [200 200 200 200 200 200 200 200]
}

// How far the posteriors would move on other calibration rows.
func ExampleTrained_Sandwich() {
	cal, val, test := overconfident()
	c := fitted(cal, val)
	sandwich, err := c.Sandwich(context.Background(), cal, 1e-3)
	if err != nil {
		fmt.Println(err)
		return
	}
	one := test.Rows([]int{0})
	lower, upper, err := c.Intervals(context.Background(), sandwich, one, 0.95)
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := c.Predict(one)
	if err != nil {
		fmt.Println(err)
		return
	}
	for j := range 3 {
		q := math.Exp(p.LogProbs.At(0, j))
		fmt.Println(lower.At(0, j) < q && q < upper.At(0, j))
	}
	// Output:
	// true
	// true
	// true
}

func ExampleWriteModel() {
	dir, err := os.MkdirTemp("", "calibra")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	cal, val, test := overconfident()
	c := fitted(cal, val)
	path := filepath.Join(dir, "model.safetensors")
	if err := layers.WriteModel(path, "vq", c); err != nil {
		fmt.Println(err)
		return
	}

	model, err := layers.ReadModel(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	again := layers.Train(&layers.Divide{}, layers.Bilinear{}, optim.Settings{})
	if err := model.Restore(again); err != nil {
		fmt.Println(err)
		return
	}
	want, _ := c.Predict(test)
	got, err := again.Predict(test)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model.Method, mat.Equal(want.LogProbs, got.LogProbs))
	fmt.Println(model.State.Weights.Names()[4:])
	// Output:
	// vq true
	// [head/weight head/bias bilinear/receiver bilinear/sender bilinear/prior]
}
