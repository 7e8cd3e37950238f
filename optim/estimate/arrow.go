package estimate

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// Arrow is a sum F (P×P) of outer products of vectors each of which is 0 but for few blocks of its entries, such as
// those of the codewords of a row. With blocks of D that never meet in a vector, and all others after them,
//
//	F = (D B; Bᵀ E) ,  D block diagonal ,  S = E − BᵀD⁻¹B ,
//	F⁻¹(u; v) = (D⁻¹(u − Bx); x) ,  x = S⁻¹(v − BᵀD⁻¹u) ,
//
// so that no square of all P is needed, only one of what is left in E (the Schur complement).
type Arrow struct {
	place  []int           // of each entry of a vector in this order
	blocks []*mat.SymDense // of D
	start  []int           // where each of them begins, and last how many entries D has
	of     []int           // the block of each entry of D
	B      *mat.Dense      // nil where D or E has no entries
	E      *mat.SymDense   // nil without entries

	factors []mat.Cholesky
	schur   mat.Cholesky
}

// ArrowShape is where the entries of vectors stand in an [Arrow].
type ArrowShape struct {
	place, start []int // as in an Arrow
	rest         int   // entries of E
}

// Numbers is how many numbers an Arrow of this shape keeps.
func (s ArrowShape) Numbers() float64 {
	d := s.start[len(s.start)-1]
	sum := float64(d)*float64(s.rest) + 2*float64(s.rest)*float64(s.rest)
	for i, from := range s.start[1:] {
		sum += 2 * math.Pow(float64(from-s.start[i]), 2)
	}
	return sum
}

// ShapeOf puts blocks in D that never meet, those first that meet the fewest others. block is that of each entry (P),
// from 0; meeting are the blocks of each vector.
func ShapeOf(block []int, meeting [][]int) ArrowShape {
	n := 1 + slices.Max(block)
	in, others, size := make([][]int, n), make([]int, n), make([]int, n)
	for v, blocks := range meeting {
		for _, b := range blocks {
			in[b] = append(in[b], v)
			others[b] += len(blocks) - 1
		}
	}
	order := make([]int, n)
	for b := range order {
		order[b] = b
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(others[a], others[b]) })
	met := make([]bool, len(meeting))
	var own, rest []int
	for _, b := range order {
		if slices.ContainsFunc(in[b], func(v int) bool { return met[v] }) {
			rest = append(rest, b)
			continue
		}
		own = append(own, b)
		for _, v := range in[b] {
			met[v] = true
		}
	}
	for _, b := range block {
		size[b]++
	}
	s, at, next := ArrowShape{place: make([]int, len(block)), start: []int{0}}, 0, make([]int, n)
	for i, b := range append(own, rest...) {
		next[b] = at
		if at += size[b]; i < len(own) {
			s.start = append(s.start, at)
		}
	}
	s.rest = at - s.start[len(own)]
	for p, b := range block {
		s.place[p] = next[b]
		next[b]++
	}
	return s
}

// NewArrow is 0.
func NewArrow(s ArrowShape) *Arrow {
	a, d := &Arrow{place: s.place, start: s.start}, s.start[len(s.start)-1]
	for i, from := range s.start[1:] {
		size := from - s.start[i]
		a.blocks, a.of = append(a.blocks, mat.NewSymDense(size, nil)), append(a.of, slices.Repeat([]int{i}, size)...)
	}
	if s.rest > 0 {
		a.E = mat.NewSymDense(s.rest, nil)
	}
	if d > 0 && s.rest > 0 {
		a.B = mat.NewDense(d, s.rest, nil)
	}
	return a
}

// strip is how many rows of VᵀV are made at a time.
const strip = 64

// Add adds VᵀV of vectors V (m×n) with these entries (n), all others 0.
func (a *Arrow) Add(entries []int, v *mat.Dense) {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int { return a.place[entries[i]] - a.place[entries[j]] })
	m, n := v.Dims()
	sorted, places := mat.NewDense(m, n, nil), make([]int, n)
	for to, from := range order {
		places[to] = a.place[entries[from]]
		for k := range m {
			sorted.Set(k, to, v.At(k, from))
		}
	}
	var product mat.Dense
	for lo := 0; lo < n; lo += strip {
		hi := min(lo+strip, n)
		product.Reset()
		product.Mul(sorted.Slice(0, m, lo, hi).T(), sorted.Slice(0, m, lo, n))
		for i := lo; i < hi; i++ {
			a.addRow(places[i], places[i:], product.RawRowView(i - lo)[i-lo:])
		}
	}
}

