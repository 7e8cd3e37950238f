package theory

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/graph/op"
	"calibra/layers"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"
	"gonum.org/v1/gonum/stat/distuv"
)

// Design is how large a synthetic calibration problem is and how unevenly its
// codewords are used. Slots are drawn independently, so a cell (a multiset of w
// codewords) has a multinomial probability.
type Design struct {
	Classes   int // C
	Slots     int // w
	Codewords int // K
	Atoms     int // R, distinct values of p̂ inside a cell

	// Decades sets how fast codeword frequencies fall: p_k ∝ 10^(−Decades·k/(K−1)).
	Decades float64
	// Zipf, when positive, replaces that law by p_k ∝ (k+1)^(−Zipf).
	Zipf float64
	// Law, when given, is the probability of each codeword up to a factor, K numbers, in
	// place of Decades and Zipf.
	Law []float64
	// Cells is the most cells that a table holds; 0: 1000. A design with more multisets of
	// w codewords takes 300 that are drawn from its law.
	Cells int
	// Identity is δ, the multiple of the identity added to α − 1 in the linear term:
	// 1 in the published calibrator, 0 in Proposition 2.
	Identity float64
}

// Fast is the design of the quick studies: K = 8 codewords over two decades.
func Fast() Design {
	return Design{Classes: 3, Slots: 3, Codewords: 8, Atoms: 6, Decades: 2, Identity: 1}
}

// Full is the design of the complete studies: K = 12 codewords over 2.3 decades,
// so that the occurrences N_k span a factor 200.
func Full() Design {
	return Design{Classes: 3, Slots: 3, Codewords: 12, Atoms: 6, Decades: 2.3, Identity: 1}
}

// AlphaFloor is ε of α = softplus(A) + ε.
const AlphaFloor = op.AlphaFloor

// Check reports the first impossible size as one sentence.
func (d Design) Check() error {
	switch {
	case d.Classes < 2:
		return fmt.Errorf("theory: a design needs at least 2 classes, got %d", d.Classes)
	case d.Slots < 1:
		return fmt.Errorf("theory: a design needs at least 1 slot, got %d", d.Slots)
	case d.Codewords < 2:
		return fmt.Errorf("theory: a design needs at least 2 codewords to compare their rates, got %d", d.Codewords)
	case d.Atoms < 1:
		return fmt.Errorf("theory: a design needs at least 1 atom per cell, got %d", d.Atoms)
	case d.Law != nil && (len(d.Law) != d.Codewords || slices.ContainsFunc(d.Law, func(p float64) bool { return !(p > 0) || math.IsInf(p, 1) })):
		return fmt.Errorf("theory: a law of codewords needs %d positive numbers, one for each codeword, got %v", d.Codewords, d.Law)
	case d.Cells < 0:
		return fmt.Errorf("theory: a design cannot have %d cells; give at least 1, or 0 for the default", d.Cells)
	case !(d.Decades >= 0 && d.Zipf >= 0) || math.IsInf(d.Decades+d.Zipf, 1):
		return fmt.Errorf("theory: codeword frequencies must not rise with k: give Decades and Zipf ≥ 0, got %g and %g", d.Decades, d.Zipf)
	}
	return nil
}

// Frequencies returns p, the probability of each codeword in a slot, rotated by
// shift: codeword k gets the frequency that codeword k+shift has in the design.
// Rotations separate how often a codeword is used from how hard it is to estimate.
func (d Design) Frequencies(shift int) []float64 {
	p, total := make([]float64, d.Codewords), 0.0
	for k := range p {
		rank := (k + shift) % d.Codewords
		if d.Law != nil {
			p[k] = d.Law[rank]
		} else if d.Zipf > 0 {
			p[k] = math.Pow(float64(rank+1), -d.Zipf)
		} else {
			p[k] = math.Pow(10, -d.Decades*float64(rank)/float64(d.Codewords-1))
		}
		total += p[k]
	}
	return data.Each(p, func(x float64) float64 { return x / total })
}

