package theory

import "gonum.org/v1/gonum/mat"

// factors are the paper's form, M_k = a_k b_kᵀ with θ = (a_1 … a_K, b_1 … b_K).
type factors struct{ Rescaling }

func (f factors) dim() int { return 2 * f.Codewords * f.Classes }

func (f factors) add(link, theta []float64, k int, count float64) {
	receiver, sender := f.factors(theta, k)
	for i, a := range receiver {
		for j, b := range sender {
			link[i*f.Classes+j] += count * a * b
		}
	}
}

// pullBack is ∂L/∂a_k = (∂L/∂M_k) b_k and ∂L/∂b_k = (∂L/∂M_k)ᵀ a_k.
func (f factors) pullBack(grad, theta, ofMatrices []float64) {
	zero(grad)
	for k := range f.Codewords {
		a, b := f.factors(theta, k)
		da, db := f.factors(grad, k)
		for i := range a {
			for j := range b {
				g := ofMatrices[(k*f.Classes+i)*f.Classes+j]
				da[i] += g * b[j]
				db[j] += g * a[i]
			}
		}
	}
}

// pullBackPairs is J_kᵀ Q_kl J_l for each pair of codewords, J_k = ∂vec M_k/∂(a_k, b_k).
func (f factors) pullBackPairs(dst *mat.SymDense, theta []float64, pairs [][]float64) {
	C, K := f.Classes, f.Codewords
	half := make([]float64, C*C*2*C) // Q_kl J_l
	for k := range K {
		a, b := f.factors(theta, k)
		own := f.coordinates(k)
		for l := k; l < K; l++ {
			f.half(half, theta, l, pairs[k*K+l])
			for col, target := range f.coordinates(l) {
				for i := range C {
					var byReceiver, bySender float64
					for j := range C {
						byReceiver += b[j] * half[(i*C+j)*2*C+col]
						bySender += a[j] * half[(j*C+i)*2*C+col]
					}
					dst.SetSym(own[i], target, byReceiver)
					dst.SetSym(own[C+i], target, bySender)
				}
			}
		}
	}
}

// half is Q J_l, C²×2C.
func (f factors) half(dst, theta []float64, l int, Q []float64) {
	C := f.Classes
	a, b := f.factors(theta, l)
	zero(dst)
	for row := range C * C {
		of := dst[row*2*C:][:2*C]
		for i := range C {
			for j := range C {
				q := Q[row*C*C+i*C+j]
				of[i] += q * b[j]
				of[C+j] += q * a[i]
			}
		}
	}
}

// bend is ∂²L/∂a_ki∂b_kj ∋ ∂L/∂M_k,ij: the product a_k b_kᵀ bends too.
func (f factors) bend(hess *mat.SymDense, ofMatrices []float64) {
	C := f.Classes
	for k := range f.Codewords {
		at := f.coordinates(k)
		for i, row := range at[:C] {
			for j, col := range at[C:] {
				hess.SetSym(row, col, hess.At(row, col)+ofMatrices[(k*C+i)*C+j])
			}
		}
	}
}

// unshared is the form of one cell's own map: θ = vec M_0, C² entries.
type unshared struct{ classes int }

func (f unshared) dim() int { return f.classes * f.classes }

func (f unshared) add(link, theta []float64, _ int, _ float64) { copy(link, theta) }

func (f unshared) pullBack(grad, _, ofMatrices []float64) { copy(grad, ofMatrices) }

func (f unshared) pullBackPairs(dst *mat.SymDense, _ []float64, pairs [][]float64) {
	n := f.dim()
	for i := range n {
		for j := i; j < n; j++ {
			dst.SetSym(i, j, pairs[0][i*n+j])
		}
	}
}

func (f unshared) bend(*mat.SymDense, []float64) {}

// newFree is the unshared calibrator of a table with a single cell, of codeword 0 in one slot.
func newFree(t *Table, identity float64) *bilinear { return newForm(t, identity, unshared{t.Classes}) }

// cell is the table of cell v alone, with a codeword of its own.
func (t *Table) cell(v int) *Table {
	size := t.Atoms * t.Classes
	return &Table{
		Classes: t.Classes, Codewords: 1, Atoms: t.Atoms,
		Cells: []Cell{newCell([]int{0}, nil)}, LogP: t.LogP[v*size : (v+1)*size],
	}
}

// logits returns the true A of cell v.
func (t *Truth) logits(v int) []float64 {
	A := make([]float64, t.Table.Classes*t.Table.Classes)
	for _, k := range t.Table.Cells[v].Codes {
		factors{Rescaling{t.Table.Classes, t.Table.Codewords}}.add(A, t.Theta, k, 1)
	}
	return A
}
