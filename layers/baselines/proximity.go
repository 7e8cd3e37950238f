package baselines

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/onnx"
	"calibra/graph/simd"
	"calibra/layers"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// proximity is how near a row lies to the calibration rows, by its squared distances to the K
// nearest of them, between rows divided by their lengths, the neighbours found by exact search.
type proximity struct {
	points *mat.Dense // N×P, of length 1 (or 0)
	k      int        // K
	say    func(nearest largest) float64
}

// meanProximity is exp(−mean of the squared distances).
func meanProximity(nearest largest) float64 {
	if len(nearest) == 0 {
		return 1 // the only calibration row has no neighbour to be far from
	}
	return math.Exp(-floats.Sum(nearest) / float64(len(nearest)))
}

// defaultNeighbours is K of the published runs.
const defaultNeighbours = 50

func newProximity(z *mat.Dense, k int) (*proximity, error) {
	if k = cmp.Or(k, defaultNeighbours); k < 0 {
		return nil, &layers.SettingError{Reason: fmt.Sprintf("%d neighbours make no proximity; choose at least 1", k)}
	}
	return &proximity{unitRows(z), k, meanProximity}, nil
}

// unitRows divides each row by its length; rows of zeros stay.
func unitRows(z *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(z)
	for _, row := range rowsOf(out) {
		if length := floats.Norm(row, 2); length > 0 {
			floats.Scale(1/length, row)
		}
	}
	return out
}

// of is the proximity of each row of z.
func (p *proximity) of(z *mat.Dense) []float64 {
	return p.search(context.Background(), unitRows(z), nil)
}

// own is the proximity of the calibration rows themselves, each and those of its kind (see
// [data.Set.Kinds]; nil: none) left out of its own neighbours.
func (p *proximity) own(ctx context.Context, kinds []int) ([]float64, error) {
	if kinds == nil {
		kinds = data.UpTo(p.points.RawMatrix().Rows)
	}
	out := p.search(ctx, p.points, kinds)
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("interrupted in the search for neighbours: %w", err)
	}
	return out, nil
}

// searchRows is how many rows are searched at a time: a block of 64 with 10⁶
// calibration rows takes 512 MiB.
const searchRows = 64

// search leaves rows out once ctx is cancelled. With kinds, the rows are the points, and none is a
// neighbour of its kind.
func (p *proximity) search(ctx context.Context, rows *mat.Dense, kinds []int) []float64 {
	out := make([]float64, rows.RawMatrix().Rows)
	squares := make([]float64, p.points.RawMatrix().Rows)
	for j, point := range rowsOf(p.points) {
		squares[j] = floats.Dot(point, point)
	}
	n, d := p.points.Dims()
	inBlocks(len(out), searchRows, func(lo, hi int) {
		if ctx.Err() != nil {
			return
		}
		products := make([]float64, (hi-lo)*n)
		simd.Dgemm(blas.NoTrans, blas.Trans, hi-lo, n, d, 1, rows.RawMatrix().Data[lo*d:hi*d], d, p.points.RawMatrix().Data, d, 0, products, n)
		nearest := make(largest, 0, min(p.k, n))
		for i := lo; i < hi; i++ {
			x := rows.RawRowView(i)
			own := floats.Dot(x, x)
			nearest = nearest[:0]
			for j, product := range products[(i-lo)*n : (i-lo+1)*n] {
				if kinds != nil && kinds[i] == kinds[j] {
					continue
				}
				nearest.keep(max(0, own+squares[j]-2*product), p.k)
			}
			out[i] = p.say(nearest)
		}
	})
	return out
}

// largest is a heap with its largest element first, which holds the k smallest of
// the numbers it was offered.
type largest []float64

func (h largest) Len() int           { return len(h) }
func (h largest) Less(i, j int) bool { return h[i] > h[j] }
func (h largest) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push appends v.
func (h *largest) Push(v any) { *h = append(*h, v.(float64)) }

// Pop is not asked for: what is too large is replaced.
func (h *largest) Pop() any { panic("baselines: nothing is taken from the nearest") }

// keep offers v.
func (h *largest) keep(v float64, k int) {
	switch {
	case len(*h) < k:
		heap.Push(h, v)
	case v < (*h)[0]:
		(*h)[0] = v
		heap.Fix(h, 0)
	}
}

// proximal is what the ProCal methods share: the embedding and the proximity in it.
type proximal struct {
	kept // the embedding, proximity/points and proximity/neighbours
	near *proximity
}

