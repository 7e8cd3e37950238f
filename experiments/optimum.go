package experiments

import (
	"fmt"
	"slices"
	"strings"

	"calibra/optim"
)

// StageOptimum tells whether a stage of a fit ended at an optimum.
type StageOptimum struct {
	Stage   string        `json:"stage"`
	Optimum optim.Optimum `json:"optimum"`
}

// String is the gradient of the fit beside its sampling size.
func (s StageOptimum) String() string {
	if s.Optimum.Sampling == 0 {
		return fmt.Sprintf("%.2g", s.Optimum.Gradient)
	}
	return fmt.Sprintf("%.2g, its sampling size %.2g", s.Optimum.Gradient, s.Optimum.Sampling)
}

// Optima tell of each stage that was fitted to all rows at once whether it ended at an optimum.
func (r *Run) Optima() (all []StageOptimum) {
	for _, s := range r.Stages {
		if o := s.Result.Optimum; o != nil {
			all = append(all, StageOptimum{s.Name, *o})
		}
	}
	return all
}

// Unreached says that a stage of the fit ended where its loss has no optimum, or far from it, and what to do; "" where
// none did.
func (r *Run) Unreached() string {
	all := r.Optima()
	at := slices.IndexFunc(all, func(s StageOptimum) bool { return !s.Optimum.Reached })
	if at < 0 {
		return ""
	}
	text := fmt.Sprintf("the fit of %s is at no optimum: %s; where it stopped decides its predictions",
		r.Spec.Method, all[at].Optimum.Why)
	var instead []string
	for _, m := range r.Spec.Catalog.List() {
		if m.Penalized && m.Name != r.Spec.Method {
			instead = append(instead, m.Name)
		}
	}
	if len(instead) == 0 {
		return text
	}
	return text + ", so fit a penalized method: " + strings.Join(instead, " or ")
}
