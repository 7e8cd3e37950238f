package layers

import (
	"errors"
	"math"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// sharesIn are the codes and shares of features x under state w, in precision dt.
func sharesIn(t *testing.T, c Codes, w *graph.Weights, x *mat.Dense, s Sizes) ([]int32, []float64) {
	t.Helper()
	codes, shares, err := AssignAll(c, w.As(tensor.Float32), x, s)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(shares))
	for at, e := range shares {
		out[at] = float64(e)
	}
	return codes, out
}

// TestInducingSharesAreTheKernels: e_k = k(z, c_k) / (Σ_l k(z, c_l) + κ), in double precision from
// the features and codewords alone, but for codewords that Soft leaves out.
func TestInducingSharesAreTheKernels(t *testing.T) {
	cal := blobs(300, 1)
	x := data.Dense(cal.Features)
	for _, c := range []Inducing{{Codewords: 6}, {Codewords: 6, Nearest: 3, Outside: 0.2, Softness: 2}, {Codewords: 6, Place: Draw{}, Outside: 5}} {
		w, s := started(t, c, cal)
		words := w.Float64s("codebook/codewords")
		square := func(row, slot, k int) float64 {
			var sum float64
			for j := range 2 {
				sum += math.Pow(x.At(row, 2*slot+j)-words[2*k+j], 2)
			}
			return sum
		}
		mean := 0.0
		for row := range cal.Len() {
			for slot := range 4 {
				all := make([]float64, s.Codewords)
				for k := range all {
					all[k] = square(row, slot, k)
				}
				mean += floats.Min(all) / float64(4*cal.Len())
			}
		}
		kappa := c.Outside
		if kappa == 0 {
			kappa = 1
		}
		codes, shares := sharesIn(t, c, w, x, s)
		for from := 0; from < len(codes); from += s.Nearest {
			row, slot := from/s.Nearest/4, from/s.Nearest%4
			kernel, sum := make([]float64, s.Nearest), kappa
			for j := range kernel {
				kernel[j] = math.Exp((mean - square(row, slot, int(codes[from+j]))) / w.Float64s("codebook/temperature")[0])
				if shares[from+j] > 0 {
					sum += kernel[j]
				}
			}
			for j, k := range kernel {
				if got := shares[from+j]; got > 0 && !(math.Abs(got-k/sum) <= 1e-5) { // float32 distances of some ten bandwidths
					t.Fatalf("%+v: slot %d of row %d has the share %v of codeword %d, not %v", c, slot, row, got, codes[from+j], k/sum)
				}
			}
		}
	}
}

// TestInducingWithoutKappaIsSoft: at κ near 0 the shares are those of soft codes.
func TestInducingWithoutKappaIsSoft(t *testing.T) {
	cal := blobs(300, 1)
	c := Inducing{Codewords: 6, Nearest: 3, Outside: 1e-30}
	w, s := started(t, c, cal)
	codes, shares := sharesIn(t, c, w, data.Dense(cal.Features), s)
	w, s = started(t, c.soft(), cal)
	softCodes, softShares := sharesIn(t, c.soft(), w, data.Dense(cal.Features), s)
	for at, k := range softCodes {
		if codes[at] != k || shares[at] != softShares[at] {
			t.Fatalf("code %d is %d with share %v, of soft codes %d with %v", at, codes[at], shares[at], k, softShares[at])
		}
	}
}

