package diagnosis

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// functions are the functions ψ that a correction has besides the constant. A new kind learns
// what it needs from the rows that a basis is made of; features are nil where nobody has any.
type functions func(l *mat.Dense, features mat.Matrix, rng *rand.Rand) family

// family is functions of a row.
type family struct {
	count int
	// write sets dst, zeros, to the functions of a row's log-probabilities and features.
	write func(dst, l, x []float64)
	// seen is what write reads in place of the features, made once of them and the log-probabilities; nil: themselves.
	seen func(l *mat.Dense, features mat.Matrix) mat.Matrix
}

// of is what write reads.
func (f family) of(l *mat.Dense, features mat.Matrix) mat.Matrix {
	if f.seen == nil {
		return features
	}
	return f.seen(l, features)
}

// basis is functions, standardized on the rows it was made from.
type basis struct {
	family
	scale  float64   // root mean square of the centred log-probabilities
	centre []float64 // D, of the functions before they are standardized; the first is the constant
	unit   []float64 // D
}

func newBasis(f functions, l *mat.Dense, features mat.Matrix, rng *rand.Rand) *basis {
	n, c := l.Dims()
	b := &basis{family: f(l, features, rng)}
	row := make([]float64, c)
	var square float64
	for i := range n {
		centred(row, l.RawRowView(i))
		square += floats.Dot(row, row)
	}
	b.scale = max(math.Sqrt(square/float64(n*c)), 1e-9)
	seen, values := b.of(l, features), make([]float64, b.count)
	buffer := bufferOf(seen)
	mean, sd := checked.MomentsOf(n, b.count, func(i int) []float64 {
		var x []float64
		if seen != nil {
			x = checked.RowOf(seen, i, buffer)
		}
		clear(values)
		b.write(values, l.RawRowView(i), x)
		return values
	})
	total := floats.Norm(sd, 2)
	if total == 0 { // constants have no information
		total = math.Inf(1)
	}
	b.centre, b.unit = append([]float64{0}, mean...), []float64{1}
	for range mean {
		b.unit = append(b.unit, total)
	}
	return b
}

// bufferOf has room for a row of x.
func bufferOf(x mat.Matrix) []float64 {
	if !checked.Given(x) {
		return nil
	}
	_, d := x.Dims()
	return make([]float64, d)
}

// ofPrediction are ℓ̃ and a piecewise linear function of the log-odds of the top class, with
// knots at their sextiles.
func ofPrediction(l *mat.Dense, _ mat.Matrix, _ *rand.Rand) family {
	_, c := l.Dims()
	knots := slices.Compact(checked.QuantileEdges(sureties(l, nil).(*mat.Dense).RawMatrix().Data, 6)[1:6])
	return family{count: c + 1 + len(knots), seen: sureties, write: func(dst, l, u []float64) {
		centred(dst[:c], l)
		dst[c] = u[0]
		for k, knot := range knots {
			dst[c+1+k] = max(u[0]-knot, 0)
		}
	}}
}

// linear are the features.
func linear(_ *mat.Dense, features mat.Matrix, _ *rand.Rand) family {
	_, d := features.Dims()
	return family{count: d, write: func(dst, _, x []float64) { copy(dst, x) }}
}

// leadingFeatures are multiplied with each other.
const leadingFeatures = 8

// products are x_j x_k of the leading features, less their means.
func products(_ *mat.Dense, features mat.Matrix, _ *rand.Rand) family {
	mean, sd := checked.Moments(features)
	leading := checked.Descending(sd)[:min(leadingFeatures, len(sd))]
	return family{count: len(leading) * (len(leading) + 1) / 2, write: func(dst, _, x []float64) {
		at := 0
		for k, j := range leading {
			for _, j2 := range leading[:k+1] {
				dst[at] = (x[j] - mean[j]) * (x[j2] - mean[j2])
				at++
			}
		}
	}}
}

// rowsPerCodeword is how many rows a codeword must have on average.
const rowsPerCodeword = 20

// codewords are the indicators of codewords.
func codewords(_ *mat.Dense, features mat.Matrix, rng *rand.Rand) family {
	n, _ := features.Dims()
	k := max(1, min(defaultCodewords, n/rowsPerCodeword))
	words := lloyd(features, k, rng)
	return family{
		count: k,
		write: func(dst, _, x []float64) { dst[int(x[0])] = 1 },
		seen: func(_ *mat.Dense, features mat.Matrix) mat.Matrix { // the codeword of each row
			n, _ := features.Dims()
			codes := mat.NewDense(n, 1, nil)
			for i, w := range nearest(features, words) {
				codes.Set(i, 0, float64(w))
			}
			return codes
		},
	}
}

// design is the rows with their functions.
func (b *basis) design(l *mat.Dense, features mat.Matrix, y *targets) *design {
	n, c := l.Dims()
	seen := b.of(l, features)
	d := &design{basis: b, rows: n, classes: c, width: len(b.unit), l: l, seen: seen, y: y, x: bufferOf(seen)}
	if y != nil {
		var squares float64
		for i := range y.rows {
			d.total += y.weight(i)
			squares += y.weight(i) * y.weight(i)
		}
		d.effective = d.total * d.total / squares
	}
	return d
}

// centred writes l less its mean.
func centred(dst, l []float64) {
	copy(dst, l)
	floats.AddConst(-floats.Sum(l)/float64(len(l)), dst)
}

// sureties are the log-odds of the top class of each row.
func sureties(l *mat.Dense, _ mat.Matrix) mat.Matrix {
	n, _ := l.Dims()
	u := mat.NewDense(n, 1, nil)
	for i := range n {
		top := min(floats.Max(l.RawRowView(i)), -1e-12)
		u.Set(i, 0, top-math.Log(-math.Expm1(top)))
	}
	return u
}
