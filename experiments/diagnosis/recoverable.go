package diagnosis

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Recovery is how recoverable loss is measured. Its zero value is the default.
type Recovery struct {
	Folds         int          // K, of the outer cross-fitting; 0 means 5
	Global, Local Recalibrator // nil: Shrunk{}

	Groups []int      // of the rows (N), which folds hold whole; nil: none
	Rows   []float64  // as [metrics.Settings.Rows]
	Soft   *mat.Dense // as [metrics.Settings.Soft]
}

const defaultFolds = 5

// FewestRecoverableRows leave each of three inner folds of five outer ones some rows.
const FewestRecoverableRows = 50

// TooFew says why nothing is recovered of so many rows.
func TooFew(rows int) string {
	return fmt.Sprintf("%d rows are too few to learn corrections from and judge them on, and it takes %d", rows, FewestRecoverableRows)
}

// Recover is recoverable loss by K-fold cross-fitting within the rows measured. On the
// rows outside a fold two corrections are fitted, g₀ that sees the predictions p alone and
// g₁ that starts from g₀ and sees the features φ too; on the rows of the fold
//
//	G₀ = mean[ℓ(p) − ℓ(g₀(p))] ,   G₁ = mean[ℓ(g₀(p)) − ℓ(g₁(p, φ))]
//
// for ℓ the NLL (nats, log-probabilities not below [metrics.LeastLogProb]) and the Brier score.
// As g₀ is one of all maps of p, G₀ is on average at most the calibration error in ℓ's
// divergence: a lower bound in the variational form of proper calibration errors. G₁ likewise
// stays below the grouping loss that φ reveals (Perez-Lebel, Le Morvan and Varoquaux 2023),
// as far as g₀ has found the calibration error. The better the families, the tighter;
// those of [Shrunk] leave predictions without an error as they are.
//
// Rows with equal prediction and place are in one fold, so no correction learns a row from its copy.
//
// Without features (nil) there is g₀ alone.
//
// logProbs is N×C, features N×d, labels N, as for [metrics.Measure]; there must be two rows for each fold.
func Recover(ctx context.Context, logProbs *mat.Dense, labels []int, features mat.Matrix, r Recovery, rng *rand.Rand) (*metrics.Recovered, error) {
	x, err := recalibrate(ctx, logProbs, labels, features, r, rng)
	if err != nil {
		return nil, err
	}
	return x.Recovered, nil
}

// recalibrated is Recovered, with what it was found by.
type recalibrated struct {
	*metrics.Recovered
	global *mat.Dense // N×C, g₀(p)
	gain   []float64  // N, what both save of the NLL of each row
}

// recalibrate is Recover.
func recalibrate(ctx context.Context, logProbs *mat.Dense, labels []int, features mat.Matrix, r Recovery, rng *rand.Rand) (*recalibrated, error) {
	s, err := checked.NewSample(logProbs, labels, r.Rows, r.Soft)
	if err != nil {
		return nil, err
	}
	if !checked.Given(features) {
		features, r.Local = nil, Unchanged{}
	} else if features, err = s.FeaturesOf(features); err != nil {
		return nil, err
	}
	if r.Groups != nil && s.Of != nil {
		r.Groups = checked.Pick(r.Groups, s.Of)
	}
	if r.Folds == 0 {
		r.Folds = defaultFolds
	}
	if r.Global == nil {
		r.Global = Shrunk{}
	}
	if r.Local == nil {
		r.Local = Shrunk{}
	}
	if r.Folds < 2 || s.N < 2*r.Folds {
		return nil, fmt.Errorf("diagnosis: recoverable loss: %d rows in %d folds: want two folds or more of two rows or more", s.N, r.Folds)
	}
	if n := len(distinct(r.Groups)); r.Groups != nil && n < r.Folds {
		return nil, fmt.Errorf("diagnosis: recoverable loss: %d groups in %d folds: want as many groups as folds or more", n, r.Folds)
	}
	return crossFitted(ctx, s, features, r, rng)
}

// distinct are the different numbers, ascending.
func distinct(numbers []int) []int { return slices.Compact(slices.Sorted(slices.Values(numbers))) }

