package data

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// TestLogProbs are the same of logits, of logits plus exact constants, and of themselves; what lies
// MaskDepth below is masked.
func TestLogProbs(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	logits, moved := mat.NewDense(200, 7, nil), mat.NewDense(200, 7, nil)
	for i := range 200 {
		by := float64(rng.IntN(400)-200) / 4
		for k := range 7 {
			logits.Set(i, k, math.Round(rng.NormFloat64()*5*1024)/1024)
			moved.Set(i, k, logits.At(i, k)+by)
		}
	}
	once := LogProbs(logits)
	if !mat.Equal(once, LogProbs(moved)) {
		t.Error("a constant that is added exactly changes the log-probabilities")
	}
	if LogProbs(once) != once {
		t.Error("log-probabilities are not left as they are")
	}
	for i := range 200 {
		if sum := floats.LogSumExp(once.RawRowView(i)); math.Abs(sum) > 1e-15 {
			t.Fatalf("row %d sums to e^%v", i, sum)
		}
	}
	none := math.Inf(-1)
	for _, mask := range []float64{-745.1, -1e4, -65504, -1e20, -math.MaxFloat32, -math.MaxFloat64, none} {
		got := LogProbs(mat.NewDense(1, 3, []float64{0, mask, 0})).RawRowView(0)
		if want := []float64{-math.Ln2, none, -math.Ln2}; !floats.EqualFunc(got, want, func(a, b float64) bool { return a == b || math.Abs(a-b) < 1e-15 }) {
			t.Errorf("a mask of %g gives %v", mask, got)
		}
	}
	if got := LogProbs(mat.NewDense(1, 2, []float64{0, -744})).At(0, 1); got != -744 {
		t.Errorf("744 nats below gives %v", got)
	}
	for _, bad := range [][]float64{{math.NaN(), 0}, {math.Inf(1), 0}, {none, none}} {
		if got := LogProbs(mat.NewDense(1, 2, bad)).RawRowView(0); !math.IsNaN(got[0]) || !math.IsNaN(got[1]) {
			t.Errorf("%v gives %v", bad, got)
		}
	}
}

// TestJudge tells probabilities by their sums, as far as their rounding allows.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	softmax := func(c int, round func(p float64) float64) *mat.Dense {
		m := mat.NewDense(150, c, nil)
		for i := range 150 {
			row := m.RawRowView(i)
			for k := range row {
				row[k] = 1.5 * rng.NormFloat64()
			}
			sum := floats.LogSumExp(row)
			for k, v := range row {
				row[k] = round(math.Exp(v - sum))
			}
		}
		return m
	}
	decimals := func(d int) func(float64) float64 {
		return func(p float64) float64 { return math.Round(p*math.Pow10(d)) / math.Pow10(d) }
	}
	low := func(cut uint) func(float64) float64 { // float32 without its last bits
		return func(p float64) float64 {
			return float64(math.Float32frombits((math.Float32bits(float32(p)) + 1<<(cut-1)) &^ (1<<cut - 1)))
		}
	}
	exact := func(p float64) float64 { return p }
	whole := func(m *mat.Dense, row int, value float64) *mat.Dense { m.Set(row, 0, value); return m }
	for name, c := range map[string]struct {
		m     *mat.Dense
		want  Scores
		grain string
	}{
		"float64":                {softmax(5, exact), Probabilities, "float64"},
		"float32":                {softmax(1000, func(p float64) float64 { return float64(float32(p)) }), Probabilities, "float32"},
		"float16":                {softmax(30, low(13)), Probabilities, "float16"},
		"bfloat16":               {softmax(10, low(16)), Probabilities, "bfloat16"},
		"2 decimals":             {softmax(3, decimals(2)), Probabilities, "2 decimals"},
		"5 decimals":             {softmax(50, decimals(5)), Probabilities, "5 decimals"},
		"logits":                 {whole(softmax(5, exact), 3, -0.5), Logits, ""},
		"logits in 0…1":          {mat.NewDense(2, 3, []float64{.9, .3, .8, .1, .2, .3}), Logits, ""},
		"sums of .97 in float64": {softmax(5, func(p float64) float64 { return .97 * p }), Doubtful, ""},
		"one row of .6 in 150":   {whole(softmax(5, exact), 7, .6), Doubtful, ""},
	} {
		j := &Judge{}
		j.Add(c.m, 0)
		if got := j.Looks(); got != c.want || c.grain != "" && j.grain.String() != c.grain {
			t.Errorf("%s: %s of %s, sums %v", name, got, &j.grain, j.sums)
		}
	}
}

// TestSettle normalizes what is rounded, reads 0 as 1e-12, and refuses what it must.
func TestSettle(t *testing.T) {
	set := func(values ...float64) *Set {
		return &Set{Logits: mat.NewDense(len(values)/3, 3, values), Labels: make([]int, len(values)/3)}
	}
	s := &Source{Path: "f.npz", Cal: set(.333, .333, .335, .25, .75, 0), Test: set(.502, .25, .25, .123, .457, .42)}
	if err := s.Settle(""); err != nil {
		t.Fatal(err)
	}
	if got, want := s.Cal.Logits.At(0, 0), math.Log(.333/1.001); math.Abs(got-want) > 1e-15 {
		t.Errorf("%v, want %v", got, want)
	}
	if got, want := s.Cal.Logits.At(1, 2), math.Log(LeastProbability); math.Abs(got-want) > 1e-11 {
		t.Errorf("a probability of 0 is %v, want %v", got, want)
	}
	if far := s.Cal.Rows([]int{1}).Resolution; math.Abs(far-1e-3) > 1e-12 {
		t.Errorf("rows that sum to 1.001 at most have a resolution of %v", far)
	}
	if want := "probabilities, not logits, rounded to 3 decimals (rows sum to 1…1.002 and are normalized), and 1 of them are 0, read as 1e-12"; s.ReadAs != want {
		t.Errorf("%q, want %q", s.ReadAs, want)
	}
	for want, c := range map[string]struct {
		cal *Set
		as  Scores
	}{
		"cal_logits may be logits or probabilities": {set(.3, .3, .38123456789), ""},
		"row 0 of cal_logits sums to 0.98":          {set(.3, .3, .38123456789), Probabilities},
		"holds -1 at row 1, column 2":               {set(.3, .3, .4, .5, .5, -1), Probabilities},
		"cal_labels says class 0 in row 1":          {set(1, 2, 3, -1e9, 2, 3), ""},
		"row 0 of cal_logits masks every class":     {set(math.Inf(-1), math.Inf(-1), math.Inf(-1)), ""},
	} {
		err := (&Source{Path: "f.npz", Cal: c.cal}).Settle(c.as)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
