package baselines

import (
	"errors"
	"math"
	"strings"
	"testing"

	"calibra/layers"
	"calibra/optim"
)

// TestKernelRows: the estimate is the mean of the labels of the rows that it is by, weighed by the kernel of the
// similarities, also of a restored model; without validation rows it is by none of them.
func TestKernelRows(t *testing.T) {
	p := problems()["temperature"]
	cal, _ := p.draw(150, 1)
	val, _ := p.draw(60, 2)
	x, _ := p.draw(5, 3)
	for by, rows := range map[KernelRows]int{ByCalibration: 150, ByValidation: 60, ByAll: 210} {
		m := &Kernel{Hidden: 8, Sigma: 3, Method: optim.Settings{Epochs: 2}, By: by}
		if err := m.Fit(t.Context(), cal, val, newRand(4)); err != nil {
			t.Fatal(err)
		}
		state, err := m.State()
		if err != nil {
			t.Fatal(err)
		}
		restored := &Kernel{}
		if err := restored.Restore(state); err != nil {
			t.Fatal(err)
		}
		points, labels := m.Weights().Float64s("memory/points"), m.Weights().Float64s("memory/labels")
		if by == ByValidation && int(labels[7]) != val.Labels[7] || len(labels) != rows {
			t.Errorf("by %q there are %d rows, not %d", by, len(labels), rows)
		}
		said, err := restored.Predict(x)
		if err != nil {
			t.Fatal(err)
		}
		similar, err := m.Similarity(x)
		if err != nil {
			t.Fatal(err)
		}
		for i := range x.Len() {
			var total, first float64
			for j, y := range labels {
				square := 0.0
				for d, s := range similar.RawRowView(i) {
					e := s - points[j*len(points)/len(labels)+d]
					square += e * e
				}
				k := math.Exp(-square * kernelConstant(3))
				if total += k; y == 0 {
					first += k
				}
			}
			// kernels of float32
			if got := math.Exp(said.LogProbs.At(i, 0)); !(math.Abs(got-first/total) <= 1e-4) {
				t.Errorf("by %q, row %d has %v, not %v", by, i, got, first/total)
			}
		}
	}
	var setting *layers.SettingError
	if err := (&Kernel{By: ByValidation}).Fit(t.Context(), cal, nil, newRand(4)); !errors.As(err, &setting) || !strings.Contains(err.Error(), "--split paper") {
		t.Errorf("without validation rows: %v", err)
	}
}
