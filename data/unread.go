package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// fileArrays are the arrays of a whole file, partArrays those of a part, behind its prefix.
var (
	fileArrays   = []string{"class_names", "feature_names", "groups", "group_names"}
	partArrays   = []string{"features", "logits", "labels", "weights", "groups"}
	partPrefixes = []string{"cal_", "val_", "test_"}
	// saidArrays record where the others come from.
	saidArrays = []string{"provenance", "cal_rows", "test_rows"}
)

// partKeys are the arrays of all parts behind their prefixes.
func partKeys() (keys []string) {
	for _, part := range partPrefixes {
		for _, name := range partArrays {
			keys = append(keys, part+name)
		}
	}
	return keys
}

// unread names the arrays of a features file that nothing reads, and what they may have been meant
// to be; "" if there are none. The columns of a table are arrays of each part.
func (a *archive) unread() string {
	known := slices.Concat(fileArrays, saidArrays)
	if a.table {
		known = append(append(known, partArrays...), "label")
	} else {
		known = append(known, partKeys()...)
	}
	var shown []string
	for _, key := range a.keys {
		name := key
		for _, part := range partPrefixes {
			if a.table && strings.HasPrefix(key, part) {
				name = strings.TrimPrefix(key, part)
			}
		}
		if slices.Contains(known, name) {
			continue
		}
		if text := meant(name, known); !slices.Contains(shown, text) {
			shown = append(shown, text)
		}
	}
	if shown == nil {
		return ""
	}
	return "nothing reads " + listed(shown, 6)
}

// meant is the name of an array that nothing reads, and which of the known ones it may have been meant to be.
func meant(name string, known []string) string {
	text := Printable(name)
	if name == "" || name == "__index_level_0__" || name == "Unnamed: 0" {
		text = "the index that pandas wrote (index=False leaves it out)"
	}
	const near = 2 // letters
	for _, want := range known {
		if levenshtein.ComputeDistance(strings.ToLower(name), want) <= near {
			return text + fmt.Sprintf(" (did you mean %s?)", want)
		}
	}
	return text
}
