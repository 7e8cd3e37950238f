package method

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/layers"
)

// Method is one way to calibrate, with all that is said of it. A field that is left out has
// the meaning that is told with it.
type Method struct {
	Name string // by which commands, files and tables know it: "vq"
	Line string // what it is, in one line
	// Title is how tables write it; "": its name in capitals.
	Title string
	Group Group
	// Reference is where it was published: "Guo et al. 2017".
	Reference string
	// Needs are the arrays of every part that it reads, besides labels.
	Needs []string
	// Weighing is a sentence on how it takes weights of rows, where its reference has no weighted form; "": a weight
	// multiplies the row's loss, or its part of the sums that the reference has.
	Weighing string
	// Penalized reports whether penalties of all its weights give it an optimum on any rows.
	Penalized bool
	// StopsEarly reports whether it needs validation rows to know when to stop.
	StopsEarly bool
	// Draws reports whether its fit depends on the seed, as the fit of a method that stops early does: it draws
	// minibatches. A method that draws can be an ensemble.
	Draws bool
	// New makes the calibrator, not fitted. It reads each of its settings from o, w and K among
	// them, which is how the command knows them.
	New func(o *Options) layers.Stateful
	// Cost is the cost of a fit; a method that nobody has timed has the zero Cost.
	Cost Cost
}

// Group is whose a method is, and where lists have it.
type Group string

// The groups, in the order of lists.
const (
	Recommended Group = "recommended" // the one to take where nothing is known, which commands and Python fit by default
	Paper       Group = "paper"       // the paper's calibrator and its parts
	Baseline    Group = "baseline"    // published by others
	Outside     Group = ""            // of a module from outside
	Variant     Group = "variant"     // maps on the original logits, published by nobody, and the paper's calibrator, changed
	Control     Group = "control"     // another method without what is to be judged
)

var groups = []Group{Recommended, Paper, Baseline, Outside, Variant, Control}

// Published reports whether comparisons of all methods include it: the paper's methods,
// baselines, and methods of other modules.
func (g Group) Published() bool { return g == Paper || g == Baseline || g == Outside }

// Aside reports whether lists leave it out unless all are asked for: the variants and the controls.
func (g Group) Aside() bool { return g == Variant || g == Control }

// Cost is about how many seconds a fit to 10,000 rows takes on one core: Rows + Features M/512 + Classes (C/10)^Power,
// as fits took that are in testdata/costs.csv of package run.
type Cost struct{ Rows, Features, Classes, Power float64 }

// Moment is the cost of a method that is fitted at once.
var Moment = Cost{Features: .05, Classes: .02, Power: 1.5}

// untimed stands for the cost of a method that nobody has timed: it is run among the long
// ones, so that a study that runs cells side by side does not end with it alone.
var untimed = Cost{Rows: 15, Classes: 15, Power: 1}

// Of is the seconds of a fit to rows with these numbers of features and classes.
func (c Cost) Of(rows float64, features, classes int) float64 {
	c = cmp.Or(c, untimed)
	return rows / 1e4 * (c.Rows + c.Features*float64(features)/512 + c.Classes*math.Pow(float64(classes)/10, c.Power))
}

// Suits is an *InputError that names the array, where rows that the method would be fitted to have features that no
// method tells from 0.
func (m Method) Suits(src *data.Source) error {
	if slices.Contains(m.Needs, "features") && src.Cal != nil && src.Cal.Features != nil {
		return data.CheckScale(src.Path, "cal_features", src.Cal.Features, src.Cal.Names.Features)
	}
	return nil
}

// Reads are the arrays of src that a fit of the method reads, whose rows are split so, and those by which it is judged.
func (m Method) Reads(src *data.Source, split data.Holdout) (keys []string) {
	parts := []string{"cal"}
	if src.Val != nil && split != data.NoValidation && m.StopsEarly {
		parts = append(parts, "val")
	}
	if src.Test != nil && src.Test.Labels != nil {
		parts = append(parts, "test")
	}
	for _, part := range parts {
		keys = append(keys, part+"_labels")
		for _, key := range m.Needs {
			keys = append(keys, part+"_"+key)
		}
	}
	return keys
}

// Arrays that methods need.
var (
	onFeatures = []string{"features"}
	onLogits   = []string{"logits"}
	onBoth     = []string{"logits", "features"}
)

// written is how tables write the method.
func (m Method) written() string { return cmp.Or(m.Title, strings.ToUpper(m.Name)) }

// Divides reports whether it cuts the features into as many slots as it is told: whether it has
// the setting.
func (m Method) Divides() bool { return m.Has(SlotsKey, nil) }

// Has reports whether it has the setting, given some of its settings.
func (m Method) Has(key string, given Values) bool {
	return has(m.Settings(Options{Values: given}), key)
}

// Settings are all that the method has where some have the values of o, those of its metrics at the end.
func (m Method) Settings(o Options) []Key {
	m.make(&o)
	o.measuring()
	return o.keys
}

// Split is where the method's validation rows come from by default: a tenth of the
// calibration rows, or nowhere if it needs none.
func (m Method) Split() data.Holdout {
	if m.StopsEarly {
		return data.PaperText
	}
	return data.NoValidation
}

// OnCodewords is the method that fits m to the quantized head, as "vq" fits the paper's
// bilinear map: stage 1 divides the features, stage 2 fits m on the codes.
func OnCodewords(name, line string, m layers.Map) Method {
	return Method{
		Name: name, Line: line, Needs: onFeatures, StopsEarly: true,
		New: func(o *Options) layers.Stateful {
			return layers.Train(o.Divide(), m, o.Stage("calibrate", Published))
		},
	}
}

// OnLogits is the method that fits m to the classifier's own probabilities.
func OnLogits(name, line string, m layers.Map) Method {
	return Method{
		Name: name, Line: line, Needs: onLogits, StopsEarly: true,
		New: func(o *Options) layers.Stateful {
			return layers.Train(&layers.Original{}, m, o.Stage("calibrate", Published))
		},
	}
}

// Build makes the calibrator with the settings of o and lists what it read. A
// setting that it did not read, or a value out of range, is a *data.InputError.
func (m Method) Build(o Options) (layers.Stateful, []Key, error) {
	c := m.make(&o)
	o.measuring()
	if !m.Averages() && o.Values[MembersKey] != "" {
		return nil, nil, drawsNothing(m.Name)
	}
	err := o.Finish(m.Name + " has no")
	if err == nil && c == nil {
		err = fmt.Errorf("the New of the method %s gives no calibrator", m.Name)
	}
	return c, o.keys, err
}

// MembersKey is S, how many fits the method is the mean of.
const MembersKey = "ensemble.members"

func drawsNothing(method string) error {
	return data.Inputf("", "%s draws nothing, so all members of an ensemble would be one fit; leave %s out", method, MembersKey)
}

// Averages reports whether the method draws, so that the mean of several fits is another than one.
func (m Method) Averages() bool { return m.StopsEarly || m.Draws }

// make makes the calibrator, or the ensemble of so many. The first member alone is observed.
func (m Method) make(o *Options) layers.Stateful {
	c := m.New(o)
	if !m.Averages() || c == nil {
		return c
	}
	members := []layers.Stateful{c}
	for range o.Int(MembersKey, 1, 1, "", "number of fits with different random draws, whose log-probabilities are averaged") - 1 {
		other := *o
		other.Observe, other.keys = nil, nil
		members = append(members, m.New(&other))
	}
	if len(members) == 1 {
		return c
	}
	return &layers.Ensemble{Members: members}
}
