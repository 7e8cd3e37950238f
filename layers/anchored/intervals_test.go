package anchored

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// seenBase has a view of each set ready.
type seenBase struct {
	views map[*data.Set]*layers.View
	sizes layers.Sizes
}

func (b *seenBase) Fit(context.Context, *data.Set, *data.Set, *rand.Rand) error { return nil }
func (b *seenBase) View(x *data.Set) (*layers.View, error)                      { return b.views[x], nil }
func (b *seenBase) Sizes() layers.Sizes                                         { return b.sizes }
func (b *seenBase) State() (layers.State, error)                                { return layers.State{}, nil }
func (b *seenBase) Restore(layers.State) error                                  { return nil }

// shifted are weights of m at random, with its spreads at a half.
func shifted(t *testing.T, m layers.Map, s layers.Sizes, seed uint64) *graph.Weights {
	t.Helper()
	w, err := m.Init(s, newRand(seed))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.Names() {
		values := w.Float64s(name)
		for i := range values {
			values[i] += 0.3 * newRand(seed+uint64(i)).NormFloat64()
		}
		w.SetValues(name, values)
	}
	for _, spread := range spreadsOf(m) {
		w.SetValues(spread.Name, []float64{0.5})
	}
	return w
}

// gradientsOf is ∂log q_j/∂θ at each row and class (NC×dim) of the learned weights of m, laid end to
// end, by gradients of Gorgonia's, and q (N×C).
func gradientsOf(t *testing.T, m layers.Map, from *graph.Weights, v *layers.View, s layers.Sizes) (gradients, q *mat.Dense) {
	t.Helper()
	w := shifted(t, m, s, 1)
	(&posterior{weights: w}).from(from)
	rows := v.Rows(tensor.Float64, s)
	q, err := rows.Posterior(m, w)
	if err != nil {
		t.Fatal(err)
	}
	n, c := q.Dims()
	gradients = mat.NewDense(n*c, w.Size(), nil)
	for j := range c {
		class := graph.Labels([]int{j})
		o := graph.NewObjective(w, func(b *graph.Builder) *gorgonia.Node {
			return b.NLL(m.LogProbs(b, rows.Batch(b)), b.Table("class", class))
		})
		for i := range n {
			_, grads, err := o.Gradient([]int32{int32(i)})
			if err != nil {
				t.Fatal(err)
			}
			row := gradients.RawRowView(i*c + j)[:0]
			for _, g := range grads {
				row = append(row, g.Float64s()...)
			}
			floats.Scale(-1, gradients.RawRowView(i*c+j))
		}
	}
	q.Apply(func(_, _ int, l float64) float64 { return math.Exp(l) }, q)
	return gradients, q
}

// correctionOf is one correction on a map, in which all of it is learned or that map is settled.
func correctionOf(on Scored) layers.Map {
	return Tables{On: Linear{On: ShrunkDirichlet{On: on}}}
}

// dense are the moves of a map's learned weights (dim×(N + all)) by each calibration row and then by
// each of all numbers of the priors, the map's own from first on, with F inverted. others moves its
// log q_j (NC×(N + all)) beside them; nil: nothing does.
func dense(gradients, q, others *mat.Dense, labels []int, penalty []float64, first, all int) *mat.Dense {
	n, dim := len(labels), len(penalty)
	_, c := q.Dims()
	weighted := mat.DenseCopyOf(gradients)
	for at, p := range q.RawMatrix().Data {
		floats.Scale(p, weighted.RawRowView(at))
	}
	var f, inverse, ways mat.Dense
	f.Mul(weighted.T(), gradients)
	for i, p := range penalty {
		f.Set(i, i, f.At(i, i)+p)
	}
	if err := inverse.Inverse(&f); err != nil {
		panic(err)
	}
	by := mat.NewDense(dim, n+all, nil)
	for i, y := range labels {
		s := mat.NewVecDense(dim, slices.Clone(gradients.RawRowView(i*c+y)))
		s.ScaleVec(1/(1-min(mat.Inner(s, &inverse, s), estimate.LargestLeverage)), s)
		by.SetCol(i, s.RawVector().Data)
	}
	for k, p := range penalty {
		by.Set(k, n+first+k, p)
	}
	if others != nil {
		var less mat.Dense
		less.Mul(weighted.T(), others)
		by.Sub(by, &less)
	}
	ways.Mul(&inverse, by)
	return &ways
}