// WithShare are the frequencies where codeword k has this one and the others keep their proportions.
func (d Design) WithShare(k int, share float64) []float64 {
	p := d.Frequencies(0)
	floats.Scale((1-share)/(1-p[k]), p)
	p[k] = share
	return p
}

// occurrence is a codeword and how many slots of a cell hold it, n_k(V).
type occurrence struct {
	Codeword int
	Count    float64
}

// Cell is one region of the quantizer, known by the codewords in its slots.
type Cell struct {
	Codes       []int        // w, non-decreasing where they are drawn
	Occurrences []occurrence // the distinct codewords among Codes, in order
}

// NewCell is the cell of codes, its codewords in order.
func NewCell(codes []int) Cell {
	cell := Cell{Codes: codes}
	for _, k := range codes {
		at := slices.IndexFunc(cell.Occurrences, func(o occurrence) bool { return o.Codeword == k })
		if at < 0 {
			at, cell.Occurrences = len(cell.Occurrences), append(cell.Occurrences, occurrence{Codeword: k})
		}
		cell.Occurrences[at].Count++
	}
	slices.SortFunc(cell.Occurrences, func(a, b occurrence) int { return a.Codeword - b.Codeword })
	return cell
}

// Sequences are the cells of slots that are told apart: one for each of the K^w index sequences.
func (d Design) Sequences() []Cell {
	return data.Each(combin.Cartesian(slices.Repeat([]int{d.Codewords}, d.Slots)), NewCell)
}

// Multisets are the cells of slots alike: every non-decreasing sequence of w codewords out of K. The i-th
// codeword is the i-th element, less i, of a combination of w elements out of K + w − 1.
func (d Design) Multisets() []Cell {
	combinations := combin.Combinations(d.Codewords+d.Slots-1, d.Slots)
	for _, codes := range combinations {
		for i := range codes {
			codes[i] -= i
		}
	}
	return data.Each(combinations, NewCell)
}

// Table is the finite support of a synthetic problem: every cell, and in every
// cell R equiprobable values of log p̂. With it each population quantity is an
// exact sum and each replicate is one multinomial draw.
type Table struct {
	Classes, Codewords, Atoms int
	Cells                     []Cell
	LogP                      []float64 // cells × R × C, log p̂
	// drawn is the logarithm of the density that Cells were drawn from, over how often each was,
	// where they are not all; nil where they are.
	drawn []float64
}

// Sizes are those of the problem as layers see it, of one row of each class.
func (t *Table) Sizes() layers.Sizes {
	return layers.Sizes{
		Slots: len(t.Cells[0].Codes), Classes: t.Classes, Codewords: t.Codewords, Counts: slices.Repeat([]float64{1}, t.Classes),
	}
}

// View is every (cell, atom) as a row, times times.
func (t *Table) View(times int) *layers.View {
	C := t.Classes
	v := &layers.View{LogProbs: mat.NewDense(t.Rows()*times, C, nil)}
	for i := range t.Rows() * times {
		row := i / times
		v.LogProbs.SetRow(i, t.LogP[row*C:][:C])
		for _, k := range t.Cells[row/t.Atoms].Codes {
			v.Codes = append(v.Codes, int32(k))
		}
	}
	return v
}

// Observed is every (cell, atom, label) as a row; counts come with a sample.
func (t *Table) Observed() layers.Observed {
	return layers.Observed{View: t.View(t.Classes), Labels: slices.Repeat(data.UpTo(t.Classes), t.Rows())}
}

// Of are those of the values, of every (cell, atom, class), that are of cell v.
func (t *Table) Of(values []float64, v int) []float64 {
	size := t.Atoms * t.Classes
	return values[v*size:][:size]
}

// Rows is the number of (cell, atom) pairs.
func (t *Table) Rows() int { return len(t.Cells) * t.Atoms }

// mostCells is how many cells a table holds at most unless its design sets Cells, and drawnCells
// how many are drawn where there are more.
const (
	mostCells  = 1000
	drawnCells = 300
)

