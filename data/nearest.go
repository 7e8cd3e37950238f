package data

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Unknown is the *[InputError] for a name that is not among the known ones: "there is no
// method "vqq"; did you mean vq? Choose one of …". Kind is the kind of thing named, such as
// method. If many names are known, it lists the nearest ones.
func Unknown(kind, name string, known []string) error {
	const many, near = 20, 5
	hint, choose := "", "choose one of "
	if nearest := Nearest(name, known); nearest != "" {
		hint, choose = "did you mean "+nearest+"? ", "Choose one of "
	}
	rest := ""
	if len(known) > many {
		rest = fmt.Sprintf(" and %d more", len(known)-near)
		nearer := func(a, b string) int { return edits(name, a) - edits(name, b) }
		known = slices.SortedStableFunc(slices.Values(known), nearer)[:near]
	}
	return Inputf("", "there is no %s %q; %s%s%s%s", kind, name, hint, choose, strings.Join(known, ", "), rest)
}

// Find returns the element of all that has the name, or the error of [Unknown], which also lists the names in others.
func Find[T any](kind, name string, all []T, nameOf func(T) string, others ...string) (found T, err error) {
	if i := slices.IndexFunc(all, func(x T) bool { return nameOf(x) == name }); i >= 0 {
		return all[i], nil
	}
	return found, Unknown(kind, name, append(Each(all, nameOf), others...))
}

// Nearest is the known name that differs from name by the fewest edits, "" if that is
// more than a third of its letters.
func Nearest(name string, known []string) string {
	if len(known) == 0 {
		return ""
	}
	best := slices.MinFunc(known, func(a, b string) int { return edits(name, a) - edits(name, b) })
	if edits(name, best) > max(1, len([]rune(best))/3) {
		return ""
	}
	return best
}

// edits are the letters to be changed, added, left out, or swapped with the next one, of which
// it tries one swap.
func edits(from, to string) int {
	from, to = strings.ToLower(from), strings.ToLower(to)
	least := levenshtein.ComputeDistance(from, to)
	letters := []rune(from)
	for i := range len(letters) - 1 {
		swapped := slices.Clone(letters)
		swapped[i], swapped[i+1] = swapped[i+1], swapped[i]
		least = min(least, 1+levenshtein.ComputeDistance(string(swapped), to))
	}
	return least
}
