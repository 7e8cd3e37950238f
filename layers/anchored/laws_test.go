package anchored

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// calibrators are the calibrators of this package, quick to fit.
func calibrators() map[string]layers.Stateful {
	return map[string]layers.Stateful{
		"corrected":         joint(),
		"pool":              pool(),
		"anchored-bilinear": layers.Train(anchor(), layers.Bilinear{}, optim.Settings{Epochs: 4}),
	}
}

func TestCalibratorLaws(t *testing.T) {
	cal, val, test := blobs(400, 1), blobs(100, 2), blobs(300, 3)
	for name, c := range calibrators() {
		t.Run(name, func(t *testing.T) {
			if _, err := c.Predict(test); err == nil {
				t.Error("it predicts before it is fitted")
			}
			if err := c.Fit(t.Context(), cal, val, newRand(4)); err != nil {
				t.Fatal(err)
			}
			p, err := c.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			for i := range test.Len() {
				var sum float64
				for _, l := range p.LogProbs.RawRowView(i) {
					sum += math.Exp(l)
				}
				if !scalar.EqualWithinAbs(sum, 1, 1e-12) { // normalized in float64
					t.Fatalf("row %d sums to %v", i, sum)
				}
			}
			again := calibrators()[name]
			file := reread(t, name, c, again)
			q, err := again.Predict(test)
			if err != nil {
				t.Fatal(err)
			}
			if !mat.Equal(p.LogProbs, q.LogProbs) {
				t.Error("the restored model predicts something else")
			}
			if err := again.Restore(layers.State{Config: file.State.Config, Weights: graph.NewWeights(tensor.Float32)}); err == nil && name != "nc" {
				t.Error("a state without weights is accepted")
			}
			narrow := &data.Set{Features: mat.NewDense(1, 5, nil), Logits: mat.NewDense(1, 2, nil)}
			if _, err := c.Predict(narrow); err == nil {
				t.Error("rows of another width are accepted")
			}
		})
	}
}

// reread writes c to a model file and reads it into another, and gives the file.
func reread(t *testing.T, name string, c, into layers.Stateful) *layers.Model {
	t.Helper()
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := layers.WriteModel(path, name, c); err != nil {
		t.Fatal(err)
	}
	file, err := layers.ReadModel(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Restore(into); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestMissingInputsAreNamed: a set without features, logits or labels is an error that
// names them, or the method has no use for them.
func TestMissingInputsAreNamed(t *testing.T) {
	without := map[string]func(*data.Set){
		"features": func(s *data.Set) { s.Features = nil },
		"logits":   func(s *data.Set) { s.Logits = nil },
		"labels":   func(s *data.Set) { s.Labels = nil },
	}
	for name, ofValidation := range map[string]bool{"corrected": false, "anchored-bilinear": true} {
		for what, remove := range without {
			cal, val := blobs(60, 1), blobs(30, 2)
			remove(cal)
			if err := calibrators()[name].Fit(t.Context(), cal, val, newRand(3)); err == nil || !strings.Contains(err.Error(), what) {
				t.Errorf("%s, calibration rows without %s: %v", name, what, err)
			}
			cal = blobs(60, 1)
			remove(val)
			if err := calibrators()[name].Fit(t.Context(), cal, val, newRand(3)); (err != nil && strings.Contains(err.Error(), what)) != ofValidation {
				t.Errorf("%s, validation rows without %s: %v", name, what, err)
			}
		}
	}
}

// TestLabelsBeyondTheClasses are errors that name the row.
func TestLabelsBeyondTheClasses(t *testing.T) {
	for _, name := range []string{"anchored-bilinear", "corrected"} {
		cal := blobs(60, 1)
		cal.Labels[7] = 3
		if err := calibrators()[name].Fit(t.Context(), cal, blobs(30, 2), newRand(3)); err == nil || !strings.Contains(err.Error(), "row 7 has the label 3") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestInterruptedChoiceKeepsNoOldMap: the base is fitted anew, so maps of the last fit
// say nothing of its codes.
func TestInterruptedChoiceKeepsNoOldMap(t *testing.T) {
	for _, c := range []layers.Stateful{joint(), pool()} {
		if err := c.Fit(t.Context(), blobs(200, 8), nil, newRand(1)); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
		err := c.Fit(ctx, blobs(200, 9), nil, newRand(2))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("%T: the interruption is reported as %v", c, err)
		}
		if _, err := c.Predict(blobs(10, 10)); !errors.Is(err, layers.ErrUnfitted) {
			t.Errorf("%T predicts after an interrupted choice: %v", c, err)
		}
		if _, err := c.State(); !errors.Is(err, layers.ErrUnfitted) {
			t.Errorf("%T can be saved after an interrupted choice: %v", c, err)
		}
	}
}

// TestBaseInterruptedBeforeItLearnedKeepsNothing: there is no map to predict by.
func TestBaseInterruptedBeforeItLearnedKeepsNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for _, m := range []layers.Map{layers.Bilinear{}, Tables{}} {
		c := layers.Train(anchor(), m, optim.Settings{})
		if err := c.Fit(cancelled, blobs(100, 8), nil, newRand(1)); !errors.Is(err, context.Canceled) {
			t.Errorf("%T: the interruption is reported as %v", m, err)
		}
		if _, err := c.Predict(blobs(10, 10)); !errors.Is(err, layers.ErrUnfitted) {
			t.Errorf("%T predicts after a fit that learned nothing: %v", m, err)
		}
	}
}
