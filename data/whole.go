package data

import (
	"context"
	"strings"
)

// OpenWhole reads one labelled set, which nobody has parted: the rows of a features file that has cal, val or test rows alone, or
// of predictions (see [ReadPredictions]), whose probabilities stand for logits, with the array features or else embedding. They are
// the calibration rows of the source, with their groups.
func OpenWhole(ctx context.Context, path string) (*Source, error) {
	return wanted(ctx, path, func(a *archive) (*Source, error) {
		plain, err := a.joined()
		if err != nil {
			return nil, err
		}
		s, err := readSource(a, Names{})
		if err != nil {
			return nil, err
		}
		if s.Test.Labels == nil {
			return nil, Inputf(path, "has no labels for its rows, by which folds are fitted and judged")
		}
		if s.Cal, s.Test = s.Test, nil; plain {
			s.Unread = a.unreadBeside("")
		}
		return s, nil
	})
}

// joined lets the only rows of the file be test rows, and reports whether they were of none of the parts.
func (a *archive) joined() (plain bool, err error) {
	var parts []string
	for _, p := range (&Source{}).parts() {
		if a.has(p.name+"_logits") || a.has(p.name+"_features") {
			parts = append(parts, p.name)
		}
	}
	if len(parts) > 1 {
		return false, Inputf(a.path, "has %s rows: folds are of one set, and rows that are parted already are compared as they are", strings.Join(parts, " and "))
	}
	for _, key := range partArrays {
		name := key
		switch {
		case len(parts) == 1:
			name = parts[0] + "_" + key
		case key == "logits":
			name = a.predicted()
		case key == "features" && !a.has(key):
			name = "embedding"
		}
		if member := a.members[name]; member != nil {
			delete(a.members, name)
			a.members["test_"+key] = member
		}
	}
	return parts == nil, nil
}