// fit embeds cal and gives what its rows are calibrated by. A fit that fails changes
// nothing.
func (m *proximal) fit(ctx context.Context, cal *data.Set, neighbours int) (seen, error) {
	sizes, e, err := toEmbed(cal)
	if err != nil {
		return seen{}, err
	}
	w := graph.NewWeights(tensor.Float64)
	addEmbedding(w, e)
	z, err := embed(w, cal)
	if err != nil {
		return seen{}, err
	}
	near, err := newProximity(z, neighbours)
	if err != nil {
		return seen{}, err
	}
	own, err := near.own(ctx, cal.Kinds())
	if err != nil {
		return seen{}, err
	}
	rows, err := observed(cal, sizes, own)
	if err != nil {
		return seen{}, err
	}
	n, d := near.points.Dims()
	w.AddState("proximity/points", near.points.RawMatrix().Data, n, d)
	w.AddState("proximity/neighbours", []float64{float64(near.k)}, 1)
	m.kept, m.near = kept{sizes, w}, near
	return rows, nil
}

// seen is what the calibration rows show: the confidence and proximity of each, how probable it
// is that its top class is right, 1 or 0 of a certain label, and its weight (nil: 1 each).
type seen struct{ confidence, proximity, right, weights []float64 }

func observed(cal *data.Set, s layers.Sizes, proximity []float64) (seen, error) {
	_, tops, confidence, err := topsOf(cal, s)
	right := make([]float64, len(tops))
	for i, top := range tops {
		right[i] = cal.Share(i, top)
	}
	return seen{confidence, proximity, right, cal.Weights}, err
}

// topsOf is p̂ of each row of x (N×C), its top class and the probability of that.
func topsOf(x *data.Set, s layers.Sizes) (p *mat.Dense, tops []int, confidence []float64, err error) {
	if p, err = probabilitiesOf(x, s); err != nil {
		return nil, nil, nil, err
	}
	tops, confidence = make([]int, x.Len()), make([]float64, x.Len())
	for i, row := range rowsOf(p) {
		tops[i] = floats.MaxIdx(row)
		confidence[i] = row[tops[i]]
	}
	return p, tops, confidence, nil
}

// predict is replaceTops with the proximity of x's rows.
func (m *proximal) predict(x *data.Set, c func(confidence, proximity []float64) []float64) (*data.Predictions, error) {
	if m.w == nil {
		return nil, layers.ErrUnfitted
	}
	z, err := embed(m.w, x)
	if err != nil {
		return nil, err
	}
	return replaceTops(x, m.sizes, m.near.of(z), c)
}

// replaceTops is replaceTop of each row by c(confidence, proximity).
func replaceTops(x *data.Set, s layers.Sizes, proximity []float64, c func(confidence, proximity []float64) []float64) (*data.Predictions, error) {
	p, tops, confidence, err := topsOf(x, s)
	if err != nil {
		return nil, err
	}
	calibrated := c(confidence, proximity)
	for i, row := range rowsOf(p) {
		replaceTop(row, tops[i], calibrated[i])
	}
	return predictions(p, x)
}

// replaceTop puts c in place of the top probability and scales the others to 1 − c; where
// they are all 0 they share it.
func replaceTop(row []float64, top int, c float64) {
	row[top] = 0
	others := floats.Sum(row)
	for k := range row {
		switch {
		case k == top:
			row[k] = c
		case others > 0:
			row[k] *= (1 - c) / others
		default:
			row[k] = (1 - c) / float64(len(row)-1)
		}
	}
}

// ONNX returns why there is no network.
func (*proximal) ONNX(*onnx.Network) (onnx.Outputs, error) { return onnx.Outputs{}, errNeighbours }

// errNeighbours is why a method cannot be a network of single rows.
var errNeighbours = errors.New("it predicts a row with the help of its calibration rows")

// readProximal reads what fit made, with weights of a number for each calibration row.
func readProximal(s layers.State, each ...string) (proximal, error) {
	of, err := readKept(s, func(of layers.Sizes) map[string]tensor.Shape {
		n, m, p := of.Rows(), of.Features, components(of)
		shapes := map[string]tensor.Shape{
			"embedding/mean": {m}, "embedding/sd": {m}, "embedding/axes": {m, p}, "embedding/variances": {p},
			"proximity/points": {n, p}, "proximity/neighbours": {1},
		}
		for _, name := range each {
			shapes[name] = tensor.Shape{n}
		}
		return shapes
	})
	if err != nil {
		return proximal{}, err
	}
	neighbours := of.number("proximity/neighbours")
	if neighbours < 1 || neighbours != math.Trunc(neighbours) || neighbours > math.MaxInt32 {
		return proximal{}, fmt.Errorf("baselines: %v neighbours make no proximity", neighbours)
	}
	return proximal{of, &proximity{of.matrix("proximity/points"), int(neighbours), meanProximity}}, nil
}
