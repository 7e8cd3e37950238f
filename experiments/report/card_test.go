package report

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"
	"calibra/experiments/verdict"
)

// TestCards: each answer has a colour and a sign of its own, and a card of it, with as many words as there are at most,
// is 1200 × 420 of a screen, fits a column, and no text of it lies over another.
func TestCards(t *testing.T) {
	var shown []Shown
	for k, name := range []string{"nc", "a method with a long name"} {
		rng := rand.New(rand.NewPCG(1, uint64(k)))
		logProbs, _, labels := overconfident(300, 12, rng)
		groups := make([]int, len(labels))
		for i := range groups {
			groups[i] = i % 3
		}
		p, err := diagnosis.NewPortrait(logProbs, labels, metrics.Settings{Groups: groups}, rng)
		if err != nil {
			t.Fatal(err)
		}
		shown = append(shown, Shown{Name: name, Portrait: p})
	}
	seen := map[string]verdict.Say{}
	for say, a := range answers {
		for _, look := range []string{a.sign, hex(a.colour)} {
			if other, twice := seen[look]; twice {
				t.Errorf("%s and %s look alike: %s", say, other, look)
			}
			seen[look] = say
		}
		long := strings.Repeat("The smallest groups are wrong: they claim .81 and are right in .61. ", 4)
		v := &verdict.Verdict{Say: say, Sentence: "Use this. It lowers the NLL.", Why: []string{long}, Commands: []string{"calibra fit --in x.npz", "calibra apply --in x.npz"}}
		for _, cause := range []verdict.Cause{verdict.Overall, verdict.Shifted} {
			v.Cause = cause
			for _, of := range [][]Shown{shown, shown[:1]} {
				card := NewCard(v, of, Names{Groups: []string{"ward A", "ward B", "a ward of many letters"}}, &Shares{Calibration: []float64{.5, .5}, Test: []float64{.8, .2}})
				if l := card.Figure.layout(0); l.size.X != 900 || l.size.Y != 315 { // points, of which a screen shows 4/3 as many
					t.Errorf("%s, %s: %v", say, cause, l.size)
				}
				for _, column := range []float64{0, 84, 174} {
					separate(t, fmt.Sprintf("%s, %s, of %d", say, cause, len(of)), card.Figure, column)
				}
			}
		}
	}
}
