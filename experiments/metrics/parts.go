package metrics

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Part has the metrics of some of the rows: a class or a group.
type Part struct {
	Name       string  `json:"name"`
	Rows       float64 `json:"rows"`     // by weight: all rows together are as many as count
	Accuracy   float64 `json:"accuracy"` // share of them whose top class is right
	Confidence float64 `json:"confidence"`
	NLL        float64 `json:"nll"`
	// Share is how often a class is true among all rows, Predicted its mean probability there; 0
	// of a group.
	Share     float64 `json:"share,omitempty"`
	Predicted float64 `json:"predicted,omitempty"`
}

// Parts are the classes of the rows' labels (part nil) or the groups of the rows (N numbers), with
// these names, without the empty ones. It uses Rows and Soft of s.
func Parts(logProbs *mat.Dense, labels, part []int, names []string, s Settings) ([]Part, error) {
	b, _, err := prepare(logProbs, labels, nil, s)
	if err != nil {
		return nil, err
	}
	classes := part == nil
	most := b.Classes - 1
	if !classes {
		if len(part) != b.Input {
			return nil, fmt.Errorf("metrics: there are parts of %d rows and %d predictions: give one a row", len(part), b.Input)
		}
		if most = slices.Max(part); slices.Min(part) < 0 {
			return nil, fmt.Errorf("metrics: a row is of part %d: want 0 or more", slices.Min(part))
		}
	}
	if most >= len(names) {
		return nil, fmt.Errorf("metrics: a row may be of part %d: there are names of %d", most, len(names))
	}
	all, total := make([]Part, len(names)), b.Total()
	for i := range b.N {
		b.EachShare(i, func(y int, q float64) {
			w, k := q*b.W(i), y
			if !classes {
				k = part[b.InputRow(i)]
			}
			p := &all[k]
			p.Rows += w
			p.Confidence += w * b.Confidence(i)
			p.NLL -= w * b.LogProb(i, y)
			if int(b.Top[i]) == y {
				p.Accuracy += w
			}
		})
		for c := 0; classes && c < b.Classes; c++ {
			all[c].Predicted += b.W(i) * b.Prob[i*b.Classes+c] / total
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
