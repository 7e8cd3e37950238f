package metrics

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func (p problem) evaluate(t testing.TB, s Settings, u Uncertainty, seed uint64) *Report {
	t.Helper()
	r, err := Evaluate(context.Background(), p.logProbs, p.labels, p.embedding, s, u, rand.New(rand.NewPCG(seed, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// localVariants runs the one pass for given replicates and redraws, as Evaluate does.
func (p problem) localVariants(t *testing.T, s Settings, times int) (local *Local, g *grouped, replicates []Values, labels [][]int, redraws []Values) {
	t.Helper()
	b, z, err := prepare(p.logProbs, p.labels, p.embedding, s)
	if err != nil {
		t.Fatal(err)
	}
	redrawn := b.redraw(times, rand.New(rand.NewPCG(7, 7)))
	for _, drawn := range redrawn {
		labels = append(labels, whole(drawn.all(b.N)))
	}
	replicates, redraws, local = make([]Values, times), make([]Values, times), &Local{}
	if _, err := b.localUncertainty(context.Background(), z, local, &resamples{&variants{redrawn: redrawn}, replicates, redraws}, rand.New(rand.NewPCG(8, 8))); err != nil {
		t.Fatal(err)
	}
	return local, newGrouped(b.N, b.Classes, times, nil, rand.New(rand.NewPCG(8, 8))), replicates, labels, redraws
}

// whole are labels as callers have them.
func whole(labels []int32) []int {
	out := make([]int, len(labels))
	for i, y := range labels {
		out[i] = int(y)
	}
	return out
}

// One pass over the kernel gives what measuring anew with the redrawn labels gives.
func TestRedrawsAreMeasurements(t *testing.T) {
	p := generate(500, 4, 5, 2, rand.New(rand.NewPCG(1, 1)))
	for _, protocol := range protocols {
		s := Settings{Protocol: protocol, Weighting: Frequency}
		local, _, _, labels, redraws := p.localVariants(t, s, 3)
		floor := mat.NewDense(500, 4, nil)
		for k, v := range redraws {
			again := problem{p.logProbs, p.embedding, labels[k]}.measure(t, s)
			floor.Apply(func(i, c int, sum float64) float64 { return sum + math.Abs(again.Local.Residual.At(i, c))/3 }, floor)
			for _, m := range []Metric{LCE, MLCE} {
				if !near(v[m], again.Values[m], 1e-5) { // float32 sums of another order
					t.Errorf("%v: redraw %d: %v %.9g, measured anew %.9g", protocol, k, m, v[m], again.Values[m])
				}
			}
		}
		for i := range 500 {
			for c := range 4 { // a bin that is skipped has none
				// float32 sums of another order, of terms up to 1
				if want := floor.At(i, c); !math.IsNaN(want) && math.Abs(local.Floor.At(i, c)-want) > 1e-6 {
					t.Fatalf("%v: the floor of row %d, class %d is %v, measured anew %v", protocol, i, c, local.Floor.At(i, c), want)
				}
			}
		}
	}
}

// With a group for each row, a replicate is the set in which rows occur as often as
// they were drawn. Only the tables protocol's small bins are those of the original.
func TestReplicatesAreMeasurements(t *testing.T) {
	p := generate(200, 3, 5, 2, rand.New(rand.NewPCG(2, 2)))
	for _, protocol := range protocols {
		s := Settings{Protocol: protocol, SmallBin: NoSmallBin, Weighting: Frequency}
		_, groups, replicates, _, _ := p.localVariants(t, s, 3)
		for k, v := range replicates {
			var rows []int
			for i := range 200 {
				for range int(groups.weights(k)[i]) {
					rows = append(rows, i)
				}
			}
			q := problem{mat.NewDense(len(rows), 3, nil), mat.NewDense(len(rows), 5, nil), make([]int, len(rows))}
			for to, i := range rows {
				q.logProbs.SetRow(to, p.logProbs.RawRowView(i))
				q.embedding.SetRow(to, p.embedding.RawRowView(i))
				q.labels[to] = p.labels[i]
			}
			again := q.measure(t, s)
			for _, m := range []Metric{LCE, MLCE} {
				if !near(v[m], again.Values[m], 1e-5) {
					t.Errorf("%v: replicate %d: %v %.9g, measured anew %.9g", protocol, k, m, v[m], again.Values[m])
				}
			}
		}
	}
}

// The floor alone is the floor that Evaluate gives.
func TestMeasureWith(t *testing.T) {
	p := generate(300, 3, 4, 2, rand.New(rand.NewPCG(3, 1)))
	want := p.evaluate(t, Settings{}, Uncertainty{Replicates: None, Redraws: 5}, 9)
	m, err := MeasureWith(context.Background(), p.logProbs, p.labels, p.embedding, Settings{}, Uncertainty{Replicates: None, Redraws: 5}, rand.New(rand.NewPCG(9, 0)))
	if err != nil {
		t.Fatal(err)
	}
	for k := range Metrics {
		if m.Values[k] != want.Values[k] || m.Noise[k].Mean != want.Noise[k].Mean {
			t.Errorf("%v: %g over %g, want %g over %g", k, m.Values[k], m.Noise[k].Mean, want.Values[k], want.Noise[k].Mean)
		}
	}
}

func TestGroupsAreEven(t *testing.T) {
	for _, rows := range []int{1, 40, 256, 1000, 20250} {
		g := newGrouped(rows, 10, 1, nil, rand.New(rand.NewPCG(3, 3)))
		size := make([]int, g.count)
		for _, k := range g.group {
			size[k]++
		}
		if g.count != min(rows, mostGroups) || slices.Max(size)-slices.Min(size) > 1 {
			t.Errorf("%d rows: %d groups of %d to %d rows", rows, g.count, slices.Min(size), slices.Max(size))
		}
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	p := generate(700, 4, 5, 1.5, rand.New(rand.NewPCG(4, 4)))
	for _, protocol := range protocols {
		var first []byte
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			text, err := json.Marshal(p.evaluate(t, Settings{Protocol: protocol}, Uncertainty{Replicates: 50, Redraws: 10}, 9))
			runtime.GOMAXPROCS(old)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = text
			}
			if !bytes.Equal(text, first) {
				t.Errorf("%v: %d threads give\n%s\none gives\n%s", protocol, procs, text, first)
			}
		}
	}
}

// Under perfect calibration a p-value is uniform: Kolmogorov–Smirnov over 200
// repetitions, each of its own predictions.
func TestPValuesAreUniform(t *testing.T) {
	const repetitions, redraws = 200, 19
	pvalues := map[string][]float64{}
	for k := range repetitions {
		p := generate(150, 3, 3, 1, rand.New(rand.NewPCG(5, uint64(k))))
		r, err := MeasureWith(t.Context(), p.logProbs, p.labels, p.embedding, Settings{Weighting: Weighting(k % 2), Protocol: protocols[k/2%2]}, Uncertainty{Replicates: None, Redraws: redraws}, rand.New(rand.NewPCG(uint64(k), 0)))
		if err != nil {
			t.Fatal(err)
		}
		for m := range Metrics {
			pvalues[m.String()] = append(pvalues[m.String()], r.Noise[m].PValue)
		}
	}
	for name, x := range pvalues {
		if name == Accuracy.String() {
			// a count of 150 has ties, which make its p-values stochastically larger than uniform, never smaller
			for i, v := range slices.Sorted(slices.Values(x)) {
				if float64(i+1)/repetitions > v+1.63/math.Sqrt(repetitions) {
					t.Errorf("accuracy: too many small p-values: %d of %d up to %v", i+1, repetitions, v)
				}
			}
			continue
		}
		if p := kolmogorov(x, redraws+1); p < 0.01 {
			t.Errorf("%s: p-values are not uniform: Kolmogorov–Smirnov p = %.4f", name, p)
		}
	}
}

// kolmogorov is the p-value of x being uniform on 1/steps, 2/steps, …, 1, from the
// limiting distribution Q(√n·D) = 2 Σ_k (−1)^(k−1) exp(−2k²nD²), conservative for a discrete law.
func kolmogorov(x []float64, steps int) float64 {
	n := float64(len(x))
	var distance float64
	for s := 1; s <= steps; s++ {
		at := float64(s) / float64(steps)
		below := 0.0
		for _, v := range x {
			if v <= at+1e-12 {
				below++
			}
		}
		distance = max(distance, math.Abs(below/n-at))
	}
	var q, sign float64 = 0, 1
	for k := 1.0; k <= 100; k++ {
		q += 2 * sign * math.Exp(-2*k*k*n*distance*distance)
		sign = -sign
	}
	return min(q, 1)
}

func TestMiscalibrationIsSeen(t *testing.T) {
	p := generate(2000, 4, 3, 3, rand.New(rand.NewPCG(6, 6)))
	r := p.evaluate(t, Settings{}, Uncertainty{Redraws: 39}, 1)
	for _, m := range []Metric{NLL, Brier, ECE, TopECE, ECCE, LCE} {
		if r.Noise[m].PValue != 1./40 || r.Noise[m].Excess <= 0 {
			t.Errorf("%v of overconfident predictions: %+v", m, r.Noise[m])
		}
		if i := r.Intervals[m]; !(i.Low < r.Values[m] && r.Values[m] < i.High) {
			t.Errorf("%v: interval %v does not hold %v", m, i, r.Values[m])
		}
	}
	// √(p(1−p)/n), the standard error of a share, spans ±1.96 of it
	acc := r.Values[Accuracy]
	if half := (r.Intervals[Accuracy].High - r.Intervals[Accuracy].Low) / 2; !near(half, 1.96*math.Sqrt(acc*(1-acc)/2000), .25) {
		t.Errorf("accuracy %v ± %v", acc, half)
	}
}

// No interval holds what its metric cannot be: of calibrated predictions that share one
// probability, and of those that hit all but one row, resampling adds more noise than the
// value has, and the move by it would pass 0 and 1.
func TestIntervalsArePossible(t *testing.T) {
	for name, misses := range map[string]int{"even": 200, "sure": 1} {
		p := problem{mat.NewDense(400, 2, nil), nil, make([]int, 400)}
		for i := range 400 {
			hit := 1 - float64(misses)/400
			p.logProbs.SetRow(i, []float64{math.Log(hit), math.Log1p(-hit)})
			if i < misses {
				p.labels[i] = 1
			}
		}
		r := p.evaluate(t, Settings{}, Uncertainty{Redraws: None}, 5)
		for m, interval := range r.Intervals {
			if m := Metric(m); !m.Local() && (interval.Low < 0 || m == Accuracy && interval.High > 1 || interval.High < interval.Low) {
				t.Errorf("%s: %v of %v in %v", name, m, r.Values[m], interval)
			}
		}
		if low, value := around(r.Values[ECE], r.Replicates[ECE], 1).Low, r.Values[ECE]; low >= 0 || value < 0 {
			t.Errorf("%s: the case is no test: ECE of %v from %v on", name, value, low)
		}
	}
}

func TestReportFile(t *testing.T) {
	p := generate(300, 3, 2, 1.5, rand.New(rand.NewPCG(8, 8)))
	text, err := json.Marshal(p.evaluate(t, Settings{}, Uncertainty{Replicates: 40, Redraws: 20}, 1))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Protocol string
		Metrics  map[string]struct {
			Value *float64
			CI    []float64
			Noise map[string]float64
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if file.Protocol != "tables" {
		t.Errorf("protocol %q", file.Protocol)
	}
	for m := range Metrics {
		x := file.Metrics[m.String()]
		if x.Value == nil || len(x.CI) != 2 || len(x.Noise) != 5 {
			t.Errorf("%v: %+v in %s", m, x, text)
		}
	}
	p.embedding = nil
	text, err = json.Marshal(p.evaluate(t, Settings{}, Uncertainty{Replicates: None, Redraws: None}, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, absent := range []string{`"lce"`, `"mlce"`, `"ci"`, `"noise"`, "NaN"} {
		if bytes.Contains(text, []byte(absent)) {
			t.Errorf("%s in %s", absent, text)
		}
	}
	if !bytes.Contains(text, []byte(`"missing":"LCE, MLCE`)) {
		t.Errorf("nothing missing in %s", text)
	}
}

func TestEdgeCasesWithUncertainty(t *testing.T) {
	single := problem{dense([][]float64{{math.Log(.25), math.Log(.75)}}), dense([][]float64{{3}}), []int{0}}
	inf := math.Inf(-1)
	certain := problem{dense([][]float64{{0, inf, inf}, {inf, 0, inf}, {inf, 0, inf}, {0, inf, inf}}), mat.NewDense(4, 1, nil), []int{0, 1, 1, 1}}
	many := generate(60, 1000, 3, 1, rand.New(rand.NewPCG(9, 9)))
	for name, p := range map[string]problem{"single row": single, "certain": certain, "1000 classes": many} {
		for _, protocol := range protocols {
			if _, err := json.Marshal(p.evaluate(t, Settings{Protocol: protocol}, Uncertainty{Replicates: 40, Redraws: 5}, 1)); err != nil {
				t.Errorf("%s, %v: %v", name, protocol, err)
			}
		}
	}
}

func TestInterrupted(t *testing.T) {
	p := generate(300, 3, 2, 1, rand.New(rand.NewPCG(10, 10)))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Evaluate(ctx, p.logProbs, p.labels, p.embedding, Settings{}, Uncertainty{}, rand.New(rand.NewPCG(1, 1)))
	if err == nil || !strings.Contains(err.Error(), "context canceled") {
		t.Errorf("error %v of a cancelled evaluation", err)
	}
}

// An infinite bandwidth weighs all rows of a bin alike, and the report of it can be read.
func TestInfiniteBandwidth(t *testing.T) {
	p := generate(300, 3, 5, 2, rand.New(rand.NewPCG(6, 6)))
	r := p.evaluate(t, Settings{Bandwidth: math.Inf(1), Bins: 1}, Uncertainty{Replicates: None, Redraws: None}, 1)
	b, _, err := prepare(p.logProbs, p.labels, p.embedding, Settings{})
	if err != nil {
		t.Fatal(err)
	}
	var want float64
	for c := range b.Classes {
		var sum float64
		for i := range b.N {
			sum += b.Residual(i, c)
		}
		want += math.Abs(sum) / float64(b.N*b.Classes)
	}
	if !near(r.Values[LCE], want, 1e-5) { // float32 sums
		t.Errorf("LCE is %.9g, the mean residual %.9g", r.Values[LCE], want)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"bandwidth":"inf"`) {
		t.Errorf("%v: %s", err, text)
	}
}
