package baselines

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// odirProblem is a problem of ODIR in both forms: by the graph of its map, and in closed
// form.
func odirProblem(t *testing.T, cal *data.Set, lambda, mu float64) (*graph.Objective, *penalized) {
	t.Helper()
	sizes, err := sizesOf(cal)
	if err != nil {
		t.Fatal(err)
	}
	l, err := logProbsOf(cal, sizes)
	if err != nil {
		t.Fatal(err)
	}
	white, err := whiten(floored(l))
	if err != nil {
		t.Fatal(err)
	}
	white = white.principal()
	w := white.start()
	m := odirMap{whitenedMap{whitening: white}, lambda, mu}
	base := &original{}
	if err := base.Fit(t.Context(), cal, nil, nil); err != nil {
		t.Fatal(err)
	}
	view, err := base.View(cal)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := view.RowsFor(m, w, base.Sizes())
	if err != nil {
		t.Fatal(err)
	}
	x := floored(view.LogProbs)
	white.apply(x)
	f := newPenalized(white, x, aimsOf(cal))
	f.lambda, f.mu = lambda, mu
	return layers.Objective(m, w, rows.Labelled(graph.Labels(cal.Labels))), f
}

// TestPenalizedIsTheGraphs: loss, gradient and curvature in closed form against the graph
// of the same map.
func TestPenalizedIsTheGraphs(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(300, 9)
	objective, f := odirProblem(t, cal, 0.3, 0.2)
	compareWithGraph(t, f, objective, cal.Len())
}

// compareWithGraph compares f with the objective, the curvature by central differences of the
// objective's gradient, somewhere near the objective's weights.
func compareWithGraph(t *testing.T, f optim.Curved, objective *graph.Objective, rows int) {
	t.Helper()
	w, rng := objective.Weights(), rand.New(rand.NewPCG(3, 4))
	var start []float64
	for _, name := range w.Learned() {
		start = append(start, w.Float64s(name)...)
	}
	at := func(x []float64) (float64, []float64) {
		for _, name := range w.Learned() {
			n := len(w.Float64s(name))
			w.SetValues(name, x[:n])
			x = x[n:]
		}
		loss, grads, err := objective.Gradient(graph.Rows(0, rows))
		if err != nil {
			t.Fatal(err)
		}
		var all []float64
		for _, g := range grads {
			all = append(all, g.Float64s()...)
		}
		return loss, all
	}
	x, v := slices.Clone(start), make([]float64, len(start))
	for i := range x {
		x[i] += 0.3 * rng.NormFloat64()
		v[i] = rng.NormFloat64()
	}
	grad := make([]float64, len(x))
	loss := f.Gradient(grad, x)
	wantLoss, want := at(x)
	if math.Abs(loss-wantLoss) > 1e-12 {
		t.Errorf("the loss is %v, the graph's %v", loss, wantLoss)
	}
	if d := floats.Distance(grad, want, math.Inf(1)); d > 1e-12 {
		t.Errorf("the gradient is %g from the graph's", d)
	}
	curved := make([]float64, len(x))
	f.Product(curved, v)
	const h = 1e-5
	ahead, behind := slices.Clone(x), slices.Clone(x)
	floats.AddScaled(ahead, h, v)
	floats.AddScaled(behind, -h, v)
	_, up := at(ahead)
	_, down := at(behind)
	floats.Sub(up, down)
	floats.Scale(1/(2*h), up)
	// Central differences of numbers of size 1 are exact to about h² and 1e-16/h.
	if d := floats.Distance(curved, up, math.Inf(1)); d > 1e-8 {
		t.Errorf("the product with the curvature is %g from the graph's", d)
	}
}

// TestNewtonFindsTheOptimumOfLBFGS: its preconditioner decides the way there alone.
func TestNewtonFindsTheOptimumOfLBFGS(t *testing.T) {
	for name, p := range map[string]problem{"dirichlet": problems()["dirichlet"], "temperature": problems()["temperature"], "zeros": problems()["zeros"]} {
		cal, _ := p.draw(600, 9)
		for _, strengths := range [][2]float64{{10, 1e-3}, {1e-2, 1}, {1e-3, 1e-3}} {
			objective, _ := odirProblem(t, cal, strengths[0], strengths[1])
			want, err := optim.Minimize(t.Context(), optim.Problem{Loss: objective, Rows: cal.Len()}, optim.LBFGS{Gradient: 1e-8}, nil)
			if err != nil {
				t.Fatal(err)
			}
			again, f := odirProblem(t, cal, strengths[0], strengths[1])
			x := startOf(again.Weights())
			f.begin(x, strengths[0], strengths[1])
			got, err := optim.Newton{Gradient: 1e-8}.Descend(t.Context(), f, x)
			if err != nil || !got.Converged() {
				t.Errorf("%s, λ = %g, μ = %g: %+v, %v", name, strengths[0], strengths[1], got, err)
			}
			// A convex loss differs from its least by about |gradient|² over a curvature of 1e-4.
			if math.Abs(got.Loss-want.Loss) > 1e-10 {
				t.Errorf("%s, λ = %g, μ = %g: the loss is %.12f, that of L-BFGS %.12f", name, strengths[0], strengths[1], got.Loss, want.Loss)
			}
		}
	}
}