func crossFitted(ctx context.Context, s *checked.Sample, features mat.Matrix, r Recovery, rng *rand.Rand) (*recalibrated, error) {
	x := &crossFit{Recovery: r, sample: s, log: bounded(s), features: features, place: places(s, features)}
	if r.Groups == nil {
		x.fold = foldsOf(x.place, r.Folds, rng)
	} else {
		x.place = r.Groups
		x.fold = foldsOfWhole(x.place, r.Folds, rng)
	}
	x.global, x.local = mat.NewDense(s.N, s.Classes, nil), mat.NewDense(s.N, s.Classes, nil)
	seed := rng.Uint64()
	err := work.Parts{What: "fold", N: r.Folds}.Do(ctx, func(ctx context.Context, k int) error {
		return x.fit(ctx, k, rand.New(rand.NewPCG(seed, uint64(k))))
	})
	if err != nil {
		return nil, fmt.Errorf("diagnosis: recoverable loss: %w", err)
	}
	out := &recalibrated{Recovered: &metrics.Recovered{Families: [2]string{r.Global.Name(), r.Local.Name()}, Ties: metrics.Ties{Groups: r.Groups, Effective: s.Effective()}}, global: x.global}
	nll := [3][]float64{}
	brier := [3][]float64{}
	says := [3]*checked.Sample{}
	for m, p := range []*mat.Dense{x.log, x.global, x.local} { // of log p as corrections have it, so that one that changes nothing gains 0
		nll[m], brier[m] = lossesOf(s, p)
		if says[m], err = s.Saying(p); err != nil {
			return nil, err
		}
	}
	out.Says(says)
	out.gain = difference(nll[0], nll[2])
	for m := range nll {
		s.Plain(nll[m])
		s.Plain(brier[m])
	}
	out.GlobalNLL, out.LocalNLL = difference(nll[0], nll[1]), difference(nll[1], nll[2])
	if features == nil {
		out.Families[1], out.LocalNLL = "", nil
	}
	return out, out.Gain(nll, brier)
}

// crossFit is log-probabilities recalibrated by what the other folds say.
type crossFit struct {
	Recovery
	sample        *checked.Sample
	log           *mat.Dense
	features      mat.Matrix
	place, fold   []int      // N
	global, local *mat.Dense // log recalibrated by the global family, and by both
}

// fit writes the recalibrated rows of fold k.
func (x *crossFit) fit(ctx context.Context, k int, rng *rand.Rand) error {
	in, out := apart(x.fold, k)
	inL, inF, inY := checked.RowsOf(x.log, in), checked.PartOf(x.features, in), targets(x.sample, in, x.place)
	outL, outF := checked.RowsOf(x.log, out), checked.PartOf(x.features, out)
	global, err := x.Global.Fit(ctx, inL, nil, inY, rng)
	if err != nil {
		return err
	}
	if inL, err = global.Apply(inL, nil); err != nil {
		return err
	}
	if outL, err = global.Apply(outL, nil); err != nil {
		return err
	}
	local, err := x.Local.Fit(ctx, inL, inF, inY, rng)
	if err != nil {
		return err
	}
	recalibrated, err := local.Apply(outL, outF)
	if err != nil {
		return err
	}
	for at, i := range out {
		x.global.SetRow(i, outL.RawRowView(at))
		x.local.SetRow(i, recalibrated.RawRowView(at))
	}
	return nil
}

// bounded is log p, not below LeastLogProb, normalized again.
func bounded(s *checked.Sample) *mat.Dense {
	l := mat.NewDense(s.N, s.Classes, nil)
	for i := range s.N {
		row := l.RawRowView(i)
		for c := range row {
			row[c] = s.LogProb(i, c)
		}
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return l
}

// lossesOf are the NLL and the Brier score of each row under log-probabilities l.
func lossesOf(s *checked.Sample, l *mat.Dense) (nll, brier []float64) {
	nll, brier = make([]float64, s.N), make([]float64, s.N)
	for i := range nll {
		for c, v := range l.RawRowView(i) {
			q := s.Share(i, c)
			if q > 0 {
				nll[i] -= q * max(v, checked.LeastLogProb)
			}
			e := math.Exp(v) - q
			brier[i] += e*e + q*(1-q)
		}
	}
	return nll, brier
}

func difference(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }
