package theory

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Channel is how codes are misread: the probability that codeword l is read in a slot of codeword k
// whose reading is wrong, of K codewords. Over l it sums to one.
type Channel func(k, l, K int) float64

// ToAny misreads a codeword as any of the others alike.
func ToAny(k, l, K int) float64 {
	if l == k {
		return 0
	}
	return 1 / float64(K-1)
}

// ToNeighbour misreads a codeword as the one before or the one after it, in a circle.
func ToNeighbour(k, l, K int) (p float64) {
	if K < 1 {
		return 0
	}
	for _, step := range []int{1, K - 1} {
		if l == (k+step)%K {
			p += 0.5
		}
	}
	return p
}

// lawfulSum is how far from 1 probabilities may add up: what rounding leaves of a few hundred.
const lawfulSum = 1e-9

// check refuses a channel that gives no probabilities; nil gives none, and K of nothing is refused elsewhere.
func (c Channel) check(K int) error {
	for k := 0; c != nil && k < K; k++ {
		sum := 0.0
		for l := range K {
			p := c(k, l, K)
			if !(p >= 0) {
				return fmt.Errorf("theory: the Channel reads codeword %d as %d with the probability %g; it is at least 0", k, l, p)
			}
			sum += p
		}
		if !(math.Abs(sum-1) <= lawfulSum) {
			return fmt.Errorf("theory: the Channel reads codeword %d as others with probabilities that sum to %g, of K = %d codewords; over l they sum to 1", k, sum, K)
		}
	}
	return nil
}

// Reading is the law of the cell that is read for each cell, cells × cells: the total-probability mixture
// of regions. If p̂ does not depend on the cell, rows of cell V with label y have the law
//
//	P(V, y | p̂) = Σ_U P(U) P(V | U) q(y | U, p̂),
//
// with true cells U.
type Reading struct{ *mat.Dense }

// Misread is the reading of slots that are each wrong with probability ε, whatever the others are. The table holds all
// cells.
func (t *Table) Misread(by Channel, epsilon float64) Reading {
	return t.reading(func(codes []int, to func(codes []int, p float64)) {
		seen := slices.Clone(codes)
		var slot func(i int, p float64)
		slot = func(i int, p float64) {
			if i == len(codes) {
				to(seen, p)
				return
			}
			for l := range t.Codewords {
				of := epsilon * by(codes[i], l, t.Codewords)
				if l == codes[i] {
					of += 1 - epsilon
				}
				if of > 0 {
					seen[i] = l
					slot(i+1, p*of)
				}
			}
		}
		slot(0, 1)
	})
}

// MisreadOnce is the reading of cells with one wrong slot; each slot is equally likely. The table holds all cells.
func (t *Table) MisreadOnce(by Channel) Reading {
	return t.reading(func(codes []int, to func(codes []int, p float64)) {
		for i, k := range codes {
			for l := range t.Codewords {
				seen := slices.Clone(codes)
				seen[i] = l
				to(seen, by(k, l, t.Codewords)/float64(len(codes)))
			}
		}
	})
}

// reading adds up what each cell's codes are read as.
func (t *Table) reading(of func(codes []int, to func(codes []int, p float64))) Reading {
	at := map[string]int{}
	for v, cell := range t.Cells {
		at[fmt.Sprint(cell.Codes)] = v
	}
	r := Reading{mat.NewDense(len(t.Cells), len(t.Cells), nil)}
	for u, cell := range t.Cells {
		of(cell.Codes, func(codes []int, p float64) {
			v := at[fmt.Sprint(slices.Sorted(slices.Values(codes)))]
			r.Set(u, v, r.At(u, v)+p)
		})
	}
	return r
}

// joint is the probability of each (true cell, cell that is read, atom, label), where weights have that of
// each (true cell, atom, label).
func (r Reading) joint(weights []float64) (joint []float64) {
	cells, _ := r.Dims()
	size := len(weights) / cells
	for u := range cells {
		for v := range cells {
			part := slices.Clone(weights[u*size:][:size])
			floats.Scale(r.At(u, v), part)
			joint = append(joint, part...)
		}
	}
	return joint
}

// Of returns the weights of rows as they are read.
func (r Reading) Of(weights []float64) []float64 { return seen(r.joint(weights), len(weights)) }

// seen adds a joint law, or a sample of one, up over the true cells, which nobody sees; it has that many weights.
func seen(joint []float64, weights int) []float64 {
	read := make([]float64, weights)
	for part := range slices.Chunk(joint, weights) {
		floats.Add(read, part)
	}
	return read
}
