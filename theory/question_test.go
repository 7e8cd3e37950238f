package theory

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// tilts are the classes' scores of each codeword, v (K×C), with a ridge λ/2 ‖v‖² in the loss: without, a shift of all
// classes is free.
type tilts struct{ lambda float64 }

func (tilts) Init(s layers.Sizes, _ *rand.Rand) (*graph.Weights, error) {
	w := graph.NewWeights(tensor.Float64)
	w.Add("tilts/v", make([]float64, s.Codewords*s.Classes), s.Codewords, s.Classes)
	return w, nil
}

func (tilts) LogProbs(b *graph.Builder, in layers.Batch) *gorgonia.Node {
	return b.LogSoftmax(b.Plus(in.LogProbs, b.MatMul(in.Mass, b.Weight("tilts/v"))))
}

func (m tilts) Loss(b *graph.Builder, in layers.Batch, _ int) *gorgonia.Node {
	return b.Plus(layers.NLL(b, m, in), layers.Penalty(b, "tilts/v", m.lambda/2))
}

// noisyTilts asks of tilts with a tenth of the codes wrong and a fifth of the labels drawn anew.
func noisyTilts() Question {
	return Question{
		Population: Population{
			Design: Design{Classes: 3, Slots: 2, Codewords: 4, Atoms: 6, Decades: 1},
			Disturb: func(t *Truth, _ *rand.Rand) {
				for i, q := range t.Label {
					t.Label[i] = 0.8*q + 0.2/3
				}
			},
		},
		Channel: ToAny, Wrong: []float64{0.1}, Estimator: Estimator{Map: tilts{0.05}, Gauge: NullSpace{}}, Shifts: 2,
	}
}

