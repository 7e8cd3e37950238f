package study

import (
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments"
)

// Study is one experiment of the paper: a grid of Specs and how it is shown.
type Study struct {
	Name string // "main"
	Line string // what it is, in one line
	// Paper names the paper's tables that the results stand beside, of package paper.
	Paper []string
	// Grid lists the Specs for one origin. Data, split, seed and averages are filled
	// in later, and so are the codebook's sizes where they are 0; a method that
	// Settings.Methods does not name is left out.
	Grid func(o *experiments.Origin, set Settings) []experiments.Spec
	// Vary names the fields of Spec that tell the rows of its tables apart: of
	// method, slots, codewords, fraction, encoder.
	Vary []Field
	// Views are the parts of its report, in order.
	Views []View
}

// Studies lists all studies, in the paper's order.
var Studies = []*Study{&Main, &ESS, &Parts, &Slots, &Codebook, &CalibrationSize, &Shifted, &Backbones, &Usage, &Time}

// ByName finds a study; an unknown name is a *data.InputError that lists the known
// ones.
func ByName(name string) (*Study, error) {
	var names []string
	for _, s := range Studies {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return nil, data.Inputf("", "there is no study %q; choose one of %s", name, strings.Join(names, ", "))
}

// paperMethods are the methods of the paper's tables, in their order.
var paperMethods = []string{"vq", "sm", "dc", "kc", "ln", "ps", "ir", "ts", "pc", "nc"}

// compared are the methods that a comparison runs: the paper's, and of the others
// those that Settings.Methods names.
func compared(extra []string) []string {
	names := known(paperMethods...)
	for _, name := range known(extra...) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// known keeps the names of methods that this build has.
func known(names ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		_, err := experiments.MethodByName(name)
		return err != nil
	})
}

// each is one Spec a method.
func each(methods []string) []experiments.Spec {
	var specs []experiments.Spec
	for _, name := range methods {
		specs = append(specs, experiments.Spec{Method: name})
	}
	return specs
}
