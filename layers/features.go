package layers

import (
	"maps"
	"math"
	"slices"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// Features are the features of N rows, less a centre, as graphs read them (N×M).
type Features struct{ table *tensor.Dense }

// NewFeatures makes them of x, N×M, and of the centre among w, in the float type of w.
func NewFeatures(x mat.Matrix, w *graph.Weights) *Features {
	if x == nil {
		return &Features{}
	}
	return &Features{inputTable(w.Dtype(), LessCentre(x, w))}
}

// Take describes the features of the rows that a step works on, B×M.
func (f *Features) Take(b *graph.Builder, name string) *gorgonia.Node { return b.Take(name, f.table) }

// Quantized are the quantized features q of N rows (N×M), kept as their codes (see [Assignment]). They stand for
// features less the model's centre.
type Quantized struct {
	Codes     []int32   // N×p, row by row
	Shares    []float32 // N×p; nil: 1 each
	Codewords []float64 // K×d, row by row
	Slots     int       // w
	Width     int       // d
	CodesOf   int       // of each slot, p/w
	Centre    []float64 // M
}

var _ data.Rows = (*Quantized)(nil)

func (q *Quantized) Dims() (n, m int) {
	return len(q.Codes) / (q.Slots * q.CodesOf), q.Slots * q.Width
}

// At is the number at row i, column j.
func (q *Quantized) At(i, j int) float64 {
	if j < 0 || j >= q.Slots*q.Width {
		panic(mat.ErrColAccess)
	}
	var sum float64
	from := (i*q.Slots + j/q.Width) * q.CodesOf
	for at := from; at < from+q.CodesOf; at++ {
		sum += q.share(at) * q.Codewords[int(q.Codes[at])*q.Width+j%q.Width]
	}
	return sum
}

func (q *Quantized) share(at int) float64 {
	if q.Shares == nil {
		return 1
	}
	return float64(q.Shares[at])
}

// Usage counts how often a slot is assigned to each codeword (K): the first of those that it is shared out among, or
// each of those that add up to it.
func (q *Quantized) Usage() []int {
	usage := make([]int, len(q.Codewords)/q.Width)
	for at, k := range q.Codes {
		if at%q.CodesOf == 0 || q.share(at) >= 1 {
			usage[k]++
		}
	}
	return usage
}

// Entropies are the entropies of the codewords of each row's slots (N), in nats, for the shares of the slots that have
// them: 0 where all slots have one, ln w where each has its own. The first of a slot's codes counts.
func (q *Quantized) Entropies() []float64 {
	out := make([]float64, len(q.Codes)/(q.Slots*q.CodesOf))
	for i := range out {
		count := map[int32]float64{}
		for s := range q.Slots {
			count[q.Codes[(i*q.Slots+s)*q.CodesOf]]++
		}
		for _, k := range slices.Sorted(maps.Keys(count)) { // in one order, for one sum
			share := count[k] / float64(q.Slots)
			out[i] -= share * math.Log(share)
		}
	}
	return out
}

// Distances are the mean squared distances ‖x_s − centre_s − q_s‖² of each row's slots to their codewords (N), for the
// features x (N×M) that are quantized.
func (q *Quantized) Distances(x mat.Matrix) []float64 {
	out, row, left := make([]float64, len(q.Codes)/(q.Slots*q.CodesOf)), make([]float64, len(q.Centre)), Less(x, q.Centre)
	for i := range out {
		q.Row(row, i)
		for j, v := range row {
			out[i] += (left.At(i, j) - v) * (left.At(i, j) - v) / float64(q.Slots)
		}
	}
	return out
}

func (q *Quantized) T() mat.Matrix { return mat.Transpose{Matrix: q} }

// Row writes row i to dst.
func (q *Quantized) Row(dst []float64, i int) {
	clear(dst[:q.Slots*q.Width])
	p := q.Slots * q.CodesOf
	for at := i * p; at < (i+1)*p; at++ {
		slot, k, e := at%p/q.CodesOf, int(q.Codes[at]), q.share(at)
		for j, v := range q.Codewords[k*q.Width : (k+1)*q.Width] {
			dst[slot*q.Width+j] += e * v
		}
	}
}
