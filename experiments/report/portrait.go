package report

import "calibra/experiments/diagnosis"

// Shown are the predictions of a method as a figure shows them.
type Shown struct {
	Name string
	diagnosis.Portrait
}

// Portraits draws the predictions of several methods for the same rows: their reliability on one axis, and of the last,
// which is judged, what it takes for what. Classes have these names, or their numbers where it is nil.
func Portraits(all []Shown, classes []string) []*Drawing {
	drawn := []*Drawing{{Name: "reliability-top", Figure: isotonic(all),
		Caption: "How often the top class is right, against its probability: the isotonic curve (CORP) with the 95 % interval of each of its points, and bins of about as many rows each. Of calibrated predictions 95 % of the curves would lie in the grey region at each place. The strip below shows where the rows are. smECE is the smooth calibration error, a mean distance from the dashed line."}}
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
