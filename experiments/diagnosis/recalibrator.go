package diagnosis

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/blas"
	"calibra/optim/estimate"

	gonum "gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// targets are rows of a sample that a correction is fitted to or judged on.
type targets struct {
	*checked.Sample
	rows  []int
	place []int // of each row of the sample: one number for those of one prediction in one place, which are in one fold
}

// of are some of them.
func (y targets) of(rows []int) *targets {
	return &targets{y.Sample, checked.Pick(y.rows, rows), y.place}
}

// weight is that of the i-th row.
func (y targets) weight(i int) float64 { return y.W(y.rows[i]) }

// spreads are the σ beside 0, ascending.
var spreads = []float64{1. / 16, 1. / 8, 1. / 4, 1. / 2, 1, 2, 4}

const (
	innerFolds = 3 // that choose σ
	patience   = 2 // σ in a row that raise the loss end the search
)

// correct fits a penalized multinomial correction,
//
//	g(x) = softmax(log p + Wᵀψ + (aᵀψ) ℓ̃) ,  minimizing  mean NLL + (‖W‖² + ‖a‖²)/(2nσ²)
//
// where n is the effective number of rows, ψ are D functions of the row, W is D×C, a is D, and ℓ̃
// are the centred log-probabilities in units of their root mean square: W moves classes, a turns
// the confidence up or down. The functions have a total variance of 1, so σ is how far, in
// nats, the penalty lets them move a logit. σ is 0 (the identity), 1/16, 1/8, …, or 4, whichever
// has the least loss on the rows held out of three inner folds, so predictions
// without an error stay as they are.
//
// Without features ψ are functions of the prediction: 1, ℓ̃_1 … ℓ̃_C and a piecewise linear one
// of the top class's log-odds. With features there are three stages, each correcting the one before: the
// features; squares and products of the eight of largest variance; the codeword of the row.
//
// Each stage learns from what those before made of the rows. Features are nil where the correction is one of the
// predictions alone. Log-probabilities are N×C and finite.
func correct(
	ctx context.Context, logProbs *mat.Dense, features mat.Matrix, y *targets, rng *rand.Rand,
) (sequence, error) {
	stages := []functions{ofPrediction}
	if checked.Given(features) {
		stages = []functions{linear, products, codewords}
	}
	var all sequence
	for _, f := range stages {
		best, recalibrated, err := fitStage(ctx, f, logProbs, features, y, rng)
		if err != nil {
			return nil, err
		}
		if best != nil {
			all = append(all, best)
			logProbs = recalibrated
		}
	}
	return all, nil
}

// fitStage learns W and a on the rows outside each inner fold in turn, along growing σ, until
// the loss on the folds falls no longer. The correction is the mean of those at the best σ, nil for
// the identity; each row comes recalibrated by the one that did not see it.
func fitStage(
	ctx context.Context, f functions, l *mat.Dense, features mat.Matrix, y *targets, rng *rand.Rand,
) (best mixture, recalibrated *mat.Dense, err error) {
	n, c := l.Dims()
	fold := foldsOf(checked.Pick(y.place, y.rows), innerFolds, rng)
	var parts []*innerFold
	for k := range innerFolds {
		in, out := apart(fold, k)
		if len(in) == 0 || len(out) == 0 {
			continue
		}
		inL, inF := checked.RowsOf(l, in), checked.PartOf(features, in)
		b := newBasis(f, inL, inF, rng)
		parts = append(parts, &innerFold{
			seen: newLearner(b.design(inL, inF, y.of(in))), theta: make([]float64, len(b.unit)*(c+1)),
			held: b.design(checked.RowsOf(l, out), checked.PartOf(features, out), y.of(out)), rows: out,
		})
	}
	if best, err = bestSpread(ctx, parts); best == nil || err != nil {
		return nil, nil, err
	}
	recalibrated = mat.NewDense(n, c, nil)
	for k, p := range parts {
		putRows(recalibrated, p.rows, p.held.logProbs(best[k].theta))
	}
	return best, recalibrated, nil
}

// innerFold is the rows outside a fold with the optimum for the last σ, and the fold's own rows.
type innerFold struct {
	seen  *learner
	held  *design
	theta []float64
	rows  []int
}

// loss is that of the fold's rows, their sum by weight; nil Θ is the identity.
func (p *innerFold) loss(theta []float64) float64 { return p.held.loss(theta) * p.held.total }

