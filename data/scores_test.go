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

// drawn is softmax rows of 150 drawn logits, each number put through do.
func drawn(rng *rand.Rand, c int, do func(p float64) float64) *mat.Dense {
	m := mat.NewDense(150, c, nil)
	for i := range 150 {
		row := m.RawRowView(i)
		for k := range row {
			row[k] = 1.5 * rng.NormFloat64()
		}
		sum := floats.LogSumExp(row)
		for k, v := range row {
			row[k] = do(math.Exp(v - sum))
		}
	}
	return m
}

// TestJudge tells probabilities on any scale by their sums, as far as their rounding allows, and asks where it cannot
// tell.
func TestJudge(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	softmax := func(c int, do func(float64) float64) *mat.Dense { return drawn(rand.New(rand.NewPCG(2, 2)), c, do) }
	decimals := func(d int) func(float64) float64 {
		return func(p float64) float64 { return math.Round(p*math.Pow10(d)) / math.Pow10(d) }
	}
	low := func(cut uint) func(float64) float64 { // float32 without its last bits
		return func(p float64) float64 {
			return float64(math.Float32frombits((math.Float32bits(float32(p)) + 1<<(cut-1)) &^ (1<<cut - 1)))
		}
	}
	times := func(by float64, digits int) func(float64) float64 {
		return func(p float64) float64 { return decimals(digits)(by * p) }
	}
	exact := func(p float64) float64 { return p }
	sigmoid := func(p float64) float64 { return 1 / (1 + math.Exp(1-math.Log(p+.3))) }
	whole := func(m *mat.Dense, row int, value float64) *mat.Dense { m.Set(row, 0, value); return m }
	margins := mat.NewDense(50, 2, nil)
	for i := range 50 {
		m := float64(float32(2 * rng.NormFloat64()))
		margins.SetRow(i, []float64{float64(float32(1 - m)), m})
	}
	sure := drawn(rng, 4, math.Log)
	for i := range 150 {
		row := sure.RawRowView(i)
		floats.Scale(20, row)
		floats.AddConst(-floats.Max(row), row)
	}
	for name, c := range map[string]struct {
		m     *mat.Dense
		want  Scores
		grain string
	}{
		"float64":                {softmax(5, exact), Probabilities, "float64"},
		"float32":                {softmax(1000, func(p float64) float64 { return float64(float32(p)) }), Probabilities, "float32"},
		"float16":                {softmax(10, low(13)), Probabilities, "float16"},
		"bfloat16":               {softmax(10, low(16)), Probabilities, "bfloat16"},
		"2 decimals":             {softmax(3, decimals(2)), Probabilities, "2 decimals"},
		"5 decimals":             {softmax(50, decimals(5)), Probabilities, "5 decimals"},
		"percent":                {softmax(4, times(100, 2)), Probabilities, "2 decimals"},
		"percent in float64":     {softmax(4, func(p float64) float64 { return 100 * p }), Probabilities, "float64"},
		"whole percent":          {softmax(3, times(100, 0)), Probabilities, "0 decimals"},
		"uint8 of 256":           {softmax(4, func(p float64) float64 { return min(math.Round(256*p), 255) }), Probabilities, "0 decimals"},
		"uint8 of 255":           {softmax(10, times(255, 0)), Probabilities, "0 decimals"},
		"uint8 of 100 classes":   {softmax(100, times(256, 0)), Probabilities, ""},
		"int8":                   {softmax(4, func(p float64) float64 { return min(math.Round(256*p), 255) - 128 }), Doubtful, ""},
		"logarithms":             {softmax(4, math.Log), LogProbabilities, ""},
		"logits":                 {softmax(5, func(p float64) float64 { return math.Log(p) + 3 }), Logits, ""},
		"a negative probability": {whole(softmax(5, exact), 3, -0.5), Doubtful, ""},
		"logits in 0…1":          {mat.NewDense(2, 3, []float64{.9, .3, .8, .1, .2, .3}), Doubtful, ""},
		"each against the rest":  {softmax(3, sigmoid), Doubtful, ""},
		"1 − m and m":            {margins, Doubtful, ""},
		"sums of .97 in float64": {softmax(5, func(p float64) float64 { return .97 * p }), Doubtful, ""},
		"one row of .6 in 150":   {whole(softmax(5, exact), 7, .6), Doubtful, ""},
		"one row of 60 %":        {whole(softmax(5, times(100, 2)), 7, 60), Doubtful, ""},
		"votes of 50":            {mat.NewDense(5, 2, []float64{20, 30, 41, 9, 50, 0, 1, 49, 25, 25}), Doubtful, ""},
		"log2":                   {softmax(5, math.Log2), Doubtful, ""},
		"log2, 2 decimals":       {softmax(5, func(p float64) float64 { return math.Round(100*math.Log2(p)) / 100 }), Doubtful, ""},
		"log10 in float16":       {softmax(5, func(p float64) float64 { return low(13)(math.Log10(p)) }), Doubtful, ""},
		"−log":                   {softmax(3, func(p float64) float64 { return -math.Log(p) }), Doubtful, ""},
		"−log2":                  {softmax(3, func(p float64) float64 { return -math.Log2(p) }), Doubtful, ""},
		"−log10":                 {softmax(3, func(p float64) float64 { return -math.Log10(p) }), Doubtful, ""},
		"odds":                   {softmax(3, func(p float64) float64 { return p / (1 - p) }), Doubtful, ""},
		"odds of two, 3 digits":  {softmax(2, func(p float64) float64 { return math.Round(1e3*p/(1-p)) / 1e3 }), Doubtful, ""},
		"odds against":           {softmax(3, func(p float64) float64 { return (1 - p) / p }), Doubtful, ""},
		"log-odds":               {softmax(3, func(p float64) float64 { return math.Log(p / (1 - p)) }), Doubtful, ""},
		"reciprocals":            {softmax(3, func(p float64) float64 { return 1 / p }), Doubtful, ""},
		"1 − p":                  {softmax(3, func(p float64) float64 { return 1 - p }), Doubtful, ""},
		"log2, one of 150 not":   {whole(softmax(5, math.Log2), 7, 3), Doubtful, ""},
		"−m and m":               {softmax(2, func(p float64) float64 { return math.Log(p / (1 - p)) }), Doubtful, ""},
		"decibels":               {softmax(4, func(p float64) float64 { return 10 * math.Log10(p) }), Doubtful, ""},
		"sure logits, less max":  {sure, Logits, ""},
		"4 or 0":                 {mat.NewDense(5, 2, []float64{4, 0, 0, 4, 4, 0, 4, 0, 0, 4}), Logits, ""},
	} {
		j := &Judge{}
		j.Add(c.m, 0)
		got, why := j.Looks()
		if got != c.want || c.grain != "" && j.grain.on(max(1, j.scale())) != c.grain || (got == Doubtful) != (why != "") {
			t.Errorf("%s: %s (%s) of %s, sums %v", name, got, why, j.grain.on(1), j.sums)
		}
	}
}

