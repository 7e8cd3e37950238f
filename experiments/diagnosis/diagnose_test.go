package diagnosis_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"calibra/experiments/diagnosis"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// clustered is predictions of 3 classes with rows in 8 clusters of a plane, calibrated but
// for those of the first cluster, whose confidence is too high by shift.
type clustered struct {
	logProbs, embedding *mat.Dense
	truth               *mat.Dense // N×C
	labels, cluster     []int
}

func newClustered(n int, shift float64, rng *rand.Rand) clustered {
	c := clustered{mat.NewDense(n, 3, nil), mat.NewDense(n, 4, nil), mat.NewDense(n, 3, nil), make([]int, n), make([]int, n)}
	for i := range n {
		k := rng.IntN(8)
		c.cluster[i] = k
		z := c.embedding.RawRowView(i)
		for j := range z {
			z[j] = .4 * rng.NormFloat64()
		}
		z[0] += 3 * math.Cos(float64(k)*math.Pi/4)
		z[1] += 3 * math.Sin(float64(k)*math.Pi/4)
		p := []float64{.2 + .6*rng.Float64(), 0, 0}
		p[1] = (1 - p[0]) * rng.Float64()
		p[2] = 1 - p[0] - p[1]
		q := slices.Clone(p)
		if k == 0 {
			q[0] = p[0] - shift*p[0]
			q[1] += shift * p[0]
		}
		u := rng.Float64()
		for y, x := range q {
			c.labels[i] = y
			if u -= x; u < 0 {
				break
			}
		}
		for y := range p {
			c.logProbs.Set(i, y, math.Log(p[y]))
		}
		c.truth.SetRow(i, q)
	}
	return c
}

