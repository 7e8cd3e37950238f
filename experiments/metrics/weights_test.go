package metrics

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/internal/checked"
	"calibra/experiments/internal/checked/checkedtest"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

func evaluateRows(t *testing.T, l *mat.Dense, labels []int, z mat.Matrix, s Settings, u Uncertainty) *Report {
	t.Helper()
	r, err := Evaluate(t.Context(), l, labels, z, s, u, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// measureRows is evaluateRows without the decomposition and the smooth calibration error, which takes most of its time.
func measureRows(t *testing.T, l *mat.Dense, labels []int, z mat.Matrix, s Settings, u Uncertainty) *Report {
	t.Helper()
	r, err := MeasureWith(t.Context(), l, labels, z, s, u, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// told is all that a report says. What Evaluate adds knows no kernel and no rule for bins, so it is asked of two
// settings alone.
func told(t *testing.T, l *mat.Dense, labels []int, z *mat.Dense, s Settings) string {
	t.Helper()
	of := measureRows
	if s.Binning == Quantile || s.Anchors > 0 {
		of = evaluateRows
	}
	r := of(t, l, labels, z, s, Uncertainty{Replicates: 40, Redraws: 20})
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var onlyValues = Uncertainty{Replicates: None, Redraws: None}

// lawSettings are what laws of weights are asked of.
var lawSettings = map[string]Settings{
	"tables":    {Bandwidth: 1, SmallBin: NoSmallBin},
	"formula":   {Bandwidth: 1, Protocol: Formula},
	"quantile":  {Bandwidth: 1, Binning: Quantile},
	"frequency": {Bandwidth: 1, Weighting: Frequency},
	"anchors":   {Bandwidth: 1, SmallBin: NoSmallBin, Anchors: 60},
	"adaptive":  {Epsilon: .1, SmallBin: NoSmallBin},
}

// TestLawsOfWeights: only ratios of weights matter, equal ones are none, and a row of weight 0 is not there; to the
// byte in all that a report says, of certain and of soft labels.
func TestLawsOfWeights(t *testing.T) {
	l, labels, z, weights, soft := checkedtest.Weighed()
	for i := range weights {
		weights[i] *= math.Sqrt(float64(i)) // whose products are rounded
	}
	times := func(x float64) []float64 {
		out := slices.Clone(weights)
		for i := range out {
			out[i] *= x
		}
		return out
	}
	var counting []int
	for i, w := range weights {
		if w > 0 {
			counting = append(counting, i)
		}
	}
	alike := make([]float64, len(weights))
	for i := range alike {
		alike[i] = 2
	}
	for name, s := range lawSettings {
		for _, q := range []*mat.Dense{nil, soft} {
			s.Soft = q
			with := func(weights []float64) string { s := s; s.Rows = weights; return told(t, l, labels, z, s) }
			plain, weighed := with(nil), with(weights)
			if plain == weighed {
				t.Errorf("%s: weights change nothing", name)
			}
			if with(alike) != plain {
				t.Errorf("%s: a weight of 2 for all is not no weight", name)
			}
			for _, x := range []float64{3, .1, 1e-200} {
				if with(times(x)) != weighed {
					t.Errorf("%s: weights times %v say otherwise", name, x)
				}
			}
			left := s
			left.Rows, left.Soft = floatsAt(weights, counting), checked.RowsOf(q, counting)
			if told(t, checked.RowsOf(l, counting), checked.Pick(labels, counting), checked.RowsOf(z, counting), left) != weighed {
				t.Errorf("%s: rows of weight 0 count", name)
			}
		}
	}
}

func floatsAt(x []float64, rows []int) (out []float64) {
	for _, i := range rows {
		out = append(out, x[i])
	}
	return out
}

// TestWholeWeightsAreCopies, and soft labels rows of one class each, in every value; not in how uncertain it is: an
// interval of weights of 1 and 2 is wider than that of as many copies.
func TestWholeWeightsAreCopies(t *testing.T) {
	l, labels, z, weights, soft := checkedtest.Weighed()
	var rows, classes []int
	for i, w := range weights {
		for range int(w) {
			rows, classes = append(rows, i), append(classes, labels[i])
		}
	}
	var parts, of []int
	var shares []float64
	for i, w := range weights {
		for c, q := range soft.RawRowView(i) {
			if w*q > 0 {
				parts, of, shares = append(parts, i), append(of, c), append(shares, w*q)
			}
		}
	}
	for _, name := range []string{"tables", "formula"} {
		s := lawSettings[name]
		s.Weighting = Frequency
		s.Own = []Own{{Key: "row", Row: func(l []float64, y int) float64 { return l[y] * l[y] }}, {Key: "all", All: func(l *mat.Dense, y []int, w []float64) (sum float64) {
			for i, w := range w {
				sum += w * math.Exp(l.At(i, y[i]))
			}
			return sum / float64(len(weights))
		}}}
		same := func(what string, a, b *Report) {
			t.Helper()
			for m := range Metrics {
				// sums of float32 kernels have other terms, 1e-6 of the sum
				if !scalar.EqualWithinAbsOrRel(a.Values[m], b.Values[m], 1e-6, 1e-5) {
					t.Errorf("%s: %v is %v and of %s %v", name, m, a.Values[m], what, b.Values[m])
				}
			}
			if !scalar.EqualWithinAbs(a.Own[0].Value, b.Own[0].Value, 1e-6) {
				t.Errorf("%s: an own metric is %v and of %s %v", name, a.Own[0].Value, what, b.Own[0].Value)
			}
		}
		weighed := s
		weighed.Rows = weights
		u := Uncertainty{Replicates: 400, Redraws: 40}
		r := evaluateRows(t, l, labels, z, weighed, u)
		copies := evaluateRows(t, checked.RowsOf(l, rows), classes, checked.RowsOf(z, rows), s, u)
		same("copies", r, copies)
		width := func(r *Report) float64 { return r.Intervals[NLL].High - r.Intervals[NLL].Low }
		// √(Σw²/Σw) = √(5/3) = 1.29 of it, within the error of 400 replicates
		if ratio := width(r) / width(copies); ratio < 1.1 || ratio > 1.5 {
			t.Errorf("%s: the interval of weights is %.2f times that of copies", name, ratio)
		}
		if r.Rows != 200 || r.Weightless != 100 {
			t.Errorf("%s: %d rows count and %d do not", name, r.Rows, r.Weightless)
		}
		weighed.Soft = soft
		s.Rows = shares
		same("parts", evaluateRows(t, l, nil, z, weighed, onlyValues), evaluateRows(t, checked.RowsOf(l, parts), of, checked.RowsOf(z, parts), s, onlyValues))
	}
}

// TestSoftLabelsOfOneClassAreLabels, to the byte; and the noise floor is that of labels drawn from the predictions,
// whatever the labels are.
func TestSoftLabelsOfOneClassAreLabels(t *testing.T) {
	l, labels, z, weights, soft := checkedtest.Weighed()
	sure := mat.NewDense(len(labels), 3, nil)
	for i, y := range labels {
		sure.Set(i, y, 1)
	}
	for name, s := range lawSettings {
		s.Rows = weights
		certain := told(t, l, labels, z, s)
		s.Soft = sure
		if told(t, l, nil, z, s) != certain {
			t.Errorf("%s: shares of 0 and 1 are no labels", name)
		}
		u := Uncertainty{Replicates: None, Redraws: 20}
		a := measureRows(t, l, labels, z, s, u)
		s.Soft = soft
		b := measureRows(t, l, labels, z, s, u)
		for m := range Metrics {
			if a.Noise[m] != nil && !scalar.EqualWithinAbs(a.Noise[m].Mean, b.Noise[m].Mean, 1e-6) { // of float32 sums of other numbers
				t.Errorf("%s: the floor of %v is %v of labels and %v of soft ones", name, m, a.Noise[m].Mean, b.Noise[m].Mean)
			}
		}
	}
}

// TestPairsOfWeights: the losses of the rows, by weight, have NLL as their plain mean, and vary as the resampled NLL
// does.
func TestPairsOfWeights(t *testing.T) {
	l, labels, _, weights, _ := checkedtest.Weighed()
	r := evaluateRows(t, l, labels, nil, Settings{Rows: weights}, Uncertainty{Replicates: 2000, Redraws: None})
	if !scalar.EqualWithinAbs(checked.Mean(r.Measurement.NLL), r.Values[NLL], 1e-12) || !scalar.EqualWithinAbs(1-checked.Mean(r.Wrong), r.Values[Accuracy], 1e-12) {
		t.Errorf("the mean loss is %v and NLL %v", checked.Mean(r.Measurement.NLL), r.Values[NLL])
	}
	linear := NewSpread(r.Measurement.NLL).SD / math.Sqrt(float64(r.Rows))
	if ratio := NewSpread(r.Replicates[NLL]).SD / linear; ratio < .93 || ratio > 1.07 { // 2,000 replicates know it to 1.6 %
		t.Errorf("NLL varies %.3f times as the rows say", ratio)
	}
}

// TestFloored: rows whose label has next to no probability are counted, with their share of the NLL.
func TestFloored(t *testing.T) {
	l := mat.NewDense(4, 2, []float64{math.Log(.5), math.Log(.5), -30, 0, 0, math.Inf(-1), 0, -1e3})
	m, err := Measure(t.Context(), l, []int{0, 0, 0, 1}, nil, Settings{Rows: []float64{2, 1, 5, 0}})
	if err != nil {
		t.Fatal(err)
	}
	floor := 12 * math.Ln10
	if want := floor / (floor + 2*math.Ln2); m.Floored.Rows != 1 || !scalar.EqualWithinAbs(m.Floored.Share, want, 1e-9) || !m.Floored.Much() {
		t.Errorf("floored are %+v, want a row with %v of the NLL", m.Floored, want)
	}
}

func TestRowsThatAreRefused(t *testing.T) {
	l, labels, z, weights, soft := checkedtest.Weighed()
	at := func(w float64) []float64 { out := slices.Clone(weights); out[4] = w; return out }
	half := mat.DenseCopyOf(soft)
	half.Set(4, 0, .1)
	half.Set(4, 1, .1)
	half.Set(4, 2, .1)
	for want, s := range map[string]Settings{
		"2 weights for 300 rows":               {Rows: []float64{1, 1}},
		"row 4 has the weight -1":              {Rows: at(-1)},
		"row 4 has the weight NaN":             {Rows: at(math.NaN())},
		"row 4 has the weight +Inf":            {Rows: at(math.Inf(1))},
		"the weights of all rows are 0":        {Rows: make([]float64, 300)},
		"row 4: the shares of its classes sum": {Soft: half},
		"the soft labels are 200×3":            {Soft: checked.RowsOf(soft, checked.FirstToLast(200))},
	} {
		if _, err := Measure(t.Context(), l, labels, z, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