// TestSpikedIsTheInverseOfItsBlocks: what solve gives, less what all classes share, is of each
// class the inverse of the matrix that spiked says, and the shared part that of its own.
func TestSpikedIsTheInverseOfItsBlocks(t *testing.T) {
	cal, _ := problems()["dirichlet"].draw(300, 9)
	_, f := odirProblem(t, cal, 0.3, 0.2)
	c := len(f.mean)
	x, grad := make([]float64, c*c+c), make([]float64, c*c+c)
	f.Gradient(grad, x)
	if err := f.Renew(); err != nil {
		t.Fatal(err)
	}
	b := f.spiked
	off, intercept := f.strengths()
	rng := rand.New(rand.NewPCG(5, 6))
	for j := range c {
		// a residual of class j and its opposite in another leave the shared vector alone
		r, dst := make([]float64, len(x)), make([]float64, len(x))
		other := (j + 1) % c
		for k := range c + 1 {
			r[k*c+j] = rng.NormFloat64()
			r[k*c+other] = -r[k*c+j]
		}
		b.solve(dst, r)
		block, right := mat.NewDense(c+1, c+1, nil), mat.NewVecDense(c+1, nil)
		for k := range c + 1 {
			right.SetVec(k, r[k*c+j])
			for l := range c + 1 {
				block.Set(k, l, b.a.At(k, j)*b.a.At(l, j)+2*intercept*b.axes.q[k]*b.axes.q[l]-2*off*b.axes.r.At(k, j)*b.axes.r.At(l, j))
			}
			block.Set(k, k, block.At(k, k)+b.v.At(k, j))
			if k < c {
				block.Set(k, k, block.At(k, k)+2*off*b.axes.s[k])
			}
		}
		var want mat.VecDense
		if err := want.SolveVec(block, right); err != nil {
			t.Fatal(err)
		}
		size := mat.Norm(&want, math.Inf(1))
		for k := range c + 1 {
			// Its axes' inverse variances differ by a factor of 1e8, which costs half of 16 digits.
			if got := dst[k*c+j]; !(math.Abs(got-want.AtVec(k)) <= 1e-6*size) {
				t.Errorf("class %d, row %d: %v, the block's solution is %v", j, k, got, want.AtVec(k))
			}
		}
	}
}

// TestPathEndsWhereItNoLongerPays: a path over a part of the rows gives the losses of the whole
// one down to the first λ that loses more than the λ before, and nothing below it. Sixty rows of
// four classes bear no weak penalty.
func TestPathEndsWhereItNoLongerPays(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	const n, c = 90, 4
	l, labels := mat.NewDense(n, c, nil), make([]int, n)
	for i := range n {
		labels[i] = rng.IntN(c)
		row := l.RawRowView(i)
		for k := range row {
			row[k] = rng.NormFloat64()
		}
		row[labels[i]]++
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	train, test := make([]int, 60), make([]int, 30)
	for i := range n {
		if i < 60 {
			train[i] = i
		} else {
			test[i-60] = i
		}
	}
	strengths := []float64{100, 10, 1, .1, .01}
	k := len(strengths)
	white, err := whiten(l)
	if err != nil {
		t.Fatal(err)
	}
	white = white.principal()
	follow := func(part bool) *path {
		p := &path{l: l, aims: &data.Set{Labels: labels}, white: white, strengths: strengths, part: part, losses: make([]float64, k*k)}
		if err := p.follow(t.Context(), train, test); err != nil {
			t.Fatal(err)
		}
		return p
	}
	whole, part := follow(false), follow(true)
	ends := 1
	for ends < k && whole.best(ends) <= whole.best(ends-1) {
		ends++
	}
	if ends+1 >= k {
		t.Fatalf("the losses fall to the end: %v", whole.losses)
	}
	for i, loss := range part.losses {
		if i < (ends+1)*k && loss != whole.losses[i] || i >= (ends+1)*k && !math.IsInf(loss, 1) {
			t.Errorf("pair %d loses %v, on the whole path %v; the path should end after λ = %g", i, loss, whole.losses[i], strengths[ends])
		}
	}
}
