package metrics

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"
	"gonum.org/v1/gonum/mat"
)

// problem is a set of predictions and the truth they were drawn from.
type problem struct {
	logProbs, embedding *mat.Dense
	labels              []int
}

// generate makes n softmax predictions over c classes, sharpened after the labels were
// drawn (sharpness 1 is perfect calibration), in d dimensions.
func generate(n, c, d int, sharpness float64, rng *rand.Rand) problem {
	p := problem{mat.NewDense(n, c, nil), mat.NewDense(n, d, nil), make([]int, n)}
	for i := range n {
		row := p.logProbs.RawRowView(i)
		for k := range row {
			row[k] = 2 * rng.NormFloat64()
		}
		logSoftmax(row)
		u := rng.Float64()
		for k, lp := range row {
			p.labels[i] = k
			if u -= math.Exp(lp); u < 0 {
				break
			}
		}
		for k := range row {
			row[k] *= sharpness
		}
		logSoftmax(row)
		for k := range d {
			p.embedding.Set(i, k, 8*rng.NormFloat64())
		}
	}
	return p
}

func logSoftmax(x []float64) {
	most, sum := slices.Max(x), 0.0
	for _, v := range x {
		sum += math.Exp(v - most)
	}
	for k := range x {
		x[k] -= most + math.Log(sum)
	}
}

