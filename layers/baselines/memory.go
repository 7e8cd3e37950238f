package baselines

import (
	"math"

	"calibra/data"
	"calibra/graph"
	"calibra/graph/blas"
	"calibra/graph/op"
	"calibra/graph/work"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// memory is a kernel estimate of class probabilities from labelled points of weights w,
//
//	p_k(x) = Σ_j w_j K_j 1[y_j = k] / Σ_j w_j K_j ,  K_j = exp(−c·‖x − s_j‖²)
//
// of soft labels with q_jk in place of 1[y_j = k], in float32 with float64 sums. Where the kernel is
// at most emptyKernel in all, p is the prior, the class frequencies of the points.
type memory struct {
	points  []float32 // N×d
	squares []float32 // N, ‖s_j‖²
	aims    *data.Set // labels, weights and soft labels
	d       int
	prior   []float64
}

const emptyKernel = 1e-10

func newMemory(points []float32, d int, aims *data.Set, classes int) *memory {
	n := len(aims.Labels)
	m := &memory{points: points, aims: aims, d: d, prior: make([]float64, classes), squares: make([]float32, n)}
	total := aims.Total()
	for j := range n {
		for k, q := range aims.Shares(j) {
			m.prior[k] += aims.Weight(j) * q / total
		}
		p := points[j*d : (j+1)*d]
		m.squares[j] = op.Dot(p, p)
	}
	return m
}

// estimate is p of each row of x (N×d), as an N×C matrix. With folds, one for each
// point and the same points as x, no point counts for another of its fold.
func (m *memory) estimate(x []float32, c float64, folds []int) *mat.Dense {
	rows, n := len(x)/m.d, len(m.aims.Labels)
	out, gamma := mat.NewDense(rows, len(m.prior), nil), float32(math.Sqrt(1/(2*c)))
	work.Ranges(rows, estimateRows, func(lo, hi int) {
		kernel := make([]float32, (hi-lo)*n)
		blas.Current().Sgemm(gonum.NoTrans, gonum.Trans, hi-lo, n, m.d, 1, x[lo*m.d:hi*m.d], m.d, m.points, m.d, 0, kernel, n)
		for i := lo; i < hi; i++ {
			row, x := kernel[(i-lo)*n:(i-lo+1)*n], x[i*m.d:(i+1)*m.d]
			op.GaussianRow(row, m.squares, op.Dot(x, x), gamma)
			p, sum := out.RawRowView(i), 0.0
			for j, k := range row {
				if folds != nil && folds[j] == folds[i] {
					continue
				}
				kernel := m.aims.Weight(j) * float64(k)
				if sum += kernel; m.aims.Soft == nil {
					p[m.aims.Labels[j]] += kernel
					continue
				}
				floats.AddScaled(p, kernel, m.aims.Soft.RawRowView(j))
			}
			for k := range p {
				if sum > emptyKernel {
					p[k] /= sum
				} else {
					p[k] = m.prior[k]
				}
			}
		}
	})
	return out
}

// estimateRows is how many rows of x one thread takes at a time.
const estimateRows = 32

func float32s(t *tensor.Dense) []float32 {
	if t.Dtype() == tensor.Float32 {
		return t.Float32s()
	}
	return graph.Tensor(tensor.Float32, t.Float64s(), t.DataSize()).Float32s()
}
