package layers

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Boosted places codewords in stages where those before them leave the most: in each stage K/Stages
// more are drawn among the slots, in proportion to
//
//	‖p − q‖² · min_k ‖z⁽ⁱ⁾ − c_k‖² ,
//
// as k-means++ draws them but for the first factor, the residual of the slot's row. Then a table
// that all codewords so far read is boosted: slot after slot takes the Newton step of each codeword
// times the rate η, on the residuals that the slots before leave. The base is that of [Leaf]. Once a
// stage does not lower the loss of a stratified fifth of the rows it is undone, and what is left of
// the codewords is placed by k-means++ alone. They never move, and the tables are thrown away.
type Boosted struct {
	Codewords int     // K; 0: 64
	Stages    int     // 0: 8
	Rate      float64 // η; 0: 0.2

	words
}

var _ Supervised = Boosted{}

// boostedRows is how many rows codewords are placed by.
const boostedRows = 8192

// boostedRidge is what is added to the curvature of each step.
const boostedRidge = 1

// Over is the sizes of cal's features in w slots (0: 64).
func (c Boosted) Over(cal *data.Set, slots int) (Sizes, error) {
	return sizesOver(cal, slots, cmp.Or(c.Codewords, 64))
}

// Twin draws the codewords.
func (c Boosted) Twin() Codes { return Fixed{Codewords: c.Codewords} }

// Supervised is true.
func (Boosted) Supervised() bool { return true }

// Init places the codewords.
func (c Boosted) Init(ctx context.Context, w *graph.Weights, cal *data.Set, s Sizes, rng *rand.Rand) error {
	if cal.Len() > boostedRows {
		cal = cal.Rows(FewRows(cal.Labels, boostedRows, rng))
	}
	p, err := c.placing(cal, s, rng)
	if err != nil {
		return err
	}
	stages := min(cmp.Or(c.Stages, 8), s.Codewords)
	best := p.heldLoss()
	for stage := 1; stage <= stages; stage++ {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("place the codewords, interrupted at stage %d: %w", stage, err)
		}
		optim.ReportProgress(ctx, "stages of codewords", float64(stage-1)/float64(stages))
		before := len(p.words)
		for len(p.words) < stage*s.Codewords/stages {
			p.draw(func(row int) float64 { // ‖p − q‖²
				g := p.left.gradient.RawRowView(row)
				return floats.Dot(g, g)
			}, rng)
		}
		p.boost(cmp.Or(c.Rate, 0.2))
		if loss := p.heldLoss(); loss < best {
			best = loss
			continue
		}
		p.words = p.words[:before]
		p.code()
		break
	}
	for len(p.words) < s.Codewords {
		p.draw(func(int) float64 { return 1 }, rng)
	}
	placed := mat.NewDense(s.Codewords, s.Features/s.Slots, nil)
	for k, word := range p.words {
		placed.SetRow(k, word)
	}
	addWords(w, placed, nil)
	return nil
}

// placing are codewords on their way.
type placing struct {
	cal             *data.Set
	sizes           Sizes
	x               *mat.Dense // N×M
	targets, scores *mat.Dense // N×C
	left            residuals  // at the scores
	fitted, held    []int      // rows
	words           [][]float64
	codes           []int     // N·w, the nearest codeword of each slot
	apart           []float64 // N·w, how far it is, squared
}

// placing begins with no codeword.
func (c Boosted) placing(cal *data.Set, s Sizes, rng *rand.Rand) (*placing, error) {
	targets := cal.Targets(s.Classes)
	scores, err := withoutCodes(cal, targets)
	if err != nil {
		return nil, err
	}
	parts := cal.Stratify([]float64{0.8, 0.2}, rng)
	n, classes := targets.Dims()
	p := &placing{
		cal: cal, sizes: s, x: data.Dense(cal.Features), targets: targets, scores: scores,
		left:   residuals{mat.NewDense(n, classes, nil), mat.NewDense(n, classes, nil)},
		fitted: parts[0], held: parts[1],
	}
	p.code()
	p.see(p.fitted)
	return p, nil
}

