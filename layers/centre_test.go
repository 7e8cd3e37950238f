package layers

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"calibra/data"
	"calibra/optim"

	"gonum.org/v1/gonum/mat"
)

// moved is x with a number added to each column.
func moved(x *data.Set, by []float64) *data.Set {
	out, z := *x, mat.DenseCopyOf(x.Features)
	z.Apply(func(_, j int, v float64) float64 { return v + by[j] }, z)
	out.Features = z
	return &out
}

func fitted(t *testing.T, cal *data.Set, codes Codes) *Trained {
	t.Helper()
	s := optim.Settings{Epochs: 4}
	c := Train(&Divide{Slots: 4, Codebook: codes, Optim: s}, Bilinear{}, s)
	if err := c.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
		t.Fatal(err)
	}
	return c
}

func predicted(t *testing.T, c *Trained, x *data.Set) *mat.Dense {
	t.Helper()
	p, err := c.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	return p.LogProbs
}

// offsets are what is added to the columns of features, up to some 10⁴ standard deviations.
func offsets(m int) map[string][]float64 {
	rng, each := rand.New(rand.NewPCG(1, 1)), make([]float64, m)
	for j := range each {
		each[j] = 1e4 * rng.NormFloat64()
	}
	hundreds := data.Each(each, func(o float64) float64 { return o / 50 })
	return map[string][]float64{"none": make([]float64, m), "one": slices.Repeat([]float64{1e4}, m), "hundreds": hundreds, "each": each}
}

// TestOffsetsChangeNothing: features that an offset moves have the codes and, to rounding, the posteriors of those that
// are not: one offset of all columns in the common geometry, one of each column in that by column.
func TestOffsetsChangeNothing(t *testing.T) {
	cal := blobs(300, 1)
	_, m := cal.Features.Dims()
	for offset, codes := range map[string]Codes{"one": Codebook{Codewords: 6}, "each": ByColumn{Codebook{Codewords: 6}}} {
		off := moved(cal, offsets(m)[offset])
		c, d := fitted(t, cal, codes), fitted(t, off, codes)
		if !mat.EqualApprox(predicted(t, c, cal), predicted(t, d, off), 1e-4) { // float32, in which differences of 1e-12 may round otherwise, for 4 epochs
			t.Errorf("%s: the posteriors move with the features", offset)
		}
		at, err := c.Base.View(cal)
		if err != nil {
			t.Fatal(err)
		}
		to, err := d.Base.View(off)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(at.Codes, to.Codes) {
			t.Errorf("%s: the codes move with the features", offset)
		}
	}
}

// TestCodesAreTheNearest wherever the columns lie: of all kinds of codes on features as they are, with one centre of
// all slots, each slot has the codeword that differences in float64 find.
func TestCodesAreTheNearest(t *testing.T) {
	x := blobs(600, 1)
	_, m := x.Features.Dims()
	for offset, by := range offsets(m) {
		off := moved(x, by)
		for _, kind := range []string{"Codebook", "Fixed", "KMeans", "Soft"} {
			c := allCodes[kind][0]
			s, err := c.Over(off, 4)
			if err != nil {
				t.Fatal(err)
			}
			w, err := StartCodes(c, off, s, newRand(3))
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := AssignAll(c, w, off.Features, s)
			if err != nil {
				t.Fatal(err)
			}
			centre, words := w.Float64s(centreName), w.Float64s("codebook/codewords")
			for at := 0; at < len(got); at += s.CodesOf() {
				row, slot, least, nearest := at/s.CodesOf()/4, at/s.CodesOf()%4, math.Inf(1), 0
				for k := range 6 {
					x := off.Features.At(row, 2*slot) - centre[0] - words[2*k]
					y := off.Features.At(row, 2*slot+1) - centre[1] - words[2*k+1]
					if x*x+y*y < least {
						least, nearest = x*x+y*y, k
					}
				}
				if int(got[at]) != nearest {
					t.Errorf("%s, %s: slot %d of row %d has codeword %d, the nearest is %d", offset, kind, slot, row, got[at], nearest)
				}
			}
		}
	}
}

// TestTheCentreIsKept in a file in float64, the mean of all slots, and so are all weights that float32 would not
// resolve.
func TestTheCentreIsKept(t *testing.T) {
	cal := blobs(300, 1)
	_, m := cal.Features.Dims()
	for offset, by := range offsets(m) {
		off := moved(cal, by)
		c, path := fitted(t, off, Codebook{Codewords: 6}), filepath.Join(t.TempDir(), "model.safetensors")
		if err := WriteModel(path, "vq", c); err != nil {
			t.Fatal(err)
		}
		model, err := ReadModel(path)
		if err != nil {
			t.Fatal(err)
		}
		d := Train(&Divide{Codebook: Codebook{}}, Bilinear{}, optim.Settings{})
		if err := model.Restore(d); err != nil {
			t.Fatal(err)
		}
		mean, centre := data.FitStandardizer(off.Features).Mean, model.State.Weights.Float64s(centreName)
		for j := range mean {
			want := (mean[j%2] + mean[j%2+2] + mean[j%2+4] + mean[j%2+6]) / 4
			if !(math.Abs(centre[j]-want) <= 1e-11*(1+math.Abs(want))) { // float64 sums of 300 rows
				t.Errorf("%s: the centre of column %d is %v, not %v", offset, j, centre[j], want)
			}
		}
		if !mat.Equal(predicted(t, c, off), predicted(t, d, off)) {
			t.Errorf("%s: the saved model predicts otherwise", offset)
		}
		if _, err := c.CompileBilinear(); (err != nil) != (offset == "each") {
			t.Errorf("%s: Compile says %v", offset, err)
		}
	}
}
