package layers

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"calibra/data"
	"calibra/graph/blas"
	"calibra/graph/op"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// BilinearPredictor is a fitted [Bilinear] map on a [Divide] without a graph, for serving: features in,
// calibrated log-probabilities out, in float32. The head is a table, since a slot can only take
// one of K values:
//
//	log-odds_c = bias_c + Σ_i T[i, s(i), c],   T[i,k,c] = Σ_j c_kj W[i·d+j, c]
//
// It allocates nothing once warm and may be used by many goroutines at once. It
// agrees with the graph to 1e-5 relative.
type BilinearPredictor struct {
	sizes  Sizes
	centre []float64 // M
	book   op.Codebook
	table  []float32 // w×K×C
	bias   []float32 // C
	outer  []float32 // K×C², a_k b_kᵀ
	prior  []float32 // C, log π up to a constant, which the softmax takes away
	scale  []float32 // w, σ²
	floor  float32   // least log p̂ of the head
	memory sync.Pool // of *predictorMemory
}

// predictorBatch is how many rows the predictor works on at a time.
const predictorBatch = 256

type predictorMemory struct {
	codes                    []int32
	logp, scores, mass, form []float32
}

// CompileBilinear turns a fitted calibrator into a BilinearPredictor, which is held to the graph on a few rows.
// Later fits do not change it.
func (t *Trained) CompileBilinear() (*BilinearPredictor, error) {
	d, divided := t.Base.(*Divide)
	m, bilinear := t.Map.(Bilinear)
	m = m.withDefaults()
	switch {
	case !divided || !bilinear:
		return nil, fmt.Errorf("layers: only a bilinear map on a divided space compiles, not %s on %s", NameOf(t.Map), NameOf(t.Base))
	case m.Link != Softplus{} || m.Identity != InLinearTerm:
		return nil, fmt.Errorf("layers: only a bilinear map of the published link compiles, not %T", m.Link)
	case t.weights == nil:
		return nil, ErrUnfitted
	case d.sizes.CodesOf() > 1 || d.sizes.Tables != nil:
		return nil, fmt.Errorf("layers: only a space whose slots have one codeword compiles, not one divided by %s", NameOf(d.codes()))
	case priorOfItsOwn(t.weights):
		return nil, fmt.Errorf("layers: a bilinear map with a prior for each region does not compile")
	}
	if d.weights.Dtype() != tensor.Float32 {
		return nil, fmt.Errorf("layers: only a space divided in single precision compiles; the columns of these features lie too far apart for it, so take their own centres, as layers.ByColumn has them")
	}
	s := d.sizes
	w, c, k, width := s.Slots, s.Classes, s.Codewords, s.Features/s.Slots
	p := &BilinearPredictor{
		sizes: s, centre: d.weights.Float64s(centreName), table: make([]float32, w*k*c), outer: make([]float32, k*c*c),
		bias: slices.Clone(d.weights.Tensor("head/bias").Float32s()), prior: slices.Clone(t.weights.Tensor("bilinear/prior").Float32s()),
		scale: slices.Repeat([]float32{1}, w), floor: float32(d.floor()),
	}
	if t.weights.Has("bilinear/scale") {
		copy(p.scale, t.weights.Tensor("bilinear/scale").Float32s())
	}
	words, head := d.weights.Tensor("codebook/codewords").Float32s(), d.weights.Tensor("head/weight").Float32s()
	for i := range w {
		blas.Current().Sgemm(gonum.NoTrans, gonum.NoTrans, k, c, width, 1, words, width, head[i*width*c:], c, 0, p.table[i*k*c:], c)
	}
	a, b := t.weights.Tensor("bilinear/receiver").Float32s(), t.weights.Tensor("bilinear/sender").Float32s()
	for at := range p.outer {
		word, i, j := at/(c*c), at/c%c, at%c
		p.outer[at] = a[word*c+i] * b[word*c+j]
	}
	p.book.Set(words, k, width)
	p.memory.New = func() any {
		return &predictorMemory{
			codes: make([]int32, predictorBatch*w), logp: make([]float32, predictorBatch*c), scores: make([]float32, predictorBatch*c),
			mass: make([]float32, predictorBatch*k), form: make([]float32, predictorBatch*c*c),
		}
	}
	if err := t.holds(p, d.codes(), words); err != nil {
		return nil, err
	}
	return p, nil
}

