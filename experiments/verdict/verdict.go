package verdict

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/data"
	"calibra/experiments/metrics"
)

// Candidate is a method that a verdict weighs: what it shows on the test rows of one data set.
type Candidate struct {
	Name     string  `json:"method"`
	Title    string  `json:"-"` // as the tables write its row
	NLL      float64 `json:"nll"`
	Accuracy float64 `json:"accuracy"`
	Effort   int     `json:"-"` // how simple it is: of methods that do not differ significantly the least is enough
	Unasked  bool    `json:"-"` // nobody asked for it: it may be what to use, and what not to use is never said of it

	Calibration *Calibration    `json:"-"` // nil where it was not measured
	Events      *metrics.Events `json:"-"` // of the test rows under its predictions; nil where nobody counted
	Cost        string          `json:"-"` // what using it costs, in a sentence; "" where nothing is worth a word
}

// Calibration is the calibration error of the top class beside its noise floor.
type Calibration struct {
	ECE   float64
	Floor float64 // what calibrated predictions would show; NaN where nobody measured it
}

// Say is the answer of a verdict.
type Say string

// What verdicts say, and nothing else.
const (
	Use        Say = "use"               // the method: it lowers the NLL
	Leave      Say = "leave it as it is" // nothing lowers the NLL by what would matter
	DoNotUse   Say = "do not use"        // the method that was asked for: it raises the NLL
	CannotTell Say = "cannot tell yet"   // the rows are too few
	CheckRows  Say = "check the rows"    // they seem to be others than they should be
)

// Cause is why predictions are wrong, as far as a verdict knows.
type Cause string

// The causes.
const (
	NoCause   Cause = "none"        // they are calibrated as far as the rows can tell
	Overall   Cause = "overall"     // by their probabilities, wherever a row lies
	Region    Cause = "region"      // in some rows alone, by their features
	Group     Cause = "group"       // in a group alone
	Class     Cause = "class"       // where one class is predicted
	Shifted   Cause = "label-shift" // the classes are more or less frequent than among calibration rows
	TheMethod Cause = "method"      // the method that was asked for is worse than the classifier
	FewRows   Cause = "few-rows"    // nothing is known of so few
	OtherRows Cause = "other-rows"  // the rows are not those that they should be
)

// Note is something that is told of the rows or of a fit, with a key that programs know it by.
type Note struct {
	Key  string `json:"key"`
	Text string `json:"text"`
}

// mostWhy are the lines of a verdict's why at most.
const mostWhy = 3

// Verdict says what to do with a classifier, by what some methods show on the same test rows, in one sentence with one
// number, its interval and its p, and in at most three lines why.
type Verdict struct {
	Data string `json:"data,omitempty"`
	Rows int    `json:"test_rows"`
	Say  Say    `json:"say"`
	// Method is the method to use, or not to use, or the one that may be worth more rows; the classifier if it is left
	// as it is.
	Method string `json:"method"`
	// Difference is the method's NLL minus the classifier's with its interval and p; if the classifier is left as it
	// is, it is the difference of the nearest method. All are NaN if nothing was tested, and null in JSON.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	P          float64 `json:"p"`
	// RowsNeeded are about as many test rows as would show the difference, where it cannot be told for want of rows; 0,
	// and null in JSON, elsewhere.
	RowsNeeded int      `json:"rows_needed"`
	Avoid      []string `json:"do_not_use"`         // methods that raise the NLL
	AsGood     []string `json:"as_good"`            // those that do not differ significantly from the lowest that may be used, the simplest first
	Sentence   string   `json:"sentence"`           // what it says
	Why        []string `json:"why"`                // at most three lines
	Commands   []string `json:"commands,omitempty"` // that fit what to use, and apply it
	Cause      Cause    `json:"cause"`              // of what is wrong
	Where      string   `json:"where,omitempty"`    // it is wrong, in words, where somebody looked
	// Methods are all of them, from the least NLL on.
	Methods []*Judged `json:"methods"`
	// Notes points to what the command tells besides.
	Notes *[]Note `json:"-"`
}

// Judged is a method in a verdict. Its differences are in NLL, in the share of rows whose
// top class is wrong, and in the squared calibration error of the top class; nil for the method itself and where they
// are not known.
type Judged struct {
	Candidate
	CalibrationTo  *Difference `json:"calibration_to_classifier,omitempty"`
	ToClassifier   *Difference `json:"nll_to_classifier,omitempty"`
	ErrorsTo       *Difference `json:"errors_to_classifier,omitempty"`
	ToLowest       *Difference `json:"nll_to_lowest,omitempty"`
	ErrorsToLowest *Difference `json:"errors_to_lowest,omitempty"`
}

