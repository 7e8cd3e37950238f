package study

import (
	"slices"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/report"
	"calibra/experiments/run"
	"calibra/experiments/source"
)

// Study is one experiment of the paper: a grid of Specs and how it is shown.
type Study struct {
	Name string // "main"
	Line string // what it is, in one line
	// Title is the title of its page; "" stands for "Study" and its name.
	Title string
	// Paper names the paper's tables that the results stand beside, of package paper.
	Paper []string
	// Grid lists the Specs for one origin. Data, split, seed and averages are filled
	// in later, and so are the codebook's sizes where they are 0.
	Grid func(o *source.Origin) []run.Spec
	// Vary names the fields of Spec that distinguish the rows of its tables: of method, slots, codewords, fraction.
	Vary []Field
	// Views are the parts of its report, in order.
	Views []View
	// Judging says by what its cells are judged; the zero value stands for usual.
	Judging run.Judging
	// Files are the numbers that it writes beside its report; nil means results.csv and times.csv.
	Files []File
	// Statements sum up its results; nil means the verdicts on its methods.
	Statements func(*Findings) []report.Statement
	// Facts say how its numbers were made; nil means the facts of a grid.
	Facts func(*Findings) []report.Fact
}

// Studies lists all studies, in the paper's order.
var Studies = []*Study{&mainStudy, &essStudy, &localityStudy, &slotsStudy, &codebookStudy, &calibrationSizeStudy, &shiftedStudy, &usageStudy, &timeStudy, &optimizersStudy}

// usual is what cells are judged by: noise floors, but along the calibration rows, where no
// study shows them.
func usual(s run.Spec) run.Judging {
	if s.Fraction > 0 {
		return run.Judging{}
	}
	return run.Judging{Redraws: 20}
}

// ByName finds a study; an unknown name is a *data.InputError that lists the known
// ones.
func ByName(name string) (*Study, error) {
	return data.Find("study", name, Studies, func(s *Study) string { return s.Name }, SweepName)
}

// tableOrder is the order of the paper's tables; methods beyond them follow in
// that of method.All.
var tableOrder = []string{"vq", "sm", "dc", "kc", "ln", "ps", "ir", "ts", "pc", "nc"}

// ablations are methods of the paper's ablation alone, which main runs where they are named.
var ablations = []string{"vq-dc", "vq-nc"}

// allMethods are the methods that main compares.
func allMethods() []string {
	names := slices.Clone(tableOrder)
	for _, m := range method.All {
		if !slices.Contains(names, m.Name) && !slices.Contains(ablations, m.Name) && m.Group.Published() {
			names = append(names, m.Name)
		}
	}
	return names
}

// style is the look of a method's line in every figure. Each method of the catalog has its own; those from outside
// share no colour with the paper's tables.
func style(c *method.Catalog, name string) int {
	names := slices.Clone(tableOrder[1:]) // the paper's calibrator has a look of its own
	for _, m := range method.All {
		if !slices.Contains(tableOrder, m.Name) {
			names = append(names, m.Name)
		}
	}
	if at := slices.Index(names, name); at >= 0 || name == tableOrder[0] {
		return max(0, at)
	}
	at := len(names)
	for _, m := range c.List()[len(method.All):] {
		for at%report.Colours < len(tableOrder)-1 {
			at++
		}
		if m.Name == name {
			break
		}
		at++
	}
	return at
}
