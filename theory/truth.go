package theory

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"
)

// factorScale is the length of a true factor: a_k, b_k = 1.4·unit(1 + N(0, I)).
const factorScale = 1.4

// Truth is a synthetic problem: a table, the weights that made it, and the law of
// the label at every (cell, atom).
type Truth struct {
	Design Design
	Table  *Table
	// Theta are the weights of the law's map before any disturbance: for the paper's map 2·K·C, receivers
	// then senders. A descent to the limit of an estimator begins here.
	Theta []float64
	Label []float64 // cells × R × C, P(y = j | cell, atom)
}

// NewTruth draws a well-specified problem over all cells of the design.
func NewTruth(d Design, rng *rand.Rand) (*Truth, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return d.Truth(d.Multisets(), rng), nil
}

// Truth draws a well-specified problem over these cells.
func (d Design) Truth(cells []Cell, rng *rand.Rand) *Truth {
	t := &Truth{Design: d, Table: d.Table(cells, rng), Theta: d.Factors(rng)}
	t.Label = t.Table.LabelLaw(t.Theta, d.Identity)
	return t
}

// Alike gives every cell the values of p̂ that the first has, so that p̂ tells nothing of the cell, and the label its
// law there. It is for a truth as [NewTruth] draws it.
func (t *Truth) Alike() {
	t.Table.alike()
	t.Label = t.Table.LabelLaw(t.Theta, t.Design.Identity)
}

// alike gives every cell the values of p̂ that the first has, so that p̂ tells nothing of the cell.
func (t *Table) alike() {
	copy(t.LogP, slices.Repeat(t.Of(t.LogP, 0), len(t.Cells)))
}

// isAlike reports whether it is so.
func (t *Table) isAlike() bool {
	return slices.Equal(t.LogP, slices.Repeat(t.Of(t.LogP, 0), len(t.Cells)))
}

// Factors draws a_k, b_k, 2·K·C numbers.
func (d Design) Factors(rng *rand.Rand) []float64 {
	theta := make([]float64, 2*d.Codewords*d.Classes)
	for row := range 2 * d.Codewords {
		factor := theta[row*d.Classes:][:d.Classes]
		copy(factor, numeric.Normals(d.Classes, rng))
		floats.AddConst(1, factor)
		floats.Scale(factorScale/floats.Norm(factor, 2), factor)
	}
	return theta
}

// LabelLaw returns P(y = j | cell, atom) ∝ Dir(p̂; α_{·j})·p̂_j^δ under a uniform
// prior. It is written from the Dirichlet density (gonum's), not from the
// calibrator's score, so that a mistake in the latter cannot hide in the data.
func (t *Table) LabelLaw(theta []float64, identity float64) []float64 {
	C, K := t.Classes, t.Codewords
	law := make([]float64, t.Rows()*C)
	alpha := make([]float64, C)
	phat := make([]float64, C)
	for v, cell := range t.Cells {
		density := make([]*distmv.Dirichlet, C)
		for j := range C {
			for i := range C {
				var bilinear float64
				for _, k := range cell.Codes {
					bilinear += theta[k*C+i] * theta[(K+k)*C+j]
				}
				alpha[i] = numeric.Softplus(bilinear) + AlphaFloor
			}
			density[j] = distmv.NewDirichlet(alpha, nil)
		}
		for r := range t.Atoms {
			row := (v*t.Atoms + r) * C
			copy(phat, t.LogP[row:])
			numeric.Exps(phat)
			q := law[row : row+C]
			for j := range C {
				q[j] = density[j].LogProb(phat) + identity*t.LogP[row+j]
			}
			floats.AddConst(-floats.LogSumExp(q), q)
			numeric.Exps(q)
		}
	}
	return law
}

// uniformPart is of a misspecified law (shared/theory.md, section 2).
const uniformPart = 0.05

