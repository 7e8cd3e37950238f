package layers

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Fingerprint distinguishes the columns of the rows that a model was fitted on: of
// each feature and logit how many rows lie below a few of its quantiles, and of each feature
// the mean of the rows whose largest logit is of a class. It is taken of up to
// fingerprintRows rows, drawn at random.
type Fingerprint struct {
	Rows             int
	Features, Logits *Marks     // nil where the rows had none
	Means            *mat.Dense // C×M; nil without both, and where there are more than fingerprintMeans
	Counts           []float64  // C, rows behind the means
}

// Marks are thresholds of each column and the shares of rows at or below them.
type Marks struct{ At, Below *mat.Dense } // Q×M

// markQuantiles are where the thresholds lie; the second and the fourth make the spread.
var markQuantiles = []float64{.1, .25, .5, .75, .9}

const (
	fingerprintRows  = 4096
	fingerprintMeans = 1 << 20
)

// Sample gathers the rows that a fingerprint is taken of, from sets that follow one another.
type Sample struct {
	rows     []int // that are wanted, ascending
	seen     int
	features *mat.Dense
	logits   *mat.Dense
	at       int // rows gathered
	names    data.Names
}

// NewSample is of n rows.
func NewSample(n int) *Sample {
	s := &Sample{}
	rng := rand.New(rand.NewPCG(uint64(n), 17)) // the same rows of the same file; a stride could meet one class alone
	for i := range n {
		if left := fingerprintRows - len(s.rows); float64(left) > float64(n-i)*rng.Float64() {
			s.rows = append(s.rows, i)
		}
	}
	return s
}

// Add takes the rows of x that are wanted.
func (s *Sample) Add(x *data.Set) {
	n := x.Len()
	s.names = x.Names
	for ; s.at < len(s.rows) && s.rows[s.at] < s.seen+n; s.at++ {
		i := s.rows[s.at] - s.seen
		if x.Features != nil {
			_, m := x.Features.Dims()
			if s.features == nil {
				s.features = mat.NewDense(len(s.rows), m, nil)
			}
			copy(s.features.RawRowView(s.at), data.Row(x.Features, i, make([]float64, m)))
		}
		if x.Logits != nil {
			if s.logits == nil {
				s.logits = mat.NewDense(len(s.rows), x.Classes(), nil)
			}
			row := s.logits.RawRowView(s.at)
			copy(row, x.Logits.RawRowView(i))
			lower(row)
		}
	}
	s.seen += n
}

func marksOf(x *mat.Dense) *Marks {
	if x == nil {
		return nil
	}
	_, m := x.Dims()
	out := &Marks{mat.NewDense(len(markQuantiles), m, nil), mat.NewDense(len(markQuantiles), m, nil)}
	for j, column := range sorted(x) {
		for q, share := range markQuantiles {
			at := float64(float32(single(column[int(share*float64(len(column)-1))]))) // as a file holds it
			out.At.Set(q, j, at)
			out.Below.Set(q, j, float64(float32(below(column, at))))
		}
	}
	return out
}

// sorted are the columns of x, each in ascending order.
func sorted(x *mat.Dense) [][]float64 {
	_, m := x.Dims()
	columns := make([][]float64, m)
	work.Each(m, 1, func(j int) {
		columns[j] = mat.Col(nil, j, x)
		slices.Sort(columns[j])
	})
	return columns
}

// below is the share of a sorted column at or below v.
func below(column []float64, v float64) float64 {
	k := sort.Search(len(column), func(i int) bool { return column[i] > v })
	return float64(k) / float64(len(column))
}

// means are those of the features by the class of the largest logit.
func (s *Sample) means() (*mat.Dense, []float64) {
	if s.features == nil || s.logits == nil {
		return nil, nil
	}
	n, m := s.features.Dims()
	_, classes := s.logits.Dims()
	if classes*m > fingerprintMeans {
		return nil, nil
	}
	means, counts := mat.NewDense(classes, m, nil), make([]float64, classes)
	for i := range n {
		c := floats.MaxIdx(s.logits.RawRowView(i))
		counts[c]++
		floats.Add(means.RawRowView(c), s.features.RawRowView(i))
	}
	for c, count := range counts {
		if row := means.RawRowView(c); count > 0 {
			floats.Scale(1/count, row)
			for j, v := range row {
				row[j] = single(v)
			}
		}
	}
	return means, counts
}

// spread is the largest eigenvalue of the correlations of the columns of x: how much more the
// sum of their squares varies than that of independent ones.
func spread(x *mat.Dense, sd []float64) float64 {
	n, m := x.Dims()
	z := mat.NewDense(min(n, 512), m, nil)
	n, _ = z.Dims()
	for j := range m {
		mean := floats.Sum(mat.Col(nil, j, x.Slice(0, n, 0, m))) / float64(n)
		for i := range n {
			z.Set(i, j, (x.At(i, j)-mean)/sd[j])
		}
	}
	v, u := mat.NewVecDense(m, nil), mat.NewVecDense(n, nil)
	for j := range m {
		v.SetVec(j, 1+.1*float64(j%7))
	}
	value := 1.0
	for range 30 {
		u.MulVec(z, v)
		v.MulVec(z.T(), u)
		norm := mat.Norm(v, 2)
		if !(norm > 0) || math.IsInf(norm, 0) {
			return float64(m)
		}
		value = norm / float64(n)
		v.ScaleVec(1/norm, v)
	}
	return max(1, value)
}

func (f *Fingerprint) add(to profileFile) {
	if f == nil {
		return
	}
	to.addVector("fingerprint/rows", []float64{float64(f.Rows)})
	f.Features.add(to, "features")
	f.Logits.add(to, "logits")
	if f.Means != nil {
		to.addMatrix("fingerprint/means", f.Means)
		to.addVector("fingerprint/counts", f.Counts)
	}
}

func (m *Marks) add(to profileFile, name string) {
	if m != nil {
		to.addMatrix("fingerprint/"+name+"/at", m.At)
		to.addMatrix("fingerprint/"+name+"/below", m.Below)
	}
}

// readFingerprint is what add wrote, without what is damaged, nil where there is none: a model
// predicts without.
func readFingerprint(from profileFile) *Fingerprint {
	marks := func(name string) *Marks {
		at, below := from.matrix("fingerprint/"+name+"/at"), from.matrix("fingerprint/"+name+"/below")
		if at == nil || below == nil || !sameDims(at, below) || at.RawMatrix().Rows != len(markQuantiles) {
			return nil
		}
		return &Marks{at, below}
	}
	rows := from.vector("fingerprint/rows")
	if len(rows) == 0 || int(rows[0]) < 1 {
		return nil
	}
	f := &Fingerprint{Rows: int(rows[0]), Features: marks("features"), Logits: marks("logits")}
	means, counts := from.matrix("fingerprint/means"), from.vector("fingerprint/counts")
	if means != nil && f.Features != nil {
		if classes, width := means.Dims(); classes == len(counts) && width == f.Features.At.RawMatrix().Cols {
			f.Means, f.Counts = means, counts
		}
	}
	return f
}
