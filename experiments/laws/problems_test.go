package laws

import (
	"math"
	"math/rand/v2"
	"slices"

	"calibra/data"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// rows are a part of a features file, before it is written.
type rows struct {
	features, logits *mat.Dense
	labels           []int
	weights          []float64 // nil: the file has none
}

func (r *rows) len() int { return len(r.labels) }

// clone is a copy that may be changed.
func (r *rows) clone() *rows {
	return &rows{mat.DenseCopyOf(r.features), mat.DenseCopyOf(r.logits), slices.Clone(r.labels), slices.Clone(r.weights)}
}

// at are the rows at these places.
func (r *rows) at(places []int) *rows {
	out := &rows{data.RowsOf(r.features, places), data.RowsOf(r.logits, places), nil, nil}
	for _, i := range places {
		out.labels = append(out.labels, r.labels[i])
		if r.weights != nil {
			out.weights = append(out.weights, r.weights[i])
		}
	}
	return out
}

// file is the three parts of a features file.
type file struct{ cal, val, test *rows }

// with is the file with every part changed; number is that of the part.
func (f file) with(change func(part *rows, number uint64)) file {
	out := file{f.cal.clone(), f.val.clone(), f.test.clone()}
	for i, part := range out.parts() {
		change(part, uint64(i))
	}
	return out
}

func (f file) parts() []*rows { return []*rows{f.cal, f.val, f.test} }

// names are the prefixes of the parts' arrays.
var names = []string{"cal", "val", "test"}

// problem is a file by its name.
type problem struct {
	name string
	// finest is the least distance of two answers that a law may ask for: above 0 where logits are no multiples of nth,
	// so that sums with constants are rounded.
	finest float64
	file   file
}

const (
	columns = 8              // M
	grid    = 1. / (1 << 9)  // of features: numbers of float32 that stay so when 10⁴ is added
	nth     = 1. / (1 << 30) // of logits: numbers that float32 does not hold, whose sums with quarters are exact
)

// drawn is a file of a classifier that is too sure: features are normal, labels are drawn from the true scores and
// logits are 2.5 times those, with noise.
func drawn(seed uint64, classes, cal int) file {
	rng := rand.New(rand.NewPCG(seed, 0))
	w := mat.NewDense(columns, classes, nil)
	w.Apply(func(_, _ int, _ float64) float64 { return 1.8 * rng.NormFloat64() / math.Sqrt(columns) }, w)
	part := func(n int) *rows {
		r := &rows{mat.NewDense(n, columns, nil), mat.NewDense(n, classes, nil), make([]int, n), nil}
		r.features.Apply(func(_, _ int, _ float64) float64 { return math.Round(rng.NormFloat64()/grid) * grid }, r.features)
		r.logits.Mul(r.features, w)
		for i := range n {
			scores := r.logits.RawRowView(i)
			noisy := make([]float64, classes)
			for k, s := range scores {
				noisy[k] = s - math.Log(-math.Log(rng.Float64()))
				scores[k] = math.Round(2.5*(s+rng.NormFloat64()/4)/nth) * nth
			}
			r.labels[i] = floats.MaxIdx(noisy)
		}
		return r
	}
	return file{part(cal), part(40), part(200)}
}

// problems are six: the first two are those of go test -short.
var problems = []problem{
	{"a class of three rows", 0, fewOfTheLast(drawn(11, 4, 150), 3)},
	{"two classes", 0, drawn(12, 2, 150)},
	{"votes", rounded, voted(drawn(13, 3, 150), 20)},
	{"thirty classes", 0, withEvery(drawn(14, 30, 200))},
	{"features with an offset", 0, drawn(15, 4, 150).with(func(r *rows, _ uint64) {
		r.features.Apply(func(_, j int, v float64) float64 { return v*float64(1+j) + float64(16*j) }, r.features)
	})},
	{"sixty rows", 0, drawn(16, 5, 60)},
}

// fewOfTheLast relabels all calibration rows of the last class but n by their most probable other one.
func fewOfTheLast(f file, n int) file {
	last := f.cal.logits.RawMatrix().Cols - 1
	for i, y := range f.cal.labels {
		if y != last {
			continue
		}
		if n--; n < 0 {
			f.cal.labels[i] = floats.MaxIdx(f.cal.logits.RawRowView(i)[:last])
		}
	}
	return f
}

// withEvery labels the first calibration rows by all classes, so that none is without rows: where it would be predicted
// is a matter of where a fit stops.
func withEvery(f file) file {
	for k := range f.cal.logits.RawMatrix().Cols {
		f.cal.labels[k] = k
	}
	return f
}

// voted puts the logarithms of smoothed shares of votes in the place of the logits, (votes+1)/(n+C), so that many are
// equal.
func voted(f file, n int) file {
	return f.with(func(r *rows, number uint64) {
		rng := rand.New(rand.NewPCG(number, 20))
		for i := range r.labels {
			scores := r.logits.RawRowView(i)
			chance := softmax(scores)
			votes := make([]float64, len(scores))
			for range n {
				u, k := rng.Float64(), 0
				for ; k < len(chance)-1 && u >= chance[k]; k++ {
					u -= chance[k]
				}
				votes[k]++
			}
			for k, v := range votes {
				scores[k] = math.Log((v + 1) / float64(n+len(scores)))
			}
		}
	})
}

func softmax(scores []float64) []float64 {
	total := floats.LogSumExp(scores)
	return data.Each(scores, func(s float64) float64 { return math.Exp(s - total) })
}
