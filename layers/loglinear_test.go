package layers

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// forecasts are M members that say the label's class more, as much as the others, or less, with the same numbers as the
// Python that gave the weights below: of row i, class c and member k a logit of
//
//	3 sin(.7 (i + 1)(c + 1)(k + 1) + k) + (1.2, 2.4, −.8, 1.2)_k [c = y_i] ,  y_i = (i² + ⌊i/3⌋) mod C
func forecasts(n, c, m int) ([]*mat.Dense, *data.Set) {
	rows, members := &data.Set{Labels: make([]int, n)}, make([]*mat.Dense, m)
	for k := range members {
		members[k] = mat.NewDense(n, c, nil)
		for i := range n {
			y := (i*i + i/3) % c
			rows.Labels[i] = y
			for j := range c {
				members[k].Set(i, j, 3*math.Sin(0.7*float64((i+1)*(j+1)*(k+1))+float64(k)))
			}
			members[k].Set(i, y, members[k].At(i, y)+[]float64{1.2, 2.4, -0.8, 1.2}[k])
		}
		Renormalize(members[k])
	}
	return members, rows
}

// weigh gives row i the weight 1 + (i mod 3)/2.
func weigh(rows *data.Set) {
	rows.Weights = make([]float64, rows.Len())
	for i := range rows.Weights {
		rows.Weights[i] = 1 + float64(i%3)/2
	}
}

// TestLogLinearOfSciPy: SciPy 1.17.1, minimize(method="L-BFGS-B", bounds=(0, None), ftol=1e-15, gtol=1e-11) from 1/M,
// the loss as in the comment of LogLinear. Its weights have some 8 digits, since the loss is flat there, its loss 15.
func TestLogLinearOfSciPy(t *testing.T) {
	for _, c := range []struct {
		n, c, m  int
		weighted bool
		prior    WeightPrior
		weights  []float64
		loss     float64
	}{
		{120, 4, 2, false, WeightPrior{}, []float64{0.661342692798, 0.594815743212}, 0.625658199421139},
		{120, 4, 3, true, WeightPrior{}, []float64{0.68119557364, 0.607161266495, 0}, 0.6080537242087717},
		{120, 4, 2, false, WeightPrior{0.5, 0.2}, []float64{0.624319393722, 0.574760659086}, 0.6284754805234518},
		{700, 5, 4, true, WeightPrior{}, []float64{0.307494113501, 0.594849968981, 0, 0.294218376894}, 0.9550631168247913},
		{700, 5, 4, true, WeightPrior{0.5, 0.2}, []float64{0.310044468474, 0.594639200945, 0, 0.295992865305}, 0.9590831939629895},
	} {
		members, rows := forecasts(c.n, c.c, c.m)
		if c.weighted {
			weigh(rows)
		}
		w, err := LogLinear(members, rows, c.prior)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "w", w, c.weights, 1e-5)
		p := &pooling{members: members, rows: rows, total: rows.Total(), prior: c.prior}
		near(t, "the loss", []float64{p.measure(w).loss}, []float64{c.loss}, 1e-9)
	}
}

// TestLogLinearAtItsMinimum: the derivatives, by differences of the loss of Pool, are 0 of weights above 0, and 0 or
// more of others (Karush, Kuhn and Tucker); the gradient and the Hessian that it uses are those of its loss.
func TestLogLinearAtItsMinimum(t *testing.T) {
	members, rows := forecasts(300, 4, 4)
	weigh(rows)
	rows.Soft = mat.NewDense(300, 4, nil)
	for i, y := range rows.Labels {
		rows.Soft.Set(i, y, 0.7)
		rows.Soft.Set(i, (y+1)%4, 0.3)
	}
	prior := WeightPrior{0.5, 0.2}
	loss := func(w []float64) float64 {
		l := rows.MeanNLL(Pool(members, w), math.Inf(-1))
		for _, v := range w {
			l += (v - 0.5) * (v - 0.5) / (2 * 0.04 * rows.Total())
		}
		return l
	}
	w, err := LogLinear(members, rows, prior)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Min(w) != 0 || floats.Count(func(v float64) bool { return v > 0 }, w) < 3 {
		t.Errorf("weights %v, want one at 0: the third member says the label less", w)
	}
	const h = 1e-5 // differences are then off by some 1e-10
	p := &pooling{members: members, rows: rows, total: rows.Total(), prior: prior}
	for k := range w {
		ahead, behind := slices.Clone(w), slices.Clone(w)
		ahead[k], behind[k] = w[k]+h, w[k]-h
		slope := (loss(ahead) - loss(behind)) / (2 * h)
		if w[k] > 0 && math.Abs(slope) > 1e-8 || slope < -1e-8 {
			t.Errorf("weight %d is %g where the derivative is %g", k, w[k], slope)
		}
		near(t, "the gradient", []float64{p.measure(w).gradient[k]}, []float64{slope}, 1e-8)
		above, below := p.measure(ahead).gradient, p.measure(behind).gradient
		for l := range w {
			near(t, "the Hessian", []float64{p.measure(w).hessian.At(k, l)}, []float64{(above[l] - below[l]) / (2 * h)}, 1e-7)
		}
	}
}