// support is the table of a design: all its cells, or some that are drawn from the mixture of
// the given shifts of its law. Each cell's probability is then divided by that mixture's and
// multiplied by how often it was drawn, so that codewords keep their frequencies on average.
func support(d Design, shifts []int, rng *rand.Rand) *Table {
	limit := cmp.Or(d.Cells, mostCells)
	multisetsOf := combin.LogGeneralizedBinomial(float64(d.Codewords+d.Slots-1), float64(d.Slots))
	if math.Round(math.Exp(multisetsOf)) <= float64(limit) {
		return d.Table(d.Multisets(), rng)
	}
	limit = cmp.Or(d.Cells, drawnCells)
	laws := data.Each(shifts, func(shift int) distuv.Categorical {
		return distuv.NewCategorical(d.Frequencies(shift), rng)
	})
	seen := map[string]int{}
	var cells []Cell
	var times []float64 // how often each was drawn
	// A law of few likely cells may not have that many: draws end after a hundred for each.
	for try := 0; try < 100*limit && len(cells) < limit; try++ {
		codes := make([]int, d.Slots)
		for i := range codes {
			codes[i] = int(laws[try%len(laws)].Rand())
		}
		slices.Sort(codes)
		name := fmt.Sprint(codes)
		at, found := seen[name]
		if !found {
			at = len(cells)
			seen[name] = at
			cells, times = append(cells, NewCell(codes)), append(times, 0)
		}
		times[at]++
	}
	t, mixture := d.Table(cells, rng), make([]float64, len(cells))
	for _, shift := range shifts {
		floats.Add(mixture, t.Multinomial(d.Frequencies(shift)))
	}
	floats.Div(mixture, times)
	t.drawn = numeric.Logs(mixture)
	return t
}

// Prediction probabilities come from Dir(atomConcentration) and stay above atomFloor.
const (
	atomConcentration = 0.5
	atomFloor         = 1e-4
)

// Table draws the atoms p̂ ~ Dir(0.5), clamped at 1e-4, of the given cells.
func (d Design) Table(cells []Cell, rng *rand.Rand) *Table {
	t := &Table{
		Classes: d.Classes, Codewords: d.Codewords, Atoms: d.Atoms, Cells: cells,
		LogP: make([]float64, len(cells)*d.Atoms*d.Classes),
	}
	p := make([]float64, d.Classes)
	for row := range t.Rows() {
		drawDirichlet(p, atomConcentration, atomFloor, rng)
		for i, pi := range p {
			t.LogP[row*d.Classes+i] = math.Log(pi)
		}
	}
	return t
}

// Multinomial returns the probability of each cell when the w slots are drawn
// independently from p: w!/Π n_k! · Π p_k^{n_k}; of cells that were drawn, in parts of the
// law that they were drawn from, and normalized.
func (t *Table) Multinomial(p []float64) []float64 {
	probs := make([]float64, len(t.Cells))
	for v, cell := range t.Cells {
		log, _ := math.Lgamma(float64(len(cell.Codes)) + 1)
		for _, o := range cell.Occurrences {
			arrangements, _ := math.Lgamma(o.Count + 1)
			log += o.Count*math.Log(p[o.Codeword]) - arrangements
		}
		if t.drawn != nil {
			log -= t.drawn[v]
		}
		probs[v] = math.Exp(log)
	}
	if t.drawn != nil {
		floats.Scale(1/floats.Sum(probs), probs)
	}
	return probs
}

// Occupancy returns E[n_k] per row under the given cell probabilities, so that
// N·Occupancy[k] is the expected number of occurrences N_k.
func (t *Table) Occupancy(cellProb []float64) []float64 {
	occupancy := make([]float64, t.Codewords)
	for v, cell := range t.Cells {
		for _, o := range cell.Occurrences {
			occupancy[o.Codeword] += cellProb[v] * o.Count
		}
	}
	return occupancy
}

// Shifts returns n cyclic shifts spread over the codewords.
func (d Design) Shifts(n int) []int {
	return data.Each(data.UpTo(n), func(s int) int { return s * d.Codewords / n })
}

// OfCells adds up weights of (cell, atom, label).
func (t *Table) OfCells(weights []float64) []float64 {
	return data.Each(data.UpTo(len(t.Cells)), func(v int) float64 { return floats.Sum(t.Of(weights, v)) })
}
