package layers

import (
	"fmt"
	"sync"

	"calibra/graph/op"
	"calibra/graph/simd"

	"gonum.org/v1/gonum/blas"
)

// Predictor is a fitted quantizer, head and bilinear calibrator without a graph, for
// serving: features in, calibrated log-probabilities out, in float32. The head is a
// table, since a slot can only say one of K things:
//
//	log-odds_c = bias_c + Σ_i T[i, s(i), c],   T[i,k,c] = Σ_j c_kj W[i·d+j, c]
//
// It allocates nothing once warm and may be used by many goroutines at once. It
// agrees with the graph to 1e-5 relative.
type Predictor struct {
	sizes  Sizes
	book   simd.Codebook
	table  []float32 // w×K×C
	bias   []float32 // C
	outer  []float32 // K×C², a_k b_kᵀ
	prior  []float32 // C, log π up to a constant, which the softmax takes away
	scale  []float32 // w, σ²
	memory sync.Pool // of *predictorMemory
}

// predictorBatch is how many rows the predictor works on at a time.
const predictorBatch = 256

type predictorMemory struct {
	codes            []int32
	logp, mass, form []float32
}

// Compile turns a fitted calibrator whose Base is [Divide] and whose Map is
// [Bilinear] into a Predictor. Later fits do not change it.
func (t *Trained) Compile() (*Predictor, error) {
	d, divided := t.Base.(*Divide)
	_, bilinear := t.Map.(Bilinear)
	switch {
	case !divided || !bilinear:
		return nil, fmt.Errorf("layers: only a bilinear map on a divided space compiles, not %T on %T", t.Map, t.Base)
	case t.weights == nil:
		return nil, ErrUnfitted
	case !looksUp(d.codes()) || !d.sizes.single():
		return nil, fmt.Errorf("layers: only a space whose slots have one codeword of a shared codebook compiles, not one divided by %T", d.codes())
	case t.weights.Has("bilinear/regional"):
		return nil, fmt.Errorf("layers: a bilinear map with a prior for each region does not compile")
	}
	s := d.sizes
	w, c, k, width := s.Slots, s.Classes, s.Codewords, s.Features/s.Slots
	p := &Predictor{sizes: s, table: make([]float32, w*k*c), outer: make([]float32, k*c*c)}
	words := d.weights.Tensor("codebook/codewords").Float32s()
	p.book.Set(words, k, width)
	p.bias = append(p.bias, d.weights.Tensor("head/bias").Float32s()...)
	head := d.weights.Tensor("head/weight").Float32s()
	for i := range w {
		simd.Sgemm(blas.NoTrans, blas.NoTrans, k, c, width, 1, words, width, head[i*width*c:], c, 0, p.table[i*k*c:], c)
	}
	a, b := t.weights.Tensor("bilinear/receiver").Float32s(), t.weights.Tensor("bilinear/sender").Float32s()
	for at := range p.outer {
		word, i, j := at/(c*c), at/c%c, at%c
		p.outer[at] = a[word*c+i] * b[word*c+j]
	}
	p.prior = append(p.prior, t.weights.Tensor("bilinear/prior").Float32s()...)
	p.scale = make([]float32, w)
	for i := range p.scale {
		p.scale[i] = 1
	}
	if t.weights.Has("bilinear/scale") {
		copy(p.scale, t.weights.Tensor("bilinear/scale").Float32s())
	}
	p.memory.New = func() any {
		return &predictorMemory{
			codes: make([]int32, predictorBatch*w), logp: make([]float32, predictorBatch*c),
			mass: make([]float32, predictorBatch*k), form: make([]float32, predictorBatch*c*c),
		}
	}
	return p, nil
}

// looksUp tells whether codes are the nearest of the codewords.
func looksUp(c Codes) bool {
	switch c.(type) {
	case Codebook, Fixed:
		return true
	}
	return false
}

// Predict writes the calibrated log-probabilities (N×C) of features (N×M), both row
// by row, to dst. One row is a batch like any other. It panics if the lengths
// disagree. Features must be finite and within [Codes.Reach], which is not checked: a
// slot that holds a NaN is taken for codeword 0.
func (p *Predictor) Predict(dst, features []float32) {
	m, c := p.sizes.Features, p.sizes.Classes
	n := len(features) / m
	if n*m != len(features) || n*c != len(dst) {
		panic(fmt.Sprintf("layers: Predict of %d features into %d log-probabilities, for rows of %d and %d", len(features), len(dst), m, c))
	}
	j := predictions.Get().(*prediction)
	*j = prediction{p, dst, features}
	simd.Run((n+predictorBatch-1)/predictorBatch, j)
	*j = prediction{}
	predictions.Put(j)
}

// prediction is one call of Predict, cut into batches for the cores.
type prediction struct {
	*Predictor
	dst, features []float32
}

var predictions = sync.Pool{New: func() any { return new(prediction) }}

func (j *prediction) Block(i int) {
	m, c := j.sizes.Features, j.sizes.Classes
	lo := i * predictorBatch
	hi := min(lo+predictorBatch, len(j.dst)/c)
	j.batch(j.dst[lo*c:hi*c], j.features[lo*m:hi*m])
}

func (p *Predictor) batch(dst, features []float32) {
	w, c, k := p.sizes.Slots, p.sizes.Classes, p.sizes.Codewords
	n := len(dst) / c
	mem := p.memory.Get().(*predictorMemory)
	codes, logp, mass, form := mem.codes[:n*w], mem.logp[:n*c], mem.mass[:n*k], mem.form[:n*c*c]

	simd.NearestRows(codes, features, &p.book)
	clear(mass)
	for b := range n {
		row, counts := logp[b*c:(b+1)*c], mass[b*k:(b+1)*k]
		copy(row, p.bias)
		slots := codes[b*w : (b+1)*w]
		for i, s := range slots {
			counts[s] += p.scale[i]
		}
		p.say(row, slots)
	}
	op.LogSoftmaxRows(logp, logp, c)
	floor := float32(LogFloor)
	for i, v := range logp {
		logp[i] = max(v, floor)
	}
	simd.Sgemm(blas.NoTrans, blas.NoTrans, n, c*c, k, 1, mass, k, p.outer, c*c, 0, form, c*c)
	simd.DirichletScores(dst, form, logp, c, 1, op.AlphaFloor)
	for b := range n {
		for j, v := range p.prior {
			dst[b*c+j] += v
		}
	}
	op.LogSoftmaxRows(dst, dst, c)
	p.memory.Put(mem)
}

// say adds to row what each slot says: Σ_i T[i, s(i), ·], four slots at a time so
// that row is read and written a quarter as often.
func (p *Predictor) say(row []float32, slots []int32) {
	c, k := p.sizes.Classes, p.sizes.Codewords
	at := func(i int) []float32 { return p.table[(i*k+int(slots[i]))*c:][:len(row)] }
	i := 0
	for ; i+4 <= len(slots); i += 4 {
		t0, t1, t2, t3 := at(i), at(i+1), at(i+2), at(i+3)
		for j := range row {
			row[j] += (t0[j] + t1[j]) + (t2[j] + t3[j])
		}
	}
	for ; i < len(slots); i++ {
		for j, v := range at(i) {
			row[j] += v
		}
	}
}
