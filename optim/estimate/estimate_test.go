package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
)

// normals is n×d of N(0, 1).
func normals(n, d int, rng *rand.Rand) *mat.Dense {
	x := mat.NewDense(n, d, nil)
	x.Apply(func(int, int, float64) float64 { return rng.NormFloat64() }, x)
	return x
}

// A null space is found in any units of the weights, and the inverse off it is the pseudoinverse, of which
//
//	H H⁺ H = H ,  H⁺ V = 0 .
func TestNullSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	rows := normals(4, 6, rng) // of rank 4
	var h mat.SymDense
	h.SymOuterK(1, rows.T())
	free, _ := NullSpace(&h)
	if len(free) != 2 {
		t.Fatalf("%d directions are free, not 2", len(free))
	}
	for i, v := range free {
		var hv mat.VecDense
		hv.MulVec(&h, mat.NewVecDense(6, v))
		if mat.Norm(&hv, 2) > 1e-13 || math.Abs(floats.Dot(v, free[0])-float64(1-i)) > 1e-14 {
			t.Errorf("direction %d: H v = %v, vᵀv₀ = %g", i, hv.RawVector().Data, floats.Dot(v, free[0]))
		}
	}
	inverse := InverseOff(&h, free, 1e10)
	var back mat.Dense
	back.Mul(&h, inverse)
	back.Mul(&back, &h)
	if !mat.EqualApprox(&back, &h, 1e-11) { // condition 1e3
		t.Errorf("H H⁺ H = %v, H = %v", mat.Formatted(&back), mat.Formatted(&h))
	}
	if InverseOff(&h, nil, 1e10) != nil {
		t.Error("a singular matrix has an inverse")
	}
	units := mat.NewSymDense(6, nil)
	for i := range 6 {
		for j := i; j < 6; j++ {
			units.SetSym(i, j, h.At(i, j)*math.Pow(10, float64(2*i+2*j-10)))
		}
	}
	if free, inUnits := NullSpace(units); len(free) != 2 || len(inUnits) != 2 {
		t.Errorf("in other units %d directions are free", len(free))
	}
	units.SetSym(5, 5, units.At(5, 5)*(1+1e-6)) // of which 1e-6 is left beside the others: one weight more is identified
	if free, _ := NullSpace(units); len(free) != 1 {
		t.Errorf("%d directions are free, not 1", len(free))
	}
	identity := mat.NewSymDense(6, nil)
	for i := range 6 {
		identity.SetSym(i, i, 1)
	}
	v := mat.NewVecDense(6, free[1])
	if TakeOff(identity, free); math.Abs(mat.Trace(identity)-4) > 1e-14 || math.Abs(mat.Inner(v, identity, v)) > 1e-14 {
		t.Errorf("the identity off two directions is %v", mat.Formatted(identity))
	}
}

// The middle of a sandwich is that of its formula, of more rows than one product takes; stages have leverages of their
// own.
func TestMeatIsItsFormula(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, first, all = 2*vectorsAtOnce + 7, 2, 5
	s := normals(n, all, rng)
	breads := []*mat.Dense{mat.NewDense(first, first, []float64{.02, .01, .01, .03}), mat.NewDense(all-first, all-first, nil)}
	for i := range all - first {
		breads[1].Set(i, i, .01*float64(i+1))
	}
	meat, want := NewMeat(Stage{breads[0], 3}, Stage{breads[1], 0}), mat.NewSymDense(all, nil)
	for i := range first {
		want.SetSym(i, i, 3)
	}
	for row := range n {
		count, weight := float64(1+row%2), .5+rng.Float64()
		copy(meat.Add(count, weight), s.RawRowView(row))
		scaled := slices.Clone(s.RawRowView(row))
		for _, part := range []struct {
			v []float64
			F *mat.Dense
		}{{scaled[:first], breads[0]}, {scaled[first:], breads[1]}} {
			v := mat.NewVecDense(len(part.v), part.v)
			floats.Scale(1/(1-min(weight*mat.Inner(v, part.F, v), LargestLeverage)), part.v)
		}
		want.SymRankOne(want, count*weight*weight, mat.NewVecDense(all, scaled))
	}
	if meat.Flush(); !mat.EqualApprox(meat.J, want, 1e-10) { // sums of 500 terms
		t.Errorf("J is %v, not %v", mat.Formatted(meat.J), mat.Formatted(want))
	}
}

// logistic is the mean loss of a logistic regression whose law is at w, by gradient and Hessian.
type logistic struct{ x *mat.Dense }

