package studies

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/layers"
	"calibra/optim/estimate"
	"calibra/theory"
	"calibra/theory/internal/numeric"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// pipeline is a synthetic problem for both stages of the paper: slots of features near w of
// K centres, a linear head on the quantized features, the bilinear map on the head's log p̂, which is
// the one atom of each cell. The head's p̂ and the map's posterior are both right in the population: the
// map's factors are drawn so that the head's score equations hold under the law that they make,
//
//	E[z (q(· | cell) − p̂(· | cell))ᵀ] = 0.
type pipeline struct {
	*theory.Truth
	theory.Rescaling
	prob    []float64  // of each cell
	centres *mat.Dense // K×d
	head    *mat.Dense // (M+1)×C
	reach   float64    // standard deviation at N = 1 of the map's least certain direction
}

// cloud is how far features lie from their centre at most in each direction; centres are at
// least four times that apart, so that every slot finds its own.
const cloud = 0.25

// pipelineWidth is d of the pipeline.
const pipelineWidth = 2

func newPipeline(rng *rand.Rand) (*pipeline, error) {
	d := theory.Design{Classes: 3, Slots: 3, Codewords: 4, Atoms: 1, Decades: 0.5, Identity: 1}
	p := &pipeline{Rescaling: d.Gauge(), centres: mat.NewDense(d.Codewords, pipelineWidth, nil)}
	frequency := d.Frequencies(0)
	cells := d.Sequences()
	for _, cell := range cells {
		prob := 1.0
		for _, k := range cell.Codes {
			prob *= frequency[k]
		}
		p.prob = append(p.prob, prob)
	}
	for k, corner := range [][]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
		p.centres.SetRow(k, []float64{corner[0] + 0.4*rng.NormFloat64()*cloud, corner[1] + 0.4*rng.NormFloat64()*cloud})
	}
	rows := d.Slots*pipelineWidth + 1
	p.head = mat.NewDense(rows, d.Classes, numeric.Normals(rows*d.Classes, rng))
	p.head.Scale(0.6, p.head)
	theta := slices.Repeat([]float64{publishedStart(d.Slots)}, 2*d.Codewords*d.Classes)
	floats.AddScaled(theta, 0.4, numeric.Normals(len(theta), rng))
	p.Truth = &theory.Truth{Design: d, Theta: theta, Label: make([]float64, len(cells)*d.Classes), Table: &theory.Table{
		Classes: d.Classes, Codewords: d.Codewords, Atoms: 1, Cells: cells,
	}}
	z := p.quantized(p.centres)
	p.Table = p.seen(logHead(p.head, z))
	model := p.Table.ByHand(1)
	if err := p.balanceHead(model, z); err != nil {
		return nil, err
	}
	of, err := p.Limit(model, p.Rescaling, p.Theta, p.prob)
	if err != nil {
		return nil, err
	}
	p.reach = math.Sqrt(numeric.OperatorNorm(of.Covariance))
	return p, nil
}

// pipelineDraws is from how many draws the best identified problem is taken: of a poor one most
// samples of 1,000 rows have no maximum of the likelihood.
const pipelineDraws = 8

