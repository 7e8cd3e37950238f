package layers

import (
	"cmp"
	"context"
	"errors"
	"math"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

func tuned() *Tuned {
	return &Tuned{Slots: []int{1, 2, 3, 4}, Codewords: []int{2, 16, 1000}, New: func(slots, codewords int, epochs map[string]int) *Trained {
		divide, calibrate := optim.Settings{Epochs: 6}, optim.Settings{Epochs: 3, KeepStart: true}
		if epochs != nil {
			divide.Epochs, calibrate.Epochs = epochs["divide"], cmp.Or(epochs["calibrate"], optim.NoEpochs)
		}
		return Train(&Divide{Slots: slots, Codebook: Codebook{Codewords: codewords}, Optim: divide}, Centred{}, calibrate)
	}}
}

// TestTunedKeepsTheLeastLoss: of the pairs that the rows allow, the kept one has the least
// loss on the validation rows, is restored as it is, and is chosen again by the same seed.
func TestTunedKeepsTheLeastLoss(t *testing.T) {
	cal, val, test := blobs(400, 1), blobs(200, 2), blobs(50, 3)
	c := tuned()
	if _, err := c.Predict(test); !errors.Is(err, ErrUnfitted) {
		t.Errorf("it predicts before it is fitted: %v", err)
	}
	if err := c.Fit(t.Context(), cal, val, newRand(4)); err != nil {
		t.Fatal(err)
	}
	if len(c.Tried) != 6 { // w = 1, 2, 4 of 8 features, K = 2, 16 of 400 rows
		t.Fatalf("tried %+v", c.Tried)
	}
	kept, err := HeldOutLoss(c, val)
	if err != nil {
		t.Fatal(err)
	}
	chosen := 0
	for _, p := range c.Tried {
		if p.Chosen {
			chosen++
			if s := c.Base.Sizes(); p.Loss != kept || s.Slots != p.Slots || s.Codewords != p.Codewords {
				t.Errorf("%+v is chosen, kept are sizes %+v with loss %v", p, s, kept)
			}
		}
		if p.Loss < kept {
			t.Errorf("%+v is better than what is kept, %v", p, kept)
		}
	}
	if chosen != 1 {
		t.Errorf("%d pairs are chosen", chosen)
	}
	again := tuned()
	reread(t, "vq-tuned", c, again)
	other := tuned()
	if err := other.Fit(t.Context(), cal, val, newRand(4)); err != nil {
		t.Fatal(err)
	}
	want, _ := c.Predict(test)
	for _, d := range []*Tuned{again, other} {
		p, err := d.Predict(test)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range want.LogProbs.RawMatrix().Data {
			if p.LogProbs.RawMatrix().Data[i] != v {
				t.Fatalf("log-probability %d is %v, not %v", i, p.LogProbs.RawMatrix().Data[i], v)
			}
		}
	}
}

// TestTunedWithoutValidationRows fits the choice to all calibration rows.
func TestTunedWithoutValidationRows(t *testing.T) {
	c := tuned()
	if err := c.Fit(t.Context(), blobs(400, 1), nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	if total := c.Base.Sizes().Rows(); total != 400 {
		t.Errorf("the choice is fitted to %d of 400 rows", total)
	}
	c.Slots = []int{3}
	var setting *SettingError
	if err := c.Fit(t.Context(), blobs(400, 1), nil, newRand(4)); !errors.As(err, &setting) {
		t.Errorf("slots that do not divide the features give %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tuned().Fit(cancelled, blobs(400, 1), blobs(50, 2), newRand(4)); !errors.Is(err, context.Canceled) {
		t.Errorf("the interruption is reported as %v", err)
	}
}

// TestCentredStepsAreOfOneSize: at its start the scores move, by a step of one length on
// every receiver and sender, as much for many classes and slots as for few, and the
// bilinear map's move more.
func TestCentredStepsAreOfOneSize(t *testing.T) {
	moved := func(m Map, classes, slots int, names ...string) float64 {
		s := Sizes{Classes: classes, Features: slots, Slots: slots, Codewords: 2, Counts: make([]float64, classes)}
		// p̂ alike for all: the scores move through log B(α) and Σ α log p̂ alone
		x := &data.Set{Logits: blank(1, classes)}
		x.Logits.Set(0, 0, 1)
		v := &View{LogProbs: LogSoftmax(x.Logits), Codes: make([]int32, slots)}
		w, err := m.Init(s, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		at := func() []float64 {
			p, err := v.Rows(w.Dtype(), s).Posterior(m, w)
			if err != nil {
				t.Fatal(err)
			}
			return p.RawRowView(0)
		}
		before := at()
		for _, name := range names {
			values := w.Float64s(name)
			for i := range values {
				if i%2 == 0 { // half of the classes, or all scores move alike
					values[i] += 1e-3
				}
			}
			w.SetValues(name, values)
		}
		var most float64
		for j, l := range at() {
			most = math.Max(most, math.Abs(l-before[j]))
		}
		return most
	}
	few := moved(Centred{}, 10, 64, "centred/receiver", "centred/sender")
	many := moved(Centred{}, 100, 64, "centred/receiver", "centred/sender")
	fine := moved(Centred{}, 10, 256, "centred/receiver", "centred/sender")
	published := moved(Bilinear{}, 100, 64, "bilinear/receiver", "bilinear/sender") / moved(Bilinear{}, 10, 64, "bilinear/receiver", "bilinear/sender")
	if many/few > 3 || many/few < 1./3 || fine/few > 1.5 || fine/few < 1/1.5 {
		t.Errorf("a step moves a log-probability by %v with C = 10, %v with C = 100, %v with w = 256", few, many, fine)
	}
	if published < 5 {
		t.Errorf("the bilinear map's step grows only %v times from C = 10 to 100", published)
	}
}

func blank(rows, columns int) *mat.Dense { return mat.NewDense(rows, columns, nil) }
