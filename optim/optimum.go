package optim

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// Residual is the gradient of a loss over all rows where a fit ended. With g_i the gradient of a row's loss, its
// penalty in it, N rows and J the covariance of the g_i,
//
//	∇L = mean g_i ,  √(tr J/N)
//
// are the gradient and its sampling size: how large the gradient is, at the same weights, on other rows of the law. A
// gradient that is small beside it moves the weights less than the draw of the rows does.
type Residual struct {
	Gradient float64 `json:"gradient"` // |∇L|, Euclidean
	Sampling float64 `json:"sampling"` // √(tr J/N)
}

// String is the gradient beside its sampling size.
func (r Residual) String() string {
	if r.Sampling == 0 {
		return fmt.Sprintf("%.2g", r.Gradient)
	}
	return fmt.Sprintf("%.2g, its sampling size %.2g, ratio %.2g", r.Gradient, r.Sampling, r.Gradient/r.Sampling)
}

// Residual is that of p at its weights, which it leaves as they are. It computes in this process.
func (p Problem) Residual(ctx context.Context) (*Residual, error) {
	e, err := p.examine(ctx)
	if err != nil {
		return nil, err
	}
	return e.residual(), nil
}

// Optimum tells whether a fit over all rows ended where its loss has an optimum.
type Optimum struct {
	Reached bool `json:"reached"`
	Residual
	Why string `json:"why,omitempty"` // why it is not reached
}

const (
	// smallBeside is which part of its sampling size a gradient may have: at a tenth, what a fit has left of its loss
	// is about a hundredth of what the sampling of the rows adds to it.
	smallBeside = 0.1
	// leastBlocks of rows have a gradient each, which estimates tr J to 4 %; blocksOf each weight make the columns of
	// G independent.
	leastBlocks, blocksOf = 256, 4
	// mostSearched are the weights of which a direction is searched in which the loss falls without end: G then takes
	// 2 MB.
	mostSearched = 256
	// rounding is the part of the sum of squares of gradients that are equal that is left about their mean.
	rounding = 1e-12
)

// Optimum examines a fit of p that ended with r. It computes in this process and leaves the weights as they are. A
// loss whose infimum is at infinity, as that of rows that a map tells apart without a penalty, is told from one with
// an optimum wherever the fit stopped: see [examined.agreement] and [examined.endless].
func (p Problem) Optimum(ctx context.Context, r Result) (*Optimum, error) {
	e, err := p.examine(ctx)
	if err != nil {
		return nil, err
	}
	o := &Optimum{Residual: *e.residual()}
	endless := false
	if r.Status != OnBound && e.sampling > 0 {
		if endless, err = e.endless(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case r.Status == OnBound:
		o.Why = r.Ended
	case e.sampling == 0 && o.Gradient == 0:
		o.Why = "no row's loss changes with the weights where the fit ended"
	case endless && r.Converged():
		o.Why = fmt.Sprintf("the loss goes on falling as the weights grow, and the fit ended where it still falls (%s)",
			r.Ended)
	case r.Status == Level || e.sampling == 0 && r.Converged(): // as asked; all rows have one gradient
	case o.Gradient > smallBeside*o.Sampling:
		o.Why = fmt.Sprintf("the gradient is %.2g of its sampling size, and more than %g (%s)",
			o.Gradient/o.Sampling, smallBeside, r.Ended)
	}
	o.Reached = o.Why == ""
	return o, nil
}

// examined is a loss at the weights of a fit, in blocks of its rows.
type examined struct {
	f        *fullBatch
	x        []float64  // the weights, P
	loss     float64    // L
	gradient []float64  // ∇L
	sampling float64    // √(tr J/N)
	rows     [][]int32  // of each block
	sums     *mat.Dense // G, the sum of the g_i of each block (blocks×P); nil of too many weights
}

func (e *examined) residual() *Residual {
	return &Residual{floats.Norm(e.gradient, 2), e.sampling}
}

// examine takes the gradients of all rows, in blocks. Rows are dealt to them by one fixed draw, since a file may be
// sorted.
func (p Problem) examine(ctx context.Context) (*examined, error) {
	f, err := newFullBatch(p, rowsAtOnce, nil)
	if err != nil {
		return nil, err
	}
	defer f.gradients.Close()
	e := &examined{f: f, x: p.Loss.Weights().Vector()}
	P := len(e.x)
	blocks := leastBlocks
	if P <= mostSearched {
		blocks = max(blocks, blocksOf*P)
	}
	if blocks = min(blocks, p.Rows); P <= mostSearched && P < blocks {
		e.sums = mat.NewDense(blocks, P, nil)
	}
	e.gradient = make([]float64, P)
	order := rand.New(rand.NewPCG(0, 0)).Perm(p.Rows)
	g, squares := make([]float64, P), 0.0
	for b, lo := 0, 0; b < blocks; b++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		hi := (b + 1) * p.Rows / blocks
		rows := make([]int32, hi-lo)
		for i := range rows {
			rows[i] = int32(order[lo+i])
		}
		n := float64(hi - lo)
		loss, err := e.gradientOf(rows, g)
		if err != nil {
			return nil, err
		}
		e.loss += n / float64(p.Rows) * loss
		floats.AddScaled(e.gradient, n/float64(p.Rows), g)
		squares += n * floats.Dot(g, g) // of a mean of n rows: J/n and ∇L²
		if e.sums != nil {
			floats.AddScaled(e.sums.RawRowView(b), n, g)
		}
		e.rows, lo = append(e.rows, rows), hi
	}
	if blocks > 1 {
		between := squares - float64(p.Rows)*floats.Dot(e.gradient, e.gradient)
		if between > rounding*squares {
			e.sampling = math.Sqrt(between / float64(blocks-1) / float64(p.Rows))
		}
	}
	return e, nil
}

