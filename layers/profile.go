package layers

import (
	"fmt"
	"math"
	"strings"

	"calibra/data"
	"calibra/graph"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gorgonia.org/tensor"
)

// Profile records where the rows lay that a model was fitted on: mean and standard
// deviation of each feature and of each logit, the logits of a row counted from its
// largest. A model file keeps them, so that whoever applies the model can be told that
// rows lie elsewhere.
type Profile struct {
	Features, Logits *Moments     // nil where the rows had none
	Fingerprint      *Fingerprint // nil in files of before there was one
	ByLabel          *ByLabel     // likewise, and of rows without labels
	Predicted        *Predicted   // nil where nobody predicted the rows
}

// Moments are mean and standard deviation of each column.
type Moments struct{ Mean, SD []float64 }

// ProfileOf measures the rows of a set.
func ProfileOf(x *data.Set) *Profile {
	if x == nil {
		return &Profile{}
	}
	p, s := measured(x), NewSample(x.Len())
	s.Add(x)
	p.Fingerprint = &Fingerprint{Rows: s.at, Features: marksOf(s.features), Logits: marksOf(s.logits)}
	p.Fingerprint.Means, p.Fingerprint.Counts = s.means()
	p.ByLabel = byLabel(x)
	return p
}

// measured is without the fingerprint.
func measured(x *data.Set) *Profile {
	p := &Profile{}
	if x.Features != nil {
		p.Features = momentsOf(x.Features)
	}
	if x.Logits != nil {
		p.Logits = momentsOf(belowTop(x.Logits))
	}
	return p
}

func momentsOf(x mat.Matrix) *Moments {
	n, m := x.Dims()
	out := &Moments{make([]float64, m), make([]float64, m)}
	column := make([]float64, n)
	for j := range m {
		mean, sd := stat.PopMeanStdDev(mat.Col(column, j, x), nil)
		out.Mean[j], out.SD[j] = single(mean), single(sd)
	}
	return out
}

// single is v as a float32 file can hold it.
func single(v float64) float64 {
	if math.IsNaN(v) { // of values whose squares overflow
		return math.MaxFloat32
	}
	return max(-math.MaxFloat32, min(v, math.MaxFloat32))
}

// lowestLogit is what a logit further below the largest counts as: the probability of
// such a class is 0 in float32, so how far makes no difference.
const lowestLogit = -1e4

// belowTop is logits less the largest of each row.
func belowTop(logits *mat.Dense) *mat.Dense {
	out := mat.DenseCopyOf(logits)
	for i := range out.RawMatrix().Rows {
		lower(out.RawRowView(i))
	}
	return out
}

// lower subtracts from a row of logits its largest.
func lower(row []float64) {
	floats.AddConst(-floats.Max(row), row)
	for j, v := range row {
		row[j] = math.Max(v, lowestLogit)
	}
}

// Of reports whether x can be the rows that were measured: whether all moments that both have
// agree within the rounding of a float32 file. Without moments it is true of any rows.
func (p *Profile) Of(x *data.Set) bool {
	if p == nil {
		return true
	}
	now := measured(x)
	return p.Features.is(now.Features) && p.Logits.is(now.Logits)
}

// is reports whether two of both are the same; true where one is missing.
func (m *Moments) is(other *Moments) bool {
	if m == nil || other == nil {
		return true
	}
	if len(m.Mean) != len(other.Mean) {
		return false
	}
	for j, mean := range m.Mean {
		rounding := 1e-6 * (math.Abs(mean) + m.SD[j])
		if math.Abs(mean-other.Mean[j]) > rounding || math.Abs(m.SD[j]-other.SD[j]) > rounding {
			return false
		}
	}
	return true
}

// farSD is how many standard deviations from the mean, as the root mean square over the
// columns, make a row lie far outside. Rows like those of the fit have about 1.
const farSD = 10

// Far is one sentence for each array of x that has rows far outside what the model was
// fitted on, or "" if there is none. It states how many and how far.
func (p *Profile) Far(x *data.Set) string {
	f := p.Watch()
	f.Add(x)
	return f.String()
}

// Watch begins to count rows far outside, of sets that follow one another.
func (p *Profile) Watch() *Far {
	if p == nil {
		return &Far{}
	}
	return &Far{features: farCount{of: p.Features, what: "features"}, logits: farCount{of: p.Logits, what: "logits"}}
}

