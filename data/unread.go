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
	// predictedArrays are those of files of predictions, and what this program writes there besides.
	predictedArrays = []string{"log_probs", "probs", "embedding", "embedding_own", "new_priors", "new_priors_lower",
		"new_priors_upper", "new_priors_p", "lower", "upper", "sets", "sets_marginal", "sets_region", "sets_level"}
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
	if a.table {
		return a.unknown(slices.Concat(fileArrays, saidArrays, partArrays, []string{"label"}, a.taken))
	}
	return a.unknown(slices.Concat(fileArrays, saidArrays, partKeys(), a.taken))
}

// unreadBeside is unread of a file of predictions, where features of the same rows may stand, and an embedding by
// another name.
func (a *archive) unreadBeside(embedding string) string {
	return a.unknown(slices.Concat(partArrays, []string{"label"}, fileArrays, saidArrays, predictedArrays, partKeys(), a.taken, []string{embedding}))
}

// unknown names the arrays that are not among the known ones.
func (a *archive) unknown(known []string) string {
	var shown []string
	for _, key := range slices.Concat(a.keys, a.left) {
		name := key
		for _, part := range partPrefixes {
			if a.table && strings.HasPrefix(key, part) {
				name = strings.TrimPrefix(key, part)
			}
		}
		if slices.Contains(known, name) {
			continue
		}
		shown = Once(shown, meant(name, known))
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
		if len(name) > near && levenshtein.ComputeDistance(strings.ToLower(name), want) <= near {
			return text + fmt.Sprintf(" (did you mean %s?)", want)
		}
	}
	part := partPrefixes[max(0, slices.IndexFunc(partPrefixes, func(part string) bool { return strings.HasPrefix(name, part) }))]
	for _, stem := range []string{"weight", "group", "label"} { // such as sample_weight
		if !strings.Contains(strings.ToLower(name), stem) {
			continue
		}
		for _, want := range []string{stem + "s", part + stem + "s"} {
			if slices.Contains(known, want) {
				return text + fmt.Sprintf(" (did you mean %s?)", want)
			}
		}
	}
	return text
}