// TestLogLinearLaws: a narrow prior holds the weights; a member that says nothing changes nothing, and members alike
// count as one; weights of rows count as copies; a masked class stays masked; what is not finite is an error that names
// the row.
func TestLogLinearLaws(t *testing.T) {
	pool := func(members []*mat.Dense, rows *data.Set, prior WeightPrior) []float64 {
		t.Helper()
		w, err := LogLinear(members, rows, prior)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	members, rows := forecasts(200, 4, 2)
	near(t, "w of a narrow prior", pool(members, rows, WeightPrior{0.5, 1e-4}), []float64{0.5, 0.5}, 1e-6) // s² N times a slope below 1

	alone := pool(members[:1], rows, WeightPrior{})
	uniform := mat.NewDense(200, 4, nil)
	uniform.Apply(func(_, _ int, _ float64) float64 { return -math.Log(4) }, uniform)
	near(t, "w beside a uniform member", pool([]*mat.Dense{members[0], uniform}, rows, WeightPrior{})[:1], alone, 1e-8)
	twins := pool([]*mat.Dense{members[0], members[0]}, rows, WeightPrior{})
	near(t, "the sum of the weights of twins", []float64{twins[0] + twins[1]}, alone, 1e-8)

	twice := rows.Rows(slices.Concat(data.UpTo(200), data.UpTo(50)))
	doubled := *rows
	doubled.Weights = slices.Concat(slices.Repeat([]float64{2}, 50), slices.Repeat([]float64{1}, 150))
	copies := []*mat.Dense{data.RowsOf(members[0], slices.Concat(data.UpTo(200), data.UpTo(50))), data.RowsOf(members[1], slices.Concat(data.UpTo(200), data.UpTo(50)))}
	near(t, "w of weights", pool(members, &doubled, WeightPrior{}), pool(copies, twice, WeightPrior{}), 1e-8)

	masked, other := mat.DenseCopyOf(members[0]), rows.Labels[7]
	masked.Set(7, (other+1)%4, math.Inf(-1))
	w := pool([]*mat.Dense{Renormalize(masked), members[1]}, rows, WeightPrior{})
	if p := Pool([]*mat.Dense{masked, members[1]}, w).RawRowView(7); !data.Masked(p[(other+1)%4]) || math.Abs(floats.LogSumExp(p)) > 1e-12 {
		t.Errorf("a masked class in %v", p)
	}
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		broken := mat.DenseCopyOf(members[1])
		broken.Set(11, rows.Labels[11], bad)
		if _, err := LogLinear([]*mat.Dense{members[0], broken}, rows, WeightPrior{}); err == nil {
			t.Errorf("a log-probability of %v is accepted", bad)
		}
	}
}

// TestLogLinearOfCertainMembers: where members are always right the loss has no least, and it ends where its derivative
// is as small as told.
func TestLogLinearOfCertainMembers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	members, rows := forecasts(100, 3, 2)
	for i, y := range rows.Labels {
		for _, m := range members {
			for c := range 3 {
				m.Set(i, c, rng.Float64())
			}
			m.Set(i, y, 1.5+rng.Float64())
		}
	}
	w, err := LogLinear([]*mat.Dense{Renormalize(members[0]), Renormalize(members[1])}, rows, WeightPrior{})
	if err != nil || !(floats.Sum(w) > 10) || floats.HasNaN(w) {
		t.Errorf("weights %v, %v", w, err)
	}
}