// slot is the features of one, by its number among those of all rows.
func (p *placing) slot(at int) []float64 {
	w, d := p.sizes.Slots, p.sizes.Features/p.sizes.Slots
	return p.x.RawRowView(at / w)[at%w*d:][:d]
}

// code finds the nearest codeword of each slot anew.
func (p *placing) code() {
	n := p.cal.Len() * p.sizes.Slots
	p.codes, p.apart = make([]int, n), make([]float64, n)
	for at := range p.apart {
		p.apart[at] = -1 // there is none
	}
	for k := range p.words {
		p.near(k)
	}
}

// near gives codeword k to the slots that are nearer to it than to those before.
func (p *placing) near(k int) {
	for at, before := range p.apart {
		apart := floats.Distance(p.slot(at), p.words[k], 2)
		if apart *= apart; before < 0 || apart < before {
			p.codes[at], p.apart[at] = k, apart
		}
	}
}

// draw adds a slot of the fitted rows as a codeword, in proportion to its row's weight and its
// distance from the codewords so far.
func (p *placing) draw(weight func(row int) float64, rng *rand.Rand) {
	w := p.sizes.Slots
	upTo, total := make([]float64, len(p.fitted)), 0.0
	within := func(row int, visit func(at int, part float64) bool) {
		of := weight(row)
		for at := row * w; at < (row+1)*w; at++ {
			part := of
			if len(p.words) > 0 {
				part *= p.apart[at]
			}
			if !visit(at, part) {
				return
			}
		}
	}
	for i, row := range p.fitted {
		within(row, func(_ int, part float64) bool { total += part; return true })
		upTo[i] = total
	}
	at := p.fitted[rng.IntN(len(p.fitted))]*w + rng.IntN(w) // where all are coded already
	if left := rng.Float64() * total; total > 0 {
		i := 0
		for i < len(upTo)-1 && upTo[i] <= left {
			i++
		}
		if i > 0 {
			left -= upTo[i-1]
		}
		within(p.fitted[i], func(slot int, part float64) bool {
			if part > 0 {
				at = slot
			}
			left -= part
			return left > 0
		})
	}
	p.words = append(p.words, p.slot(at))
	p.near(len(p.words) - 1)
}

// see sets the residuals of rows.
func (p *placing) see(rows []int) {
	logProbs := make([]float64, p.sizes.Classes)
	for _, row := range rows {
		copy(logProbs, p.scores.RawRowView(row))
		floats.AddConst(-floats.LogSumExp(logProbs), logProbs)
		p.left.set(row, logProbs, p.targets.RawRowView(row), p.cal.Weight(row))
	}
}

// boost lets each slot in turn take its steps.
func (p *placing) boost(rate float64) {
	g, h := mat.NewDense(len(p.words), p.sizes.Classes, nil), mat.NewDense(len(p.words), p.sizes.Classes, nil)
	for slot := range p.sizes.Slots {
		g.Zero()
		h.Zero()
		for _, row := range p.fitted {
			k := p.codes[row*p.sizes.Slots+slot]
			floats.Add(g.RawRowView(k), p.left.gradient.RawRowView(row))
			floats.Add(h.RawRowView(k), p.left.curvature.RawRowView(row))
		}
		g.Apply(func(k, j int, sum float64) float64 { return -rate * sum / (h.At(k, j) + boostedRidge) }, g)
		for row := range p.cal.Len() {
			floats.Add(p.scores.RawRowView(row), g.RawRowView(p.codes[row*p.sizes.Slots+slot]))
		}
		p.see(p.fitted)
	}
}

// heldLoss is the mean loss of the held-out rows, 0 where there are none.
func (p *placing) heldLoss() float64 {
	var sum, total float64
	for _, row := range p.held {
		scores, of := p.scores.RawRowView(row), p.targets.RawRowView(row)
		sum += floats.LogSumExp(scores)*floats.Sum(of) - floats.Dot(scores, of)
		total += floats.Sum(of)
	}
	return sum / max(total, 1)
}