// Far counts the rows that lie far outside what a model was fitted on.
type Far struct{ features, logits farCount }

// farCount counts those of one array.
type farCount struct {
	what     string
	of       *Moments // nil: nothing is known
	rows     int      // seen
	count    int      // far
	farthest float64
	at       int // which row that is
}

// Add counts the rows of x.
func (f *Far) Add(x *data.Set) {
	if f.features.of != nil && x.Features != nil {
		f.features.add(x.Features)
	}
	if f.logits.of != nil && x.Logits != nil {
		f.logits.add(belowTop(x.Logits))
	}
}

// String is [Profile.Far] of all rows.
func (f *Far) String() string {
	var said []string
	for _, c := range []farCount{f.features, f.logits} {
		if c.count > 0 {
			said = append(said, fmt.Sprintf("The %s of %d of %d rows lie far outside what the model was fitted on, row %d the farthest: %.3g standard deviations from the mean. Check that they are scaled as they were for the fit.", c.what, c.count, c.rows, c.at, c.farthest))
		}
	}
	return strings.Join(said, " ")
}

func (c *farCount) add(x mat.Matrix) {
	n, columns := x.Dims()
	m := c.of
	if columns != len(m.Mean) {
		return // whoever predicts returns the error
	}
	// A column that hardly varied among the rows of the fit must not decide alone.
	least := math.Max(0.1*floats.Norm(m.SD, 2)/math.Sqrt(float64(columns)), 1e-12)
	buffer := make([]float64, columns)
	for i := range n {
		var sum float64
		for j, v := range data.Row(x, i, buffer) {
			z := (v - m.Mean[j]) / math.Max(m.SD[j], least)
			sum += z * z
		}
		if far := math.Sqrt(sum / float64(columns)); far > farSD {
			c.count++
			if far > c.farthest {
				c.farthest, c.at = far, c.rows+i
			}
		}
	}
	c.rows += n
}

// profilePrefix begins the names of the tensors of a model file that hold Profile.
const profilePrefix = "inputs/"

// profileFile is the tensors of a model file under that prefix.
type profileFile struct{ *graph.Weights }

func (f profileFile) addVector(name string, v []float64) { f.AddState(profilePrefix+name, v, len(v)) }

func (f profileFile) addMatrix(name string, m *mat.Dense) {
	rows, columns := m.Dims()
	f.AddState(profilePrefix+name, m.RawMatrix().Data, rows, columns)
}

// vector is a tensor's values, nil where there is none.
func (f profileFile) vector(name string) []float64 {
	if !f.Has(profilePrefix + name) {
		return nil
	}
	return f.Float64s(profilePrefix + name)
}

// matrix is a tensor of two axes, nil where there is none that holds anything.
func (f profileFile) matrix(name string) *mat.Dense {
	if !f.Has(profilePrefix+name) || f.Tensor(profilePrefix+name).Dims() != 2 {
		return nil
	}
	shape := f.Tensor(profilePrefix + name).Shape()
	if shape[0]*shape[1] == 0 {
		return nil
	}
	return mat.NewDense(shape[0], shape[1], f.vector(name))
}

func (p *Profile) weights(dt tensor.Dtype) *graph.Weights {
	f := profileFile{graph.NewWeights(dt)}
	if p != nil {
		p.Features.add(f, "features")
		p.Logits.add(f, "logits")
		p.Fingerprint.add(f)
		p.ByLabel.add(f)
		p.Predicted.add(f)
	}
	return f.Weights
}

func (m *Moments) add(f profileFile, name string) {
	if m != nil {
		f.addVector(name+"/mean", m.Mean)
		f.addVector(name+"/sd", m.SD)
	}
}

// readProfile is what weights wrote, nil where there is nothing.
func readProfile(w *graph.Weights) *Profile {
	f := profileFile{w}
	read := func(name string) *Moments {
		mean, sd := f.vector(name+"/mean"), f.vector(name+"/sd")
		if mean == nil || len(mean) != len(sd) {
			return nil
		}
		return &Moments{mean, sd}
	}
	p := &Profile{
		Features: read("features"), Logits: read("logits"),
		Fingerprint: readFingerprint(f), ByLabel: readByLabel(f), Predicted: readPredicted(f),
	}
	if p.Features == nil && p.Logits == nil {
		return nil
	}
	return p
}