// bestSpread is the corrections of the folds at the σ of least loss on them, nil at 0.
func bestSpread(ctx context.Context, parts []*innerFold) (best mixture, err error) {
	var bestLoss float64
	for _, p := range parts {
		bestLoss += p.loss(nil)
	}
	worse := 0
	for _, sigma := range spreads {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("diagnosis: fit a recalibrator: %w", err)
		}
		var loss float64
		var at mixture
		for _, p := range parts {
			if err := p.to(sigma); err != nil {
				return nil, err
			}
			loss += p.loss(p.theta)
			at = append(at, weighted{p.seen.basis, slices.Clone(p.theta)})
		}
		if loss < bestLoss {
			best, bestLoss, worse = at, loss, 0
		} else if worse++; worse == patience {
			break
		}
	}
	return best, nil
}

// sequence is corrections one after the other.
type sequence []mixture

func (s sequence) apply(l *mat.Dense, features mat.Matrix) *mat.Dense {
	for _, m := range s {
		l = m.apply(l, features)
	}
	return l
}

// mixture is the mean of corrections in their log-probabilities.
type mixture []weighted

// weighted is a basis with its weights Θ, (C+1)×D: Wᵀ, and below it a.
type weighted struct {
	basis *basis
	theta []float64
}

func (m mixture) apply(l *mat.Dense, features mat.Matrix) *mat.Dense {
	n, c := l.Dims()
	out := mat.NewDense(n, c, nil)
	for _, each := range m {
		out.Add(out, each.basis.design(l, features, nil).logProbs(each.theta))
	}
	for i := range n {
		row := out.RawRowView(i)
		floats.Scale(1/float64(len(m)), row)
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return out
}

// design is rows as the correction sees them. The functions are computed a block of rows at a time, whenever they are
// asked for, and stand in memory for none but these.
type design struct {
	*basis
	rows, classes, width int
	l                    *mat.Dense // N×C, log p
	seen                 mat.Matrix // what the functions read besides; nil: nothing
	y                    *targets   // nil where nothing is learned or judged
	total, effective     float64    // Σ w, and the effective number of rows

	x                 []float64 // a row of seen
	psi, tilt, scores []float64 // of a block: ψ (D), ℓ̃ (C) and Θψ (C+1) of each row
}

// designRows are those of a block.
const designRows = 1024

// fill makes psi and tilt of rows lo … hi−1.
func (d *design) fill(lo, hi int) {
	c := d.classes
	if d.scores == nil {
		n := min(designRows, d.rows)
		d.psi, d.tilt = make([]float64, n*d.width), make([]float64, n*c)
		d.scores = make([]float64, n*(c+1))
	}
	clear(d.psi)
	for i := lo; i < hi; i++ {
		row, l := d.psi[(i-lo)*d.width:(i-lo+1)*d.width], d.l.RawRowView(i)
		var x []float64
		if d.seen != nil {
			x = checked.RowOf(d.seen, i, d.x)
		}
		row[0] = 1
		d.write(row[1:], l, x)
		for j := range row {
			row[j] = (row[j] - d.centre[j]) / d.unit[j]
		}
		tilt := d.tilt[(i-lo)*c : (i-lo+1)*c]
		centred(tilt, l)
		floats.Scale(1/d.scale, tilt)
	}
}

// each calls do for each block, of so many rows from lo on, with their scores ΨΘᵀ.
func (d *design) each(theta []float64, do func(lo, rows int)) {
	n, c, by := d.width, d.classes+1, blas.Current()
	for lo := 0; lo < d.rows; lo += designRows {
		rows := min(designRows, d.rows-lo)
		d.fill(lo, lo+rows)
		by.Dgemm(gonum.NoTrans, gonum.Trans, rows, c, n, 1, d.psi, n, theta, n, 0, d.scores, c)
		do(lo, rows)
	}
}

// row writes the recalibrated log-probabilities of row i, which is at that place in the block.
func (d *design) row(dst []float64, i, at int) {
	c := d.classes
	s, tilt := d.scores[at*(c+1):(at+1)*(c+1)], d.tilt[at*c:(at+1)*c]
	for k, l := range d.l.RawRowView(i) {
		dst[k] = l + s[k] + s[c]*tilt[k]
	}
	copy(tilt, dst) // which is of no more use
	most, sum := floats.Max(dst), 0.
	floats.AddConst(-most, tilt)
	blas.ExpNegative(tilt, tilt)
	for _, v := range tilt {
		sum += v
	}
	floats.AddConst(-math.Log(sum)-most, dst)
}

// loss is the mean NLL by weight, without a penalty; nil Θ is the identity.
func (d *design) loss(theta []float64) float64 {
	if theta == nil {
		theta = make([]float64, d.width*(d.classes+1))
	}
	p := make([]float64, d.classes)
	var sum float64
	d.each(theta, func(lo, rows int) {
		for at := range rows {
			d.row(p, lo+at, at)
			d.y.EachShare(d.y.rows[lo+at], func(c int, q float64) {
				sum -= d.y.weight(lo+at) * q * max(p[c], checked.LeastLogProb)
			})
		}
	})
	return sum / d.total
}

func (d *design) logProbs(theta []float64) *mat.Dense {
	out := mat.NewDense(d.rows, d.classes, nil)
	d.each(theta, func(lo, rows int) {
		for at := range rows {
			d.row(out.RawRowView(lo+at), lo+at, at)
		}
	})
	return out
}

// learner is a design as a correction is learned from it, in float32: a class is a row, a row of the sample a column, so
// that vectors are full for any number of classes. ψ and ℓ̃ of many rows are computed a block at a time.
type learner struct {
	*design
	psi, tilt        []float32 // of a block, or of all blocks: B×D and C×B
	scores, p        []float32 // of a block: (C+1)×B
	most, sum, share []float32 // of a block: B
	weights, slopes  []float32 // Θ, and the slopes by it
	logs             []float64 // ln Σ exp
}

// keptNumbers is up to how many numbers ψ and ℓ̃ of all rows are kept: 16 MB.
const keptNumbers = 1 << 22

func newLearner(d *design) *learner {
	singles := func(n int) []float32 { return make([]float32, n) }
	n, c, k := min(designRows, d.rows), d.classes+1, d.width*(d.classes+1)
	return &learner{
		design: d, scores: singles(n * c), p: singles(n * c), most: singles(n), sum: singles(n), share: singles(n),
		weights: singles(k), slopes: singles(k), logs: make([]float64, n),
	}
}

// block is ψ and ℓ̃ of so many rows from lo on; blocks are asked for in their order.
func (d *learner) block(lo, rows int) (psi, tilt []float32) {
	c, start := d.classes, lo
	if d.rows*(d.width+c) > keptNumbers {
		lo, d.psi, d.tilt = 0, d.psi[:0], d.tilt[:0]
	}
	if len(d.tilt) < (lo+rows)*c {
		d.fill(start, start+rows)
		for _, v := range d.design.psi[:rows*d.width] {
			d.psi = append(d.psi, float32(v))
		}
		for k := range c {
			for at := range rows {
				d.tilt = append(d.tilt, float32(d.design.tilt[at*c+k]))
			}
		}
	}
	return d.psi[lo*d.width : (lo+rows)*d.width], d.tilt[lo*c : (lo+rows)*c]
}

// gradient is the mean NLL by weight and, in grad, its slopes GᵀΨ/Σ w, where row i of G is
// w_i times p_ic − q_ic for W and Σ_c ℓ̃_ic (p_ic − q_ic) for a.
func (d *learner) gradient(theta, grad []float64) (loss float64) {
	n, c, by := d.width, d.classes, blas.Current()
	for at, v := range theta {
		d.weights[at] = float32(v)
	}
	clear(d.slopes)
	for lo := 0; lo < d.rows; lo += designRows {
		b := min(designRows, d.rows-lo)
		psi, tilt := d.block(lo, b)
		by.Sgemm(gonum.NoTrans, gonum.Trans, c+1, b, n, 1, d.weights, n, psi, n, 0, d.scores, b)
		scores, turn := d.scores[:c*b], d.scores[c*b:(c+1)*b]
		for at := range turn { // log p is the scale times ℓ̃, but for a constant of the row
			turn[at] += float32(d.scale)
		}
		for k := 0; k < c*b; k += b {
			blas.MulAdd(scores[k:k+b], turn, tilt[k:k+b])
		}
		loss += d.errors(lo, b)
		g, ofA := d.p[:c*b], d.p[c*b:(c+1)*b]
		clear(ofA)
		for k := 0; k < c*b; k += b {
			blas.MulAdd(ofA, tilt[k:k+b], g[k:k+b])
		}
		by.Sgemm(gonum.NoTrans, gonum.NoTrans, c+1, n, b, 1, d.p, b, psi, n, 1, d.slopes, n)
	}
	for at, v := range d.slopes {
		grad[at] = float64(v) / d.total
	}
	return loss / d.total
}

// errors sets p to w (p − q) of b rows from lo on, and returns the sum of their weighted NLL.
func (d *learner) errors(lo, b int) (loss float64) {
	c, scores, p := d.classes, d.scores[:d.classes*b], d.p[:d.classes*b]
	most, sum, share, logs := d.most[:b], d.sum[:b], d.share[:b], d.logs[:b]
	blas.ExpColumns(p, sum, most, scores)
	for at, v := range sum {
		logs[at] = float64(v)
		share[at] = float32(d.y.weight(lo+at)) / v
	}
	blas.Log(logs, logs)
	for k := range c {
		blas.Times(p[k*b:(k+1)*b], share)
	}
	for at := range b {
		weight := d.y.weight(lo + at)
		d.y.EachShare(d.y.rows[lo+at], func(k int, q float64) {
			loss += weight * q * (logs[at] - float64(scores[k*b+at]-most[at]))
			p[k*b+at] -= float32(weight * q)
		})
	}
	return loss
}

// to moves to the optimum for σ from the one before.
func (p *innerFold) to(sigma float64) error {
	lambda := 1 / (p.seen.effective * sigma * sigma)
	// Steps that save less than 1e-5 nats a row are lost in the noise of any sample.
	level := &optimize.FunctionConverge{Absolute: 1e-5, Iterations: 2}
	settings := optimize.Settings{GradientThreshold: 1e-4, MajorIterations: 50, Converger: level}
	_, err := estimate.LBFGS(p.theta, settings, func(grad, x []float64) float64 {
		value := p.seen.gradient(x, grad) + lambda/2*floats.Dot(x, x)
		floats.AddScaled(grad, lambda, x)
		return value
	})
	if err != nil {
		return fmt.Errorf("diagnosis: fit a recalibrator: %w", err)
	}
	return nil
}

// folds are numbers 0…k−1 of n rows, as many of each, in random order.
func folds(n, k int, rng *rand.Rand) []int {
	fold := make([]int, n)
	for i := range fold {
		fold[i] = i % k
	}
	rng.Shuffle(n, func(i, j int) { fold[i], fold[j] = fold[j], fold[i] })
	return fold
}

// foldsOf are folds of rows, those of one place in one fold. Where a place has more rows than a fold, rows are
// told apart by little, and are parted one by one.
func foldsOf(place []int, k int, rng *rand.Rand) []int {
	count := map[int]int{}
	for _, p := range place {
		count[p]++
	}
	if slices.Max(slices.Collect(maps.Values(count))) > max(1, len(place)/k) {
		return folds(len(place), k, rng)
	}
	return foldsOfWhole(place, k, rng)
}

// foldsOfWhole are folds of rows, those of one place in one fold.
func foldsOfWhole(place []int, k int, rng *rand.Rand) []int {
	number := checked.Numbered(len(place), func(i int) int { return place[i] })
	return checked.Pick(folds(slices.Max(number)+1, k, rng), number)
}

// places are one number for rows whose predictions and features (nil: none) are equal, counted from 0 in the order of
// the rows. Labels play no part: folds that were told by them would part the classes of one place.
func places(s *checked.Sample, features mat.Matrix) []int {
	buffer := bufferOf(features)
	var row []byte
	return checked.Numbered(s.N, func(i int) [sha256.Size]byte {
		row = row[:0]
		values := [2][]float64{s.Log.RawRowView(i)}
		if buffer != nil {
			values[1] = checked.RowOf(features, i, buffer)
		}
		for _, some := range values {
			for _, v := range some {
				row = binary.LittleEndian.AppendUint64(row, math.Float64bits(v))
			}
		}
		return sha256.Sum256(row)
	})
}

// apart are the rows outside fold k, and those in it.
func apart(fold []int, k int) (in, out []int) {
	for i, f := range fold {
		if f == k {
			out = append(out, i)
		} else {
			in = append(in, i)
		}
	}
	return in, out
}