// diagnose leaves the corrections out, which take most of the time.
func diagnose(t *testing.T, c clustered, e diagnosis.Examination, seed uint64) *diagnosis.Diagnosis {
	t.Helper()
	e.Folds = metrics.None
	d, err := diagnosis.Diagnose(context.Background(), c.logProbs, c.labels, c.embedding, e, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDiagnoseFindsThePlantedCluster(t *testing.T) {
	const n = 2400
	c := newClustered(n, .5, newRand(1))
	d := diagnose(t, c, diagnosis.Examination{Redraws: 199}, 2)
	if len(d.Regions) == 0 || !d.Regions[0].Wrong || d.Kind != diagnosis.LocalError || len(d.Named) != 1 || !strings.HasPrefix(d.Found, "wrong where direction 0 > ") {
		t.Fatalf("%s, %s", d.Found, d.Kind)
	}
	planted, hit := 0, 0
	for _, k := range c.cluster {
		if k == 0 {
			planted++
		}
	}
	for _, i := range d.Regions[0].Rows {
		if c.cluster[i] == 0 {
			hit++
		}
	}
	// the clusters lie five deviations apart
	if like := float64(hit) / float64(planted+d.Regions[0].Size-hit); like < .8 { // a cut is at one of 64 quantiles of a half
		t.Errorf("the wrong region shares %d of its %d rows with the %d planted", hit, d.Regions[0].Size, planted)
	}
}

// TestDiagnosisIsConsistent holds what the numbers of a diagnosis have to do with each other.
func TestDiagnosisIsConsistent(t *testing.T) {
	c := newClustered(1200, .4, newRand(3))
	groups := make([]int, 1200)
	for i := range groups {
		groups[i] = i % 3
	}
	e := diagnosis.Examination{Redraws: 99, Groups: groups, GroupNames: []string{"a", "b", "c"}, Search: diagnosis.SearchSettings{Rows: 40}}
	d := diagnose(t, c, e, 4)
	if len(d.Groups) != 3 || d.Groups[1].Describe != "b" || len(d.Classes) != 4 || len(d.Confidence) != 10 {
		t.Errorf("%d groups, %d classes, %d confidences", len(d.Groups), len(d.Classes), len(d.Confidence))
	}
	all := slices.Concat(d.Regions, d.Classes, d.Confidence, d.Groups)
	for _, r := range all {
		if len(r.Rows) != r.Size || !slices.IsSorted(r.Rows) {
			t.Fatalf("%s has %d rows and size %d", r.Describe, len(r.Rows), r.Size)
		}
		if got := r.Confidence - r.Frequency; math.Abs(got-r.Gap) > 1e-12 {
			t.Errorf("%s: a gap of %v from %v and %v", r.Describe, r.Gap, r.Confidence, r.Frequency)
		}
		// wrong, p ≤ .05, a gap beyond the detectable one and an interval without 0 are the same; the ends of
		// intervals are sought to 1e-9
		outside, inside := r.Low > 1e-9 || r.High < -1e-9, r.Low < -1e-9 && r.High > 1e-9
		if outside && !r.Wrong || inside && r.Wrong || r.Wrong != (math.Abs(r.Gap) > r.Detectable) || r.Wrong != (r.P <= .05) {
			t.Errorf("%s: wrong %v, interval %v to %v, gap %v, detectable %v, p %v", r.Describe, r.Wrong, r.Low, r.High, r.Gap, r.Detectable, r.P)
		}
		if !(r.Low <= r.Gap && r.Gap <= r.High) || !(r.EffectiveSize > 0 && r.EffectiveSize <= float64(r.Size)+1e-9) {
			t.Errorf("%s: gap %v in %v to %v, %v effective of %d", r.Describe, r.Gap, r.Low, r.High, r.EffectiveSize, r.Size)
		}
	}
	for k, r := range d.Regions {
		if r.Size < 40 {
			t.Errorf("region %d has %d rows", k, r.Size)
		}
		if k > 0 && r.Wrong && (!d.Regions[k-1].Wrong || r.Saved > d.Regions[k-1].Saved) {
			t.Errorf("region %d comes after one that matters less", k)
		}
	}
	if again := diagnose(t, c, e, 4); again.Found != d.Found || again.Critical != d.Critical {
		t.Errorf("the same seed gives %q and %q", d.Found, again.Found)
	}
	m, err := d.Map(c.logProbs, c.labels, c.embedding, e)
	if err != nil || len(m.Planes) != 2 || len(m.Places) < 10 || len(m.Regions) != len(d.Regions) {
		t.Fatalf("map %+v, %v", m, err)
	}
	for _, p := range m.Planes { // whatever the regions, a plane has two dimensions
		if r := stat.Correlation(mat.Col(nil, 0, p.At), mat.Col(nil, 1, p.At), nil); math.Abs(r) > .5 || p.At.At(0, 1) == 0 {
			t.Errorf("%s: the axes correlate by %v", p.Name, r)
		}
	}
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	var read struct {
		Verdict string
		Regions []map[string]any
	}
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"rows", "size", "effective_size", "class", "gap", "low", "high", "p", "detectable", "recoverable_nll", "wrong", "describe"} {
		if _, ok := read.Regions[0][key]; !ok {
			t.Errorf("a region lacks %q", key)
		}
	}
}

// TestDiagnosisRaisesFewFalseAlarms is the short form of the alarms of experiments/results/truth.md, which are of 200
// draws.
func TestDiagnosisRaisesFewFalseAlarms(t *testing.T) {
	const runs = 60
	alarms := 0
	for run := range uint64(runs) {
		c := newClustered(600, 0, newRand(100+run))
		if len(diagnose(t, c, diagnosis.Examination{Redraws: 99, Search: diagnosis.SearchSettings{Codewords: 12}}, run).Wrong()) > 0 {
			alarms++
		}
	}
	t.Logf("%d alarms in %d runs on calibrated predictions", alarms, runs)
	// With a rate of 5 %, 10 or more of 60 happen once in 1,300 such tests.
	if alarms >= 10 {
		t.Errorf("%d of %d diagnoses of calibrated predictions call something wrong", alarms, runs)
	}
}

func TestDiagnoseRefuses(t *testing.T) {
	c := newClustered(200, 0, newRand(5))
	same := make([]int, 200)
	for want, change := range map[string]func(labels *[]int, e *diagnosis.Examination){
		"every label is 0":      func(l *[]int, _ *diagnosis.Examination) { *l = same },
		"3 groups for 200 rows": func(_ *[]int, e *diagnosis.Examination) { e.Groups = []int{0, 1, 2} },
		"cannot show a level":   func(_ *[]int, e *diagnosis.Examination) { e.Redraws = 5 },
		"2 names of 3 classes":  func(_ *[]int, e *diagnosis.Examination) { e.ClassNames = []string{"a", "b"} },
		"features are 3×2":      func(_ *[]int, e *diagnosis.Examination) { e.Features = mat.NewDense(3, 2, nil) },
	} {
		labels, e := c.labels, diagnosis.Examination{}
		change(&labels, &e)
		_, err := diagnosis.Diagnose(context.Background(), c.logProbs, labels, c.embedding, e, newRand(1))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestDiagnosisWithoutAnEmbedding: what needs no place is told, of few rows too. The confidence of class 0 is three
// times too high.
func TestDiagnosisWithoutAnEmbedding(t *testing.T) {
	for _, n := range []int{30, 400} {
		c := newClustered(n, 0, newRand(7))
		for i := range n {
			if c.labels[i] == 0 && i%3 > 0 {
				c.labels[i] = 1 + i%2
			}
		}
		d, err := diagnosis.Diagnose(context.Background(), c.logProbs, c.labels, nil, diagnosis.Examination{Redraws: 99}, newRand(1))
		if err != nil {
			t.Fatal(err)
		}
		if few := n < diagnosis.FewestRecoverableRows; few != (d.Recoverable == nil) || d.Regions != nil || d.Places != nil || len(d.Classes) != 4 || !d.Classes[0].Wrong {
			t.Errorf("%d rows: %+v", n, d)
		}
	}
}
