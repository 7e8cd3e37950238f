package theory

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distmv"
)

// factorScale is the length of a true factor: a_k, b_k = 1.4·unit(1 + N(0, I)).
const factorScale = 1.4

// Truth is a synthetic problem: a table, the factors that made it, and the law of
// the label at every (cell, atom).
type Truth struct {
	Design Design
	Table  *Table
	Theta  []float64 // 2·K·C, receivers then senders, balanced
	Label  []float64 // cells × R × C, P(y = j | cell, atom)
}

// NewTruth draws a well-specified problem over all cells of the design.
func NewTruth(d Design, rng *rand.Rand) (*Truth, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	return newTruth(d, multisets(d.Codewords, d.Slots), rng), nil
}

func newTruth(d Design, cells []Cell, rng *rand.Rand) *Truth {
	t := &Truth{Design: d, Table: newTable(d, cells, rng), Theta: drawFactors(d, rng)}
	t.Label = labelLaw(t.Table, t.Theta, d.Identity)
	return t
}

func drawFactors(d Design, rng *rand.Rand) []float64 {
	theta := make([]float64, 2*d.Codewords*d.Classes)
	for row := range 2 * d.Codewords {
		factor := theta[row*d.Classes:][:d.Classes]
		for i := range factor {
			factor[i] = 1 + rng.NormFloat64()
		}
		floats.Scale(factorScale/floats.Norm(factor, 2), factor)
	}
	return theta
}

// publishedStart is every entry of the published start, √(softplus⁻¹(1)/w), so that α ≈ 1; noise comes on top.
func publishedStart(slots int) float64 { return math.Sqrt(math.Log(math.Expm1(1)) / float64(slots)) }

// labelLaw returns P(y = j | cell, atom) ∝ Dir(p̂; α_{·j})·p̂_j^δ under a uniform
// prior. It is written from the Dirichlet density (gonum's), not from the
// calibrator's score, so that a mistake in the latter cannot hide in the data.
func labelLaw(t *Table, theta []float64, identity float64) []float64 {
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
				alpha[i] = math.Log1p(math.Exp(-math.Abs(bilinear))) + math.Max(bilinear, 0) + softplusFloor
			}
			density[j] = distmv.NewDirichlet(alpha, nil)
		}
		for r := range t.Atoms {
			row := (v*t.Atoms + r) * C
			for i := range C {
				phat[i] = math.Exp(t.LogP[row+i])
			}
			q := law[row : row+C]
			for j := range C {
				q[j] = density[j].LogProb(phat) + identity*t.LogP[row+j]
			}
			normalizer := floats.LogSumExp(q)
			for j := range C {
				q[j] = math.Exp(q[j] - normalizer)
			}
		}
	}
	return law
}

// The misspecified problem disturbs the logits of the true law and mixes it with
// the uniform one; both sizes are those of the specification.
const (
	disturbance = 0.1
	uniformPart = 0.05
)

// misspecify replaces the label law by one the calibrator cannot represent: logits
// plus disturbance·N(0, 1) for each (cell, class) and for each (cell, atom, class), then
// 0.95·q + 0.05/C. Theta keeps the factors the law was disturbed from.
func (t *Truth) misspecify(disturbance float64, rng *rand.Rand) {
	C, R := t.Table.Classes, t.Table.Atoms
	ofCell := make([]float64, C)
	for v := range t.Table.Cells {
		for j := range ofCell {
			ofCell[j] = disturbance * rng.NormFloat64()
		}
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
