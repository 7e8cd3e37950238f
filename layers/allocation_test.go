package layers

import (
	"testing"

	"calibra/graph"
	"calibra/graph/work/worktest"
	"calibra/optim"
)

// TestTrainingStepsDoNotAllocate runs steps of both stages as Minimize does.
func TestTrainingStepsDoNotAllocate(t *testing.T) {
	short := optim.Settings{Epochs: 1}
	d := &Divide{Slots: 4, Codebook: Codebook{Codewords: 8}, Optim: short}
	c := Train(d, Bilinear{}, short)
	x := blobs(300, 1)
	if err := c.Fit(t.Context(), x, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	seen, err := c.labelled(x, c.weights)
	if err != nil {
		t.Fatal(err)
	}
	rows := graph.Rows(100, 228)
	for name, o := range map[string]*graph.Objective{
		"divide":    d.objective(x, target{table: graph.Labels(x.Labels)}),
		"calibrate": Objective(c.Map, c.weights, seen),
	} {
		if n := testing.AllocsPerRun(100, func() {
			if _, _, err := o.Gradient(rows); err != nil {
				t.Fatal(err)
			}
			if err := o.Commit(len(rows)); err != nil {
				t.Fatal(err)
			}
		}); n != 0 && !worktest.PoolsAllocate {
			t.Errorf("a step of %s allocates %v times", name, n)
		}
	}
}
