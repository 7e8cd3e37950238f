package method

import (
	"fmt"

	"calibra/data"
)

// Instead are the methods that take the place of the recommended one where rows lack an array that it needs: the first
// whose arrays they have.
var Instead = []string{"sm", "vq"}

// Rows with fewer than FewestRows for calibration get the method Few, which reads logits alone, with a prior of its
// temperature.
const (
	FewestRows = defaultCodewords
	Few        = "ts"
)

// Recommend is the method to fit to the rows of src where the user names none, with its settings. Where it is not the
// recommended one, why says what the rows lack of what that needs.
func (c *Catalog) Recommend(src *data.Source, split data.Holdout) (m Method, values Values, why string) {
	recommended := c.Recommended()
	key := recommended.missing(src, split)
	if rows := src.Cal.Len(); key == "" && rows < FewestRows {
		m, _ = c.Find(Few)
		return m, Values{"temperature.prior": ".2"}, fmt.Sprintf("%d calibration rows, fewer than the %d", rows, FewestRows)
	}
	for _, name := range Instead {
		if m, err := c.Find(name); err == nil && key != "" && m.missing(src, split) == "" {
			return m, nil, "no " + key
		}
	}
	return recommended, nil, ""
}

// missing is the first array that the method needs and src has not, "" where it has all.
func (m Method) missing(src *data.Source, split data.Holdout) string {
	for _, key := range m.Reads(src, split) {
		if src.Require(key) != nil {
			return key
		}
	}
	return ""
}
