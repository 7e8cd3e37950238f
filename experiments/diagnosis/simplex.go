package diagnosis

import (
	"math"

	"calibra/experiments/internal/checked"
)

// Simplex is how predictions of three classes lie in their triangle, and where the labels pull them.
type Simplex struct {
	Cells []SimplexCell `json:"cells"`
	// Points are the probabilities of some rows, and their labels.
	Points [][3]float64 `json:"points"`
	Labels []int        `json:"labels"`
}

// SimplexCell is the rows in one of the cells of a triangle: their mean probabilities, and the shares of their labels.
type SimplexCell struct {
	Mean  [3]float64 `json:"mean"`
	Share [3]float64 `json:"share"`
	Rows  int        `json:"rows"`
	// Z is how many standard errors, of perfectly calibrated predictions, the shares lie from the means: the larger of
	// the three classes'.
	Z float64 `json:"z"`
}

const (
	simplexSide   = 8  // cells along a side
	simplexFewest = 20 // rows that a cell is told of
	simplexPoints = 400
)

// simplexSums are the sums over the rows in a cell.
type simplexSums struct {
	prob, variance, label [3]float64
	rows                  int
	weight                float64
}

func (c *simplexSums) add(p [3]float64, share func(c int) float64, weight float64) {
	c.rows++
	c.weight += weight
	for k, x := range p {
		c.label[k] += weight * share(k)
		c.prob[k] += weight * x
		c.variance[k] += weight * weight * x * (1 - x)
	}
}

func (c *simplexSums) cell() SimplexCell {
	cell := SimplexCell{Rows: c.rows}
	for k := range 3 {
		cell.Mean[k], cell.Share[k] = c.prob[k]/c.weight, c.label[k]/c.weight
		if c.variance[k] > 0 {
			cell.Z = max(cell.Z, math.Abs(c.label[k]-c.prob[k])/math.Sqrt(c.variance[k]))
		}
	}
	return cell
}

// simplex is that of the predictions, of three classes.
func simplex(s *checked.Sample) *Simplex {
	cells := map[[3]int]*simplexSums{}
	var order []*simplexSums
	t := &Simplex{}
	for i := range s.N {
		p := [3]float64(s.Prob[3*i : 3*i+3])
		var at [3]int
		for k := range at {
			at[k] = min(int(p[k]*simplexSide), simplexSide-1)
		}
		if cells[at] == nil {
			cells[at] = &simplexSums{}
			order = append(order, cells[at])
		}
		cells[at].add(p, func(c int) float64 { return s.Share(i, c) }, s.W(i))
		if s.N <= simplexPoints || i*simplexPoints/s.N != (i-1)*simplexPoints/s.N || i == 0 {
			t.Points, t.Labels = append(t.Points, p), append(t.Labels, int(s.Label[i]))
		}
	}
	for _, c := range order {
		if c.rows >= simplexFewest {
			t.Cells = append(t.Cells, c.cell())
		}
	}
	return t
}
