package synthetic

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Planted is a problem of known posterior with many classifiers that are wrong by known
// amounts: what a metric of calibration is held to. The latent z of a row has
// Informative coordinates, and the posterior q is that of z; the features are
//
//	x = R (z₁ σ_z, …, η₁ σ_η, …) ,  η ~ N(0, I), R a rotation of R^M
//
// so that z is a linear function of x. Each of Grades is one classifier on the same rows.
type Planted struct {
	Name     string
	Line     string // what it is, in one line
	Features int    // M
	Classes  int    // C
	Grades   []Grade

	informative  int
	signal, rest float64    // σ_z, σ_η
	rotation     *mat.Dense // M×M
	weights      *mat.Dense // C×informative
	shift        []float64  // C, of the global error
	toward       *mat.Dense // fields×C, the direction of each field's error
	centres      *mat.Dense // clusters×informative, nil where z ~ N(0, I)
	weight       []float64  // of each cluster
	rare         []bool     // whether the cluster is one of the wrong
	hidden       bool       // the fields are part of q, and a classifier misses some of them
}

// Grade is how wrong a classifier is: Global and Local are 0 for none.
type Grade struct {
	Name          string
	Global, Local float64
}

// PlantedSettings is the size of a planted problem.
type PlantedSettings struct {
	Features int // M; 0 means 50
	Classes  int // C; 0 means 4, and 50 for many
}

// plantedFields is how many coordinates of z the local errors depend on.
const plantedFields = 6

// plantedProblems are what NewPlanted knows, each with its grades and where it differs from the others.
var plantedProblems = []Planted{
	{Name: "global", Line: "wrong alike everywhere", Grades: grades("global", 0, .05, .1, .2, .3, .4, .5, .6, .8, 1)},
	{Name: "local", Line: "wrong by region alone, calibrated as a whole", Grades: grades("local", 0, 1, 2, 3, 4, 5, 6, 7),
		informative: 2 * len(fieldSizes), hidden: true},
	{Name: "mixed", Line: "wrong alike everywhere, by region, and both", Grades: mixedGrades},
	{Name: "rare", Line: "wrong in four regions of 3 % of the rows", Grades: grades("local", 0, .25, .5, .75, 1, 1.5, 2, 3)},
	{Name: "many", Line: "many classes, wrong alike everywhere, by region, and both", Grades: mixedGrades, Classes: 50},
	{Name: "heavy", Line: "three of many features matter, wrong alike everywhere, by region, and both", Grades: mixedGrades,
		informative: 3, rest: 1},
}

// NewPlanted makes the problem of that name. With u = W z, W of entries from N(0, 4/informative), and
// fields s_k(z), |s_k| ≤ 1 of mean 0, tanh(2 z_k) for even k and ±1 by |z_k| ≷ 0.674 for odd ones:
//
//	global   q = softmax(u), p = softmax((1 + g) u + g b): all error is seen in p
//	local    q = p₀ (1 + Σ_k a_k s_k(z) (w − p₀·w)), p₀ = softmax(u), u of other coordinates; a classifier of
//	         grade l misses the fields that are bits of l. As they are independent of its prediction, E[q | p] = p:
//	         no error is seen in p
//	mixed    q = softmax(u), p = softmax((1 + g) u + g b + l Σ_k s_k(z) w_k)
//	rare     z from 12 clusters, the error l w of four of them, of 3 % of the rows each
//	many     mixed, of 50 classes
//	heavy    mixed, three informative coordinates and the others as large: no direction stands out
//
// It panics if the name is another, or the settings leave no room for z.
func NewPlanted(name string, s PlantedSettings, rng *rand.Rand) *Planted {
	i := slices.IndexFunc(plantedProblems, func(g Planted) bool { return g.Name == name })
	if i < 0 {
		panic("synthetic: NewPlanted: there is no problem " + name)
	}
	problem := plantedProblems[i]
	g := &problem
	g.informative, g.signal, g.rest = cmp.Or(g.informative, plantedFields), 1, cmp.Or(g.rest, 0.25)
	s.Features, s.Classes = cmp.Or(s.Features, 50), cmp.Or(s.Classes, g.Classes, 4)
	g.Features, g.Classes = s.Features, s.Classes
	if s.Features < g.informative || s.Classes < 2 {
		panic(fmt.Sprintf("synthetic: planted problem of %d features, %d classes: want %d and 2 or more", s.Features, s.Classes, g.informative))
	}
	g.rotation = rotation(s.Features, rng)
	free, sharpness := g.informative, 2.
	if g.hidden {
		free, sharpness = free-len(fieldSizes), 1
	}
	g.weights = mat.NewDense(s.Classes, g.informative, nil)
	g.weights.Slice(0, s.Classes, g.informative-free, g.informative).(*mat.Dense).
		Copy(normal(s.Classes, free, sharpness/math.Sqrt(float64(free)), rng))
	g.shift = normal(1, s.Classes, 1, rng).RawRowView(0)
	g.toward = normal(12, s.Classes, 1, rng)
	if g.hidden {
		g.toward.Apply(func(_, _ int, v float64) float64 { return math.Copysign(1, v) }, g.toward)
	}
	if name == "rare" {
		g.centres = normal(12, g.informative, 3, rng)
		for k := range 12 {
			g.weight = append(g.weight, .11)
			g.rare = append(g.rare, k < 4)
			if k < 4 {
				g.weight[k] = .03
			}
		}
	}
	return g
}

