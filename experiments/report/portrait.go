package report

import "calibra/experiments/diagnosis"

// Shown is what the predictions of a method look like.
type Shown struct {
	Name string
	diagnosis.Portrait
}

// Portraits draws the predictions of several methods for the same rows: their reliability on one axis, and of the last,
// which is judged, what it takes for what. Classes have these names, or their numbers where it is nil.
func Portraits(all []Shown, classes []string) []*Drawing {
	drawn := []*Drawing{{Name: "reliability-isotonic", Figure: isotonic(all),
		Caption: "How often the top class is right, against its probability, by isotonic regression, which needs no bins. Calibrated predictions would stay in the grey band. The ticks are rows: right above, wrong below. Miscalibration is what the curve would take off the Brier score of the top class."}}
	judged := all[len(all)-1]
	if c := judged.Confusion; c != nil {
		caption := "What " + judged.Name + " takes for what, and how surely: of the rows of a class those whose top class is another, and the mean probability of that."
		if c.Of > len(c.Classes) {
			caption += " These are the most confused of the classes."
		}
		if figure := confusion(c, classes); figure != nil {
			drawn = append(drawn, &Drawing{Name: "confusion", Caption: caption, Figure: figure})
		}
	}
	return drawn
}