// TestDrawsAreTheSandwich: where each draw is of one row, or one number of a prior, alone, the mean of
// their squares is the variance by F that is there and inverted, of gradients that Gorgonia finds, for
// a mixture of two maps one of which leaves its own first stage as it was.
func TestDrawsAreTheSandwich(t *testing.T) {
	seen, labels, sizes := regions(40, 1)
	view, _, _ := regions(5, 2)
	cal, x := &data.Set{Labels: labels}, &data.Set{}
	sizes.Counts = cal.Counts(sizes.Classes)
	n, c, tests := len(labels), sizes.Classes, 5
	first, second := OrderPreserving{}, correctionOf(Settled{Of: OrderPreserving{}})
	s := &stacked{Base: &seenBase{map[*data.Set]*layers.View{cal: seen, x: view}, sizes}, t: 1.2, parts: []part{
		{Candidate{"first", first}, 0.3, shifted(t, first, sizes, 3)}, {Candidate{"second", second}, 0.7, shifted(t, second, sizes, 4)},
	}}

	offsets, all, penalty := map[string]int{}, 0, []float64(nil)
	flat := correctionOf(OrderPreserving{})
	w, err := flat.Init(sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range w.Learned() {
		offsets[name], all = n*c+all, all+len(w.Float64s(name))
		p := 1.0
		if name == "order_preserving/log_slope" {
			p = 0
		}
		penalty = append(penalty, slices.Repeat([]float64{p}, len(w.Float64s(name)))...)
	}
	count := n*c + all
	unit := func(_, draw int) noise { // 1 at one of all numbers, so that a mean is their sum
		return func(name string, n int) []float64 {
			values := make([]float64, n)
			if at := draw - offsets[name]; 0 <= at && at < n {
				values[at] = math.Sqrt(float64(count))
			}
			return values
		}
	}
	logits, variances, err := s.spread(t.Context(), cal, x, drawing{count: count, left: 1e-9, noise: unit})
	if err != nil {
		t.Fatal(err)
	}

	// Parts count the rows that they were fitted to, not those of their base: fewer leave a wider spread, here 2.5
	// times.
	s.Base.(*seenBase).sizes.Weighed = 4 * n
	of := func(fitted int) *mat.Dense {
		s.fitted = fitted
		_, variances, err := s.spread(t.Context(), cal, x, drawing{count: count, left: 1e-9, noise: unit})
		if err != nil {
			t.Fatal(err)
		}
		return variances
	}
	if few, many := mat.Sum(of(n)), mat.Sum(of(4*n)); !(few > 1.5*many) || mat.Sum(of(0)) != many {
		t.Errorf("the variances sum to %g of %d rows that the parts were fitted to and %g of %d", few, n, many, 4*n)
	}
	s.Base.(*seenBase).sizes.Weighed, s.fitted = 0, 0

	const settled = 13 // weights of an OrderPreserving
	ofFirst, q1 := gradientsOf(t, first, s.parts[0].weights, seen, sizes)
	ofBase, qb := gradientsOf(t, first, s.parts[1].weights, seen, sizes)
	ofSecond, q2 := gradientsOf(t, flat, s.parts[1].weights, seen, sizes)
	restedOn := dense(ofBase, qb, nil, labels, penalty[:settled], 0, all)
	var through mat.Dense
	through.Mul(ofSecond.Slice(0, n*c, 0, settled), restedOn)
	own := dense(mat.DenseCopyOf(ofSecond.Slice(0, n*c, settled, all)), q2, &through, labels, penalty[settled:], settled, all)
	var both, m1, m2 mat.Dense
	both.Stack(restedOn, own)
	testFirst, p1 := gradientsOf(t, first, s.parts[0].weights, view, sizes)
	testSecond, p2 := gradientsOf(t, flat, s.parts[1].weights, view, sizes)
	m1.Mul(testFirst, dense(ofFirst, q1, nil, labels, penalty[:settled], 0, all))
	m2.Mul(testSecond, &both)
	for i := range tests {
		q, move := make([]float64, c), mat.NewDense(c, n+all, nil)
		for j := range c {
			a, b := 0.3*p1.At(i, j), 0.7*p2.At(i, j)
			q[j] = math.Pow(a+b, 1/1.2)
			for k := range n + all {
				move.Set(j, k, (a*m1.At(i*c+j, k)+b*m2.At(i*c+j, k))/(a+b)/1.2)
			}
		}
		floats.Scale(1/floats.Sum(q), q)
		var mean mat.VecDense
		mean.MulVec(move.T(), mat.NewVecDense(c, q))
		for j := range c {
			p := (float64(n)*q[j] + 1/float64(c)) / float64(n+1)
			d := mat.NewVecDense(n+all, slices.Clone(move.RawRowView(j)))
			d.SubVec(d, &mean)
			want := math.Pow(float64(n)/float64(n+1)*q[j]/p/(1-p)*mat.Norm(d, 2), 2)
			if got := variances.At(i, j); !(math.Abs(got-want) <= 1e-6*want) { // steps of 1e-6 in float64, conjugate gradients to 1e-9
				t.Errorf("row %d, class %d: variance %v, by the inverse of F %v", i, j, got, want)
			}
			if l := math.Log(p / (1 - p)); !(math.Abs(logits.At(i, j)-l) <= 1e-12*math.Max(1, math.Abs(l))) {
				t.Errorf("row %d, class %d: logit %v, not %v", i, j, logits.At(i, j), l)
			}
		}
	}
}

// drawn gives cal labels that a map with weights w draws, and the sizes their counts.
func drawn(t *testing.T, cal *data.Set, rows *layers.Rows, m layers.Map, w *graph.Weights, rng *rand.Rand) {
	t.Helper()
	p, err := rows.Posterior(m, w)
	if err != nil {
		t.Fatal(err)
	}
	_, c := p.Dims()
	for i := range cal.Labels {
		u := rng.Float64()
		for cal.Labels[i] = 0; cal.Labels[i] < c-1; cal.Labels[i]++ {
			if u -= math.Exp(p.At(i, cal.Labels[i])); u < 0 {
				break
			}
		}
	}
}

// covered is the share of true posteriors that intervals of 90 % hold, of rows whose law and
// prior are the map's.
func covered(t *testing.T, m layers.Map, law uint64) float64 {
	seen, labels, sizes := regions(600, 100+law)
	view, _, _ := regions(100, 200+law)
	cal, x, rng := &data.Set{Labels: labels}, &data.Set{}, newRand(law)
	truth, err := m.Init(sizes, nil)
	if err != nil {
		t.Fatal(err)
	}
	truth.SetValues("tempered/inverse_temperature", []float64{0.3}) // or many posteriors are less than 600 rows may say
	start := truth.Clone()
	for _, spread := range spreadsOf(m) {
		truth.SetValues(spread.Name, []float64{0.3})
		start.SetValues(spread.Name, []float64{0.3})
		for _, name := range spread.Of {
			truth.SetValues(name, graph.Normals(len(truth.Float64s(name)), 0, 1, rng))
		}
	}
	rows := seen.Rows(tensor.Float64, sizes)
	drawn(t, cal, rows, m, truth, rng)
	sizes.Counts = cal.Counts(sizes.Classes)
	if rows, err = rows.LabelledBy(cal); err != nil {
		t.Fatal(err)
	}
	fitted, _, err := whole(t.Context(), m, sizes, rows, start, optim.LBFGS{}, rng)
	if err != nil {
		t.Fatal(err)
	}
	s := &stacked{Base: &seenBase{map[*data.Set]*layers.View{cal: seen, x: view}, sizes}, t: 1, parts: []part{{Candidate{"all", m}, 1, fitted}}}
	lower, upper, err := s.Bounds(t.Context(), cal, x, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	want, err := view.Rows(tensor.Float64, sizes).Posterior(m, truth)
	if err != nil {
		t.Fatal(err)
	}
	held := 0.0
	n, c := want.Dims()
	for i := range n {
		for j := range c {
			if q := math.Exp(want.At(i, j)); lower.At(i, j) <= q && q <= upper.At(i, j) {
				held++
			}
		}
	}
	return held / float64(n*c)
}

// TestIntervalsCover: what 90 % of the intervals should hold, they do.
func TestIntervalsCover(t *testing.T) {
	const laws = 8
	mean := 0.0
	for law := range uint64(laws) {
		mean += covered(t, correctionOf(Tempered{}), law) / laws
	}
	if !(math.Abs(mean-0.9) <= 0.04) { // the share of a law has a standard deviation of 0.03: four standard errors of eight
		t.Errorf("intervals of 90 %% hold %.3f of the true posteriors", mean)
	}
}

// TestIntervalLaws: intervals hold the prediction and widen with the level; they are the same of
// a model from its file; solved to four digits more they are the same within a twentieth of what draws leave open.
func TestIntervalLaws(t *testing.T) {
	cal, x := localized(300, 31), localized(20, 32)
	s, restored := joint(), joint()
	if err := s.Fit(t.Context(), cal, nil, newRand(1)); err != nil {
		t.Fatal(err)
	}
	reread(t, "corrected", s, restored)
	p, err := s.Predict(x)
	if err != nil {
		t.Fatal(err)
	}
	bounds := func(of layers.Bounded, cal *data.Set, level float64) (lower, upper *mat.Dense) {
		if err := of.Unbounded(); err != nil {
			t.Fatal(err)
		}
		lower, upper, err := of.Bounds(t.Context(), cal, x, level)
		if err != nil {
			t.Fatal(err)
		}
		return lower, upper
	}
	lower, upper := bounds(s, cal, 0.9)
	inner, outer := bounds(s, cal, 0.5)
	for i := range x.Len() {
		for j := range x.Classes() {
			const rounding = 1e-5 // Predict works in float32
			q := math.Exp(p.LogProbs.At(i, j))
			if !(lower.At(i, j) < inner.At(i, j) && inner.At(i, j) <= q+rounding && q <= outer.At(i, j)+rounding && outer.At(i, j) < upper.At(i, j)) {
				t.Fatalf("row %d, class %d: %g … %g … %g … %g … %g", i, j, lower.At(i, j), inner.At(i, j), q, outer.At(i, j), upper.At(i, j))
			}
		}
	}
	again, _ := bounds(restored, cal, 0.9)
	if !mat.Equal(lower, again) {
		t.Error("the restored model has other intervals")
	}

	_, rough, err := s.spread(t.Context(), cal, x, drawing{count: intervalDraws, left: solvedTo, noise: normals})
	if err != nil {
		t.Fatal(err)
	}
	_, exact, err := s.spread(t.Context(), cal, x, drawing{count: intervalDraws, left: 1e-4 * solvedTo, noise: normals})
	if err != nil {
		t.Fatal(err)
	}
	for at, v := range exact.RawMatrix().Data { // an eighth is what the draws leave open
		if got := rough.RawMatrix().Data[at]; !(math.Abs(math.Sqrt(got/v)-1) <= 0.125/20) {
			t.Errorf("posterior %d: a standard error of %v, solved on %v", at, math.Sqrt(got), math.Sqrt(v))
		}
	}
	_, _, err = s.Bounds(t.Context(), cal, x, 1)
	var setting *layers.SettingError
	if !errors.As(err, &setting) {
		t.Errorf("level 1: %v", err)
	}
	soft := *cal
	soft.Soft = cal.Targets(3)
	if _, _, err := s.Bounds(t.Context(), &soft, x, 0.9); err == nil {
		t.Error("rows with probabilities of the classes pass")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := s.Bounds(ctx, cal, x, 0.9); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if err := joint().Unbounded(); !errors.Is(err, layers.ErrUnfitted) {
		t.Errorf("before Fit: %v", err)
	}
}