// addRow adds values to a row of F at columns from the diagonal on.
func (a *Arrow) addRow(row int, columns []int, values []float64) {
	d := a.start[len(a.start)-1]
	if row >= d {
		raw := a.E.RawSymmetric()
		to := raw.Data[(row-d)*raw.Stride:]
		for i, c := range columns {
			to[c-d] += values[i]
		}
		return
	}
	b := a.of[row]
	for i, c := range columns {
		if c < d {
			from, block := a.start[b], a.blocks[b]
			block.SetSym(row-from, c-from, block.At(row-from, c-from)+values[i])
		} else {
			a.B.Set(row, c-d, a.B.At(row, c-d)+values[i])
		}
	}
}

// Factorize adds a ridge to the diagonal and prepares solutions; nothing can be added then. It is false where F is not
// positive definite.
func (a *Arrow) Factorize(ridge float64) bool {
	a.factors = make([]mat.Cholesky, len(a.blocks))
	for i, block := range a.blocks {
		raise(block, ridge)
		if !a.factors[i].Factorize(block) {
			return false
		}
		if a.B == nil {
			continue
		}
		own := a.B.Slice(a.start[i], a.start[i+1], 0, a.E.SymmetricDim()).(*mat.Dense)
		half := mat.DenseCopyOf(own)
		solve(&a.factors[i], half)
		raw := a.E.RawSymmetric()
		to := blas64.General{Rows: raw.N, Cols: raw.N, Stride: raw.Stride, Data: raw.Data}
		blas64.Gemm(blas.Trans, blas.NoTrans, -1, own.RawMatrix(), half.RawMatrix(), 1, to)
	}
	a.blocks = nil
	if a.E == nil {
		return true
	}
	raise(a.E, ridge)
	ok := a.schur.Factorize(a.E)
	a.E = nil
	return ok
}

func raise(m *mat.SymDense, ridge float64) {
	for i := range m.SymmetricDim() {
		m.SetSym(i, i, m.At(i, i)+ridge)
	}
}

// Solve is F⁻¹ of vectors, the rows of x (m×P).
func (a *Arrow) Solve(x mat.Matrix) *mat.Dense {
	m, p := x.Dims()
	y, d := mat.NewDense(p, m, nil), a.start[len(a.start)-1]
	for j, to := range a.place {
		for i := range m {
			y.Set(to, i, x.At(i, j))
		}
	}
	if d < p {
		rest := y.Slice(d, p, 0, m).(*mat.Dense)
		if a.B != nil {
			u := mat.DenseCopyOf(y.Slice(0, d, 0, m))
			a.own(u)
			var v mat.Dense
			v.Mul(a.B.T(), u)
			rest.Sub(rest, &v)
		}
		solve(&a.schur, rest)
		if a.B != nil {
			var u mat.Dense
			u.Mul(a.B, rest)
			own := y.Slice(0, d, 0, m).(*mat.Dense)
			own.Sub(own, &u)
		}
	}
	if d > 0 {
		a.own(y.Slice(0, d, 0, m).(*mat.Dense))
	}
	out := mat.NewDense(m, p, nil)
	for j, from := range a.place {
		for i, v := range y.RawRowView(from) {
			out.Set(i, j, v)
		}
	}
	return out
}

// own sets the entries u of D to D⁻¹u.
func (a *Arrow) own(u *mat.Dense) {
	_, m := u.Dims()
	for i := range a.factors {
		solve(&a.factors[i], u.Slice(a.start[i], a.start[i+1], 0, m).(*mat.Dense))
	}
}

// solve sets u to the solution of what was factorized, whose condition [Arrow.Factorize] does not bound.
func solve(factor *mat.Cholesky, u *mat.Dense) {
	var x mat.Dense
	if err := factor.SolveTo(&x, u); err != nil {
		if _, rounds := err.(mat.Condition); !rounds {
			panic(err) // the sizes are those of the factors
		}
	}
	u.Copy(&x)
}
