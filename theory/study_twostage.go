package theory

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/layers"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// pipeline is a synthetic problem for both stages of the paper: slots of features near w of
// K centres, a linear head on the quantized features, the bilinear map on the head's log p̂.
// The head's p̂ and the map's posterior are both right in the population: the map's factors
// are drawn so that the head's score equations hold under the law that they make,
//
//	E[z (q(· | cell) − p̂(· | cell))ᵀ] = 0.
type pipeline struct {
	classes, slots, codewords, width int

	cells   []Cell
	prob    []float64  // of each cell
	centres *mat.Dense // K×d
	head    *mat.Dense // (M+1)×C
	theta   []float64  // the map's factors
	law     []float64  // cells × C, P(y | cell)
	reach   float64    // standard deviation at N = 1 of the map's least certain direction
}

// cloud is how far features lie from their centre at most in each direction; centres are at
// least four times that apart, so that every slot finds its own.
const cloud = 0.25

func newPipeline(rng *rand.Rand) (*pipeline, error) {
	p := &pipeline{classes: 3, slots: 3, codewords: 4, width: 2}
	for _, codes := range sequences(p.codewords, p.slots) {
		p.cells = append(p.cells, Cell{Codes: codes, Occurrences: newCell(slices.Sorted(slices.Values(codes))).Occurrences})
	}
	frequency := Design{Codewords: p.codewords, Decades: 0.5}.Frequencies(0)
	p.prob = make([]float64, len(p.cells))
	for v, cell := range p.cells {
		p.prob[v] = 1
		for _, k := range cell.Codes {
			p.prob[v] *= frequency[k]
		}
	}
	p.centres = mat.NewDense(p.codewords, p.width, nil)
	for k, corner := range [][]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		p.centres.SetRow(k, []float64{corner[0] + 0.4*rng.NormFloat64()*cloud, corner[1] + 0.4*rng.NormFloat64()*cloud})
	}
	m := p.slots*p.width + 1
	p.head = mat.NewDense(m, p.classes, nil)
	p.head.Apply(func(_, _ int, _ float64) float64 { return 0.6 * rng.NormFloat64() }, p.head)
	start := math.Sqrt(math.Log(math.Expm1(1)) / float64(p.slots))
	p.theta = make([]float64, 2*p.codewords*p.classes)
	for i := range p.theta {
		p.theta[i] = start + 0.4*rng.NormFloat64()
	}
	if err := p.balanceHead(); err != nil {
		return nil, err
	}
	byHand := newBilinear(p.table(logHead(p.head, p.quantized(p.centres))), 1)
	at, err := newAsymptotics(byHand, Rescaling{p.classes, p.codewords}, p.theta, p.population())
	if err != nil {
		return nil, err
	}
	p.reach = math.Sqrt(operatorNorm(at.covariance))
	return p, nil
}

// population is the law of (cell, label).
func (p *pipeline) population() []float64 {
	weights := make([]float64, len(p.law))
	for i, q := range p.law {
		weights[i] = p.prob[i/p.classes] * q
	}
	return weights
}

// pipelineDraws is from how many draws the best identified problem is taken: of a poor one most
// samples of 1,000 rows have no maximum of the likelihood.
const pipelineDraws = 8

// quantized is z of each cell, cells × M.
func (p *pipeline) quantized(centres *mat.Dense) *mat.Dense {
	z := mat.NewDense(len(p.cells), p.slots*p.width, nil)
	for v, cell := range p.cells {
		for i, k := range cell.Codes {
			copy(z.RawRowView(v)[i*p.width:], centres.RawRowView(k))
		}
	}
	return z
}