// gradientOf is the mean loss of rows and writes its gradient to g.
func (e *examined) gradientOf(rows []int32, g []float64) (loss float64, err error) {
	loss, grads, err := e.f.problem.Loss.Gradient(rows)
	for _, t := range grads {
		g = g[copy(g, graph.Float64s(t)):]
	}
	return loss, err
}

// agreement is how much the blocks agree to fall along a direction, at most,
//
//	max_d (Σ_b G_b·d)²/Σ_b (G_b·d)² = S/(1 + S/B) ,  S = ḡᵀ(G̃ᵀG̃)⁻¹ḡ ,  ḡ = Σ_b G_b ,  G̃_b = G_b − ḡ/B
//
// of B blocks. At an optimum it is 0, since ḡ = 0. Where the loss of no row rises along some d, as along the direction
// in which separable rows drive a likelihood, all G_b·d have one sign and it is 1 at least, however far the fit went.
// Directions in which all G_b are equal are left out: there is only a penalty along them.
func (e *examined) agreement() float64 {
	B, P := e.sums.Dims()
	g, total := mat.DenseCopyOf(e.sums), floats.ScaleTo(make([]float64, P), float64(e.f.problem.Rows), e.gradient)
	n := float64(e.f.problem.Rows)
	for b, rows := range e.rows {
		share := float64(len(rows)) / n
		floats.AddScaled(g.RawRowView(b), -share, total)
		floats.Scale(1/math.Sqrt(share*float64(B)), g.RawRowView(b))
	}
	norms := make([]float64, P)
	for j := range P {
		norms[j] = mat.Norm(g.ColView(j), 2)
	}
	most := floats.Max(norms)
	for j, norm := range norms {
		if norms[j] = 1 / norm; !(norm > independent*most) {
			norms[j] = 0
		}
	}
	for b := range B {
		floats.Mul(g.RawRowView(b), norms)
	}
	// G̃Π = QR with falling |R_jj|.
	raw, tau, pivots, work := g.RawMatrix(), make([]float64, P), slices.Repeat([]int{-1}, P), make([]float64, 64*(P+1))
	lapack64.Geqp3(raw, pivots, tau, work, len(work))
	rank, along := 0, make([]float64, P)
	for rank < P && math.Abs(g.At(rank, rank)) > independent*math.Abs(g.At(0, 0)) {
		along[rank] = total[pivots[rank]] * norms[pivots[rank]]
		rank++
	}
	upper := blas64.Triangular{Uplo: blas.Upper, Diag: blas.NonUnit, N: rank, Stride: raw.Stride, Data: raw.Data}
	if rank > 0 {
		blas64.Trsv(blas.Trans, upper, blas64.Vector{N: rank, Inc: 1, Data: along})
	}
	S := floats.Dot(along[:rank], along[:rank])
	return S / (1 + S/float64(B))
}

