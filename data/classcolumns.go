package data

import (
	"errors"
	"regexp"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Tables of predictions call the columns of the classes prob_NAME, p_NAME, .pred_NAME, prob.NAME, score_NAME … or,
// where the values of the label column are the names of columns, NAME alone. Their label column may have any name, if
// its values are names of classes and those of no other column are.

// scoreWord is what tools call scores: the columns of classes begin with it, and H2O's are p0, p1, … too.
const scoreWord = `(?i:(?:y_?)?(?:prob|proba|probability|probabilities|p|\.?pred|score|class|confidence|conf|softmax))`

var (
	classPrefix = regexp.MustCompile(`^` + scoreWord + `[._ ](.+)$|^p([0-9]+)$`)
	scoreName   = regexp.MustCompile(`^` + scoreWord + `s?(?:[._ ][01])?$`)
)

// className is the class that a column is of by its name, "" if it does not say so.
func className(name string) string {
	m := classPrefix.FindStringSubmatch(name)
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// predictedNames are columns that name the class that was predicted, not the one that was seen.
var predictedNames = regexp.MustCompile(`^(?i:\.?pred(ict(ed|ion|ions|s)?)?(_?(class|label))?|response|y_?(hat|pred))$`)

// idNames are columns that number or name the rows.
var idNames = regexp.MustCompile(`^$|^.*[a-z]I[dD]$|^(?i:(.*[_ .])?ids?|index|idx|uuid|guid|rows?|row_?(number|num|names?|ids?))$|` +
	`^(?:Unnamed: 0|__index_level_0__)$`)

// value is what a scalar column has in row i, as a name.
func (c *column) value(i int) string {
	if c.isText {
		return plainName(c.text[i])
	}
	return decimalName(c.values[i])
}

// different are the values of a column, in order of appearance, or as many as most and one more.
func (c *column) different(most int) (values []string) {
	seen := map[string]bool{}
	for i := 0; i < c.rows && len(values) <= most; i++ {
		if v := c.value(i); !c.lacks(i) && !seen[v] {
			seen[v] = true
			values = append(values, v)
		}
	}
	return values
}

// spare reports whether no reader looks for a column of that name.
func (c *column) spare() bool {
	return !slices.Contains(tableColumns, c.name) && !slices.Contains(fileArrays, c.name) && !memberColumn.MatchString(c.name)
}

// distributions reports whether the rows of the columns are probabilities on some scale.
func distributions(columns []*column) bool {
	j := &Judge{}
	if len(columns) > 1 {
		rows := mat.NewDense(columns[0].rows, len(columns), nil)
		for k, c := range columns {
			rows.SetCol(k, c.values)
		}
		j.Add(rows, 0)
	}
	return j.scale() > 0
}

// scoreArrays are the arrays that hold a number for each class.
var scoreArrays = []string{"logits", "log_probs", "probs"}

// classify finds the columns of the classes, where none is called so already, and the label column, and names both as
// the readers look them up. It is an *InputError where two columns may be the label.
func (t *columnar) classify() error {
	classes, names, array := t.members()
	label, err := t.labelAmong(names, classes)
	if classes == nil {
		classes, array = t.prefixed(), "prob_"
		names = Each(classes, func(c *column) string { return className(c.name) })
		if label, err = t.labelAmong(names, classes); !distributions(classes) {
			if array = "logit_"; label == nil {
				classes, err = nil, nil
			}
		}
	}
	if classes == nil {
		label, classes, err = t.bare()
		array, names = "logit_", Each(classes, func(c *column) string { return plainName(c.said) })
	}
	if err != nil || classes == nil {
		return err
	}
	for k, c := range classes {
		if array != "" {
			c.name = array + names[k]
		}
	}
	if array != "" {
		said := Each(classes, func(c *column) string { return Printable(c.said) })
		t.found = "the columns " + listed(said, 6) + " are read as those of the classes"
	}
	if label != nil {
		t.label(label, names)
	}
	return nil
}

// label makes a column the labels, whose values are names of the classes.
func (t *columnar) label(c *column, names []string) {
	if !c.isLabel() {
		t.found = also(t.found, "column "+Printable(c.said)+" is read as the labels")
		c.name = "label"
	}
	if sorted, _ := encode(names); c.isText || Numbered(sorted) { // numbers 0…C−1 are places
		return
	}
	text := make([]string, c.rows)
	for i := range text {
		if !c.lacks(i) {
			text[i] = c.value(i)
		}
	}
	c.isText, c.whole, c.text, c.values, t.named = true, false, text, nil, true
}

// members are the columns that are called by an array of scores, with the classes that they name; array is "", since
// they need no other name.
func (t *columnar) members() (classes []*column, names []string, array string) {
	of := ""
	for _, c := range t.columns {
		switch member, ending := t.memberOf(c); {
		case slices.Contains(scoreArrays, c.name):
			return t.columns, nil, ""
		case slices.Contains(scoreArrays, member) && (of == "" || of == member):
			of, classes, names = member, append(classes, c), append(names, ending)
		}
	}
	return classes, names, ""
}

// numbers are the columns of a number in each row that may be of a class.
func (t *columnar) numbers() []*column {
	return slices.DeleteFunc(slices.Clone(t.columns), func(c *column) bool {
		return c.isText || c.list || c.fault != nil || slices.Contains(tableColumns, c.name) || c.rows == 0
	})
}

// prefixed are the columns whose names say that they are of classes.
func (t *columnar) prefixed() []*column {
	return slices.DeleteFunc(t.numbers(), func(c *column) bool { return className(c.name) == "" })
}

// truthNames are columns of numbers that name the class that was seen.
var truthNames = regexp.MustCompile(`^(?i:(ground_?)?truth|y|y_?true|true_?(class|label)|target|class|obs(erved)?|actual|outcome)$`)

// errLabels is the fault of a table of which two columns may be the label.
var errLabels = errors.New("which both name classes; call the one that is true label, and leave the other out")

// labelAmong is the column whose every value is one of the names: the one called label or, without it, the only other
// one.
func (t *columnar) labelAmong(names []string, classes []*column) (label *column, err error) {
	called := slices.ContainsFunc(t.columns, (*column).isLabel)
	for _, c := range t.columns {
		other := !called && c.spare() && !predictedNames.MatchString(c.name) && (c.isText || truthNames.MatchString(c.name))
		if c.list || c.fault != nil || c.rows == 0 || !c.isLabel() && !other || slices.Contains(classes, c) {
			continue
		}
		values := c.different(len(names))
		if len(values) == 0 || slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(names, v) }) {
			continue
		}
		if label != nil {
			err = Inputf(t.path, "has columns %s and %s, %w", Printable(label.said), Printable(c.said), errLabels)
		}
		label = c
	}
	return label, err
}

// bare are the columns whose names are values of the label column, nil if there are none. Beside columns of other
// numbers, and where the names are numbers themselves, they are distributions.
func (t *columnar) bare() (label *column, classes []*column, err error) {
	all := slices.DeleteFunc(t.numbers(), func(c *column) bool { // that numbers or names the rows
		return !c.spare() || idNames.MatchString(c.said) && c.rows > 1 && len(c.different(c.rows)) == c.rows
	})
	names := Each(all, func(c *column) string { return plainName(c.said) })
	if label, err = t.labelAmong(names, nil); label == nil {
		return nil, nil, nil
	}
	values := label.different(len(names))
	all = slices.DeleteFunc(all, func(c *column) bool { return c == label })
	classes = slices.DeleteFunc(slices.Clone(all), func(c *column) bool {
		return !slices.Contains(values, plainName(c.said))
	})
	switch {
	case distributions(classes), len(classes) > 1 && len(classes) == len(all) && !numeric(values):
		return label, classes, err
	case distributions(all): // a class may have no row
		return label, all, err
	}
	return nil, nil, nil
}
