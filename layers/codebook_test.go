package layers

import (
	"errors"
	"math"
	"strings"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// TestFeaturesOutOfReach: where products of features overflow single precision, every slot
// would have the first codeword; that is an error of fit, validation rows and predictions.
func TestFeaturesOutOfReach(t *testing.T) {
	scaled := func(seed uint64, by float64) *data.Set {
		x := blobs(200, seed)
		var z mat.Dense
		z.Scale(by, x.Features)
		x.Features = &z
		return x
	}
	fit := func(cal, val *data.Set) (*Divide, error) {
		d := &Divide{Slots: 4, Codebook: Codebook{Codewords: 8}}
		d.Optim.Epochs = 2
		return d, d.Fit(t.Context(), cal, val, newRand(1))
	}
	var setting *SettingError
	refused := func(err error) bool {
		return errors.As(err, &setting) && strings.Contains(err.Error(), "scale the features down")
	}
	for _, by := range []float64{1e-20, 1, 1e15, 1e18} {
		d, err := fit(scaled(1, by), scaled(2, by))
		if err != nil {
			t.Fatalf("features of about %g: %v", by, err)
		}
		v, err := d.View(scaled(3, by))
		if err != nil {
			t.Fatal(err)
		}
		used := map[int32]bool{}
		for _, k := range v.Codes {
			used[k] = true
		}
		if len(used) < 4 {
			t.Errorf("features of about %g have %d of 8 codewords", by, len(used))
		}
	}
	for _, by := range []float64{1e19, 1e20, 1e30, 1e40} {
		if _, err := fit(scaled(1, by), nil); !refused(err) {
			t.Errorf("features of about %g: %v", by, err)
		}
	}
	if _, err := fit(scaled(1, 1), scaled(2, math.MaxFloat32/8)); !refused(err) {
		t.Errorf("large validation rows: %v", err)
	}
	d, err := fit(scaled(1, 1), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.View(scaled(3, 1e30)); err != nil {
		t.Errorf("large rows whose products still fit: %v", err)
	}
	if _, err := d.View(scaled(3, math.MaxFloat32/8)); !refused(err) {
		t.Errorf("rows whose products do not fit: %v", err)
	}
	if _, err := d.Embed(scaled(3, 1e40)); !refused(err) {
		t.Errorf("rows beyond single precision: %v", err)
	}
}

// TestFloorAboveAllClasses: probabilities of 3 classes are not all a third or more.
func TestFloorAboveAllClasses(t *testing.T) {
	cal := blobs(50, 1)
	floor := 1 / float64(SizesOf(cal).Classes)
	d := &Divide{Slots: 4, Codebook: Fixed{Codewords: 8}, Floor: &floor, Optim: optim.Settings{Epochs: 1}}
	var setting *SettingError
	if err := d.Fit(t.Context(), cal, nil, newRand(1)); !errors.As(err, &setting) || !strings.Contains(err.Error(), "head.floor") {
		t.Errorf("a floor of 1/C: %v", err)
	}
	if floor *= .99; d.Fit(t.Context(), cal, nil, newRand(1)) != nil {
		t.Error("a floor below 1/C is refused")
	}
}
