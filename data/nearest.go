package data

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// Unknown is the *[InputError] for a name that is not among the known ones: "there is no
// method "vqq"; did you mean vq? Choose one of …". Kind is what the name is of.
func Unknown(kind, name string, known []string) error {
	hint := ""
	if near := Nearest(name, known); near != "" {
		hint = "did you mean " + near + "? "
	}
	choose := "choose one of "
	if hint != "" {
		choose = "Choose one of "
	}
	return Inputf("", "there is no %s %q; %s%s%s", kind, name, hint, choose, strings.Join(known, ", "))
}

// Nearest is the known name that differs from name by the fewest edits, "" if that is
// more than a third of its letters.
func Nearest(name string, known []string) string {
	best, least := "", 0
	for _, k := range known {
		d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(k))
		if best == "" || d < least {
			best, least = k, d
		}
	}
	if best == "" || least > max(1, len([]rune(best))/3) {
		return ""
	}
	return best
}
