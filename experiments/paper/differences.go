package paper

import (
	_ "embed" // differences.tsv
	"slices"
	"strings"
	"sync"

	"calibra/experiments/metrics"
)

// Difference is a line of differences.tsv: what the paper's text, the published code and Calibra do, where they differ
// or where Calibra can do otherwise. Flags are those of calibra fit.
type Difference struct {
	Section, What       string
	Text, Code, Calibra string
	// AsText and AsCode are the flags with which Calibra does as the text or the code, "" where it does so by default.
	AsText, AsCode string
	Also           []string // more flags about the same, apart by semicolons in the file
	Instead        string   // what to do that is no flag, or why there is nothing to do
}

// Other is how to get what Calibra does not do by default, in Markdown.
func (d Difference) Other() string {
	var all []string
	for _, flags := range []string{"text: " + d.AsText, "code: " + d.AsCode} {
		if whose, flags, _ := strings.Cut(flags, " "); flags != "" {
			all = append(all, whose+" `"+flags+"`")
		}
	}
	for _, flags := range d.Also {
		all = append(all, "`"+flags+"`")
	}
	if d.Instead != "" {
		all = append(all, d.Instead)
	}
	return strings.Join(all, "; ")
}

// Protocol is all that differs together: as the code behind the tables has it, or as the text with its formulas. Set is
// KEY=VALUE each, split the validation rows.
func Protocol(p metrics.Protocol) (set []string, split string) {
	for _, d := range Differences() {
		flags := d.AsCode
		if p == metrics.Formula {
			flags = d.AsText
		}
		for pair := range slices.Chunk(strings.Fields(flags), 2) {
			switch {
			case pair[0] == "--split":
				split = pair[1]
			case pair[0] == "--set" && !slices.Contains(set, pair[1]):
				set = append(set, pair[1])
			}
		}
	}
	return set, split
}

//go:embed differences.tsv
var differences string

// Differences are all, section by section.
var Differences = sync.OnceValue(func() (all []Difference) {
	for line := range strings.Lines(differences) {
		d := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		all = append(all, Difference{
			Section: d[0], What: d[1], Text: d[2], Code: d[3], Calibra: d[4], AsText: d[5], AsCode: d[6], Instead: d[8],
			Also: strings.FieldsFunc(d[7], func(r rune) bool { return r == ';' }),
		})
	}
	return all[1:] // without the head
})
