package theory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"calibra/data"
)

// Effort chooses between the quick design of a study and the complete one.
type Effort int

const (
	Complete Effort = iota // the design of Full and the replicates of the specification
	Quick                  // the design of Fast
)

// Settings of a run of studies. The zero value is the complete run with seed 0.
type Settings struct {
	Seed   uint64
	Effort Effort
	// Replicates are the samples of each law and size; 0: as many as the study asks for. Fewer widen the bands.
	Replicates int
}

// Study is one question put to the theory.
type Study struct {
	Name  string // as on the command line
	Claim string // what it checks
	Parts []Part // what it does, one after another

	Seconds float64 // about what a quick run takes on one core; 0: as long as others
}

// Part adds rows and figures to the report of a study: questions that are put ([Ask]), or a run of one's own.
type Part func(ctx context.Context, s Settings, r *Report) error

// Run carries the parts out, up to the first that fails.
func (s Study) Run(ctx context.Context, settings Settings) (*Report, error) {
	report := &Report{Study: s.Name, Claim: s.Claim, Seed: settings.Seed}
	var err error
	if len(s.Parts) == 0 {
		err = errors.New("it does nothing; give it Parts, or make it by NewStudy with a Question")
	}
	for _, part := range s.Parts {
		if err = cmp.Or(err, ctx.Err()); err == nil {
			err = part(ctx, settings, report)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("theory: study %s: %w", s.Name, err)
	}
	return report, nil
}

// Among is Find among these studies.
func Among(studies []Study, names ...string) (found []Study, err error) {
	for _, name := range names {
		if _, err := data.Find("study", name, studies, func(s Study) string { return s.Name }, "fast", "all"); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(studies), func(s Study) bool { return !slices.Contains(names, s.Name) }), nil
}
