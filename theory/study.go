package theory

import (
	"context"
	"fmt"
	"slices"

	"calibra/data"
	"calibra/layers"
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
	// Codes are those of the pipeline that study propositions trains; nil: the paper's, of
	// PipelineCodewords. The other studies draw codes by laws, or move codewords by one.
	Codes layers.Codes
}

// Study is one question put to the theory.
type Study struct {
	Name  string // as on the command line
	Claim string // what it checks
	parts []part
}

// part adds rows to the report of a study.
type part func(ctx context.Context, s *setup, r *Report) error

// run carries the parts out, up to the first that fails.
func (s Study) run(ctx context.Context, with *setup, r *Report) error {
	for _, part := range s.parts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := part(ctx, with, r); err != nil {
			return err
		}
	}
	return nil
}

// Run carries the study out.
func (s Study) Run(ctx context.Context, settings Settings) (*Report, error) {
	report := &Report{Study: s.Name, Claim: s.Claim, Seed: settings.Seed}
	if err := s.run(ctx, newSetup(settings), report); err != nil {
		return nil, fmt.Errorf("theory: study %s: %w", s.Name, err)
	}
	return report, nil
}

// Find returns the named studies in the order of Studies, or an error that lists
// the names there are.
func Find(names ...string) ([]Study, error) {
	var known []string
	for _, s := range Studies() {
		known = append(known, s.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, data.Unknown("study", name, append(known, "fast", "all"))
		}
	}
	return slices.DeleteFunc(Studies(), func(s Study) bool { return !slices.Contains(names, s.Name) }), nil
}