// A question from outside: limit, sandwich and rates of a map with a loss of its own, on codes and labels that are
// wrong. Its statistics see the fits; the limit is where the exported parts put it.
func TestQuestionOfOnesOwn(t *testing.T) {
	q := noisyTilts()
	size := func(_ int, v []float64) float64 { return floats.Norm(v, 2) }
	var limits []Limit
	var truth *Truth
	q.Statistics = []Statistic{
		{Key: "slope", Quantity: "slope of ‖v̂ − v*‖ in N", Target: -0.5, Within: 0.01, Theory: "−1/2", Of: func(o *Outcome) Estimate {
			limits, truth = o.Limits, o.Truth
			return o.Slope(func(shift int, v []float64) float64 { return floats.Distance(v, o.Limits[shift].Theta, 2) })
		}},
		{Key: "size", Quantity: "‖v̂‖", Target: math.NaN(), Of: func(o *Outcome) Estimate { return o.Mean(size) }},
	}
	r, err := NewStudy("mine", "what is asked", q).Run(t.Context(), Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	inBands(t, r)
	row, ok := r.Row("slope")
	if size, found := r.Row("size"); !ok || !found || row.Verdict() != "pass" || size.Band != nil || !(size.Low < size.Value && size.Value < size.High) {
		t.Errorf("the statistics are %+v, %+v", row, size)
	}

	// The same by the parts: the weights of the population that is read, and Fit from the truth.
	read := truth.Table.Misread(q.Channel, q.Wrong[0])
	weights := read.Of(truth.Weights(truth.Table.Multinomial(q.Population.Design.Frequencies(0))))
	model, err := NewModel(q.Estimator.Map, truth.Table)
	if err != nil {
		t.Fatal(err)
	}
	theta := make([]float64, model.Dim())
	if err := Fit(model, NullSpace{}, theta, weights); err != nil {
		t.Fatal(err)
	}
	if !floats.EqualApprox(theta, limits[0].Theta, 1e-9) { // ‖∇L‖ ≤ 1e-11 over the least curvature, 0.05
		t.Errorf("Fit ends %g from the limit", floats.Distance(theta, limits[0].Theta, 2))
	}
	limit, err := NewLimit(model, NullSpace{}, theta, weights)
	if err != nil || !scalar.EqualWithinRel(limit.Covariance.At(0, 0), limits[0].Covariance.At(0, 0), 1e-6) { // as above
		t.Errorf("NewLimit: %v, %v", limit.Covariance, err)
	}
	if free, err := Free(model, theta, weights); err != nil || len(free.Basis) > 0 {
		t.Errorf("with a ridge %d directions are free (%v)", len(free.Basis), err)
	}
}

// What is not identified is named: a shift of the three scores of each codeword.
func TestFreeDirectionsAreNamed(t *testing.T) {
	q := Question{Population: noisyTilts().Population, Estimator: Estimator{Map: tilts{0}}, Replicates: 2}
	q.Population.Disturb = nil
	r, err := NewStudy("mine", "what is asked", q).Run(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	if row, _ := r.Row("nullity"); row.Value != 4 || len(row.Where) != 4 || !strings.Contains(row.Where[0], "tilts/v[") {
		t.Errorf("free are %g directions: %q", row.Value, row.Where)
	}
}

// A question that cannot be asked is one sentence.
func TestQuestionsAreChecked(t *testing.T) {
	told := func(of func(o *Outcome) Estimate) func(q *Question) {
		return func(q *Question) {
			q.Replicates, q.Sizes, q.Shifts = 2, []int{1e5, 1e6}, 1
			q.Statistics = []Statistic{{Key: "own", Of: of}}
		}
	}
	for want, change := range map[string]func(q *Question){
		"needs an estimator":        func(q *Question) { q.Estimator.Map = nil },
		"give both or none":         func(q *Question) { q.Wrong = nil },
		"a probability above 0":     func(q *Question) { q.Wrong = []float64{2} },
		"needs a Key":               func(q *Question) { q.Statistics = []Statistic{{}} },
		"under one shift":           func(q *Question) { q.Estimator.Gauge = nil },
		"too many to hold all":      func(q *Question) { q.Population.Design.Slots = 20 },
		"at least 2 classes, got 0": func(q *Question) { q.Population.Design = Design{} },
		`two statistics have the key "size"`: func(q *Question) {
			of := func(*Outcome) Estimate { return Estimate{} }
			q.Statistics = []Statistic{{Key: "size", Of: of}, {Key: "size", Of: of}}
		},
		`the key "beta-n" is of a row that every question has`: func(q *Question) {
			q.Statistics = []Statistic{{Key: "beta-n", Of: func(*Outcome) Estimate { return Estimate{} }}}
		},
		`the Rows of a question are some of nullity, reach`:              func(q *Question) { q.Rows = []string{"blah"} },
		"reads codeword 0 as others with probabilities that sum to 0.75": func(q *Question) { q.Channel = func(_, _, K int) float64 { return 0.75 / float64(K) } },
		"reads codeword 0 as 1 with the probability -1":                  func(q *Question) { q.Channel = func(k, l, _ int) float64 { return float64(k - l) } },
		"in cell [0 0], atom 0, which sum to 1.8": func(q *Question) {
			q.Population.Disturb = func(t *Truth, _ *rand.Rand) { floats.Scale(1.8, t.Label) }
		},
		"gives no truth": func(q *Question) { q.Population.Truth = func(uint64) (*Truth, error) { return nil, nil } },
		"the Theta of the Truth has 24 numbers, and tilts has 12": func(q *Question) {
			q.Population.Truth = func(seed uint64) (*Truth, error) {
				t, err := NewTruth(q.Population.Design, newRand(seed))
				t.Alike()
				return t, err
			}
		},
		"the sixth digit is wrong": told(func(o *Outcome) Estimate {
			o.Fail(errors.New("the sixth digit is wrong"))
			return Estimate{}
		}),
		"has the Error 0.1 and no Freedom":        told(func(*Outcome) Estimate { return Estimate{Value: 1, Error: 0.1} }),
		"the model has 12 parameters and ":        told(func(o *Outcome) Estimate { return Exact(o.Gradient(nil, o.Limits[0].Weights)[0]) }),
		"there are 1 limits and 2 sizes, counted": told(func(o *Outcome) Estimate { return Exact(float64(len(o.Estimates(5, 9)))) }),
	} {
		q := noisyTilts()
		change(&q)
		if _, err := NewStudy("mine", "", q).Run(t.Context(), Settings{}); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// The rows of several questions have keys of their own.
func TestQuestionsHaveNames(t *testing.T) {
	for want, names := range map[string][]string{
		"of 2 questions each needs a Name": {"", "b"}, `two questions have the Name "a"`: {"a", "a"},
	} {
		var questions []Question
		for _, name := range names {
			q := noisyTilts()
			q.Name = name
			questions = append(questions, q)
		}
		if _, err := NewStudy("mine", "", questions...).Run(t.Context(), Settings{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("names %q: %v", names, err)
		}
	}
}

// rateKeys are the keys of the rows of study rate and its like, all and no other.
func TestRateKeys(t *testing.T) {
	file, err := os.Open("studies/testdata/results.csv")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewStudy("mine", "", Question{Population: Population{Design: noisyTilts().Population.Design}, Estimator: Estimator{Map: tilts{0}}, Replicates: 2, Shifts: 1}).Run(t.Context(), Settings{})
	if err != nil {
		t.Fatal(err)
	}
	found := []string{"naive"} // of a law that the map cannot represent, in study noise
	for _, row := range r.Rows {
		found = append(found, row.Key)
	}
	for _, row := range rows {
		if row[0] == "rate" && !strings.HasSuffix(row[1], "-by-hand") {
			found = append(found, row[1])
		}
	}
	slices.Sort(found)
	if found = slices.Compact(found); !slices.Equal(found, slices.Sorted(slices.Values(rateKeys))) {
		t.Errorf("the rows have the keys %q, rateKeys are %q", found, rateKeys)
	}
}

// An estimate of a value alone is exact: it has no interval, in any form.
func TestExactEstimate(t *testing.T) {
	r := &Report{Study: "mine"}
	r.Near("key", "quantity", Estimate{Value: 2}, 2, 0.1, "")
	row := r.Rows[0]
	text, err := json.Marshal(row)
	if err != nil {
		t.Fatal(err)
	}
	if record := row.record(); row.Interval() != "" || strings.Contains(string(text), "interval") || record[4] != "" || record[5] != "" {
		t.Errorf("an exact number has the interval %q, %s, %q", row.Interval(), text, record)
	}
}

// entriesOf draws entries of a law, row after row.
func entriesOf(law []float64, rng *rand.Rand) func() int {
	each := distuv.NewCategorical(law, rng)
	return func() int { return int(each.Rand()) }
}

// TestSamplers: rows that are not each drawn alone give errors as their own J says: a Markov chain that stays where it
// is with probability 1/2, clusters of four rows alike, half of a population of rows without replacement, rows of an
// even law that are reweighted.
func TestSamplers(t *testing.T) {
	times := func(factor float64) func(Model, Limit) *mat.SymDense {
		return func(_ Model, l Limit) *mat.SymDense {
			J := mat.NewSymDense(len(l.Theta), nil)
			J.ScaleSym(factor, l.Scores)
			return J
		}
	}
	runs := func(next func(i int) bool) func(*Truth, []float64, int, *rand.Rand) []float64 {
		return func(_ *Truth, law []float64, n int, rng *rand.Rand) []float64 {
			weights, draw, at := make([]float64, len(law)), entriesOf(law, rng), 0
			for i := range n {
				if i == 0 || next(i) {
					at = draw()
				}
				weights[at] += 1 / float64(n)
			}
			return weights
		}
	}
	chain := func(_ *Truth, law []float64, n int, rng *rand.Rand) []float64 {
		return runs(func(int) bool { return rng.Float64() < 0.5 })(nil, law, n, rng)
	}
	half := func(_ *Truth, law []float64, n int, rng *rand.Rand) []float64 {
		var rows []int // the population
		for entry, p := range law {
			rows = append(rows, slices.Repeat([]int{entry}, int(math.Round(p*float64(2*n))))...)
		}
		weights := make([]float64, len(law))
		rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
		for _, entry := range rows[:n] {
			weights[entry] += 1 / float64(n)
		}
		return weights
	}
	even := func(_ *Truth, law []float64, n int, rng *rand.Rand) []float64 {
		same := slices.Repeat([]float64{1 / float64(len(law))}, len(law))
		weights := Sample(same, n, rng)
		for i, p := range law {
			weights[i] *= p * float64(len(law))
		}
		return weights
	}
	// J = E w² ∇ℓ∇ℓᵀ with w = law/even, as E w ∇ℓ = 0.
	squared := func(m Model, l Limit) *mat.SymDense {
		at := &Loss{Model: m, Weights: data.Each(l.Weights, func(p float64) float64 { return p * p * float64(len(l.Weights)) })}
		return at.Scores(l.Theta)
	}
	for name, sampler := range map[string]Sampler{
		"chain": {chain, times(3)}, "clusters": {runs(func(i int) bool { return i%4 == 0 }), times(4)},
		"half": {half, times(0.5)}, "reweighted": {even, squared},
	} {
		q := Question{
			Population: Population{Design: Design{Classes: 3, Slots: 2, Codewords: 3, Atoms: 4, Decades: 0.5}},
			Estimator:  Estimator{Map: tilts{0}}, Sampler: sampler, Sizes: []int{4000, 16_000}, Shifts: 1, Replicates: 100,
		}
		r, err := NewStudy("mine", "", q).Run(t.Context(), Settings{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if out := r.Failures(); out != nil {
			t.Errorf("%s: outside their bands: %q", name, out)
		}
		if sampler.Scores != nil { // rows drawn alone would have other errors
			q.Sampler.Scores = nil
			if r, err = NewStudy("mine", "", q).Run(t.Context(), Settings{}); err != nil || r.Failures() == nil {
				t.Errorf("%s is not told from rows drawn alone: %v", name, err)
			}
		}
	}
}
