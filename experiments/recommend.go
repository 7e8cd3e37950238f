package experiments

import (
	"fmt"
	"slices"

	"calibra/data"
)

// Instead are the methods that take the place of the recommended one where rows lack an array that it needs: the first whose
// arrays they have.
var Instead = []string{"sm", "vq"}

// Rows with fewer than FewestRows for calibration get the method Few, which reads logits alone, with a prior of its temperature.
const (
	FewestRows = defaultCodewords
	Few        = "ts"
)

// Recommend is the method to fit to the rows of src where the user names none, with its settings. Where it is not the recommended
// one, why says what the rows lack of what that needs.
func (s Spec) Recommend(src *data.Source) (m Method, values Values, why string) {
	recommended := s.Catalog.Recommended()
	key := s.missing(recommended, src)
	if rows := src.Cal.Len(); key == "" && rows < FewestRows {
		m, _ = s.Catalog.Find(Few)
		return m, Values{"temperature.prior": ".2"}, fmt.Sprintf("%d calibration rows, fewer than the %d", rows, FewestRows)
	}
	for _, name := range Instead {
		if m, err := s.Catalog.Find(name); err == nil && key != "" && s.missing(m, src) == "" {
			return m, nil, "no " + key
		}
	}
	return recommended, nil, ""
}

// missing is the first array that the method needs and src has not, "" where it has all.
func (s Spec) missing(method Method, src *data.Source) string {
	needs := s.needs(method, src)
	if at := slices.IndexFunc(needs, func(key string) bool { return src.Require(key) != nil }); at >= 0 {
		return needs[at]
	}
	return ""
}
