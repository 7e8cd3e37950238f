package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/plotter"
)

// TestCellsDivideTheArea: the cells of all codewords, one of them twice, have the area of the whole, and a place in the
// middle of a cell belongs to its codeword.
func TestCellsDivideTheArea(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	c := Cells{Codewords: mat.NewDense(12, 2, nil), Off: make([]float64, 12), Usage: make([]int, 12)}
	for k := range c.Off {
		c.Codewords.SetRow(k, []float64{rng.Float64(), rng.Float64()})
		c.Off[k] = .05 * rng.Float64()
	}
	c.Codewords.SetRow(11, c.Codewords.RawRowView(3))
	c.Off[11] = c.Off[3]
	whole := plotter.XYs{{X: -1, Y: -1}, {X: 2, Y: -1}, {X: 2, Y: 2}, {X: -1, Y: 2}}
	sum, empty := 0.0, 0
	for k := range c.Off {
		corners := c.cell(k, whole)
		if len(corners) == 0 {
			empty++
			continue
		}
		var middle plotter.XY
		for i, from := range corners {
			to := corners[(i+1)%len(corners)]
			sum += (from.X*to.Y - to.X*from.Y) / 2
			middle.X += from.X / float64(len(corners))
			middle.Y += from.Y / float64(len(corners))
		}
		far := func(j int) float64 {
			return math.Pow(middle.X-c.Codewords.At(j, 0), 2) + math.Pow(middle.Y-c.Codewords.At(j, 1), 2) + c.Off[j]
		}
		for j := range c.Off {
			if far(j) < far(k) {
				t.Errorf("the middle of cell %d is nearer to codeword %d", k, j)
			}
		}
	}
	if math.Abs(sum-9) > 1e-12 || empty == 0 { // of the 3×3 square; of the codeword that is there twice one has the cell
		t.Errorf("the cells have the area %v, not 9, and %d have none", sum, empty)
	}
}

// TestCellsLeaveOutOutliers: one dot of 400 far off does not stretch the axes; a codeword does that slots have, and each line
// of the data is numbers, the last two of a corner.
func TestCellsLeaveOutOutliers(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	c := Cells{Slots: mat.NewDense(400, 2, nil), Codewords: mat.NewDense(3, 2, []float64{.2, .2, 3, .5, 0, 90}), Off: make([]float64, 3), Usage: []int{300, 100, 0}}
	for i := range 400 {
		c.Slots.SetRow(i, []float64{rng.Float64(), rng.Float64()})
	}
	c.Slots.SetRow(0, []float64{500, -500})
	d := c.Drawing()
	p := d.Figure.plots[0]
	if p.X.Max < 3 || p.X.Max > 3.5 || p.X.Min < -.5 || p.Y.Min < -.5 || p.Y.Max > 1.5 {
		t.Errorf("axes from %v to %v and from %v to %v", p.X.Min, p.X.Max, p.Y.Min, p.Y.Max)
	}
	for _, row := range d.Figure.points.rows {
		for _, number := range row {
			if _, err := strconv.ParseFloat(number, 64); err != nil && row[0] != "2" {
				t.Errorf("the line %v: %v", row, err)
			}
		}
	}
	if last := d.Figure.points.rows[len(d.Figure.points.rows)-1]; !slices.Equal(last[4:], []string{"0", "", ""}) {
		t.Errorf("a codeword without a cell in sight: %v", last)
	}
}
