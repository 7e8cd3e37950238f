package study

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"
	"calibra/experiments/diagnosis"
	"calibra/experiments/program"
)

// DiagnosisRate is the diagnoses of predictions whose error is known, over many draws.
type DiagnosisRate struct {
	Law   string  `json:"law,omitempty"` // what is wrong with the predictions; "": one ball of the rows
	Share float64 `json:"share"`         // of the rows in the wrong region; 0: calibrated predictions
	Shift float64 `json:"shift"`         // of the probability there
	Runs  int     `json:"runs"`
	Named int     `json:"named"` // runs that call a region wrong
	Any   int     `json:"any"`   // or a class, a confidence
	Found int     `json:"found"` // runs whose wrong regions hold half of the rows planted, or more
	// Missed are runs in which some gap lies outside its simultaneous interval.
	Missed int `json:"missed"`
	Global int `json:"global"` // runs that call the error global

	Planted int     `json:"planted,omitempty"` // regions
	Counted int     `json:"counted"`           // runs that call as many regions wrong as were planted
	Jaccard float64 `json:"jaccard"`           // mean over runs and planted regions, of each with the wrong region most like it

	Program program.Program `json:"program"` // that computed it
}

const (
	falseAlarmRuns = 200
	powerRuns      = 100
	coverageRuns   = 300
	plantedRuns    = 10
	diagnosisRows  = 2000
	diagnosisSpace = 6
	plantedShift   = .3
)

var (
	powerShares = []float64{.05, .1, .2, .4}
	powerShifts = []float64{.15, .2, .3}
)

// without leaves the recoverable loss out of a diagnosis: it decides nothing there.
var without = diagnosis.Recovery{Folds: 2, Global: diagnosis.Unchanged{}, Local: diagnosis.Unchanged{}}

// diagnoses are what is asked: alarms on calibrated predictions, and power where one region is wrong; with draws behind
// the alarms also power at the middle shift, intervals where all is wrong, and how many regions come back of those planted.
func (t *Truth) diagnoses() []DiagnosisRate {
	settings := []DiagnosisRate{{Runs: falseAlarmRuns}}
	power := func(shift float64) {
		for _, share := range powerShares {
			settings = append(settings, DiagnosisRate{Share: share, Shift: shift, Runs: powerRuns, Planted: 1})
		}
	}
	power(powerShifts[0])
	power(powerShifts[2])
	if t.Alarms == 0 {
		return settings
	}
	power(powerShifts[1])
	settings = append(settings, data.Each(wrongLaws, func(l wrongLaw) DiagnosisRate { return DiagnosisRate{Law: l.name, Runs: coverageRuns} })...)
	for _, shape := range plantedShapes {
		for k := 1; k <= 3; k++ {
			settings = append(settings, DiagnosisRate{Law: shape, Shift: plantedShift, Runs: plantedRuns, Planted: k})
		}
	}
	return append(settings, DiagnosisRate{Law: globalLaw, Runs: plantedRuns})
}

func (s DiagnosisRate) String() string {
	switch {
	case s.Law == "":
		return fmt.Sprintf("diagnose-%g-%g", s.Share, s.Shift)
	case s.Planted > 0:
		return fmt.Sprintf("diagnose-%s-%d", s.Law, s.Planted)
	}
	return "diagnose-" + s.Law
}

// examination is how a law is diagnosed: as users do where corrections decide, and else without them.
func (s DiagnosisRate) examination() diagnosis.Examination {
	e := diagnosis.Examination{Redraws: 199, Recovery: without}
	if s.Law == globalLaw || s.Law != "" && s.Planted > 0 {
		e.Recovery = diagnosis.Recovery{}
	}
	return e
}

func (s DiagnosisRate) task() Task {
	return Task{ID: s.String(), Data: "planted", Cell: s.String()}
}

func (DiagnosisRate) shares() []string { return nil }
func (DiagnosisRate) blank() kept      { return &DiagnosisRate{} }

func (s *DiagnosisRate) program() *program.Program { return &s.Program }
func (s *DiagnosisRate) id() string                { return s.String() }

func (s DiagnosisRate) compute(ctx context.Context, _ *workshop) (kept, func(path string) error, error) {
	r, err := s.run(ctx)
	return &r, nil, err
}

func (s DiagnosisRate) run(ctx context.Context) (DiagnosisRate, error) {
	for run := range s.Runs {
		rng := rand.New(rand.NewPCG(uint64(run), 21))
		w := s.draw(rng)
		d, err := diagnosis.Diagnose(ctx, w.logProbs, w.labels, w.z, s.examination(), rng)
		if err != nil {
			return s, err
		}
		s.count(d, w)
	}
	return s, nil
}

// count adds the diagnosis of a draw.
func (s *DiagnosisRate) count(d *diagnosis.Diagnosis, w *wrongRows) {
	if len(d.Wrong()) > 0 {
		s.Any++
	}
	if d.Kind == diagnosis.GlobalError {
		s.Global++
	}
	if w.missed(d) {
		s.Missed++
	}
	wrong := slices.DeleteFunc(slices.Clone(d.Regions), func(r diagnosis.Region) bool { return !r.Wrong })
	if len(wrong) > 0 {
		s.Named++
	}
	if len(wrong) == s.Planted {
		s.Counted++
	}
	found, all := w.found(wrong)
	if all > 0 && 2*found >= all {
		s.Found++
	}
	for k := range s.Planted {
		s.Jaccard += w.likest(k+1, wrong) / float64(s.Runs*s.Planted)
	}
}

// found is how many rows of planted regions, of all there are, lie in regions.
func (w *wrongRows) found(regions []diagnosis.Region) (found, all int) {
	in := make([]bool, len(w.labels))
	for _, r := range regions {
		for _, i := range r.Rows {
			in[i] = true
		}
	}
	for i, k := range w.region {
		if k > 0 {
			all++
			if in[i] {
				found++
			}
		}
	}
	return found, all
}

// likest is the largest likeness (Jaccard) of a planted region with one of others.
func (w *wrongRows) likest(planted int, others []diagnosis.Region) (like float64) {
	for _, r := range others {
		both := 0
		for _, i := range r.Rows {
			if w.region[i] == planted {
				both++
			}
		}
		like = max(like, float64(both)/float64(len(r.Rows)+w.size(planted)-both))
	}
	return like
}

// missed reports whether the true gap of some region, class or confidence lies outside its interval.
func (w *wrongRows) missed(d *diagnosis.Diagnosis) bool {
	for _, regions := range [][]diagnosis.Region{d.Regions, d.Classes, d.Confidence} {
		for _, r := range regions {
			var truth float64
			for _, i := range r.Rows {
				p := w.logProbs.RawRowView(i)
				c := topOf(p)
				if r.Class != nil {
					c = *r.Class
				}
				truth += (math.Exp(p[c]) - w.truth.At(i, c)) / float64(r.Size)
			}
			if truth < r.Low-1e-9 || truth > r.High+1e-9 {
				return true
			}
		}
	}
	return false
}