// TestOrdinaryLogitsAreNotAsked: normal logits, of any scale and type, at positive means and cut at 0 too, are read as
// logits, however few the rows. Rows that all lie in 0…1 are the exception; they are drawn again.
func TestOrdinaryLogitsAreNotAsked(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	types := []func(float64) float64{
		func(v float64) float64 { return v },
		func(v float64) float64 { return float64(float32(v)) },
		func(v float64) float64 { return float64(float16s(v)) },
		func(v float64) float64 { return math.Round(v*100) / 100 },
		func(v float64) float64 { return max(v, 0) },
		func(v float64) float64 { return v + 20 },
		func(v float64) float64 { return max(-v, v) },
		math.Round,
	}
	for trial := range 4000 {
		n, c, scale, is := []int{1, 2, 5, 40}[rng.IntN(4)], []int{2, 3, 10, 100}[rng.IntN(4)], math.Exp(3*rng.Float64()), rng.IntN(len(types))
		m := mat.NewDense(n, c, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return types[is](scale * rng.NormFloat64()) }, m)
		if mat.Min(m) >= 0 && mat.Max(m) <= 1 {
			continue
		}
		if got := (&Set{Logits: m}).Judge(); true {
			if looks, why := got.Looks(); looks.raw() != Logits {
				t.Fatalf("trial %d, type %d: %d×%d logits are %s: %s", trial, is, n, c, looks, why)
			}
		}
	}
}

// float16s rounds to the 11 bits of a float16.
func float16s(v float64) float64 {
	if v == 0 {
		return 0
	}
	unit := math.Ldexp(1, math.Ilogb(v)-10)
	return math.Round(v/unit) * unit
}

// TestFloor: all probabilities below one floor are one value, which no p > 0 of the rows lies below, and a model's
// floor counts.
func TestFloor(t *testing.T) {
	for _, c := range []struct {
		smallest, model, want float64
	}{
		{.01, 0, 1e-12},
		{1e-13, 0, 0x1p-149},
		{0x1p-149, 0, 0x1p-149},
		{1e-200, 0, 1e-320},
		{1e-200, 1e-12, 1e-12},
		{.01, 1e-320, 1e-320},
	} {
		s := &Source{Path: "f.npz", Floor: c.model, Test: &Set{Logits: mat.NewDense(3, 2, []float64{1, c.smallest, 0, 1, .5, .5})}}
		if err := s.Settle(""); err != nil {
			t.Fatal(err)
		}
		zero, small := s.Test.Logits.At(1, 0), s.Test.Logits.At(0, 1)
		if math.Abs(zero-math.Log(c.want)) > 1e-9 || zero > small || s.Floor != c.want {
			t.Errorf("%v: 0 is read as e^%v, the smallest as e^%v, the floor is %g", c, zero, small, s.Floor)
		}
	}
}