func (f logistic) value(w []float64) float64 { return f.gradient(make([]float64, len(w)), 1, w) }

// gradient adds scale·∇f to sum.
func (f logistic) gradient(sum []float64, scale float64, w []float64) (value float64) {
	n, _ := f.x.Dims()
	for i := range n {
		x := f.x.RawRowView(i)
		y := float64(i%3) / 2 // soft labels of 0, ½ and 1
		s := floats.Dot(x, w)
		value += (math.Log1p(math.Exp(s)) - y*s) / float64(n)
		floats.AddScaled(sum, scale*(1/(1+math.Exp(-s))-y)/float64(n), x)
	}
	return value
}

// Newton's method and L-BFGS find one least, where the gradient vanishes, and differences give the Hessian of a
// quadratic.
func TestLeast(t *testing.T) {
	f := logistic{normals(60, 4, rand.New(rand.NewPCG(5, 6)))}
	sum := func(sum []float64, scale float64, x []float64) error { f.gradient(sum, scale, x); return nil }
	x, y, grad := make([]float64, 4), make([]float64, 4), make([]float64, 4)
	ended := Newton{Steps: 50, Enough: 1e-24, Value: f.value, Derivatives: func(x []float64) ([]float64, *mat.SymDense) {
		hess, _ := Hessian(slices.Clone(x), sum)
		grad := make([]float64, 4)
		f.gradient(grad, 1, x)
		return grad, hess
	}}.Minimize(x)
	if f.gradient(grad, 1, x); !ended || floats.Norm(grad, 2) > 1e-12 {
		t.Errorf("Newton's method ends at a gradient of %g (%v)", floats.Norm(grad, 2), ended)
	}
	least, err := LBFGS(y, optimize.Settings{GradientThreshold: 1e-9}, func(grad, x []float64) float64 {
		clear(grad)
		return f.gradient(grad, 1, x)
	})
	// A gradient of 1e-9 over a curvature of .1.
	if err != nil || math.Abs(least-f.value(x)) > 1e-14 || !floats.EqualApprox(x, y, 1e-7) {
		t.Errorf("L-BFGS ends at %v (%v), Newton's method at %v", y, err, x)
	}
	indefinite := mat.NewSymDense(2, []float64{2, 0, 0, -4})
	if d := Downhill(indefinite, []float64{2, 4}, 1e-9); !floats.EqualApprox(d, []float64{-1, -1}, 1e-15) {
		t.Errorf("the step is %v, not (−1, −1)", d)
	}
}

// Clusters that lie apart have a centre each, at the mean of their rows by weight; rows that are all alike are no
// trouble.
func TestKMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n, k = 300, 3
	x, weights, sums, totals := normals(n, 2, rng), make([]float64, n), mat.NewDense(k, 2, nil), make([]float64, k)
	for i := range n {
		weights[i] = 1 + rng.Float64()
		floats.AddConst(100*float64(i%k), x.RawRowView(i))
		floats.AddScaled(sums.RawRowView(i%k), weights[i], x.RawRowView(i))
		totals[i%k] += weights[i]
	}
	near := func(x *mat.Dense) func(*mat.Dense) []int {
		return func(centres *mat.Dense) (codes []int) {
			n, _ := x.Dims()
			for i := range n {
				best := 0
				for c := range k {
					if squared(x.RawRowView(i), centres.RawRowView(c)) < squared(x.RawRowView(i), centres.RawRowView(best)) {
						best = c
					}
				}
				codes = append(codes, best)
			}
			return codes
		}
	}
	centres := KMeans(x, weights, k, near(x), rng)
	found := map[int]bool{}
	for c := range k {
		centre := centres.RawRowView(c)
		of := int(math.Round(centre[0] / 100))
		found[of] = true
		if floats.Scale(totals[of], centre); !floats.EqualApprox(centre, sums.RawRowView(of), 1e-9) { // sums of 100 rows near 200
			t.Errorf("centre %d is %v times its weight, not %v", c, centre, sums.RawRowView(of))
		}
	}
	if len(found) != k {
		t.Errorf("the centres lie in %d clusters of %d", len(found), k)
	}
	alike := mat.NewDense(9, 2, slices.Repeat([]float64{1, 2}, 9))
	for _, v := range KMeans(alike, nil, k, near(alike), rng).RawMatrix().Data {
		if v != 1 && v != 2 {
			t.Errorf("a centre of rows that are all (1, 2) has %g", v)
		}
	}
}
