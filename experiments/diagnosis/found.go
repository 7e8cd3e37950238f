package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
)

// Wrong are the regions, classes, cells of confidence and groups that are called wrong.
func (d *Diagnosis) Wrong() []Region {
	return wrongOf(slices.Concat(d.Regions, d.Classes, d.Confidence, d.Groups))
}

func wrongOf(regions []Region) []Region {
	return slices.DeleteFunc(slices.Clone(regions), func(r Region) bool { return !r.Wrong })
}

// className is such as "class 3", or its name.
func (d *Diagnosis) className(c int) string {
	if d.ClassNames != nil {
		return "class " + d.ClassNames[c]
	}
	return fmt.Sprintf("class %d", c)
}

// found says what is wrong in a sentence.
func (d *Diagnosis) found() string {
	wrong, regions := d.Wrong(), len(wrongOf(d.Regions))
	in := fmt.Sprintf("%d regions", regions)
	first := "; first: " // of several
	if regions == 1 {
		in, first = "1 region", ": "
	}
	switch {
	case len(wrong) == 0:
		return fmt.Sprintf("calibrated as far as %d rows can tell", d.Rows)
	case d.Kind == GlobalError:
		worst := leastP(wrong)
		if top := d.Classes[d.NumClasses]; top.Wrong {
			worst = top
		}
		return fmt.Sprintf("wrong everywhere alike: %s", worst.sentence(d))
	case d.Kind == BothErrors:
		return fmt.Sprintf("wrong everywhere, and in %s beyond that%s%s", in, first, d.Regions[0].sentence(d))
	case regions == 0:
		return fmt.Sprintf("wrong in no region, but in %d of the classes, confidences and groups; first: %s", len(wrong), leastP(wrong).sentence(d))
	}
	return fmt.Sprintf("wrong in %s%s%s", in, first, d.Regions[0].sentence(d))
}

// leastP is the one of least p, the first among equals.
func leastP(wrong []Region) Region {
	return slices.MinFunc(wrong, func(a, b Region) int { return cmp.Compare(a.P, b.P) })
}
