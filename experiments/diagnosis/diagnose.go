package diagnosis

import (
	"cmp"
	"context"
	"encoding/json"
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

// Examination is how a diagnosis is made. Its zero value is the default.
type Examination struct {
	Search SearchSettings
	// Redraws of the labels behind the p-values; 0 means 999.
	Redraws int
	// Features (N×M) and their names describe the regions, in place of the embedding; nil
	// for none. No names are "feature 0", "feature 1", ….
	Features *mat.Dense
	Names    []string
	// ClassNames are the C names of the classes; nil for their numbers.
	ClassNames []string
	// Groups are N groups of the rows to be audited, 0…G−1, and their G names; nil for none.
	Groups     []int
	GroupNames []string
	Folds      int        // of the corrections; 0 means 5, and [metrics.None] leaves them out
	Rows       []float64  // as [metrics.Settings.Rows]
	Soft       *mat.Dense // as [metrics.Settings.Soft]
}

const (
	defaultExamRedraws = 999
	level              = .05 // the chance that predictions without an error have any region called wrong
	confidenceCells    = 10
	prototypeRows      = 5
	fewestExamined     = 10
)

// filled is e with its defaults, for so many rows of the input, of which so many count.
func (e Examination) filled(rows, counted int) (Examination, error) {
	var err error
	if e.Search, err = e.Search.filled(); err != nil {
		return e, err
	}
	e.Redraws, e.Folds = cmp.Or(e.Redraws, defaultExamRedraws), cmp.Or(e.Folds, defaultFolds)
	switch {
	case int(level*float64(e.Redraws+1)) < 1:
		return e, fmt.Errorf("diagnosis: %d redraws cannot show a level of %g: want %d or more", e.Redraws, level, int(math.Ceil(1/level))-1)
	case counted < fewestExamined:
		return e, fmt.Errorf("diagnosis: there are %d rows: want %d or more", counted, fewestExamined)
	case e.Groups == nil && e.GroupNames != nil:
		return e, fmt.Errorf("diagnosis: there are names of groups and no groups")
	case e.Groups != nil && len(e.Groups) != rows:
		return e, fmt.Errorf("diagnosis: %d groups for %d rows: give one group for each row", len(e.Groups), rows)
	}
	if e.Features != nil {
		if n, m := e.Features.Dims(); n != rows || e.Names != nil && len(e.Names) != m {
			return e, fmt.Errorf("diagnosis: the features are %d×%d with %d names: want one row for each of the %d predictions", n, m, len(e.Names), rows)
		}
	}
	most := -1
	for i, g := range e.Groups {
		if g < 0 {
			return e, fmt.Errorf("diagnosis: row %d is in group %d: want 0 or more", i, g)
		}
		most = max(most, g)
	}
	if e.GroupNames != nil && most >= len(e.GroupNames) {
		return e, fmt.Errorf("diagnosis: there is a row of group %d and %d names of groups", most, len(e.GroupNames))
	}
	for g := len(e.GroupNames); g <= most; g++ {
		e.GroupNames = append(e.GroupNames, fmt.Sprintf("group %d", g))
	}
	return e, nil
}

// Diagnosis is where predictions are wrong.
type Diagnosis struct {
	// Found says in a sentence what is wrong. Verdict says what to do, if the caller sets it; otherwise nil.
	Found   string `json:"found"`
	Verdict any    `json:"verdict,omitempty"`
	// Kind is the error that there is; Global and Local have what corrections of each kind would save.
	Kind Kind `json:"kind"`
	// Regions of the latent space. Regions called wrong come first, in the order of what their correction would
	// save in all. No row took part in finding its own region.
	Regions []Region `json:"regions"`
	// All rows by the probability of each class, then rows by confidence, then rows by group.
	Classes    []Region `json:"classes"`
	Confidence []Region `json:"confidence"`
	Groups     []Region `json:"groups,omitempty"`
	// Named are the smallest descriptions that explain what is wrong, the first alone where it does: groups, predicted
	// classes, regions, and intersections of two of those. An error of all rows alike has none.
	Named []Region `json:"named,omitempty"`
	// Places are the circles of the map: the rows nearest each of some codewords, whose number is their name.
	Places []Region `json:"places"`

	Rows             int                `json:"n"`
	NLL              float64            `json:"nll"`
	Accuracy         float64            `json:"accuracy"`
	NumClasses       int                `json:"num_classes"`
	ClassNames       []string           `json:"class_names,omitempty"`
	Redraws          int                `json:"redraws"`
	Level            float64            `json:"level"`
	Critical         float64            `json:"critical"`          // what |T| must exceed
	CriticalInterval float64            `json:"critical_interval"` // the same, by which intervals reach
	Recoverable      *metrics.Recovered `json:"recoverable"`       // nil of too few rows
	// Copies are those of a [metrics.Report].
	Copies any `json:"copies,omitempty"`
}

// Kind is the kind of error that a diagnosis finds.
type Kind string

const (
	NoError     Kind = "none"   // nothing is called wrong
	GlobalError Kind = "global" // a correction of all rows by their predictions explains it
	LocalError  Kind = "local"  // corrections of some rows do
	BothErrors  Kind = "both"   // it takes corrections of some rows beyond one of all
)

// Diagnose finds the regions of the embedding (N×d) in which predictions (N×C) and labels
// (N) disagree.
//
// Without an embedding (nil), and where the rows are fewer than two regions of the least size, no regions are searched.
// Without an embedding there are no places either, and with fewer rows than [FewestRecoverableRows] no corrections.
//
// The rows are halved at random; rows with equal prediction and place stay in one half. On each half regions are
// searched: a few cuts, by features and by distances to codewords, make pieces until the rest does not differ from the
// predictions; rows in separate clusters are separate pieces. Pieces of the two halves that overlap are one region,
// whose rows are those that the piece of the other half holds. Each region is tested for each class c, and for the top
// class, by
//
//	T = Σ_{i∈R} w_i e_ic / √(max(V, S) + 4)
//
// where V = Σ_{i∈R} w_i² p_ic(1 − p_ic) is the variance if the predictions are right, and S = Σ_{i∈R} w_i² (e_ic −
// ē_c)² is its estimate from the rows (w_i = 1 without weights). All rows for each class, tenths of the rows by
// confidence, groups, predicted classes, intersections of two of these and of regions, the sides of features, and the
// places of the map are tested beside. Of calibrated predictions, and of others, the largest |T| over everything tested
// is as large as the maxima of two kinds of draws: labels redrawn from the predictions, with V alone, and a wild
// bootstrap of the residuals, with S alone. The adjusted p-value of T is the larger of the two shares of draws, the
// observed rows among them, whose maximum is as large, and Critical what all but a share Level stay below. So it holds
// however small or nested the regions, and the chance that anything is called wrong in calibrated predictions is at
// most Level (up to the dependence of the two halves through their pieces).
//
// Intervals hold for all gaps at once, whether the predictions are right or wrong, by the same T. One rule decides what
// is wrong: |T| is above Critical, p is at most Level, the gap is beyond Detectable, and its interval does not hold 0;
// each is equivalent.
//
// If a global correction saves something, regions are also searched after that correction. What is wrong is named by
// the smallest descriptions that explain it (see explain). The error is global if a correction of all rows explains it.
//
// Memory grows with N·d, time with N·(C·redraws + d).
func Diagnose(ctx context.Context, logProbs *mat.Dense, labels []int, embedding *mat.Dense, e Examination, rng *rand.Rand) (*Diagnosis, error) {
	s, err := checked.NewSample(logProbs, labels, e.Rows, e.Soft)
	if err != nil {
		return nil, err
	}
	if embedding != nil {
		if _, err := s.FeaturesOf(embedding); err != nil {
			return nil, err
		}
	}
	if e, err = e.filled(s.Input, s.N); err != nil {
		return nil, err
	}
	if s.Shares == nil && slices.Max(s.Label) == slices.Min(s.Label) {
		return nil, fmt.Errorf("diagnosis: every label is %d: want rows of two classes or more", s.Label[0])
	}
	if e.ClassNames != nil && len(e.ClassNames) != s.Classes {
		return nil, fmt.Errorf("diagnosis: there are %d names of %d classes: give one for each", len(e.ClassNames), s.Classes)
	}
	features := 0
	if of := cmp.Or(e.Features, embedding); of != nil {
		_, features = of.Dims()
	}
	times := times(s.N, features, s.Classes)
	step := func(what string, k int) context.Context { return work.Piece(ctx, what, k, times...) }
	x := newExam(s, e, embedding)
	if embedding != nil {
		x.words = x.describer()
		x.words.cuts = x.words.cutsOn(checked.FirstToLast(x.N))
	}
	if s.N >= FewestRecoverableRows && e.Folds != metrics.None {
		if x.recovered, err = crossFit(step("correct", 0), s, x.embedding, e.Folds, nil, rng); err != nil {
			return nil, err
		}
	}
	step("search for regions", 1)
	if err := x.collect(rng); err != nil {
		return nil, err
	}
	if err := x.judge(step("test the regions", 2), rng); err != nil {
		return nil, err
	}
	return x.diagnosis(step("describe", 3), rng)
}

// times are about what the steps of [Diagnose] take, in seconds: corrections and tests are done on all cores, the
// search and the description on one.
func times(rows, features, classes int) []float64 {
	n, m, c, cores := float64(rows), float64(features), float64(classes), float64(work.Threads())
	return []float64{n * (2.7e-4 + 1e-5*c) / cores, n * (2.2e-4 + 5e-7*m), n * (2.1e-4 + 5e-6*c) / cores, n * (4e-5 + 1e-5*c)}
}

// Expected is about how many seconds [Diagnose] takes for N rows with M features, 0 where they lie nowhere, and C
// classes.
func Expected(rows, features, classes int) float64 { return floats.Sum(times(rows, features, classes)) }

// MarshalJSON leaves out the rows of classes, confidences and places, which are all rows many times over.
func (d *Diagnosis) MarshalJSON() ([]byte, error) {
	type plain Diagnosis
	short := plain(*d)
	short.Classes, short.Confidence, short.Places = WithoutRows(d.Classes), WithoutRows(d.Confidence), WithoutRows(d.Places)
	return json.Marshal(short)
}