// Misspecify replaces the label law by one the calibrator cannot represent: logits
// plus disturbance·N(0, 1) for each (cell, class) and for each (cell, atom, class), then
// 0.95·q + 0.05/C. Theta keeps the factors the law was disturbed from.
func (t *Truth) Misspecify(disturbance float64, rng *rand.Rand) {
	C, R := t.Table.Classes, t.Table.Atoms
	for v := range t.Table.Cells {
		ofCell := numeric.Normals(C, rng)
		floats.Scale(disturbance, ofCell)
		for r := range R {
			q := t.Label[(v*R+r)*C:][:C]
			for j := range q {
				q[j] = math.Log(q[j]) + ofCell[j] + disturbance*rng.NormFloat64()
			}
			normalizer := floats.LogSumExp(q)
			for j := range q {
				q[j] = (1-uniformPart)*math.Exp(q[j]-normalizer) + uniformPart/float64(C)
			}
		}
	}
}

// lawful refuses a label that has no law at some (cell, atom).
func (t *Truth) lawful() error {
	C, R := t.Table.Classes, t.Table.Atoms
	if n := t.Table.Rows() * C; len(t.Label) != n {
		return fmt.Errorf("theory: the Label of the truth has %d probabilities, not %d, one for each cell, atom and class", len(t.Label), n)
	}
	for row := range t.Table.Rows() {
		q := t.Label[row*C:][:C]
		if sum := floats.Sum(q); !(floats.Min(q) >= 0 && math.Abs(sum-1) <= lawfulSum) {
			return fmt.Errorf("theory: the label has the probabilities %.4g in cell %v, atom %d, which sum to %.4g; each is at least 0, and they sum to 1: see what disturbs the law", q, t.Table.Cells[row/R].Codes, row%R, sum)
		}
	}
	return nil
}

// Weights returns the population weights P(cell, atom, label), which sum to one.
func (t *Truth) Weights(cellProb []float64) []float64 {
	C, R := t.Table.Classes, t.Table.Atoms
	weights := make([]float64, len(t.Label))
	for i, q := range t.Label {
		weights[i] = cellProb[i/(R*C)] / float64(R) * q
	}
	return weights
}

// Sample returns the empirical weights of N rows: one Multinomial(N, population)
// draw over cells × atoms × labels, divided by N.
func Sample(population []float64, n int, rng *rand.Rand) []float64 {
	weights := make([]float64, len(population))
	drawMultinomial(weights, population, n, rng)
	floats.Scale(1/float64(n), weights)
	return weights
}

// newRand returns the generator of one unit of work, named by the study's seed and
// a path of indices, so that a result never depends on which core did the work.
func newRand(seed uint64, path ...uint64) *rand.Rand {
	state := mix(seed + 0x9e3779b97f4a7c15)
	for _, index := range path {
		state = mix(state ^ mix(index+0xd1b54a32d192ed03))
	}
	return rand.New(rand.NewPCG(state, mix(state)))
}

// RNG is the generator of one unit of work of a run, by a path of indices.
func (s Settings) RNG(path ...uint64) *rand.Rand { return newRand(s.Seed, path...) }

// mix is the finalizer of SplitMix64 (Steele, Lea & Flood, 2014).
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// drawMultinomial fills counts with one Multinomial(n, prob) draw by successive
// conditional binomials. Its cost does not depend on n. Σ prob need not be 1.
func drawMultinomial(counts, prob []float64, n int, rng *rand.Rand) {
	var rest float64
	for _, p := range prob {
		rest += p
	}
	left := float64(n)
	for i, p := range prob {
		switch {
		case left == 0 || p == 0:
			counts[i] = 0
		case p >= rest:
			counts[i] = left
		default:
			counts[i] = distuv.Binomial{N: left, P: p / rest, Src: rng}.Rand()
		}
		left -= counts[i]
		rest -= p
	}
	if left > 0 { // rounding in rest left the last categories short
		last := len(prob) - 1
		for prob[last] == 0 {
			last--
		}
		counts[last] += left
	}
}

// drawDirichlet fills p with a Dir(concentration) draw, no entry below floor.
func drawDirichlet(p []float64, concentration, floor float64, rng *rand.Rand) {
	gamma := distuv.Gamma{Alpha: concentration, Beta: 1, Src: rng}
	var total float64
	for i := range p {
		p[i] = gamma.Rand()
		total += p[i]
	}
	var clamped float64
	for i := range p {
		p[i] = math.Max(p[i]/total, floor)
		clamped += p[i]
	}
	for i := range p {
		p[i] /= clamped
	}
}
