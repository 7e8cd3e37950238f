package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/graph/simd"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Recovery is how recoverable loss is measured. Its zero value is the default.
type Recovery struct {
	Folds         int          // K, of the outer cross-fitting; 0 means 5
	Global, Local Recalibrator // nil: Shrunk{}

	Rows []float64  // as [Settings.Rows]
	Soft *mat.Dense // as [Settings.Soft]

	// Progress, when set, is called from one goroutine at a time as each fold is done.
	Progress func(done, total int)
}

const defaultFolds = 5

// FewestRecoverableRows leave each of three inner folds of five outer ones some rows.
const FewestRecoverableRows = 50

// Gain is a mean over rows of the loss that a correction saves on rows it was not fitted
// to, in the units of the loss. It may be negative.
type Gain struct {
	Value float64 `json:"value"`
	SE    float64 `json:"se"`      // of the mean over rows, the folds' fits being fixed
	Low   float64 `json:"low"`     // one-sided 95 % bound: at least so much is recoverable
	P     float64 `json:"p_value"` // of a gain of 0 or less, normal
}

// Gains is what a global correction saves of a loss, what a local one saves beyond that,
// and both together.
type Gains struct {
	Global Gain `json:"global"`
	Local  Gain `json:"local"`
	Total  Gain `json:"total"`
}

// Recovered is the loss that is left on the table.
type Recovered struct {
	NLL, Brier Gains
	// GlobalNLL and LocalNLL are of each row that counts the terms of which the gains of NLL are the means.
	GlobalNLL, LocalNLL []float64
	// ReachedNLL and ReachedBrier are likewise the losses of the corrected predictions, by which
	// other predictions of the same rows may be measured too; see [Recoverable].
	ReachedNLL, ReachedBrier []float64
	Families                 [2]string // of the global and of the local recalibrator

	global *mat.Dense // N×C, g₀(p)
	gain   []float64  // N, what both save of the NLL of each row
}

// Recover is recoverable loss by K-fold cross-fitting within the rows measured. On the
// rows outside a fold two corrections are fitted, g₀ that sees the predictions p alone and
// g₁ that starts from g₀ and sees the features φ too; on the rows of the fold
//
//	G₀ = mean[ℓ(p) − ℓ(g₀(p))] ,   G₁ = mean[ℓ(g₀(p)) − ℓ(g₁(p, φ))]
//
// for ℓ the NLL (nats, log-probabilities not below [LeastLogProb]) and the Brier score.
// As g₀ is one of all maps of p, G₀ is on average at most the calibration error in ℓ's
// divergence: a lower bound in the variational form of proper calibration errors. G₁ likewise
// stays below the grouping loss that φ reveals (Perez-Lebel, Le Morvan and Varoquaux 2023),
// as far as g₀ has found the calibration error. The better the families, the tighter;
// those of [Shrunk] leave predictions without an error as they are.
//
// Rows of one prediction in one place are in one fold, so that no correction knows a row by its copy.
//
// logProbs is N×C, features N×d, labels N, as for [Measure]; there must be two rows for each fold.
func Recover(ctx context.Context, logProbs *mat.Dense, labels []int, features mat.Matrix, r Recovery, rng *rand.Rand) (*Recovered, error) {
	s, err := newSample(logProbs, labels, r.Rows, r.Soft)
	if err != nil {
		return nil, err
	}
	if features, err = s.featuresOf(features); err != nil {
		return nil, err
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
	if r.Folds < 2 || s.rows < 2*r.Folds {
		return nil, fmt.Errorf("metrics: recoverable loss: %d rows in %d folds: want two folds or more of two rows or more", s.rows, r.Folds)
	}
	return s.recover(ctx, features, r, rng)
}

// featuresOf are those of the rows that count, of which there must be one finite row for each prediction.
func (s *sample) featuresOf(features mat.Matrix) (mat.Matrix, error) {
	if !given(features) {
		return nil, fmt.Errorf("metrics: there are no features: give one row for each of the %d predictions", s.input)
	}
	n, d := features.Dims()
	if n != s.input || d == 0 {
		return nil, fmt.Errorf("metrics: the features are %d×%d: want one row for each of the %d predictions", n, d, s.input)
	}
	features = s.counted(features)
	buffer := make([]float64, d)
	for i := range s.rows {
		for j, x := range rowOf(features, i, buffer) {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return nil, fmt.Errorf("metrics: row %d: feature %d is %v: features must be finite", s.inputRow(i), j, x)
			}
		}
	}
	return features, nil
}