// quantized is z of each cell, cells × M.
func (p *pipeline) quantized(centres *mat.Dense) *mat.Dense {
	z := mat.NewDense(len(p.Table.Cells), p.Design.Slots*pipelineWidth, nil)
	for v, cell := range p.Table.Cells {
		for i, k := range cell.Codes {
			copy(z.RawRowView(v)[i*pipelineWidth:], centres.RawRowView(k))
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

// seen is the finite support that the map sees under log p̂.
func (p *pipeline) seen(logp *mat.Dense) *theory.Table {
	t := *p.Table
	t.LogP = logp.RawMatrix().Data
	return &t
}

// headEquations are E[z (q − p̂)_j], which are 0 where the head is right under the map's law, and their
// derivative in θ, as ∂q/∂θ = −q ∇ℓ. It sets the law to its logarithm.
func (p *pipeline) headEquations(model theory.Model, z *mat.Dense) (values []float64, jacobian *mat.Dense, err error) {
	C, m := p.Design.Classes, p.Design.Slots*pipelineWidth+1
	values, jacobian = make([]float64, m*(C-1)), mat.NewDense(m*(C-1), len(p.Theta), nil)
	if err := model.LogProbs(p.Label, p.Theta); err != nil {
		return nil, nil, err
	}
	score := make([]float64, len(p.Theta))
	for v := range p.Table.Cells {
		for j := range C - 1 {
			q := math.Exp(p.Label[v*C+j])
			if err := model.Score(score, p.Theta, v*C+j); err != nil {
				return nil, nil, err
			}
			for i := range m {
				weight := p.prob[v]
				if i < m-1 {
					weight *= z.At(v, i)
				}
				values[j*m+i] += weight * (q - math.Exp(p.Table.LogP[v*C+j]))
				floats.AddScaled(jacobian.RawRowView(j*m+i), -weight*q, score)
			}
		}
	}
	return values, jacobian, nil
}

// balanceHead moves θ, by Newton steps of least norm, no longer than 0.3, to where the head's score
// equations hold, and sets the law.
func (p *pipeline) balanceHead(model theory.Model, z *mat.Dense) error {
	for range 50 {
		values, jacobian, err := p.headEquations(model, z)
		if err != nil {
			return err
		}
		if floats.Norm(values, 2) < 1e-14 {
			numeric.Exps(p.Label)
			p.Fix(p.Theta, nil)
			return nil
		}
		var gram mat.Dense
		gram.Mul(jacobian, jacobian.T())
		var weights, step mat.VecDense
		if err := weights.SolveVec(&gram, mat.NewVecDense(len(values), values)); err != nil {
			return fmt.Errorf("theory: the two stages' law: %w", err)
		}
		step.MulVec(jacobian.T(), &weights)
		if length := mat.Norm(&step, 2); length > 0.3 {
			step.ScaleVec(0.3/length, &step)
		}
		floats.Sub(p.Theta, step.RawVector().Data)
	}
	return errors.New("theory: no map near the start makes the head right; take another seed")
}

// fitHead is the head of least cross-entropy on counts (cells × C) of rows with quantized
// features z: Newton's method on a convex loss, with the last class's weights at 0.
func fitHead(z *mat.Dense, counts []float64, C int) (*mat.Dense, error) {
	_, m := z.Dims()
	m++
	head := func(x []float64) *mat.Dense { // class by class
		out := mat.NewDense(m, C, nil)
		out.Slice(0, m, 0, C-1).(*mat.Dense).Copy(mat.NewDense(C-1, m, x).T())
		return out
	}
	x, of := make([]float64, m*(C-1)), floats.ScaleTo(make([]float64, len(counts)), 1/floats.Sum(counts), counts)
	settled := estimate.Newton{
		Steps: 60, Enough: 1e-26,
		Value:       func(x []float64) float64 { return -floats.Dot(of, logHead(head(x), z).RawMatrix().Data) },
		Derivatives: func(x []float64) ([]float64, *mat.SymDense) { return headDerivatives(head(x), z, of) },
	}.Minimize(x)
	if !settled {
		return nil, errors.New("theory: the head did not settle: its classes can be separated")
	}
	return head(x), nil
}

// headDerivatives are those of the cross-entropy in the weights of all classes but the last, class by class.
func headDerivatives(head, z *mat.Dense, counts []float64) ([]float64, *mat.SymDense) {
	m, C := head.Dims()
	n := m * (C - 1)
	logp := logHead(head, z)
	grad, hess := make([]float64, n), mat.NewDense(n, n, nil)
	x := make([]float64, m)
	x[m-1] = 1
	for v := range len(counts) / C {
		copy(x, z.RawRowView(v))
		rows := floats.Sum(counts[v*C : (v+1)*C])
		for j := range C - 1 {
			p := math.Exp(logp.At(v, j))
			floats.AddScaled(grad[j*m:(j+1)*m], rows*p-counts[v*C+j], x)
			for l := j; l < C-1; l++ {
				w := -rows * p * math.Exp(logp.At(v, l))
				if l == j {
					w += rows * p
				}
				block := hess.Slice(j*m, (j+1)*m, l*m, (l+1)*m).(*mat.Dense)
				block.RankOne(block, w, mat.NewVecDense(m, x), mat.NewVecDense(m, x))
			}
		}
	}
	return grad, mat.NewSymDense(n, hess.RawMatrix().Data) // which reads the upper triangle
}

// stages are what is refitted on a sample.
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

// The numbers of a refit: parts of the posteriors whose interval holds the truth.
const (
	aloneHolds = iota // the map's interval
	bothHold          // that of both stages
	// aloneExpected is what the map's intervals should hold by the variances v alone and of both
	// stages: 2Φ(z √(v_alone/v_both)) − 1. Both fall as 1/N, so that it does not depend on N.
	aloneExpected
	refitNumbers
)

// refit fits what is to be fitted to counts of rows and returns how many posteriors the intervals
// hold.
func (p *pipeline) refit(ctx context.Context, which stages, counts []float64, rng *rand.Rand) ([]float64, error) {
	centres, head := p.centres, p.head
	if which == allOfThem {
		centres = p.refitCodebook(counts, rng)
	}
	z := p.quantized(centres)
	if which != mapAlone {
		var err error
		if head, err = fitHead(z, counts, p.Design.Classes); err != nil {
			return nil, err
		}
	}
	table := p.seen(logHead(head, z))
	weights, theta := slices.Clone(counts), slices.Clone(p.Theta)
	floats.Scale(1/floats.Sum(weights), weights)
	if err := theory.Fit(table.ByHand(1), p.Rescaling, theta, weights); err != nil {
		return nil, err
	}
	return p.held(ctx, theta, counts, table, z)
}

// held returns how many posteriors hold the truth, of a map theta that was fitted to counts of rows of a
// table, the head's on quantized features z.
func (p *pipeline) held(ctx context.Context, theta, counts []float64, table *theory.Table, z *mat.Dense) ([]float64, error) {
	alone, both, err := intervalsOfStages(ctx, theta, counts, table, z)
	if err != nil {
		return nil, err
	}
	held, reach := make([]float64, refitNumbers), distuv.UnitNormal.Quantile(0.5+intervalLevel/2)
	for i, q := range p.Label {
		v, j := i/p.Design.Classes, i%p.Design.Classes
		weight := p.prob[v] / float64(p.Design.Classes)
		if alone.hold(v, j, q) {
			held[aloneHolds] += weight
		}
		if both.hold(v, j, q) {
			held[bothHold] += weight
		}
		part := alone.length(v, j) / both.length(v, j)
		if math.IsNaN(part) { // both reach 0 or 1 within rounding
			part = 1
		}
		held[aloneExpected] += weight * (2*distuv.UnitNormal.CDF(reach*part) - 1)
	}
	return held, nil
}

// intervalsOfStages are those of the map alone, and of both stages.
func intervalsOfStages(ctx context.Context, theta, counts []float64, table *theory.Table, z *mat.Dense) (alone, both posteriorIntervals, err error) {
	sizes, rows := table.Sizes(), table.Observed()
	_, sizes.Features = z.Dims()
	rows.Counts = counts
	weights, err := bilinearWeights(theta, sizes)
	if err != nil {
		return alone, both, err
	}
	zRows := mat.NewDense(len(rows.Labels), sizes.Features, nil)
	for i := range rows.Labels {
		zRows.SetRow(i, z.RawRowView(i/table.Classes))
	}
	two, err := layers.NewTwoStage(ctx, paper, weights, rows, zRows, sizes, layers.Ridges{})
	if err != nil {
		return alone, both, err
	}
	if alone.lower, alone.upper, err = two.Sandwich.Intervals(ctx, table.View(1), intervalLevel); err != nil {
		return alone, both, err
	}
	both.lower, both.upper, err = two.Intervals(ctx, table.View(1), z, intervalLevel)
	return alone, both, err
}

// length is in logits.
func (x posteriorIntervals) length(v, j int) float64 {
	return logit(x.upper.At(v, j)) - logit(x.lower.At(v, j))
}

func logit(q float64) float64 { return math.Log(q) - math.Log1p(-q) }

// refitCodebook is the mean of the slots that found each centre, in a sample with these
// counts of cells: by the law of means of uniform clouds of many slots.
func (p *pipeline) refitCodebook(counts []float64, rng *rand.Rand) *mat.Dense {
	centres := mat.DenseCopyOf(p.centres)
	for k, n := range p.Table.Occupancy(p.Table.OfCells(counts)) {
		for i := range pipelineWidth {
			// A mean of n uniform numbers on ±cloud has variance cloud²/3n and is normal for
			// the hundred and more that there are.
			centres.Set(k, i, centres.At(k, i)+cloud/math.Sqrt(3*math.Max(n, 1))*rng.NormFloat64())
		}
	}
	return centres
}

// twoStage is the design of the study: samples of a few problems at growing N.
type twoStage struct {
	theory.Settings
	pipelines []*pipeline
	sizes     []int
	each      int // samples of each problem
}

func newTwoStage(s theory.Settings) (*twoStage, error) {
	t := &twoStage{Settings: s, sizes: []int{1000, 10_000, 100_000}, each: replicates(s, 15, 400)}
	for i := range choose(s, 4, 8) {
		best, err := bestPipeline(func(try uint64) *rand.Rand { return s.RNG(50, uint64(i), try) })
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
		} else if found++; best == nil || p.reach < best.reach {
			best = p
		}
	}
	if best != nil {
		err = nil
	}
	return best, err
}

// stageSamples are what refits of some stages to samples of N rows gave.
type stageSamples struct {
	which stages
	N     int
	held  [][]float64 // of each number, those of the samples
	lost  []string    // the samples without a fit
}

// draw refits the stages to all samples of a size.
func (t *twoStage) draw(ctx context.Context, which stages, size int) (*stageSamples, error) {
	samples := &theory.Trials{
		Settings: t.Settings, What: which.String(), Sizes: t.sizes[size : size+1], Count: len(t.pipelines) * t.each,
		Law: func(x theory.Trial) []float64 {
			p := t.pipelines[x.Replicate/t.each]
			return p.Weights(p.prob)
		},
		Rand: func(x theory.Trial) *rand.Rand { return t.RNG(51, uint64(which), uint64(size), uint64(x.Replicate)) },
	}
	tables, losses, err := samples.Measure(ctx, nil, refitNumbers, func(_ theory.Model, x theory.Trial) ([]float64, error) {
		counts := samples.Draw(x)
		for j, share := range counts {
			counts[j] = math.Round(float64(x.N) * share)
		}
		held, err := t.pipelines[x.Replicate/t.each].refit(ctx, which, counts, x.Rand)
		if err != nil && ctx.Err() == nil {
			err = theory.Lost{Err: err}
		}
		return held, err
	})
	held := data.Each(tables, func(of [][]float64) []float64 { return slices.DeleteFunc(of[0], math.IsNaN) })
	return &stageSamples{which: which, N: t.sizes[size], held: held, lost: losses}, err
}

// report adds the rows of the samples, and their points to the figure.
func (x *stageSamples) report(r *theory.Report, f *theory.Figure) {
	key, total := fmt.Sprintf("%d-%d", x.which, x.N), len(x.held[0])+len(x.lost)
	r.Rare("unsettled-"+key, fmt.Sprintf("%s, N = %d: samples of %d without a fit", x.which, x.N, total), x.lost, total, smallSamplesLost, "few")
	if len(x.held[0]) < 2 {
		return
	}
	for _, of := range []struct {
		key, name string
		right     stages // what is fitted where the intervals should hold
		number    int
	}{
		{key: "before", name: "intervals of the map", right: mapAlone, number: aloneHolds},
		{key: "after", name: "intervals of both stages", right: headAndMap, number: bothHold},
	} {
		e := theory.MeanOf(x.held[of.number])
		quantity := fmt.Sprintf("coverage when %s are fitted, %s, N = %d", x.which, of.name, x.N)
		if x.which == mapAlone {
			quantity = fmt.Sprintf("coverage when the map alone is fitted, %s, N = %d", of.name, x.N)
		}
		expected := math.NaN()
		if x.which == of.right && x.N > 1000 {
			expected = intervalLevel
		}
		r.Near(of.key+"-"+key, quantity, e, expected, coverageLeft, numeric.Short(intervalLevel))
		if x.which != mapAlone || of.right == mapAlone {
			f.Curve(fmt.Sprintf("%s fitted, %s", x.which, of.name)).Add(float64(x.N), e)
		}
	}
	if x.which == headAndMap {
		r.Record("expected-"+key, fmt.Sprintf("what the variances of one and of both stages let expect of the map's intervals, N = %d", x.N),
			theory.MeanOf(x.held[aloneExpected]), "the same for every N: both variances fall as 1/N")
	}
}

func runTwoStage(ctx context.Context, s theory.Settings, r *theory.Report) error {
	t, err := newTwoStage(s)
	if err != nil {
		return err
	}
	r.Record("replicates", "samples of each coverage", theory.Exact(float64(len(t.pipelines)*t.each)), fmt.Sprintf("%d problems", len(t.pipelines)))
	f := theory.Figure{Name: "coverage", Title: "Coverage of 90 % intervals when stage 1 is fitted too", XLabel: "N, calibration rows", YLabel: "coverage of the posteriors", LogX: true}
	for which := range stageChoices {
		for size := range t.sizes {
			samples, err := t.draw(ctx, which, size)
			if err != nil {
				return err
			}
			samples.report(r, &f)
		}
	}
	f.Curves = append(f.Curves, theory.Curve{X: []float64{float64(t.sizes[0]), float64(t.sizes[2])}}.PowerLaw("nominal", intervalLevel, 0))
	r.Figures = append(r.Figures, f)
	return nil
}