// MarshalJSON writes null for what was not tested.
func (v *Verdict) MarshalJSON() ([]byte, error) {
	type plain Verdict
	var needed *int
	if v.RowsNeeded > 0 {
		needed = &v.RowsNeeded
	}
	notes := []Note{}
	if v.Notes != nil {
		notes = append(notes, *v.Notes...)
	}
	return json.Marshal(struct {
		Data       string   `json:"data,omitempty"`
		Rows       int      `json:"test_rows"`
		Say        Say      `json:"say"`
		Method     string   `json:"method"`
		Difference *float64 `json:"difference"`
		Low        *float64 `json:"low"`
		High       *float64 `json:"high"`
		P          *float64 `json:"p"`
		RowsNeeded *int     `json:"rows_needed"`
		Remedy     string   `json:"remedy"`
		Notes      []Note   `json:"notes"`
		*plain
	}{v.Data, v.Rows, v.Say, v.Method, known(v.Difference), known(v.Low), known(v.High), known(v.P), needed, v.Remedy(), notes, (*plain)(v)})
}

// MarshalJSON writes the method without what is not known of it.
func (j *Judged) MarshalJSON() ([]byte, error) {
	type plain Judged
	return json.Marshal(struct {
		Name     string   `json:"method"`
		NLL      *float64 `json:"nll"`
		Accuracy *float64 `json:"accuracy,omitempty"`
		*plain
	}{Name: j.Name, NLL: known(j.NLL), Accuracy: known(j.Accuracy), plain: (*plain)(j)})
}

// known is x, nil for NaN.
func known(x float64) *float64 {
	if math.IsNaN(x) {
		return nil
	}
	return &x
}

// Classifier is the name of the method that leaves the classifier as it is.
const Classifier = "nc"

// Doubt lets a verdict recommend nothing where the rows seem to be others than they should be: by their classes, as
// other rows or as those of a training. why says so and how to mend it; without a sentence nothing changes.
func (v *Verdict) Doubt(why ...string) {
	why = slices.DeleteFunc(slices.Clone(why), func(text string) bool { return text == "" })
	if v == nil || len(why) == 0 {
		return
	}
	nan := math.NaN()
	v.Say, v.Cause, v.Method, v.Difference, v.Low, v.High, v.P, v.RowsNeeded = CheckRows, OtherRows, Classifier, nan, nan, nan, nan, 0
	v.Avoid, v.AsGood, v.Commands, v.Where = []string{}, []string{}, nil, ""
	v.Sentence = "Check the rows. Do not use what they show as it is."
	v.Why = data.Each(why[:min(len(why), mostWhy)], func(text string) string { return upperFirst(text) + "." })
}

// Shift says that the classes are more or less frequent than among the calibration rows, and how.
func (v *Verdict) Shift(how string) {
	v.Cause = Shifted
	v.first(how)
}

// first puts a line before the others of why, of which the last goes where they are too many.
func (v *Verdict) first(line string) {
	v.Why = append([]string{line}, v.Why[:min(len(v.Why), mostWhy-1)]...)
}

// Remedy is the command that does what the verdict says, or can tell where its rows cannot; "" where there is nothing
// to do or no command is known.
func (v *Verdict) Remedy() string {
	if v.Say != Use && v.Say != CannotTell {
		return ""
	}
	return strings.Join(v.Commands, " && ")
}

// ToUse is the method to use, the classifier as it is where none is.
func (v *Verdict) ToUse() string {
	if v.Say == Use {
		return v.Method
	}
	return Classifier
}

// Chooses reports whether the method is the one to go on with: never where the rows cannot tell.
func (v *Verdict) Chooses(name string) bool {
	return v.Say != CannotTell && v.Say != CheckRows && v.ToUse() == name
}

// Text is the verdict in sentences.
func (v *Verdict) Text() []string { return append([]string{v.Sentence}, v.Why...) }

// Brief is the verdict in a few words: "use pool: NLL .1563 instead of .2248".
func (v *Verdict) Brief() string {
	switch v.Say {
	case Leave, CannotTell, CheckRows:
		return string(v.Say)
	}
	said := string(v.Say) + " " + v.Method
	nll := map[string]float64{}
	for _, m := range v.Methods {
		nll[m.Name] = m.NLL
	}
	if before, known := nll[Classifier]; known {
		said += fmt.Sprintf(": NLL %s instead of %s", nats(nll[v.Method]), nats(before))
	}
	return said
}
