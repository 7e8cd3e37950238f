package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// partArrays are the arrays of a part, behind its prefix.
var partArrays = []string{"features", "logits", "labels", "weights"}

// unread says which arrays of a features file nothing reads, and what they may have been meant
// to be; "" if there are none.
func (a *archive) unread() string {
	known := []string{"class_names", "feature_names", "groups", "group_names"}
	for _, part := range []string{"cal_", "val_", "test_"} {
		for _, name := range partArrays {
			known = append(known, part+name)
		}
	}
	var shown []string
	for _, key := range a.keys {
		if slices.Contains(known, key) {
			continue
		}
		name := key
		if a.table { // the columns of a table are arrays of each part
			for _, part := range []string{"cal_", "val_", "test_"} {
				name = strings.TrimPrefix(name, part)
			}
			if slices.Contains(partArrays, name) || slices.Contains(known, name) {
				continue
			}
		}
		text := printable(name)
		const near = 2 // letters
		for _, want := range known {
			if d := levenshtein.ComputeDistance(strings.ToLower(key), want); d <= near {
				text += fmt.Sprintf(" (did you mean %s?)", strings.TrimSuffix(want, key[len(name):]))
				break
			}
		}
		if !slices.Contains(shown, text) {
			shown = append(shown, text)
		}
	}
	const most = 6
	if more := len(shown) - most; more > 0 {
		shown = append(shown[:most], fmt.Sprintf("%d more", more))
	}
	if shown == nil {
		return ""
	}
	return "nothing reads " + strings.Join(shown, ", ")
}