// independent is which part of a column must lie off the others: rounding leaves 1e-15, and rows that a fit to a
// gradient of 1e-6 tells apart have gradients of some 1e-8 beside those of the others.
const independent = 1e-11

// agreed is below an agreement of 1, where blocks have a row more or less than others.
const agreed = 0.5

// endless reports whether the loss falls without end: twice the weights halve it, as where every row is told apart,
// or, of not too many weights, a Newton step lowers it by a part of the loss of some row. Where losses fall as e^(−s),
// that step adds 1 to s wherever the fit stopped; beside an optimum it moves next to nothing, as it does where a
// coefficient eᵘ ought to be 0.
func (e *examined) endless(ctx context.Context) (bool, error) {
	defer e.f.problem.Loss.Weights().SetVector(e.x)
	twice := floats.ScaleTo(make([]float64, len(e.x)), 2, e.x)
	if e.f.loss(twice) < e.loss/2 {
		return true, e.f.err
	}
	if e.sums == nil || e.agreement() < agreed {
		return false, e.f.err
	}
	d, err := e.newtonStep(ctx)
	if err != nil {
		return false, err
	}
	if next := floats.AddTo(make([]float64, len(d)), e.x, d); !(e.f.loss(next) < e.f.loss(e.x)) {
		return false, e.f.err
	}
	return e.moves(d)
}

// leastCurved is of eigenvalues of a matrix with a diagonal of ones: those below are of directions that change nothing.
const leastCurved = 1e-9

// newtonStep is −|H|⁻¹∇L with the Hessian H by differences of the gradient, scaled to a diagonal of ones.
func (e *examined) newtonStep(ctx context.Context) ([]float64, error) {
	g := make([]float64, len(e.x))
	H, err := estimate.Hessian(slices.Clone(e.x), func(sum []float64, scale float64, x []float64) error {
		e.f.gradient(g, x)
		floats.AddScaled(sum, scale, g)
		return cmp.Or(ctx.Err(), e.f.err)
	})
	if err != nil {
		return nil, err
	}
	scaled, scale := estimate.UnitDiagonal(H)
	d := estimate.Downhill(scaled, floats.MulTo(make([]float64, len(g)), scale, e.gradient), leastCurved)
	return floats.MulTo(d, d, scale), nil
}

const (
	mostRows = 1024 // asked for their own losses
	fallsBy  = 0.05 // of a row's loss; beside an optimum it is some 1e-5
)

// moves reports whether the step d lowers the loss of some row by a part of it, of the blocks that fall most.
func (e *examined) moves(d []float64) (bool, error) {
	along := mat.NewVecDense(len(e.rows), nil)
	along.MulVec(e.sums, mat.NewVecDense(len(d), d))
	blocks := make([]int, len(e.rows))
	floats.Argsort(along.RawVector().Data, blocks)
	var rows []int32
	for _, b := range blocks {
		rows = append(rows, e.rows[b]...)
	}
	rows = rows[:min(mostRows, len(rows))]
	before, err := e.losses(rows, e.x)
	if err != nil {
		return false, err
	}
	after, err := e.losses(rows, floats.AddTo(make([]float64, len(d)), e.x, d))
	for i, loss := range after {
		if loss < (1-fallsBy)*before[i] {
			return true, nil
		}
	}
	return false, err
}

// losses are those of single rows at weights x.
func (e *examined) losses(rows []int32, x []float64) ([]float64, error) {
	e.f.problem.Loss.Weights().SetVector(x)
	out := make([]float64, len(rows))
	for i, row := range rows {
		loss, _, err := e.f.problem.Loss.Gradient([]int32{row})
		if err != nil {
			return nil, err
		}
		out[i] = loss
	}
	return out, nil
}
