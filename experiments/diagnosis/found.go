package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
)

// Wrong are all that is beyond chance: descriptions, regions, classes, cells of confidence, groups and places.
func (d *Diagnosis) Wrong() []Region {
	return wrongOf(slices.Concat(d.Named, d.Regions, d.Classes, d.Confidence, d.Groups, d.Places))
}

func wrongOf(regions []Region) (wrong []Region) {
	for _, r := range regions {
		if r.Wrong {
			wrong = append(wrong, r)
		}
	}
	return wrong
}

// className is such as "class 3", or its name.
func (d *Diagnosis) className(c int) string { return "class " + nameOf(d.ClassNames, c) }

// found says what is wrong, a line for each description; calibrated are groups beside, of so many rows, and rest
// is whether smaller errors remain.
func (d *Diagnosis) found(calibrated []string, rows int, rest bool) string {
	var lines []string
	switch d.Kind {
	case NoError:
		return fmt.Sprintf("calibrated as far as %s rows can tell", metrics.Thousands(d.Rows))
	case GlobalError:
		lines = append(lines, "wrong everywhere alike: "+d.everywhere())
	case BothErrors:
		lines = append(lines, "wrong everywhere, and more in places")
	}
	for _, r := range d.Named {
		lines = append(lines, "wrong "+r.where(d)+r.sentence(d))
	}
	last := &lines[len(lines)-1]
	if len(calibrated) > mostBeside {
		calibrated = []string{fmt.Sprintf("the other %d groups", len(calibrated))}
	}
	if n := len(calibrated); n > 0 {
		*last += "; " + strings.Join(calibrated[:max(1, n-1)], ", ")
		if n > 1 {
			*last += " and " + calibrated[n-1]
		}
		are := "are"
		if n == 1 && !strings.HasPrefix(calibrated[0], "the other") {
			are = "is"
		}
		*last += fmt.Sprintf(" %s calibrated as far as %s rows can tell", are, metrics.Thousands(rows))
	}
	if rest {
		*last += "; smaller errors are elsewhere"
	}
	return strings.Join(lines, "\n")
}

// everywhere says how all rows are wrong: by their top class, else by single classes, else by tenths.
func (d *Diagnosis) everywhere() string {
	wrong := wrongOf(d.Classes)
	if top := d.Classes[d.NumClasses]; top.Wrong {
		wrong = []Region{top}
	} else if wrong == nil {
		wrong = wrongOf(d.Confidence)
	}
	slices.SortStableFunc(wrong, func(a, b Region) int { return a.Compare(&b) })
	var parts []string
	for _, r := range wrong[:min(len(wrong), mostEverywhere)] {
		parts = append(parts, r.sentence(d))
	}
	if more := len(wrong) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

// mostEverywhere classes are told of all rows.
const mostEverywhere = 3

// mostBeside groups are named that are calibrated.
const mostBeside = 4

// where is the word before a description: in a group, where a feature is so.
func (r Region) where(d *Diagnosis) string {
	if slices.ContainsFunc(d.Groups, func(g Region) bool {
		return r.Describe == g.Describe || strings.HasPrefix(r.Describe, g.Describe+", ")
	}) {
		return "in "
	}
	return "where "
}