func (s *sample) recover(ctx context.Context, features mat.Matrix, r Recovery, rng *rand.Rand) (*Recovered, error) {
	x := &crossFit{Recovery: r, sample: s, log: s.bounded(), features: features, place: s.places(features)}
	x.fold = foldsOf(x.place, r.Folds, rng)
	x.global, x.local = mat.NewDense(s.rows, s.classes, nil), mat.NewDense(s.rows, s.classes, nil)
	seed := rng.Uint64()
	errs := make([]error, r.Folds)
	p := &progress{total: r.Folds, report: r.Progress}
	err := inParallelWith(ctx, r.Folds, func() func(int) {
		return func(k int) {
			defer simd.Abreast()()
			errs[k] = x.correct(ctx, k, rand.New(rand.NewPCG(seed, uint64(k))))
			p.add(1)
		}
	})
	if err = cmp.Or(slices.Concat(errs, []error{err})...); err != nil {
		return nil, fmt.Errorf("metrics: recoverable loss: %w", err)
	}
	out := &Recovered{Families: [2]string{r.Global.Name(), r.Local.Name()}, global: x.global}
	nll := [3][]float64{}
	brier := [3][]float64{}
	for m, p := range []*mat.Dense{s.log, x.global, x.local} {
		nll[m], brier[m] = s.losses(p)
	}
	out.gain = difference(nll[0], nll[2])
	for m := range nll {
		s.plain(nll[m])
		s.plain(brier[m])
	}
	out.GlobalNLL, out.LocalNLL = difference(nll[0], nll[1]), difference(nll[1], nll[2])
	out.ReachedNLL, out.ReachedBrier = nll[2], brier[2]
	out.NLL = Gains{newGain(out.GlobalNLL), newGain(out.LocalNLL), newGain(difference(nll[0], nll[2]))}
	out.Brier = Gains{
		newGain(difference(brier[0], brier[1])), newGain(difference(brier[1], brier[2])), newGain(difference(brier[0], brier[2])),
	}
	return out, nil
}

// crossFit is log-probabilities corrected by what the other folds say.
type crossFit struct {
	Recovery
	sample        *sample
	log           *mat.Dense
	features      mat.Matrix
	place, fold   []int      // N
	global, local *mat.Dense // log corrected by the global family, and by both
}

// correct writes the corrected rows of fold k.
func (x *crossFit) correct(ctx context.Context, k int, rng *rand.Rand) error {
	in, out := apart(x.fold, k)
	inL, inF, inY := rowsOf(x.log, in), partOf(x.features, in), x.sample.targets(in, x.place)
	outL, outF := rowsOf(x.log, out), partOf(x.features, out)
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
	corrected, err := local.Apply(outL, outF)
	if err != nil {
		return err
	}
	for at, i := range out {
		x.global.SetRow(i, outL.RawRowView(at))
		x.local.SetRow(i, corrected.RawRowView(at))
	}
	return nil
}

// bounded is log p, not below LeastLogProb, normalized again.
func (s *sample) bounded() *mat.Dense {
	l := mat.NewDense(s.rows, s.classes, nil)
	for i := range s.rows {
		row := l.RawRowView(i)
		for c := range row {
			row[c] = s.logProb(i, c)
		}
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	return l
}

// losses are the NLL and the Brier score of each row under log-probabilities l.
func (s *sample) losses(l *mat.Dense) (nll, brier []float64) {
	nll, brier = make([]float64, s.rows), make([]float64, s.rows)
	for i := range nll {
		for c, v := range l.RawRowView(i) {
			q := s.share(i, c)
			if q > 0 {
				nll[i] -= q * max(v, LeastLogProb)
			}
			e := math.Exp(v) - q
			brier[i] += e*e + q*(1-q)
		}
	}
	return nll, brier
}

// Recoverable is the loss that one reference r shows to be recoverable from any predictions p
// of its rows: the mean over rows of how far their losses (N, NLL or Brier) lie above those
// that r reaches, such as [Recovered.ReachedNLL] of the classifier that p was made from:
//
//	R = mean[ℓ(p) − ℓ(r)]
//
// Whatever r is, as long as it was not fitted to the row it is asked about, R is on average
// at most the divergence of p from the truth. Predictions that are held against one r rank as
// ℓ ranks them, while the gains of corrections that are fitted to each of them differ by
// the noise of their fits too. Where p is better than r, R is negative.
func Recoverable(losses, reached []float64) Gain { return newGain(difference(losses, reached)) }

func difference(a, b []float64) []float64 {
	out := make([]float64, len(a))
	return floats.SubTo(out, a, b)
}

// newGain is the mean of the rows' gains with its interval.
func newGain(rows []float64) Gain {
	g := Gain{Value: mean(rows)}
	for _, x := range rows {
		g.SE += (x - g.Value) * (x - g.Value)
	}
	n := float64(len(rows))
	g.SE = math.Sqrt(g.SE / (n - 1) / n)
	g.Low = g.Value - distuv.UnitNormal.Quantile(.95)*g.SE
	switch {
	case g.SE > 0:
		g.P = distuv.UnitNormal.Survival(g.Value / g.SE)
	case g.Value > 0:
		g.P = 0
	default:
		g.P = 1
	}
	return g
}

// MarshalJSON writes what was recovered without the terms of each row.
func (r *Recovered) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		NLL    Gains  `json:"nll"`
		Brier  Gains  `json:"brier"`
		Global string `json:"global_family"`
		Local  string `json:"local_family"`
	}{NLL: r.NLL, Brier: r.Brier, Global: r.Families[0], Local: r.Families[1]})
}
