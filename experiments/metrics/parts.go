package metrics

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// Part is what predictions show of some of the rows: those of a class or of a group.
type Part struct {
	Name       string  `json:"name"`
	Rows       float64 `json:"rows"`     // as how many they count
	Accuracy   float64 `json:"accuracy"` // share of them whose top class is right
	Confidence float64 `json:"confidence"`
	NLL        float64 `json:"nll"`
	// Share is how often a class is true among all rows, Predicted its mean probability there; 0
	// of a group.
	Share     float64 `json:"share,omitempty"`
	Predicted float64 `json:"predicted,omitempty"`
}

// Parts are the classes of the rows' labels (part nil) or the groups of the rows (N numbers), with
// these names, those without rows left out. Of s it takes Rows.
func Parts(logProbs *mat.Dense, labels, part []int, names []string, s Settings) ([]Part, error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, err
	}
	classes := part == nil
	if classes {
		part = labels
	}
	all, total := make([]Part, len(names)), b.total()
	for i, k := range part {
		if k < 0 || k >= len(all) {
			return nil, fmt.Errorf("metrics: row %d is of part %d: there are names of %d", i, k, len(all))
		}
		w, y := b.w(i), int(b.label[i])
		p := &all[k]
		p.Rows += w
		p.Confidence += w * b.confidence(i)
		p.NLL -= w * b.logProb(i, y)
		if int(b.top[i]) == y {
			p.Accuracy += w
		}
		for c := 0; classes && c < min(b.classes, len(all)); c++ {
			all[c].Predicted += w * b.prob[i*b.classes+c] / total
		}
	}
	var out []Part
	for k, p := range all {
		if p.Rows == 0 {
			continue
		}
		p.Name = names[k]
		p.Accuracy, p.Confidence, p.NLL = p.Accuracy/p.Rows, p.Confidence/p.Rows, p.NLL/p.Rows
		if classes {
			p.Share = p.Rows / total
		}
		out = append(out, p)
	}
	return out, nil
}