// logHead is log p̂ of each cell, cells × C.
func logHead(head, z *mat.Dense) *mat.Dense {
	n, m := z.Dims()
	_, C := head.Dims()
	out := mat.NewDense(n, C, nil)
	out.Mul(z, head.Slice(0, m, 0, C))
	for v := range n {
		row := out.RawRowView(v)
		floats.Add(row, head.RawRowView(m))
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return out
}

// table is the finite support that the map sees under log p̂: one atom in each cell.
func (p *pipeline) table(logp *mat.Dense) *Table {
	return &Table{Classes: p.classes, Codewords: p.codewords, Atoms: 1, Cells: p.cells, LogP: mat.DenseCopyOf(logp).RawMatrix().Data}
}

// headEquations are E[z (q − p̂)_j], which are 0 where the head is right under the map's law, and their
// derivative in θ, as ∂q/∂θ = −q ∇ℓ.
type headEquations struct {
	*pipeline
	model    *bilinear
	z, logp  *mat.Dense
	values   []float64
	jacobian *mat.Dense
}

func (p *pipeline) headEquations() *headEquations {
	z := p.quantized(p.centres)
	logp := logHead(p.head, z)
	n := (p.slots*p.width + 1) * (p.classes - 1)
	return &headEquations{
		pipeline: p, model: newBilinear(p.table(logp), 1), z: z, logp: logp,
		values: make([]float64, n), jacobian: mat.NewDense(n, len(p.theta), nil),
	}
}

// evaluate computes both at theta, where it sets the law to its logarithm.
func (h *headEquations) evaluate() error {
	if err := h.model.LogProbs(h.law, h.theta); err != nil {
		return err
	}
	clear(h.values)
	h.jacobian.Zero()
	m, score := h.slots*h.width+1, make([]float64, len(h.theta))
	for v := range h.cells {
		for j := range h.classes - 1 {
			q := math.Exp(h.law[v*h.classes+j])
			if err := h.model.Score(score, h.theta, v*h.classes+j); err != nil {
				return err
			}
			for i := range m {
				weight := h.prob[v]
				if i < m-1 {
					weight *= h.z.At(v, i)
				}
				h.values[j*m+i] += weight * (q - math.Exp(h.logp.At(v, j)))
				floats.AddScaled(h.jacobian.RawRowView(j*m+i), -weight*q, score)
			}
		}
	}
	return nil
}

// step is Newton's of least norm, no longer than 0.3.
func (h *headEquations) step() ([]float64, error) {
	var gram mat.Dense
	gram.Mul(h.jacobian, h.jacobian.T())
	var weights, step mat.VecDense
	if err := weights.SolveVec(&gram, mat.NewVecDense(len(h.values), h.values)); err != nil {
		return nil, fmt.Errorf("theory: the two stages' law: %w", err)
	}
	step.MulVec(h.jacobian.T(), &weights)
	if length := mat.Norm(&step, 2); length > 0.3 {
		step.ScaleVec(0.3/length, &step)
	}
	return step.RawVector().Data, nil
}

// balanceHead moves theta, by least-norm Newton steps, to where the head's score equations
// hold, and sets the law.
func (p *pipeline) balanceHead() error {
	p.law = make([]float64, len(p.cells)*p.classes)
	equations := p.headEquations()
	for range 50 {
		if err := equations.evaluate(); err != nil {
			return err
		}
		if floats.Norm(equations.values, 2) < 1e-14 {
			for i, l := range p.law {
				p.law[i] = math.Exp(l)
			}
			Rescaling{p.classes, p.codewords}.Fix(p.theta, nil)
			return nil
		}
		step, err := equations.step()
		if err != nil {
			return err
		}
		floats.Sub(p.theta, step)
	}
	return errors.New("theory: no map near the start makes the head right; take another seed")
}

// fitHead is the head of least cross-entropy on counts (cells × C) of rows with quantized
// features z: Newton's method on a convex loss, with the last class's weights at 0.
func fitHead(z *mat.Dense, counts []float64, C int) (*mat.Dense, error) {
	_, m := z.Dims()
	m++
	head := mat.NewDense(m, C, nil)
	for range 60 {
		grad, hess := headDerivatives(head, z, counts)
		if mat.Norm(grad, 2) < 1e-12 {
			return head, nil
		}
		var cholesky mat.Cholesky
		var step mat.VecDense
		if !cholesky.Factorize(hess) || cholesky.SolveVecTo(&step, grad) != nil {
			return nil, errors.New("theory: the head's rows do not identify it")
		}
		scale := math.Min(1, 2/mat.Norm(&step, 2))
		for i := range m {
			for j := range C - 1 {
				head.Set(i, j, head.At(i, j)-scale*step.AtVec(j*m+i))
			}
		}
	}
	return nil, errors.New("theory: the head did not settle: its classes can be separated")
}

// headDerivatives are those of the mean cross-entropy in the weights of all classes but the last, class by class.
func headDerivatives(head, z *mat.Dense, counts []float64) (*mat.VecDense, *mat.SymDense) {
	m, C := head.Dims()
	logp, total := logHead(head, z), floats.Sum(counts)
	grad, hess := mat.NewVecDense(m*(C-1), nil), mat.NewSymDense(m*(C-1), nil)
	x := make([]float64, m)
	x[m-1] = 1
	for v := range len(counts) / C {
		copy(x, z.RawRowView(v))
		rows := floats.Sum(counts[v*C : (v+1)*C])
		for j := range C - 1 {
			p := math.Exp(logp.At(v, j))
			for i, xi := range x {
				grad.SetVec(j*m+i, grad.AtVec(j*m+i)+(rows*p-counts[v*C+j])*xi/total)
			}
			for l := j; l < C-1; l++ {
				w := -rows * p * math.Exp(logp.At(v, l)) / total
				if l == j {
					w += rows * p / total
				}
				for i, xi := range x {
					for h, xh := range x {
						if j*m+i <= l*m+h {
							hess.SetSym(j*m+i, l*m+h, hess.At(j*m+i, l*m+h)+w*xi*xh)
						}
					}
				}
			}
		}
	}
	return grad, hess
}

// stages says what is refitted on a sample.
type stages int

const (
	mapAlone   stages = iota // head and codebook are the population's
	headAndMap               // the codebook is the population's
	allOfThem                // codebook, head and map
	stageChoices
)

func (s stages) String() string {
	return [...]string{"map alone", "head and map", "codebook, head and map"}[s]
}

// coverages are parts of the posteriors whose interval holds the truth.
type coverages struct {
	alone, both float64 // of the map's intervals, of those of both stages
	// expected is what the map's intervals should hold by the variances v alone and of both
	// stages: 2Φ(z √(v_alone/v_both)) − 1. Both fall as 1/N, so that it does not depend on N.
	expected float64
}

// refit fits what is to be fitted to counts of rows and says how many posteriors the intervals
// hold.
func (p *pipeline) refit(ctx context.Context, which stages, counts []float64, rng *rand.Rand) (held coverages, err error) {
	centres, head := p.centres, p.head
	C := p.classes
	if which == allOfThem {
		centres = p.refitCodebook(counts, rng)
	}
	z := p.quantized(centres)
	if which != mapAlone {
		if head, err = fitHead(z, counts, C); err != nil {
			return held, err
		}
	}
	logp := logHead(head, z)
	table := p.table(logp)
	weights := append([]float64(nil), counts...)
	floats.Scale(1/floats.Sum(counts), weights)
	theta := append([]float64(nil), p.theta...)
	if err := minimize(newBilinear(table, 1), Rescaling{C, p.codewords}, theta, weights); err != nil {
		return held, err
	}
	return p.held(ctx, theta, counts, logp, z)
}

// held says how many posteriors hold the truth, of a map theta that was fitted to counts of rows on
// the head's log p̂ of quantized features z.
func (p *pipeline) held(ctx context.Context, theta, counts []float64, logp, z *mat.Dense) (held coverages, err error) {
	alone, both, err := p.intervals(ctx, theta, counts, logp, z)
	if err != nil {
		return held, err
	}
	reach := distuv.UnitNormal.Quantile(0.5 + intervalLevel/2)
	for v := range p.cells {
		for j := range p.classes {
			weight, q := p.prob[v]/float64(p.classes), p.law[v*p.classes+j]
			if alone.hold(v, j, q) {
				held.alone += weight
			}
			if both.hold(v, j, q) {
				held.both += weight
			}
			part := alone.length(v, j) / both.length(v, j)
			if math.IsNaN(part) { // both reach 0 or 1 within rounding
				part = 1
			}
			held.expected += weight * (2*distuv.UnitNormal.CDF(reach*part) - 1)
		}
	}
	return held, nil
}

// posteriorIntervals are those of each cell and class.
type posteriorIntervals struct{ lower, upper *mat.Dense }

func (x posteriorIntervals) hold(v, j int, q float64) bool {
	return x.lower.At(v, j) <= q && q <= x.upper.At(v, j)
}

// length is in logits.
func (x posteriorIntervals) length(v, j int) float64 {
	return logit(x.upper.At(v, j)) - logit(x.lower.At(v, j))
}

// intervals are those of the map alone, and of both stages.
func (p *pipeline) intervals(ctx context.Context, theta, counts []float64, logp, z *mat.Dense) (alone, both posteriorIntervals, err error) {
	table := p.table(logp)
	sizes := table.sizes()
	sizes.Features = p.slots * p.width
	weights, err := bilinearWeights(theta, sizes)
	if err != nil {
		return alone, both, err
	}
	rows, view := table.observed(), table.view(1)
	rows.Counts = counts
	zRows := mat.NewDense(len(rows.Labels), sizes.Features, nil)
	for i := range rows.Labels {
		zRows.SetRow(i, z.RawRowView(i/p.classes))
	}
	one, err := layers.NewSandwich(ctx, weights, rows, sizes, 0)
	if err != nil {
		return alone, both, err
	}
	two, err := layers.NewTwoStage(ctx, weights, rows, zRows, sizes, 0, 0)
	if err != nil {
		return alone, both, err
	}
	if alone.lower, alone.upper, err = one.Intervals(ctx, view, intervalLevel); err != nil {
		return alone, both, err
	}
	both.lower, both.upper, err = two.Intervals(ctx, view, z, intervalLevel)
	return alone, both, err
}

func logit(q float64) float64 { return math.Log(q) - math.Log1p(-q) }

// refitCodebook is the mean of the slots that found each centre, in a sample with these
// counts of cells: by the law of means of uniform clouds of many slots.
func (p *pipeline) refitCodebook(counts []float64, rng *rand.Rand) *mat.Dense {
	occurrences := make([]float64, p.codewords)
	for v, cell := range p.cells {
		rows := floats.Sum(counts[v*p.classes : (v+1)*p.classes])
		for _, k := range cell.Codes {
			occurrences[k] += rows
		}
	}
	centres := mat.DenseCopyOf(p.centres)
	for k, n := range occurrences {
		for i := range p.width {
			// A mean of n uniform numbers on ±cloud has variance cloud²/3n and is normal for
			// the hundred and more that there are.
			centres.Set(k, i, centres.At(k, i)+cloud/math.Sqrt(3*math.Max(n, 1))*rng.NormFloat64())
		}
	}
	return centres
}

// twoStage is the design of the study: samples of a few problems at growing N.
type twoStage struct {
	*setup
	pipelines []*pipeline
	sizes     []int
	each      int // samples of each problem
}

func newTwoStage(s *setup) (*twoStage, error) {
	t := &twoStage{setup: s, sizes: []int{1000, 10_000, 100_000}, each: s.replicates(15, 400)}
	for i := range min(s.most.problems, choose(s, 4, 8)) {
		best, err := bestPipeline(func(try uint64) *rand.Rand { return newRand(s.Seed, 50, uint64(i), try) })
		if err != nil {
			return nil, err
		}
		t.pipelines = append(t.pipelines, best)
	}
	return t, nil
}

// bestPipeline is the best identified of pipelineDraws.
func bestPipeline(rng func(try uint64) *rand.Rand) (best *pipeline, err error) {
	for try, found := uint64(0), 0; found < pipelineDraws && try < 100*pipelineDraws; try++ {
		p, failed := newPipeline(rng(try))
		if failed != nil { // no map near the start makes the head right
			err = failed
			continue
		}
		if found++; best == nil || p.reach < best.reach {
			best = p
		}
	}
	if best == nil {
		return nil, err
	}
	return best, nil
}

// stageSamples are what refits of some stages to samples of N rows gave.
type stageSamples struct {
	which stages
	N     int
	held  []coverages
	lost  []string // the samples without a fit
}

// draw refits the stages to all samples of a size.
func (t *twoStage) draw(ctx context.Context, which stages, size int) (*stageSamples, error) {
	samples := &trials{
		setup: t.setup, what: which.String(), sizes: t.sizes[size : size+1], count: len(t.pipelines) * t.each,
		law:  func(x trial) []float64 { return t.pipelines[x.rep/t.each].population() },
		rand: func(x trial) *rand.Rand { return newRand(t.Seed, 51, uint64(which), uint64(size), uint64(x.rep)) },
	}
	all := make([]coverages, samples.count)
	losses, err := samples.each(ctx, func(x trial) (err error) {
		counts := samples.draw(x)
		floats.Scale(float64(x.rows), counts)
		for j := range counts {
			counts[j] = math.Round(counts[j])
		}
		all[x.rep], err = t.pipelines[x.rep/t.each].refit(ctx, which, counts, x.rng)
		if err != nil && ctx.Err() == nil {
			return lost{err}
		}
		return err
	})
	out := &stageSamples{which: which, N: t.sizes[size]}
	for i, where := range losses {
		if where == "" {
			out.held = append(out.held, all[i])
		}
	}
	out.lost = named(losses)
	return out, err
}

// coverage is the estimate of one of the parts.
func (x *stageSamples) coverage(of func(coverages) float64) Estimate {
	values := make([]float64, len(x.held))
	for i, held := range x.held {
		values[i] = of(held)
	}
	return meanEstimate(values)
}

// report adds the rows of the samples, and their points to the curves by label.
func (x *stageSamples) report(r *Report, curve func(label string) *Curve) {
	key, total := fmt.Sprintf("%d-%d", x.which, x.N), len(x.held)+len(x.lost)
	r.rare("unsettled-"+key, fmt.Sprintf("%s, N = %d: samples of %d without a fit", x.which, x.N, total), x.lost, total, smallSamplesLost, "few")
	if len(x.held) < 2 {
		return
	}
	for _, of := range []struct {
		key, name string
		right     stages // what is fitted where the intervals should hold
		part      func(coverages) float64
	}{
		{key: "before", name: "intervals of the map", right: mapAlone, part: func(c coverages) float64 { return c.alone }},
		{key: "after", name: "intervals of both stages", right: headAndMap, part: func(c coverages) float64 { return c.both }},
	} {
		e := x.coverage(of.part)
		quantity := fmt.Sprintf("coverage when %s are fitted, %s, N = %d", x.which, of.name, x.N)
		if x.which == mapAlone {
			quantity = fmt.Sprintf("coverage when the map alone is fitted, %s, N = %d", of.name, x.N)
		}
		if x.which == of.right && x.N > 1000 {
			r.near(of.key+"-"+key, quantity, e, intervalLevel, coverageLeft, short(intervalLevel))
		} else {
			r.record(of.key+"-"+key, quantity, e, short(intervalLevel))
		}
		curve(fmt.Sprintf("%s fitted, %s", x.which, of.name)).add(float64(x.N), e)
	}
	if x.which == headAndMap {
		r.record("expected-"+key, fmt.Sprintf("what the variances of one and of both stages let expect of the map's intervals, N = %d", x.N),
			x.coverage(func(c coverages) float64 { return c.expected }), "the same for every N: both variances fall as 1/N")
	}
}

func runTwoStage(ctx context.Context, s *setup, r *Report) error {
	t, err := newTwoStage(s)
	if err != nil {
		return err
	}
	r.record("replicates", "samples of each coverage", exact(float64(len(t.pipelines)*t.each)), fmt.Sprintf("%d problems", len(t.pipelines)))
	curves := map[string]*Curve{}
	curve := func(label string) *Curve {
		if curves[label] == nil {
			curves[label] = &Curve{Label: label, Style: Joined}
		}
		return curves[label]
	}
	for which := range stageChoices {
		for size := range t.sizes {
			samples, err := t.draw(ctx, which, size)
			if err != nil {
				return err
			}
			samples.report(r, curve)
		}
	}
	f := Figure{Name: "coverage", Title: "Coverage of 90 % intervals when stage 1 is fitted too", XLabel: "N, calibration rows", YLabel: "coverage of the posteriors", LogX: true}
	for _, label := range []string{
		"map alone fitted, intervals of the map", "head and map fitted, intervals of the map", "head and map fitted, intervals of both stages",
		"codebook, head and map fitted, intervals of the map", "codebook, head and map fitted, intervals of both stages",
	} {
		if c := curves[label]; c != nil {
			f.Curves = append(f.Curves, *c)
		}
	}
	f.Curves = append(f.Curves, powerLaw("nominal", intervalLevel, 0, []float64{float64(t.sizes[0]), float64(t.sizes[2])}))
	r.Figures = append(r.Figures, f)
	return nil
}
