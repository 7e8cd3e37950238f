package run

import (
	"fmt"
	"slices"
	"strings"

	"calibra/layers"
	"calibra/layers/anchored"
	"calibra/optim"
)

// StageOptimum tells whether a stage of a fit ended at an optimum.
type StageOptimum struct {
	Stage   string        `json:"stage"`
	Optimum optim.Optimum `json:"optimum"`
}

// StageResidual is the gradient where a stage of a fit ended.
type StageResidual struct {
	Stage string `json:"stage"`
	optim.Residual
}

// Residuals are the gradients over all rows where the stages ended that were fitted in minibatches, as far as they are
// known.
func (r *Run) Residuals() (all []StageResidual) {
	for _, s := range r.Stages {
		if of := s.Result.Residual; of != nil {
			all = append(all, StageResidual{s.Name, *of})
		}
	}
	return all
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
// none did. Of a mixture it says nothing: held-out rows weigh what such fits of its parts predict.
func (r *Run) Unreached() string {
	if _, mixes := layers.MembersOf(r.Model)[0].(anchored.Mixer); mixes {
		return ""
	}
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
