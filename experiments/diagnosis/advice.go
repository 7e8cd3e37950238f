package diagnosis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"calibra/experiments/metrics"
)

// Advice is what a correction would save.
type Advice struct {
	Correction Kind         `json:"correction"` // GlobalError: of the predictions alone; BothErrors: by the latent space too
	Text       string       `json:"text"`
	Saves      metrics.Gain `json:"saves"`
	Command    string       `json:"command,omitempty"` // that fits it; the package knows none
}

// advice is the corrections in the order in which to take them: what saves more for sure comes first, and where
// the latent space adds nothing for sure, the simpler one alone.
func advice(g metrics.Gains) []Advice {
	says := func(what, saves, loses, bound string, gain metrics.Gain) string {
		if loss, negative := strings.CutPrefix(metrics.Nats(gain.Value), "−"); negative {
			return fmt.Sprintf(what+" "+loses, loss)
		}
		return fmt.Sprintf(what+" "+saves+bound, metrics.Nats(gain.Value), atLeast(gain.Low))
	}
	row := func(what string, gain metrics.Gain) string {
		return says(what, "would save %s nats a row", "would lose %s nats a row", ", %s at 95 %%", gain)
	}
	global := Advice{Correction: GlobalError, Saves: g.Global, Text: row("a correction of the predictions alone", g.Global)}
	both := Advice{Correction: BothErrors, Saves: g.Total, Text: row("a correction that looks at the latent space too", g.Total) +
		says(", where the latent space", "adds %s", "loses %s", " (%s)", g.Local)}
	switch {
	case g.Local.Low > 0:
		return []Advice{both, global}
	case g.Global.Low > 0:
		return []Advice{global, both}
	}
	none := Advice{Correction: NoError, Text: "leave the predictions as they are: no correction saves anything for sure"}
	return []Advice{none, global, both}
}

func atLeast(low float64) string {
	if low > 0 && metrics.Nats(low) != metrics.Nats(0) {
		return "at least " + metrics.Nats(low)
	}
	return "perhaps nothing"
}

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

// verdict is the answer in a sentence.
func (d *Diagnosis) verdict() string {
	wrong, regions := d.Wrong(), len(wrongOf(d.Regions))
	plural := "s"
	if regions == 1 {
		plural = ""
	}
	switch {
	case len(wrong) == 0:
		return fmt.Sprintf("calibrated as far as %d rows can tell", d.Rows)
	case d.Kind == GlobalError:
		worst := leastP(wrong)
		if top := d.Classes[d.NumClasses]; top.Wrong {
			worst = top
		}
		return fmt.Sprintf("wrong everywhere alike: the error is global; %s", worst.sentence(d))
	case d.Kind == BothErrors:
		return fmt.Sprintf("wrong everywhere, and in %d region%s beyond that; first: %s", regions, plural, d.Regions[0].sentence(d))
	case regions == 0:
		return fmt.Sprintf("wrong in no region, but in %d of the classes, confidences and groups; first: %s", len(wrong), leastP(wrong).sentence(d))
	}
	return fmt.Sprintf("wrong in %d region%s; first: %s", regions, plural, d.Regions[0].sentence(d))
}

// leastP is the one of least p, the first among equals.
func leastP(wrong []Region) Region {
	return slices.MinFunc(wrong, func(a, b Region) int { return cmp.Compare(a.P, b.P) })
}
