package theory

import (
	"math"

	"calibra/graph/op"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// bilinear is the loss of the bilinear calibrator on a table, with its derivatives
// worked out by hand: the check on what Gorgonia differentiates. With a uniform prior and
// matrices M_k that θ gives in some form,
//
//	A(V) = Σ_k n_k(V) M_k,  α = softplus(A) + ε,
//	score_j = −log B(α_{·j}) + Σ_i (α_ij − 1 + δ_ij) log p̂_i,  q = softmax(score),
//	L(θ) = −Σ_{V,r,j} W_{V,r,j} log q_j(V, r).
//
// A bilinear keeps scratch memory: one per goroutine (see fork).
type bilinear struct {
	table    *Table
	identity float64 // δ
	form     form    // of the M_k

	// One cell at a time, C×C, row i predicted class, column j true class.
	link      []float64 // α
	slope     []float64 // α' = sigmoid(A)
	tilt      []float64 // ψ(α_0j) − ψ(α_ij), so ∂score_j/∂α_ij = log p̂_i + tilt_ij
	logGamma  []float64 // ln Γ(α)
	digamma   []float64 // ψ(α)
	logBeta   []float64 // C, log B(α_{·j})
	score     []float64 // C, then q
	cellGrad  []float64 // C², ∂L/∂A of the cell
	sensitive []float64 // C², ∂score_j/∂A_ij at one atom
	cellHess  []float64 // C²×C²
	cellOuter []float64 // C²×C²
	residual  []float64 // C, Σ_r G_rj

	factorGrad []float64   // K×C², Σ_V n_k ∂L/∂A = ∂L/∂M_k
	pairHess   [][]float64 // K×K blocks C²×C², Σ_V n_k n_l ∂²L/∂A², l ≥ k
	pairOuter  [][]float64
}

var _ Model = (*bilinear)(nil)

// form is how the matrices M_k of codewords come from θ.
type form interface {
	dim() int
	// add adds count·M_k to link, C×C.
	add(link, theta []float64, k int, count float64)
	// pullBack turns ∂L/∂M_k into ∂L/∂θ.
	pullBack(grad, theta, ofMatrices []float64)
	// pullBackPairs fills dst with the second derivatives in θ, from those in each pair of M_k.
	pullBackPairs(dst *mat.SymDense, theta []float64, pairs [][]float64)
	// bend adds to dst what the second derivatives of M_k in θ contribute.
	bend(dst *mat.SymDense, ofMatrices []float64)
}

// ByHand is the loss of the paper's factors, derived by hand; identity is δ.
func (t *Table) ByHand(identity float64) Model {
	return newForm(t, identity, Products{Rescaling{t.Classes, t.Codewords}})
}

func newForm(t *Table, identity float64, form form) *bilinear {
	C, K := t.Classes, t.Codewords
	CC := C * C
	m := &bilinear{
		table: t, identity: identity, form: form,
		link: make([]float64, CC), slope: make([]float64, CC), tilt: make([]float64, CC),
		logGamma: make([]float64, CC), digamma: make([]float64, CC),
		logBeta: make([]float64, C), score: make([]float64, C),
		cellGrad: make([]float64, CC), sensitive: make([]float64, CC),
		cellHess: make([]float64, CC*CC), cellOuter: make([]float64, CC*CC),
		residual: make([]float64, C), factorGrad: make([]float64, K*CC),
		pairHess: make([][]float64, K*K), pairOuter: make([][]float64, K*K),
	}
	for k := range K {
		for l := k; l < K; l++ {
			m.pairHess[k*K+l] = make([]float64, CC*CC)
			m.pairOuter[k*K+l] = make([]float64, CC*CC)
		}
	}
	return m
}

func (m *bilinear) Fork() Model { return newForm(m.table, m.identity, m.form) }

func (m *bilinear) Cheapest() Model { return m }

func (m *bilinear) Dim() int { return m.form.dim() }

// setCell makes cell the current one.
func (m *bilinear) setCell(cell Cell, theta []float64) {
	clear(m.link)
	for _, o := range cell.Occurrences {
		m.form.add(m.link, theta, o.Codeword, o.Count)
	}
	m.setLink()
}

// setLink turns m.link from A into α and computes its slope and the digamma terms.
func (m *bilinear) setLink() {
	C := m.table.Classes
	op.DirichletTerms64(m.link, m.slope, m.logGamma, m.digamma, m.link, AlphaFloor)
	for j := range C {
		var total, logBeta float64
		for i := range C {
			total += m.link[i*C+j]
			logBeta += m.logGamma[i*C+j]
		}
		logGamma, digamma := op.LgammaDigamma64(total)
		m.logBeta[j] = logBeta - logGamma
		for i := range C {
			m.tilt[i*C+j] = digamma - m.digamma[i*C+j]
		}
	}
}

// setScores fills m.score with the scores at one atom of the current cell.
func (m *bilinear) setScores(logP []float64) {
	C := m.table.Classes
	for j := range C {
		s := -m.logBeta[j] + m.identity*logP[j]
		for i := range C {
			s += (m.link[i*C+j] - 1) * logP[i]
		}
		m.score[j] = s
	}
}

// LogProbs fills dst, cells × R × C, with log q.
func (m *bilinear) LogProbs(dst, theta []float64) error {
	C, R := m.table.Classes, m.table.Atoms
	for v, cell := range m.table.Cells {
		m.setCell(cell, theta)
		for r := range R {
			row := (v*R + r) * C
			m.setScores(m.table.LogP[row : row+C])
			floats.AddConst(-floats.LogSumExp(m.score), m.score)
			copy(dst[row:row+C], m.score)
		}
	}
	return finite("log-probabilities", dst...)
}

// Gradient fills grad with ∇L and returns L.
func (m *bilinear) Gradient(grad, theta, weights []float64) (float64, error) {
	return m.derivatives(theta, weights, grad, nil, nil)
}

// Hessian fills hess with ∇²L.
func (m *bilinear) Hessian(hess *mat.SymDense, theta, weights []float64) error {
	_, err := m.Newton(make([]float64, m.Dim()), hess, theta, weights)
	return err
}

func (m *bilinear) Newton(grad []float64, hess *mat.SymDense, theta, weights []float64) (float64, error) {
	return m.derivatives(theta, weights, grad, hess, nil)
}

// Scores fills outer with J = Σ W ∇ℓ ∇ℓᵀ, ℓ = −log q_j at one (cell, atom, label).
func (m *bilinear) Scores(outer *mat.SymDense, theta, weights []float64) error {
	_, err := m.derivatives(theta, weights, make([]float64, m.Dim()), nil, outer)
	return err
}

// Score is the gradient of a loss that has this entry alone: what has no weight is skipped.
func (m *bilinear) Score(grad, theta []float64, entry int) error {
	only := make([]float64, m.table.Rows()*m.table.Classes)
	only[entry] = 1
	_, err := m.Gradient(grad, theta, only)
	return err
}

// derivatives computes L, ∇L and, where not nil, ∇²L and J.
func (m *bilinear) derivatives(theta, weights, grad []float64, hess, outer *mat.SymDense) (float64, error) {
	C, R := m.table.Classes, m.table.Atoms
	CC := C * C
	zero(m.factorGrad)
	if hess != nil {
		zero(m.pairHess...)
	}
	if outer != nil {
		zero(m.pairOuter...)
	}
	var loss float64
	for v, cell := range m.table.Cells {
		ofCell := m.table.Of(weights, v)
		if floats.Sum(ofCell) == 0 {
			continue
		}
		m.setCell(cell, theta)
		zero(m.cellGrad, m.cellHess, m.cellOuter, m.residual)
		for r := range R {
			loss += m.addAtom(m.table.LogP[(v*R+r)*C:][:C], ofCell[r*C:][:C], hess != nil, outer != nil)
		}
		for _, o := range cell.Occurrences {
			floats.AddScaled(m.factorGrad[o.Codeword*CC:][:CC], o.Count, m.cellGrad)
		}
		if hess != nil {
			m.mirror(m.cellHess)
			m.addLinkCurvature()
			m.addPairs(m.pairHess, cell, m.cellHess)
		}
		if outer != nil {
			m.mirror(m.cellOuter)
			m.addPairs(m.pairOuter, cell, m.cellOuter)
		}
	}
	m.form.pullBack(grad, theta, m.factorGrad)
	if hess != nil {
		m.form.pullBackPairs(hess, theta, m.pairHess)
		m.form.bend(hess, m.factorGrad)
		if err := finite("second derivatives", hess.RawSymmetric().Data...); err != nil {
			return loss, err
		}
	}
	if outer != nil {
		m.form.pullBackPairs(outer, theta, m.pairOuter)
	}
	return loss, finite("loss", append([]float64{loss}, grad...)...)
}

// addPairs adds what a cell gives to the blocks of its pairs of codewords.
func (m *bilinear) addPairs(pairs [][]float64, cell Cell, ofCell []float64) {
	for n, o := range cell.Occurrences {
		for _, other := range cell.Occurrences[n:] {
			floats.AddScaled(pairs[o.Codeword*m.table.Codewords+other.Codeword], o.Count*other.Count, ofCell)
		}
	}
}

// addAtom adds one atom's part to the loss and its derivatives in A. With
// u_ij = ∂score_j/∂A_ij = slope_ij (log p̂_i + tilt_ij) and G_j = W q_j − W_j, W = Σ_j W_j,
//
//	∂L/∂A_ij = G_j u_ij,
//	∂²L/∂A_ij∂A_i'j' ∋ W (q_j 1[j=j'] − q_j q_j') u_ij u_i'j',
//
// of the second derivatives those with j ≤ j': see mirror.
func (m *bilinear) addAtom(logP, weights []float64, hess, outer bool) float64 {
	total := floats.Sum(weights)
	if total == 0 {
		return 0
	}
	m.setScores(logP)
	loss, q, C := m.setPosterior(weights, total), m.score, m.table.Classes
	for i := range C {
		for j := range C {
			u := m.slope[i*C+j] * (logP[i] + m.tilt[i*C+j])
			m.sensitive[i*C+j] = u
			m.cellGrad[i*C+j] += (total*q[j] - weights[j]) * u
		}
	}
	if hess {
		// W·Cov(1[y=j], 1[y=l]) under q.
		m.addProducts(m.cellHess, func(j, l int) float64 {
			if j == l {
				return -total*q[j]*q[l] + total*q[j]
			}
			return -total * q[j] * q[l]
		})
	}
	if outer {
		// E_W[(q_j − 1[y=j])(q_l − 1[y=l])].
		m.addProducts(m.cellOuter, func(j, l int) float64 {
			spread := total*q[j]*q[l] - weights[l]*q[j] - weights[j]*q[l]
			if j == l {
				spread += weights[j]
			}
			return spread
		})
	}
	return loss
}

// setPosterior turns the scores of an atom into q and adds to the residual. It gives
//
//	−Σ_j W_j log q_j = W (top + log Σ_l e^(score_l − top)) − Σ_j W_j score_j.
func (m *bilinear) setPosterior(weights []float64, total float64) (loss float64) {
	q, top, sum := m.score, floats.Max(m.score), 0.0
	for j, score := range q {
		loss -= weights[j] * (score - top)
		q[j] = math.Exp(score - top)
		sum += q[j]
	}
	for j := range q {
		q[j] /= sum
		m.residual[j] += total*q[j] - weights[j]
	}
	return loss + total*math.Log(sum)
}

// addProducts adds factor(j, l) · u_ij u_hl to entry (ij, hl) of x, C²×C², for j ≤ l and all i and h.
func (m *bilinear) addProducts(x []float64, factor func(j, l int) float64) {
	C := m.table.Classes
	for j := range C {
		for l := j; l < C; l++ {
			by := factor(j, l)
			for i := range C {
				row := x[(i*C+j)*C*C:][:C*C]
				for h := range C {
					row[h*C+l] += by * (m.sensitive[i*C+j] * m.sensitive[h*C+l])
				}
			}
		}
	}
}

// mirror copies entry (ij, hl) of x, C²×C², to (hl, ij) where j < l.
func (m *bilinear) mirror(x []float64) {
	C := m.table.Classes
	CC := C * C
	for j := range C {
		for l := j + 1; l < C; l++ {
			for ij := j; ij < CC; ij += C {
				for hl := l; hl < CC; hl += C {
					x[hl*CC+ij] = x[ij*CC+hl]
				}
			}
		}
	}
}

// addLinkCurvature adds what the second derivatives of score_j contribute:
//
//	Σ_r G_rj [ slope_ij slope_hj (ψ'(α_0j) − ψ'(α_ij) 1[i=h]) ]  +  1[i=h] (1 − slope_ij) ∂L/∂A_ij,
//
// the last because sigmoid' = slope (1 − slope).
func (m *bilinear) addLinkCurvature() {
	C := m.table.Classes
	CC := C * C
	for j := range C {
		var total float64
		for i := range C {
			total += m.link[i*C+j]
		}
		ofTotal := trigamma(total)
		for i := range C {
			ij := i*C + j
			for h := range C {
				hj := h*C + j
				m.cellHess[ij*CC+hj] += m.residual[j] * m.slope[ij] * m.slope[hj] * ofTotal
			}
			m.cellHess[ij*CC+ij] += (1-m.slope[ij])*m.cellGrad[ij] -
				m.residual[j]*m.slope[ij]*m.slope[ij]*trigamma(m.link[ij])
		}
	}
}

// trigamma is ψ'(x) for x > 0: ψ'(x) = ψ'(x+1) + 1/x² up to x ≥ 12, then the asymptotic
// series 1/x + 1/2x² + Σ B_2n/x^(2n+1) (Abramowitz & Stegun 6.4.6 and 6.4.11). It is
// mathext.Zeta(2, x) in a tenth of the time, which each Hessian by hand takes C² times a cell.
func trigamma(x float64) float64 {
	var sum float64
	for ; x < 12; x++ {
		sum += 1 / (x * x)
	}
	y := 1 / (x * x)
	return sum + 1/x + y/2 + y/x*(1./6-y*(1./30-y*(1./42-y*(1./30-y*(5./66-y*(691./2730-y*7./6))))))
}

func zero(slices ...[]float64) {
	for _, s := range slices {
		clear(s)
	}
}

var _ form = Products{} // the paper's, M_k = a_k b_kᵀ with θ = (a_1 … a_K, b_1 … b_K)

func (p Products) dim() int { return 2 * p.Codewords * p.Classes }

func (p Products) add(link, theta []float64, k int, count float64) {
	receiver, sender := p.Factors(theta, k)
	for i, a := range receiver {
		for j, b := range sender {
			link[i*p.Classes+j] += count * a * b
		}
	}
}

// pullBack is ∂L/∂a_k = (∂L/∂M_k) b_k and ∂L/∂b_k = (∂L/∂M_k)ᵀ a_k.
func (p Products) pullBack(grad, theta, ofMatrices []float64) {
	zero(grad)
	for k := range p.Codewords {
		a, b := p.Factors(theta, k)
		da, db := p.Factors(grad, k)
		for i := range a {
			for j := range b {
				g := ofMatrices[(k*p.Classes+i)*p.Classes+j]
				da[i] += g * b[j]
				db[j] += g * a[i]
			}
		}
	}
}

// pullBackPairs is J_kᵀ Q_kl J_l for each pair of codewords, J_k = ∂vec M_k/∂(a_k, b_k).
func (p Products) pullBackPairs(dst *mat.SymDense, theta []float64, pairs [][]float64) {
	C, K := p.Classes, p.Codewords
	half := make([]float64, C*C*2*C) // Q_kl J_l
	for k := range K {
		a, b := p.Factors(theta, k)
		own := p.Coordinates(k)
		for l := k; l < K; l++ {
			p.half(half, theta, l, pairs[k*K+l])
			for col, target := range p.Coordinates(l) {
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
func (p Products) half(dst, theta []float64, l int, Q []float64) {
	C := p.Classes
	a, b := p.Factors(theta, l)
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
func (p Products) bend(hess *mat.SymDense, ofMatrices []float64) {
	C := p.Classes
	for k := range p.Codewords {
		at := p.Coordinates(k)
		for i, row := range at[:C] {
			for j, col := range at[C:] {
				hess.SetSym(row, col, hess.At(row, col)+ofMatrices[(k*C+i)*C+j])
			}
		}
	}
}

// unshared is the form of one cell's own map, the only one of its table (see [Table.CellByHand]): θ = vec M_0, C²
// entries.
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

// CellByHand is the loss of a C×C map of cell v alone, θ = vec A.
func (t *Table) CellByHand(v int, identity float64) Model {
	alone := &Table{
		Classes: t.Classes, Codewords: 1, Atoms: t.Atoms, Cells: []Cell{NewCell([]int{0})}, LogP: t.Of(t.LogP, v),
	}
	return newForm(alone, identity, unshared{t.Classes})
}

// Link returns A of cell v at the factors of theta, C×C.
func (t *Table) Link(v int, theta []float64) []float64 {
	A := make([]float64, t.Classes*t.Classes)
	for _, k := range t.Cells[v].Codes {
		Products{Rescaling{t.Classes, t.Codewords}}.add(A, theta, k, 1)
	}
	return A
}
