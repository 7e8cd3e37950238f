package diagnosis

import (
	"cmp"
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
	Folds  int        // K, of the outer cross-fitting; 0 means 5
	Groups []int      // of the rows (N), which folds hold whole; nil: none
	Rows   []float64  // as [metrics.Settings.Rows]
	Soft   *mat.Dense // as [metrics.Settings.Soft]
}

const defaultFolds = 5

// correction is the family of the corrections, as results name it.
const correction = "shrunk multinomial correction"

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
// penalties that are 0 to begin with leave predictions without an error as they are (see correct).
//
// Rows with equal prediction and place are in one fold, so no correction learns a row from its copy.
//
// Without features (nil) there is g₀ alone.
//
// logProbs is N×C, features N×d, labels N, as for [metrics.Measure]; there must be two rows for each fold.
func Recover(ctx context.Context, logProbs *mat.Dense, labels []int, features mat.Matrix, r Recovery, rng *rand.Rand) (*metrics.Recovered, error) {
	s, err := checked.NewSample(logProbs, labels, r.Rows, r.Soft)
	if err != nil {
		return nil, err
	}
	if checked.Given(features) {
		if features, err = s.FeaturesOf(features); err != nil {
			return nil, err
		}
	}
	if r.Groups != nil && s.Of != nil {
		r.Groups = checked.Pick(r.Groups, s.Of)
	}
	x, err := crossFit(ctx, s, features, cmp.Or(r.Folds, defaultFolds), r.Groups, rng)
	if err != nil {
		return nil, err
	}
	return x.Recovered, nil
}

// distinct are the different numbers, ascending.
func distinct(numbers []int) []int { return slices.Compact(slices.Sorted(slices.Values(numbers))) }

// recalibrated are the rows of a sample under corrections that the other folds say.
type recalibrated struct {
	*metrics.Recovered
	global, local *mat.Dense // N×C, log-probabilities by the global correction, and by both
	gain          []float64  // N, what both save of the NLL of each row
}

// crossFit recalibrates the rows by so many folds, which hold groups whole (N; nil: none). Features are nil without.
func crossFit(
	ctx context.Context, s *checked.Sample, features mat.Matrix, folds int, groups []int, rng *rand.Rand,
) (*recalibrated, error) {
	if folds < 2 || s.N < 2*folds {
		const want = "diagnosis: recoverable loss: %d rows in %d folds: want two folds or more of two rows or more"
		return nil, fmt.Errorf(want, s.N, folds)
	}
	if n := len(distinct(groups)); groups != nil && n < folds {
		const want = "diagnosis: recoverable loss: %d groups in %d folds: want as many groups as folds or more"
		return nil, fmt.Errorf(want, n, folds)
	}
	log, place := s.Bounded(), places(s, features)
	var fold []int
	if groups == nil {
		fold = foldsOf(place, folds, rng)
	} else {
		place, fold = groups, foldsOfWhole(groups, folds, rng)
	}
	out := &recalibrated{
		Recovered: &metrics.Recovered{
			Families: [2]string{correction, correction}, Ties: metrics.Ties{Groups: groups, Effective: s.Effective()},
		},
		global: mat.NewDense(s.N, s.Classes, nil), local: mat.NewDense(s.N, s.Classes, nil),
	}
	if !checked.Given(features) {
		out.Families[1] = ""
	}
	seed := rng.Uint64()
	err := work.Parts{What: "fold", N: folds}.Do(ctx, func(ctx context.Context, k int) error {
		in, held := apart(fold, k)
		return out.fit(ctx, log, features, &targets{s, in, place}, held, rand.New(rand.NewPCG(seed, uint64(k))))
	})
	if err != nil {
		return nil, fmt.Errorf("diagnosis: recoverable loss: %w", err)
	}
	var nll, brier [3][]float64
	var says [3]*checked.Sample
	// of log p as corrections have it, so that one that changes nothing gains 0
	for m, p := range []*mat.Dense{log, out.global, out.local} {
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
	out.GlobalNLL = difference(nll[0], nll[1])
	if checked.Given(features) {
		out.LocalNLL = difference(nll[1], nll[2])
	}
	return out, out.Gain(nll, brier)
}

// fit writes the recalibrated rows of a fold by what the others say.
func (x *recalibrated) fit(
	ctx context.Context, log *mat.Dense, features mat.Matrix, others *targets, held []int, rng *rand.Rand,
) error {
	seen, here := checked.RowsOf(log, others.rows), checked.RowsOf(log, held)
	global, err := correct(ctx, seen, nil, others, rng)
	if err != nil {
		return err
	}
	here = global.apply(here, nil)
	putRows(x.global, held, here)
	if checked.Given(features) {
		local, err := correct(ctx, global.apply(seen, nil), checked.PartOf(features, others.rows), others, rng)
		if err != nil {
			return err
		}
		here = local.apply(here, checked.PartOf(features, held))
	}
	putRows(x.local, held, here)
	return nil
}

// putRows writes some rows of dst.
func putRows(dst *mat.Dense, rows []int, x *mat.Dense) {
	for at, i := range rows {
		dst.SetRow(i, x.RawRowView(at))
	}
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