func (p problem) measure(t testing.TB, s Settings) *Measurement {
	t.Helper()
	m, err := Measure(context.Background(), p.logProbs, p.labels, p.embedding, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var protocols = []Protocol{Tables, Formula}

func TestOrderOfRowsAndClassesChangesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := generate(700, 4, 6, 2, rng)
	rows, classes := rng.Perm(700), rng.Perm(4)
	q := problem{mat.NewDense(700, 4, nil), mat.NewDense(700, 6, nil), make([]int, 700)}
	for i, from := range rows {
		q.embedding.SetRow(i, p.embedding.RawRowView(from))
		for c, to := range classes {
			q.logProbs.Set(i, to, p.logProbs.At(from, c))
		}
		q.labels[i] = classes[p.labels[from]]
	}
	for _, protocol := range protocols {
		s := Settings{Protocol: protocol, Weighting: Frequency}
		a, b := p.measure(t, s), q.measure(t, s)
		for m := range Metrics {
			// float32 sums of another order
			if !near(b.Values[m], a.Values[m], 1e-5) {
				t.Errorf("%v: %v is %.9g, permuted %.9g", protocol, m, a.Values[m], b.Values[m])
			}
		}
	}
}

// With one bin and no locality every neighbourhood is the whole set.
func TestOneBinWithoutLocalityIsTheMeanResidual(t *testing.T) {
	p := generate(500, 3, 4, 2, rand.New(rand.NewPCG(2, 2)))
	want, norm := 0.0, 0.0
	for c := range 3 {
		var sum float64
		for i, y := range p.labels {
			sum += math.Exp(p.logProbs.At(i, c))
			if y == c {
				sum--
			}
		}
		want += math.Abs(sum) / 500 / 3
		norm += math.Abs(sum) / 500
	}
	for _, protocol := range protocols {
		m := p.measure(t, Settings{Protocol: protocol, Bins: 1, Bandwidth: math.Inf(1)})
		if !near(m.Values[LCE], want, 1e-4) { // a mean of cancelling residuals, in float32
			t.Errorf("%v: LCE %.8g, |mean residual| %.8g", protocol, m.Values[LCE], want)
		}
		most := want
		if protocol == Formula {
			most = norm
		}
		if !near(m.Values[MLCE], most, 1e-4) {
			t.Errorf("%v: MLCE %.8g, want %.8g", protocol, m.Values[MLCE], most)
		}
		if ess := m.Local.ESS.At(17, 1); !near(ess, 499, 1e-6) {
			t.Errorf("%v: ESS %v of 499 equal neighbours", protocol, ess)
		}
	}
}

// The definition, written plainly in float64: of one bandwidth, and of the distance to the nearest tenth of the others,
// where two rows are one.
func TestAgainstTheDefinition(t *testing.T) {
	p := generate(600, 5, 7, 1.5, rand.New(rand.NewPCG(3, 3)))
	p.embedding.SetRow(1, p.embedding.RawRowView(0))
	defined(t, p, Settings{Bandwidth: 9, SmallBin: 12}, func([]float64) float64 { return 9 * 9 })
	defined(t, p, Settings{Epsilon: .1, SmallBin: 12}, func(squares []float64) float64 { return squares[60] })
}

// defined holds a measurement to γ² of a row's squared distances to all, sorted.
func defined(t *testing.T, p problem, s Settings, gamma2 func(squares []float64) float64) {
	t.Helper()
	m := p.measure(t, s)
	square := func(i, j int) (d2 float64) {
		for k := range 7 {
			d := p.embedding.At(i, k) - p.embedding.At(j, k)
			d2 += d * d
		}
		return d2
	}
	width := func(x float64) int { return min(int(math.Exp(x)*15), 14) }
	for i := range 600 {
		var squares []float64
		for j := range 600 {
			squares = append(squares, square(i, j))
		}
		slices.Sort(squares)
		wide := gamma2(squares)
		for c := range 5 {
			var size int
			var r, sum, ess1, ess2 float64
			for j := range 600 {
				if width(p.logProbs.At(i, c)) != width(p.logProbs.At(j, c)) {
					continue
				}
				size++
				kernel := math.Exp(-square(i, j) / (2 * wide))
				e := math.Exp(p.logProbs.At(j, c))
				if p.labels[j] == c {
					e--
				}
				r, sum = r+kernel*e, sum+kernel
				if j != i {
					ess1, ess2 = ess1+kernel, ess2+kernel*kernel
				}
			}
			got, ess := m.Local.Residual.At(i, c), m.Local.ESS.At(i, c)
			if size <= 12 {
				if !math.IsNaN(got) || !math.IsNaN(ess) {
					t.Fatalf("row %d class %d: a bin of %d rows was kept", i, c, size)
				}
				continue
			}
			// float32 kernel values: 1e-7 each, 1e-6 of a sum whose terms cancel to the size of |e| ≤ 1
			if !scalar.EqualWithinAbs(got, r/sum, 1e-6) || !near(ess, ess1*ess1/ess2, 1e-5) {
				t.Fatalf("row %d class %d: residual %v, want %v; ESS %v, want %v", i, c, got, r/sum, ess, ess1*ess1/ess2)
			}
		}
	}
}

func TestRowsWithoutNeighbours(t *testing.T) {
	p := generate(60, 3, 2, 1, rand.New(rand.NewPCG(4, 4)))
	for i := range 60 {
		p.embedding.Set(i, 0, 1e6*float64(i))
	}
	m := p.measure(t, Settings{Protocol: Formula})
	for i := range 60 {
		for c := range 3 {
			e := math.Exp(p.logProbs.At(i, c))
			if p.labels[i] == c {
				e--
			}
			if !near(m.Local.Residual.At(i, c), e, 1e-12) || m.Local.ESS.At(i, c) != 0 {
				t.Fatalf("row %d class %d: residual %v and ESS %v, want its own residual %v and 0", i, c, m.Local.Residual.At(i, c), m.Local.ESS.At(i, c), e)
			}
		}
	}
}

// TestProtocolNames: another is answered as flags with an enum answer.
func TestProtocolNames(t *testing.T) {
	err := new(Protocol).UnmarshalText([]byte("foo"))
	if err == nil || err.Error() != `must be one of "tables","formula" but got "foo"` {
		t.Error(err)
	}
}

// TestCheckEpsilon: of 541 rows a share below 1/540 of the others is none, and the error names one that is.
func TestCheckEpsilon(t *testing.T) {
	if err := (Settings{Epsilon: 1. / 540}).CheckEpsilon(541); err != nil {
		t.Error(err)
	}
	err := (Settings{Epsilon: .00185}).CheckEpsilon(541)
	if err == nil || !strings.HasSuffix(err.Error(), "give at least 0.0019") {
		t.Errorf("less than one row: %v", err)
	}
}

// Where more rows than the share lie on one point, their bandwidth is 0: they have one another, all alike, and no one
// else.
func TestAdaptiveOnOnePoint(t *testing.T) {
	p := generate(60, 3, 2, 1, rand.New(rand.NewPCG(4, 4)))
	want := 0.0
	for i := range 40 {
		p.embedding.SetRow(i, []float64{3, 4})
		want += math.Exp(p.logProbs.At(i, 0)) / 40
		if p.labels[i] == 0 {
			want -= 1. / 40
		}
	}
	m := p.measure(t, Settings{Bins: 1, Epsilon: .5})
	for i := range 40 {
		if got, ess := m.Local.Residual.At(i, 0), m.Local.ESS.At(i, 0); !near(got, want, 1e-5) || !near(ess, 39, 1e-6) {
			t.Fatalf("row %d has the residual %v and an ESS of %v, not %v of 39 rows", i, got, ess, want)
		}
	}
}

func TestCertainPredictions(t *testing.T) {
	inf := math.Inf(-1)
	p := problem{dense([][]float64{{0, inf, inf}, {inf, 0, inf}, {inf, 0, inf}, {0, inf, inf}}), mat.NewDense(4, 1, nil), []int{0, 1, 1, 1}}
	m := p.measure(t, Settings{SmallBin: NoSmallBin})
	// one row of four is wrong; class 2 is absent and never predicted
	byHand := map[Metric]float64{
		Accuracy: 0.75, NLL: -math.Log(1e-12) / 4, Brier: 0.5, ECE: (0.25 + 0.25) / 3, TopECE: 0.25,
		MCE: (0.5 + 0.5) / 3, // class 0: half of the certain rows are wrong; class 1: half of the rows in bin 0 are it
		// class 0: bins 0 and 14, cumulative 0 then 0.25; class 1: −0.25 in bin 0, stays; class 2: one bin, 0
		ECCE: (0.25/2 + (0.25+0.25)/2) / 3,
		LCE:  (0.25 + 0.25) / 3, MLCE: (0.5 + 0.5) / 3,
	}
	for metric := range Metrics {
		want, ok := byHand[metric]
		if !ok {
			t.Errorf("%v is not worked by hand; add its value to byHand in laws_test.go", metric)
			continue
		}
		if !near(m.Values[metric], want, 1e-6) {
			t.Errorf("%v = %v, want %v", metric, m.Values[metric], want)
		}
	}
}

// Probabilities k/15 lie on the edges of 15 bins and belong to the bin they open,
// also after a logarithm and back, and in float32.
func TestTiesOnEdges(t *testing.T) {
	var p []float64
	for k := range 16 {
		p = append(p, math.Exp(math.Log(float64(k)/15)), float64(float32(k)/15))
	}
	for i, b := range assign(p, nil, 15, EqualWidth) {
		if k := i / 2; int(b) != min(k, 14) {
			t.Errorf("%d/15 in bin %d", k, b)
		}
	}
	// equal values are never parted by quantile edges, nor those that float32 has so
	for i, b := range assign([]float64{.5, .5 - 1e-7, .5 + 1e-7, .5, .9, .9 - 1e-7}, nil, 3, Quantile) {
		if want := uint16([]int{1, 1, 1, 1, 2, 2}[i]); b != want {
			t.Errorf("value %d in quantile bin %d, want %d", i, b, want)
		}
	}
}

func TestSingleRow(t *testing.T) {
	p := problem{dense([][]float64{{math.Log(.25), math.Log(.75)}}), dense([][]float64{{3}}), []int{0}}
	m := p.measure(t, Settings{})
	if !math.IsNaN(m.Values[LCE]) || !math.IsNaN(m.Values[MLCE]) {
		t.Errorf("LCE %v and MLCE %v of no bin with more than 20 rows, want none", m.Values[LCE], m.Values[MLCE])
	}
	if !near(m.Values[ECE], .75, 1e-12) || m.Values[Accuracy] != 0 {
		t.Errorf("ECE %v, accuracy %v", m.Values[ECE], m.Values[Accuracy])
	}
	m = p.measure(t, Settings{Protocol: Formula})
	if !near(m.Values[LCE], .75, 1e-12) || !near(m.Values[MLCE], 1.5, 1e-12) {
		t.Errorf("formula: LCE %v, want 0.75; MLCE %v, want 1.5", m.Values[LCE], m.Values[MLCE])
	}
}

func TestTwoAndAThousandClasses(t *testing.T) {
	for _, classes := range []int{2, 1000} {
		p := generate(200, classes, 3, 1.5, rand.New(rand.NewPCG(5, uint64(classes))))
		for _, protocol := range protocols {
			m := p.measure(t, Settings{Protocol: protocol})
			for metric := range Metrics {
				if v := m.Values[metric]; !(v >= 0) || math.IsInf(v, 1) {
					t.Errorf("%d classes, %v: %v = %v", classes, protocol, metric, v)
				}
			}
		}
	}
}

func TestBadInputNamesItsRow(t *testing.T) {
	good := func() problem { return generate(30, 3, 2, 1, rand.New(rand.NewPCG(6, 6))) }
	for name, test := range map[string]struct {
		spoil func(*problem)
		want  string
	}{
		"sum":       {func(p *problem) { p.logProbs.Set(7, 1, math.Log(1.2)) }, "row 7: the probabilities sum to"},
		"NaN":       {func(p *problem) { p.logProbs.Set(8, 2, math.NaN()) }, "row 8: the log-probability of class 2 is NaN"},
		"infinite":  {func(p *problem) { p.logProbs.Set(3, 0, math.Inf(1)) }, "row 3: the log-probability of class 0 is +Inf"},
		"label":     {func(p *problem) { p.labels[9] = 3 }, "row 9: label 3"},
		"embedding": {func(p *problem) { p.embedding.Set(11, 1, math.NaN()) }, "row 11: dimension 1 of the embedding is NaN"},
		"rows":      {func(p *problem) { p.labels = p.labels[1:] }, "30 rows of predictions but 29 labels"},
	} {
		t.Run(name, func(t *testing.T) {
			p := good()
			test.spoil(&p)
			_, err := Measure(context.Background(), p.logProbs, p.labels, p.embedding, Settings{})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