// mixedGrades are wrong by region, alike everywhere, and both.
var mixedGrades = slices.Concat(
	grades("local", 0, .25/2, .5/2, .75/2, 1./2, 1.5/2),
	grades("global", .25/3, .5/3, .75/3, 1./3, 1.5/3),
	[]Grade{{Name: "both 0.5", Global: .2, Local: .3}, {Name: "both 1", Global: .4, Local: .6}})

// grades are wrong in one way, local or global, by these sizes.
func grades(kind string, sizes ...float64) (all []Grade) {
	for _, size := range sizes {
		grade := Grade{Name: fmt.Sprintf("%s %.2g", kind, size)}
		switch {
		case size == 0:
			grade.Name = "exact"
		case kind == "local":
			grade.Local = size
		default:
			grade.Global = size
		}
		all = append(all, grade)
	}
	return all
}

// field is s_k(z).
func field(k int, z float64) float64 {
	if k%2 == 0 {
		return math.Tanh(2 * z)
	}
	if math.Abs(z) > 0.67449 {
		return 1
	}
	return -1
}

// fieldSizes are a_k of local; their sum is below ½, so that q stays positive.
var fieldSizes = [3]float64{.22, .16, .11}

// Draw is n new rows with labels from the true posterior (n×C), and the predictions of each of Grades,
// log-probabilities (n×C).
func (g *Planted) Draw(n int, rng *rand.Rand) (set *data.Set, posterior *mat.Dense, said []*mat.Dense) {
	set = &data.Set{Labels: make([]int, n)}
	latent := mat.NewDense(n, g.Features, nil)
	posterior = mat.NewDense(n, g.Classes, nil)
	for range g.Grades {
		said = append(said, mat.NewDense(n, g.Classes, nil))
	}
	u := make([]float64, g.Classes)
	for i := range n {
		row := latent.RawRowView(i)
		for j := range row {
			row[j] = rng.NormFloat64()
		}
		z, cluster := row[:g.informative], -1
		if g.centres != nil {
			cluster = categorical(g.weight, rng)
			floats.Scale(.6, z)
			floats.Add(z, g.centres.RawRowView(cluster))
		}
		for k := range u {
			u[k] = floats.Dot(g.weights.RawRowView(k), z)
		}
		q := posterior.RawRowView(i)
		g.predict(q, u, z, cluster, Grade{})
		for k := range q {
			q[k] = math.Exp(q[k])
		}
		set.Labels[i] = categorical(q, rng)
		for k, grade := range g.Grades {
			g.predict(said[k].RawRowView(i), u, z, cluster, grade)
		}
		floats.Scale(g.signal, row[:g.informative])
		floats.Scale(g.rest, row[g.informative:])
	}
	var features mat.Dense
	features.Mul(latent, g.rotation)
	set.Features = &features
	return set, posterior, said
}

// predict writes the log-probabilities of a grade; those of Grade{} are the truth.
func (g *Planted) predict(l, u, z []float64, cluster int, grade Grade) {
	for k := range l {
		l[k] = (1+grade.Global)*u[k] + grade.Global*g.shift[k]
	}
	switch {
	case cluster >= 0:
		if g.rare[cluster] {
			floats.AddScaled(l, grade.Local, g.toward.RawRowView(cluster))
		}
	case !g.hidden && grade.Local > 0:
		for k := range min(plantedFields, g.informative) {
			floats.AddScaled(l, grade.Local*field(k, z[k]), g.toward.RawRowView(k))
		}
	}
	floats.AddConst(-floats.LogSumExp(l), l)
	if !g.hidden {
		return
	}
	var size float64
	w := g.toward.RawRowView(0)
	for k, a := range fieldSizes {
		if int(grade.Local)>>k&1 == 0 {
			size += a * field(k, z[k])
		}
	}
	var centre float64
	for k, v := range l {
		centre += math.Exp(v) * w[k]
	}
	for k := range l {
		l[k] += math.Log1p(size * (w[k] - centre))
	}
}

// rotation is a random rotation or reflection of R^m, uniform: the Q of a normal matrix,
// its columns turned by the signs of R's diagonal (Mezzadri 2007).
func rotation(m int, rng *rand.Rand) *mat.Dense {
	var qr mat.QR
	qr.Factorize(normal(m, m, 1, rng))
	var q, r mat.Dense
	qr.QTo(&q)
	qr.RTo(&r)
	q.Apply(func(_, j int, v float64) float64 { return v * math.Copysign(1, r.At(j, j)) }, &q)
	return &q
}