// TestInducingSharesEndFarAway: along a line away from all codewords shares fall to exactly 0, in
// features as large as there may be too, and a larger κ leaves less.
func TestInducingSharesEndFarAway(t *testing.T) {
	cal := blobs(300, 1)
	var left []float64
	for _, kappa := range []float64{0.1, 1, 10} {
		c := Inducing{Codewords: 6, Outside: kappa}
		w, s := started(t, c, cal)
		line := mat.NewDense(60, 8, nil)
		for i := range 60 {
			for j := range 8 {
				line.Set(i, j, 8+math.Expm1(float64(i)/2)) // the blobs lie within 8 of the origin
			}
		}
		_, shares := sharesIn(t, c, w, line, s)
		before := math.Inf(1)
		for i := range 60 {
			sum := floats.Sum(shares[i*len(shares)/60 : (i+1)*len(shares)/60])
			if !(sum <= before && sum >= 0) {
				t.Errorf("κ = %v: farther off the shares rise from %v to %v", kappa, before, sum)
			}
			before = sum
		}
		if before != 0 {
			t.Errorf("κ = %v: shares of %v are left far from all codewords", kappa, before)
		}
		_, near := sharesIn(t, c, w, data.Dense(cal.Features), s)
		left = append(left, floats.Sum(near))
	}
	if !(left[0] > left[1] && left[1] > left[2]) {
		t.Errorf("with κ rising the shares are %v", left)
	}
}

// TestInducingOfSlotsThatAreAlike: where all K codewords are one, slots on it have shares that sum to
// K/(K+κ) and slots elsewhere none.
func TestInducingOfSlotsThatAreAlike(t *testing.T) {
	for _, value := range []float64{0, 0.1, 1000.1} {
		cal := lopsided(100, func(int) float64 { return 0.5 })
		x := data.Dense(cal.Features)
		x.Apply(func(_, _ int, _ float64) float64 { return value }, x)
		c := Inducing{Codewords: 4}
		w, s := started(t, c, cal)
		other := mat.NewDense(1, 8, []float64{value, value, value + 1, value, value, value - 1, value, value})
		_, shares := sharesIn(t, c, w, other, s)
		for slot, want := range []float64{0.8, 0, 0, 0.8} {
			if sum := floats.Sum(shares[slot*s.Nearest:][:s.Nearest]); !(math.Abs(sum-want) <= 1e-3) { // squares of rounding errors are 1e-14 of those of the slots, τ is 1e-9
				t.Errorf("slots of %v: shares of slot %d sum to %v, not %v", value, slot, sum, want)
			}
		}
	}
}

// TestInducingNeedsTwoCodewords to take a bandwidth from.
func TestInducingNeedsTwoCodewords(t *testing.T) {
	var setting *SettingError
	for _, c := range []Inducing{{Codewords: 1}, {Codewords: 6, Nearest: 1}} {
		if _, err := c.Over(blobs(50, 1), 4); !errors.As(err, &setting) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestIntervalsWidenFarFromInducingPoints: far from all codewords the paper's map reads its prior
// alone, so that all rows have one interval there, wider than those near calibration rows.
func TestIntervalsWidenFarFromInducingPoints(t *testing.T) {
	for _, c := range []Codes{Inducing{Codewords: 6}, Inducing{Codewords: 6}.Twin()} {
		cal, near := blobs(600, 1), blobs(100, 2)
		m := Train(&Divide{Slots: 4, Codebook: c, Optim: optim.Settings{Epochs: 20}}, Bilinear{}, optim.Settings{Epochs: 20})
		if err := m.Fit(t.Context(), cal, nil, newRand(4)); err != nil {
			t.Fatal(err)
		}
		widths := func(x *data.Set) []float64 {
			lower, upper, err := m.Bounds(t.Context(), cal, x, 0.9)
			if err != nil {
				t.Fatal(err)
			}
			upper.Sub(upper, lower)
			return upper.RawMatrix().Data
		}
		wide := widths(near)
		mean := floats.Sum(wide) / float64(len(wide))
		data.Dense(near.Features).Apply(func(_, _ int, v float64) float64 { return v + 100 }, data.Dense(near.Features))
		wide = widths(near)
		if far := floats.Sum(wide) / float64(len(wide)); !(far > mean) { // by 40 % at least in five draws of rows
			t.Errorf("%#v: intervals of far rows are %v wide, of near ones %v", c, far, mean)
		}
		for at, width := range wide {
			if classes := m.Sizes().Classes; !(math.Abs(width-wide[at%classes]) <= 1e-9) { // rounding of double precision
				t.Fatalf("%#v: far row %d has an interval %v wide, the first %v", c, at/classes, width, wide[at%classes])
			}
		}
	}
}