// holds is an error unless the predictor and the graph agree on rows around the codewords: codes
// may assign them otherwise.
func (t *Trained) holds(p *BilinearPredictor, codes Codes, words []float32) error {
	const rows = 32
	m, c := p.sizes.Features, p.sizes.Classes
	rng := rand.New(rand.NewPCG(0, 0))
	features, logProbs := make([]float32, rows*m), make([]float32, rows*c)
	x := mat.NewDense(rows, m, nil)
	for i := range features { // a codeword's entry, and half of another's
		features[i] = float32(p.centre[i%m]) + words[rng.IntN(len(words))] + words[rng.IntN(len(words))]/2
		x.RawMatrix().Data[i] = float64(features[i])
	}
	p.Predict(logProbs, features)
	says, err := t.Predict(&data.Set{Features: x})
	if err != nil {
		return err
	}
	for i, want := range says.LogProbs.RawMatrix().Data { // float32 agrees to 1e-5
		if apart := math.Abs(float64(logProbs[i]) - want); !(apart <= 1e-3*max(1, math.Abs(want))) {
			return fmt.Errorf("layers: codes %s do not compile: they give a log-probability of %.4g where the nearest codewords give %.4g", NameOf(codes), want, logProbs[i])
		}
	}
	return nil
}

// Predict writes the calibrated log-probabilities (N×C) of features (N×M), both row
// by row, to dst. One row is a batch like any other. It panics if the lengths
// disagree. Features must be finite and within [Codes.Reach], which is not checked: a
// slot that holds a NaN is taken for codeword 0.
func (p *BilinearPredictor) Predict(dst, features []float32) {
	m, c := p.sizes.Features, p.sizes.Classes
	n := len(features) / m
	if n*m != len(features) || n*c != len(dst) {
		panic(fmt.Sprintf("layers: Predict of %d features into %d log-probabilities, for rows of %d and %d", len(features), len(dst), m, c))
	}
	predictions.Run((n+predictorBatch-1)/predictorBatch, prediction{p, dst, features})
}

// prediction is one call of Predict, cut into batches for the cores.
type prediction struct {
	*BilinearPredictor
	dst, features []float32
}

var predictions work.Jobs[prediction, *prediction]

func (j *prediction) Block(i int) {
	m, c := j.sizes.Features, j.sizes.Classes
	lo := i * predictorBatch
	hi := min(lo+predictorBatch, len(j.dst)/c)
	j.batch(j.dst[lo*c:hi*c], j.features[lo*m:hi*m])
}

func (p *BilinearPredictor) batch(dst, features []float32) {
	w, c, k := p.sizes.Slots, p.sizes.Classes, p.sizes.Codewords
	n := len(dst) / c
	mem := p.memory.Get().(*predictorMemory)
	codes, logp, scores, mass, form := mem.codes[:n*w], mem.logp[:n*c], mem.scores[:n*c], mem.mass[:n*k], mem.form[:n*c*c]

	op.NearestCentred(codes, features, p.centre, &p.book)
	clear(mass)
	for b := range n {
		row, counts := scores[b*c:(b+1)*c], mass[b*k:(b+1)*k]
		slots := codes[b*w : (b+1)*w]
		for i, s := range slots {
			counts[s] += p.scale[i]
		}
		op.SumCodes(row, p.table, slots, k)
		for j, v := range p.bias {
			row[j] += v
		}
	}
	op.LogSoftmaxRows(logp, scores, c)
	for i, v := range logp {
		logp[i] = max(v, p.floor)
	}
	blas.Current().Sgemm(gonum.NoTrans, gonum.NoTrans, n, c*c, k, 1, mass, k, p.outer, c*c, 0, form, c*c)
	op.DirichletRows(scores, form, logp, c, 1, op.AlphaFloor)
	for b := range n {
		for j, v := range p.prior {
			scores[b*c+j] += v
		}
	}
	op.LogSoftmaxRows(dst, scores, c)
	p.memory.Put(mem)
}
