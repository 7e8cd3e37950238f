package diagnosis

import (
	"fmt"
	"math"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"
	"calibra/optim/estimate"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// Map is the rows of an embedding in planes, and the places that they lie in: the rows of a codeword each, and
// the regions of the diagnosis.
type Map struct {
	// Planes are the plane of the two directions of largest variance and, for each wrong region, the plane in
	// which it and the next one lie farthest from the others.
	Planes []Plane
	Places []Place
	// Regions are the regions of the diagnosis, in its order.
	Regions []Place
}

// Plane is two axes and the rows (N×2), each axis with mean 0 and standard deviation 1.
type Plane struct {
	Name string
	Axes [2]string
	At   *mat.Dense
}

// Place is rows near each other.
type Place struct {
	Rows []int          // of those that count, of which the planes are
	Gap  float64        // mean confidence less accuracy
	Top  *metrics.Curve // reliability of the top class
}

const (
	mapPlaces = 40 // codewords, at most
	mapBins   = 10 // of a place's reliability
	// sameLine is the share of its variance that an axis must have apart from the first.
	sameLine = .1
	// namingCorrelation is |r| of an axis with a feature that names it.
	namingCorrelation = .7
)

// Map draws the embedding (N×d) that the diagnosis was made in, by the examination that it was made by.
//
// The separating directions are Fisher's, (Σ + λI)⁻¹(μ_k − μ) for the first two wrong regions, λ a hundredth of Σ's
// mean variance. The second is taken less what it shares with the first; where little is left, as of two regions that
// lie on one line through the mean, or of one region alone, it is the direction of largest variance that has enough
// apart from the first.
func (d *Diagnosis) Map(logProbs *mat.Dense, labels []int, embedding *mat.Dense, e Examination) (*Map, error) {
	s, err := checked.NewSample(logProbs, labels, e.Rows, e.Soft)
	if err != nil {
		return nil, err
	}
	n, dim := embedding.Dims()
	if n != s.Input || s.N != d.Rows {
		return nil, fmt.Errorf("diagnosis: map: the embedding has %d rows, the predictions %d, the diagnosis %d", n, s.Input, d.Rows)
	}
	a := &atlas{exam: newExam(s, e, embedding)}
	embedding = a.embedding
	a.centred = mat.DenseCopyOf(embedding)
	a.words = a.describer()
	principal := a.principal(min(dim, 3))
	m := &Map{Planes: []Plane{a.plane("The two directions of largest variance",
		axis{"main direction", principal[0]}, axis{"second direction", a.next(principal[0], principal)})}}
	if wrong := a.separating(d.Regions[:min(2, len(d.Regions))]); len(wrong) > 0 {
		name := "direction of largest variance besides"
		if len(wrong) > 1 && a.apart(wrong[0], wrong[1]) != nil {
			name = "towards region 2"
		}
		m.Planes = append(m.Planes, a.plane("The two directions in which wrong regions lie farthest from the other rows",
			axis{"towards region 1", wrong[0]}, axis{name, a.next(wrong[0], append(wrong[1:], principal...))}))
	}
	for _, r := range d.Places {
		m.Places = append(m.Places, a.place(a.OwnRows(r.Rows)))
	}
	for _, r := range d.Regions {
		m.Regions = append(m.Regions, a.place(a.OwnRows(r.Rows)))
	}
	return m, nil
}

// principal centres the embedding and gives so many directions of largest variance.
func (a *atlas) principal(many int) (directions [][]float64) {
	n, dim := a.centred.Dims()
	mean, _ := checked.Moments(a.centred)
	for i := range n {
		floats.Sub(a.centred.RawRowView(i), mean)
	}
	a.cov.SymOuterK(1/float64(n), a.centred.T())
	_, vectors := estimate.Spectrum(&a.cov)
	for k := range many {
		directions = append(directions, mat.Col(nil, dim-1-k, vectors))
	}
	return directions
}

// separating are Fisher's directions of the regions that are named and have one.
func (a *atlas) separating(regions []Region) (directions [][]float64) {
	for _, r := range regions {
		if w := a.towards(r); r.Named && w != nil {
			directions = append(directions, w)
		}
	}
	return directions
}

// axis is a direction and what it is called.
type axis struct {
	name      string
	direction []float64
}

// plane is that of two axes.
func (a *atlas) plane(name string, x, y axis) Plane {
	return Plane{
		Name: name, At: project(a.centred, x.direction, y.direction),
		Axes: [2]string{a.axis(x.name, x.direction), a.axis(y.name, y.direction)},
	}
}

// atlas is a Map in the making.
type atlas struct {
	*exam
	centred *mat.Dense
	cov     mat.SymDense
}

// towards is Fisher's direction of a region; nil where there is none.
func (a *atlas) towards(r Region) []float64 {
	dim := a.cov.SymmetricDim()
	mu := make([]float64, dim)
	for _, i := range a.OwnRows(r.Rows) {
		floats.AddScaled(mu, 1/float64(len(r.Rows)), a.centred.RawRowView(i))
	}
	ridged := mat.NewSymDense(dim, nil)
	ridged.CopySym(&a.cov)
	for j := range dim {
		ridged.SetSym(j, j, a.cov.At(j, j)+mat.Trace(&a.cov)/float64(dim)/100)
	}
	var cholesky mat.Cholesky
	var w mat.VecDense
	if !cholesky.Factorize(ridged) || cholesky.SolveVecTo(&w, mat.NewVecDense(dim, mu)) != nil || floats.Norm(w.RawVector().Data, 2) == 0 {
		return nil
	}
	return w.RawVector().Data
}

// next is the first of the directions that has enough variance apart from one, less what it shares with it; without
// any, 0.
func (a *atlas) next(from []float64, directions [][]float64) []float64 {
	for _, w := range directions {
		if rest := a.apart(from, w); rest != nil {
			return rest
		}
	}
	return make([]float64, len(from))
}

// apart is w less what it shares with the direction from; nil where that leaves little.
func (a *atlas) apart(from, w []float64) []float64 {
	inner := func(x, y []float64) float64 {
		return mat.Inner(mat.NewVecDense(len(x), x), &a.cov, mat.NewVecDense(len(y), y))
	}
	rest := make([]float64, len(w))
	floats.AddScaledTo(rest, w, -inner(from, w)/inner(from, from), from)
	if left := inner(rest, rest); !(left > sameLine*inner(w, w)) {
		return nil
	}
	return rest
}

// axis is what a direction is called, with its share of the variance, and the feature that it is most like.
func (a *atlas) axis(name string, w []float64) string {
	n, _ := a.centred.Dims()
	along, v := make([]float64, n), make([]float64, n)
	for i := range along {
		along[i] = floats.Dot(a.centred.RawRowView(i), w)
	}
	size := floats.Dot(w, w)
	if size == 0 {
		return "there is no other direction"
	}
	name += fmt.Sprintf(", %.0f %% of the variance", 100*stat.PopVariance(along, nil)/size/mat.Trace(&a.cov))
	best, like := -1, namingCorrelation
	for _, j := range a.words.columns {
		mat.Col(v, j, a.words.features)
		if r := math.Abs(stat.Correlation(along, v, nil)); r > like {
			best, like = j, r
		}
	}
	if best >= 0 {
		name += fmt.Sprintf("; like %s (|r| %.2f)", a.words.name(best), like)
	}
	return name
}

// place is rows with their reliability.
func (a *atlas) place(rows []int) Place {
	p := Place{Rows: rows}
	var n float64
	var confidence, hit, weight []float64
	for _, i := range rows {
		n += a.W(i)
		p.Gap += a.W(i) * a.Miss(i, a.Classes)
		confidence, hit, weight = append(confidence, a.Confidence(i)), append(hit, a.Hit(i, a.Classes)), append(weight, a.W(i))
	}
	p.Gap /= n
	p.Top = metrics.NewCurve(mapBins, confidence, hit, weight)
	return p
}

// project is the rows along two directions, each scaled to standard deviation 1.
func project(x *mat.Dense, a, b []float64) *mat.Dense {
	n, _ := x.Dims()
	out := mat.NewDense(n, 2, nil)
	for i := range n {
		out.Set(i, 0, floats.Dot(x.RawRowView(i), a))
		out.Set(i, 1, floats.Dot(x.RawRowView(i), b))
	}
	_, sd := checked.Moments(out)
	for i := range n {
		for k, s := range sd {
			if s > 0 {
				out.Set(i, k, out.At(i, k)/s)
			}
		}
	}
	return out
}