// TestScoresSaid: the same rows as logits, log-probabilities, probabilities, percentages and of a quantized softmax are
// the same log-probabilities, but for the rounding of their form.
func TestScoresSaid(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	p := drawn(rng, 4, func(p float64) float64 { return p })
	said := func(as Scores, do func(float64) float64) *mat.Dense {
		s := &Source{Path: "f.npz", Test: &Set{Logits: mat.NewDense(150, 4, nil)}}
		s.Test.Logits.Apply(func(_, _ int, p float64) float64 { return do(p) }, p)
		if err := s.Settle(as); err != nil {
			t.Fatal(err)
		}
		out := mat.DenseCopyOf(s.Test.Logits)
		out.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, out)
		return out
	}
	for _, c := range []struct {
		as     Scores
		do     func(float64) float64
		within float64
	}{
		{Logits, func(p float64) float64 { return math.Log(p) - 2 }, 1e-14},
		{LogProbabilities, math.Log, 1e-14},
		{Probabilities, func(p float64) float64 { return float64(float32(p)) }, 0x1p-22}, // 4 roundings of float32
		{Probabilities, func(p float64) float64 { return 100 * p }, 1e-14},
		{OneVsRest, func(p float64) float64 { return .7 * p }, 1e-14},
		{Probabilities, func(p float64) float64 { return min(math.Round(256*p), 255) }, 3. / 256}, // half a unit, and the sum's
	} {
		if got := said(c.as, c.do); !mat.EqualApprox(got, p, c.within) {
			t.Errorf("%s are read otherwise, by up to more than %g", c.as, c.within)
		}
	}
}

// TestAppliedAsFitted: what may be several is what the model's rows were, and so are few rows; what is something else
// is refused.
func TestAppliedAsFitted(t *testing.T) {
	one, many := mat.NewDense(1, 2, []float64{.3, .7}), mat.NewDense(6, 2, []float64{.3, .7, .5, .5, .1, .9, .2, .8, .6, .4, 1, 0})
	odds := drawn(rand.New(rand.NewPCG(5, 5)), 3, func(p float64) float64 { return p / (1 - p) })
	for _, c := range []struct {
		m            *mat.Dense
		said, fitted Scores
		want         Scores
	}{
		{one, "", Logits, Logits},
		{one, "", LogProbabilities, LogProbabilities},
		{one, "", OneVsRest, OneVsRest},
		{one, "", Probabilities, Probabilities},
		{one, Probabilities, Logits, ""},
		{one, Logits, Probabilities, ""},
		{many, "", Logits, ""},
		{many, Logits, Logits, Logits},
		{many, "", "", Logits}, // an old model
		{mat.NewDense(1, 2, []float64{.3, .9}), "", Logits, Logits},
		{mat.NewDense(1, 2, []float64{-3, 9}), "", Probabilities, ""},
		{odds, "", Logits, Logits},
		{odds, Logits, Logits, Logits},
		{odds, "", Probabilities, ""},
	} {
		got, doubt, err := (&Set{Logits: c.m}).Judge().Applied("f.npz", c.said, c.fitted)
		if got != c.want || (err == nil) != (c.want != "") || (doubt != "") != (c.m == odds && c.said == "" && err == nil) {
			t.Errorf("%v, said %q, for a model of %s: %q, %v", mat.Formatted(c.m), c.said, c.fitted, got, err)
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
	if got, want := s.Cal.Logits.At(1, 2), math.Log(1e-12); math.Abs(got-want) > 1e-11 {
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
		"cal_logits may be logits, probabilities, or probabilities of each class against the rest: its values lie in 0…1 and its rows sum to 0.981235…0.981235; say which by --scores": {set(.3, .3, .38123456789), ""},
		"row 0 of cal_logits sums to 0.98":                      {set(.3, .3, .38123456789), Probabilities},
		"row 1 of cal_logits sums to 20.0815; the exponentials": {set(-.7, -.7, -50, 1, 2, 2.3), LogProbabilities},
		"cal_logits holds -1 at row 0, column 1":                {set(.3, -1, .4), OneVsRest},
		"holds -1 at row 1, column 2":                           {set(.3, .3, .4, .5, .5, -1), Probabilities},
		"cal_labels says class 0 in row 1":                      {set(1, 2, 3, -1e9, 2, 3), ""},
		"row 0 of cal_logits masks every class":                 {set(math.Inf(-1), math.Inf(-1), math.Inf(-1)), ""},
	} {
		err := (&Source{Path: "f.npz", Cal: c.cal}).Settle(c.as)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
