package baselines

import (
	"math"
	"math/rand/v2"

	"calibra/data"
	"calibra/layers"
	"calibra/optim"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// method is a calibrator of the table tests.
type method struct {
	new func() layers.Stateful
	// parameters of the map in C classes and P dimensions, where its family contains
	// the identity and is fitted by maximum likelihood; else nil.
	parameters func(c, p int) int
	// commutes is how closely relabelling the classes commutes with fitting and
	// predicting, in log-probability above 1e-6; 0 where it does so in distribution
	// only, because what is drawn at random is drawn class by class.
	commutes float64
}

// converged is what two fits to a gradient of 1e-6 can differ by: a parameter by
// 1e-6 over a curvature of order 1e-3, an ℓ of order 10.
const converged = 1e-2

// effort is how long the iterative methods of a table may take.
type effort struct {
	smooth    optim.LBFGS
	published optim.FixedLBFGS
	epochs    int
	strengths []float64 // that dc-odir chooses among
}

// methods has a row for each method; see within.
func methods() map[string]method {
	return within(effort{published: optim.FixedLBFGS{Iterations: 50}, epochs: 3, strengths: []float64{1, 1e-2}})
}

// short are the methods with their iterations cut, for problems too large to converge on in
// a test.
func short() map[string]method {
	return within(effort{optim.LBFGS{Iterations: 1}, optim.FixedLBFGS{Iterations: 1}, 1, []float64{1}})
}

func within(e effort) map[string]method {
	return map[string]method{
		"nc":        {new: func() layers.Stateful { return layers.Train(&layers.Original{}, layers.Identity{}, optim.Settings{}) }, commutes: 1e-5},
		"ts":        {new: func() layers.Stateful { return &layers.Temperature{} }, parameters: func(int, int) int { return 1 }, commutes: 1e-6},
		"ir":        {new: func() layers.Stateful { return Isotonic() }, commutes: 1e-9},
		"ps":        {new: func() layers.Stateful { return Platt(e.smooth) }, commutes: converged},
		"ps with C": {new: func() layers.Stateful { return PlattVector(1, e.smooth) }, commutes: converged},
		"dc":        {new: func() layers.Stateful { return &Dirichlet{Method: e.smooth} }, parameters: func(c, _ int) int { return (c - 1) * (c + 1) }, commutes: converged},
		"dc-odir": {new: func() layers.Stateful {
			return &DirichletODIR{Folds: 2, Grid: e.strengths, Optim: optim.Newton{Iterations: e.smooth.Iterations, Products: 5 * e.smooth.Iterations}}
		}, parameters: func(c, _ int) int { return (c - 1) * (c + 1) }, commutes: converged},
		"sm":           {new: func() layers.Stateful { return Structured(optim.Newton{Iterations: e.smooth.Iterations}, 0) }, parameters: func(c, _ int) int { return (c - 1) * (c + 1) }, commutes: converged},
		"sv":           {new: func() layers.Stateful { return StructuredVector(e.smooth, 0) }, parameters: func(c, _ int) int { return 2*c - 1 }, commutes: converged},
		"vector":       {new: func() layers.Stateful { return Vector(e.smooth, 0) }, parameters: func(c, _ int) int { return 2*c - 1 }, commutes: converged},
		"histogram":    {new: func() layers.Stateful { return Histogram(0) }, commutes: 1e-9},
		"beta":         {new: func() layers.Stateful { return Beta(e.smooth) }, parameters: func(c, _ int) int { return 3 * c }, commutes: converged},
		"ets":          {new: func() layers.Stateful { return &EnsembleTemperature{} }, commutes: 1e-6},
		"spline":       {new: func() layers.Stateful { return Spline(0) }, commutes: 1e-6},
		"venn-abers":   {new: func() layers.Stateful { return &VennAbers{} }, commutes: 1e-9},
		"local-ts":     {new: func() layers.Stateful { return LocalTemperature(e.smooth) }, parameters: func(_, p int) int { return 1 + p }, commutes: converged},
		"forest":       {new: func() layers.Stateful { return &Forest{Trees: 50} }},
		"new-head":     {new: func() layers.Stateful { return LastLayer(e.smooth, 0) }, commutes: converged},
		"procal":       {new: func() layers.Stateful { return &ProCal{} }, commutes: 1e-6},
		"ln":           {new: func() layers.Stateful { return &LocalNets{Hidden: 8, Method: optim.Settings{Epochs: e.epochs}} }},
		"kc":           {new: func() layers.Stateful { return &Kernel{Hidden: 8, Method: optim.Settings{Epochs: e.epochs}} }, commutes: 1e-3},
		"kc-original":  {new: func() layers.Stateful { return &KCal{Dimensions: 4, Method: optim.Settings{Epochs: e.epochs}} }},
		"ts-published": {new: func() layers.Stateful { return PublishedTemperature(e.published) }, commutes: 1e-6},
		"dc-published": {new: func() layers.Stateful { return PublishedDirichlet(e.published) }, commutes: 1e-6},
	}
}

// problem is a source of calibration problems whose posterior is known.
type problem struct {
	classes int
	// distort turns the true log-posterior of a row into the logits that a
	// classifier says; x are the row's features.
	distort func(logp, x []float64)
	absent  int // a class that no row has; −1: none
}

func problems() map[string]problem {
	none := func(_, _ []float64) {}
	return map[string]problem{
		"calibrated":  {3, none, -1},
		"two classes": {2, func(l, _ []float64) { floats.Scale(2, l) }, -1},
		"temperature": {4, func(l, _ []float64) { floats.Scale(2.5, l) }, -1},
		"dirichlet":   {3, func(l, _ []float64) { copy(l, distorted(l)) }, -1},
		"absent":      {4, func(l, _ []float64) { floats.Scale(1.5, l) }, 2},
		"identical":   {3, func(l, _ []float64) { copy(l, []float64{1, 0, -1}) }, -1},
		"zeros": {3, func(l, x []float64) { // the least probable class is all but impossible
			if x[0] > 0 {
				l[floats.MinIdx(l)] = floats.Max(l) - 700
			}
		}, -1},
		"certain": {3, func(l, _ []float64) {
			top := floats.Max(l)
			for k, v := range l {
				l[k] = max(1e4*(v-top), -700) // and no mask
			}
		}, -1},
	}
}

// distortion is a class-dependent Dirichlet map; its inverse undoes it.
var (
	distortion = mat.NewDense(3, 3, []float64{1.6, 0.3, -0.2, -0.3, 1.2, 0.1, 0.2, -0.1, 2})
	offset     = []float64{0.5, -0.3, -0.2}
)

func distorted(l []float64) []float64 {
	var out mat.VecDense
	out.MulVec(distortion, mat.NewVecDense(3, l))
	out.AddVec(&out, mat.NewVecDense(3, offset))
	return out.RawVector().Data
}

const problemFeatures = 6

// draw gives n rows and their true log-posterior: features N(0, 1), scores linear in
// them, labels from the posterior.
func (p problem) draw(n int, seed uint64) (*data.Set, *mat.Dense) {
	mix := newRand(99) // one problem, whatever the rows
	gradients := mat.NewDense(problemFeatures, p.classes, nil)
	gradients.Apply(func(_, _ int, _ float64) float64 { return mix.NormFloat64() * 0.6 }, gradients)
	rng := newRand(seed)
	s := &data.Set{Features: mat.NewDense(n, problemFeatures, nil), Logits: mat.NewDense(n, p.classes, nil), Labels: make([]int, n)}
	truth := mat.NewDense(n, p.classes, nil)
	for i := range n {
		x, l := data.Dense(s.Features).RawRowView(i), truth.RawRowView(i)
		for j := range x {
			x[j] = rng.NormFloat64()
		}
		mat.NewVecDense(p.classes, l).MulVec(gradients.T(), mat.NewVecDense(problemFeatures, x))
		if p.absent >= 0 {
			l[p.absent] = math.Inf(-1)
		}
		floats.AddConst(-floats.LogSumExp(l), l)
		u := rng.Float64()
		for k, v := range l {
			if u -= math.Exp(v); u < 0 || k == p.classes-1 && k != p.absent {
				s.Labels[i] = k
				break
			}
		}
		logits := s.Logits.RawRowView(i)
		copy(logits, l)
		if p.absent >= 0 {
			logits[p.absent] = -2 // the classifier does not know
		}
		p.distort(logits, x)
	}
	return s, truth
}
