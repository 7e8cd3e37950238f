package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"calibra/experiments/internal/checked"
)

// Region is a set of rows with the error of one class, or of the top class: the one of
// largest |T|. Gaps are confidence less frequency, positive where the classifier claims too much.
type Region struct {
	Rows []int `json:"rows,omitempty"` // of the input, ascending, counted from 0; JSON leaves them out of Classes and Confidence
	Size int   `json:"size"`
	// EffectiveSize is (Σ v)²/Σ v², v = w p(1 − p) of Class: rows with an uncertain outcome
	// count, rows with a certain one do not.
	EffectiveSize float64 `json:"effective_size"`
	Class         *int    `json:"class"` // nil: the top class of each row
	ClassName     string  `json:"class_name,omitempty"`
	Confidence    float64 `json:"confidence"`
	Frequency     float64 `json:"frequency"`
	Gap           float64 `json:"gap"`
	Low           float64 `json:"low"` // simultaneous interval of the gap
	High          float64 `json:"high"`
	P             float64 `json:"p"`          // adjusted for everything that was tested
	Detectable    float64 `json:"detectable"` // gaps beyond it are called wrong
	// RecoverableNLL is the mean of the cross-fitted gains of these rows, nats (see Recover), and
	// Saved what that is of all rows: nats a row of the file.
	RecoverableNLL float64 `json:"recoverable_nll"`
	Saved          float64 `json:"saved_nll"`
	Wrong          bool    `json:"wrong"`
	Describe       string  `json:"describe"`

	// Accuracy of the top class, of all of the region's rows.
	Accuracy float64 `json:"accuracy"`
	// Prototype is the rows nearest the region's mean, the nearest first; nil without a region.
	Prototype []int `json:"prototype,omitempty"`
	// PerClass are the gaps of the tested classes with their adjusted p, the top class last; if there
	// are many classes, those of largest |T|.
	PerClass []ClassGap `json:"per_class,omitempty"`
}

// ClassGap is the gap of one class in a region.
type ClassGap struct {
	Class      *int    `json:"class"`
	Confidence float64 `json:"confidence"`
	Frequency  float64 `json:"frequency"`
	Gap        float64 `json:"gap"`
	P          float64 `json:"p"`
}

// mostClasses are listed of a region.
const mostClasses = 50

// region reports a set for a class, C being the top class and −1 the one of largest |T|.
func (x *exam) region(d *Diagnosis, g *tested, class int) Region {
	n := g.weight
	out := Region{Rows: x.InputRows(g.rows), Size: len(g.rows), Accuracy: g.hits[x.Classes] / n}
	order := checked.FirstToLast(x.Classes + 1)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(g.statistic(b)), math.Abs(g.statistic(a)))
	})
	if class < 0 {
		class = order[0]
	}
	listed := order[:min(mostClasses, len(order))]
	if !slices.Contains(listed, x.Classes) {
		listed = append(slices.Clone(listed), x.Classes)
	}
	slices.Sort(listed)
	for _, c := range listed {
		out.PerClass = append(out.PerClass, x.gapOf(g, c))
	}
	if x.ClassNames != nil && class < x.Classes {
		out.ClassName = x.ClassNames[class]
	}
	c := x.gapOf(g, class)
	out.Class, out.Confidence, out.Frequency, out.Gap, out.P = c.Class, c.Confidence, c.Frequency, c.Gap, c.P
	out.Wrong = math.Abs(g.statistic(class)) > d.Critical
	out.Detectable = d.Critical * g.deviation(class) / n
	p, w := make([]float64, len(g.rows)), make([]float64, len(g.rows))
	var v, v2 float64
	for at, i := range g.rows {
		p[at], w[at] = x.Probability(i, class), x.W(i)
		open := x.W(i) * p[at] * (1 - p[at])
		v += open
		v2 += open * open
		out.RecoverableNLL += x.W(i) * x.recovered.gain[i] / n
	}
	out.Saved = out.RecoverableNLL * n / float64(x.N)
	if v2 > 0 {
		out.EffectiveSize = v * v / v2
	}
	out.Low, out.High = interval(p, w, g.predicted[class]-g.hits[class], g.spread[class], d.CriticalInterval)
	return out
}

// gapOf is the gap of one class in a set.
func (x *exam) gapOf(g *tested, c int) ClassGap {
	n, t := g.weight, math.Abs(g.statistic(c))*(1-1e-9)
	redrawn, _ := slices.BinarySearch(x.redrawn, t)
	swung, _ := slices.BinarySearch(x.swung, t)
	return ClassGap{
		Class: x.classOf(c), Confidence: g.predicted[c] / n, Frequency: g.hits[c] / n, Gap: g.gap(c),
		P: float64(1+x.Redraws-min(redrawn, swung)) / float64(x.Redraws+1),
	}
}

// classOf is how results name class c of C, C standing for the top class.
func (x *exam) classOf(c int) *int {
	if c == x.Classes {
		return nil
	}
	return &c
}

// prototype is the rows nearest the mean of rows.
func (x *exam) prototype(rows []int) []int {
	_, d := x.embedding.Dims()
	centre := make([]float64, d)
	for _, i := range rows {
		for j, v := range x.embedding.RawRowView(i) {
			centre[j] += v / float64(len(rows))
		}
	}
	distance := make(map[int]float64, len(rows))
	for _, i := range rows {
		distance[i] = checked.Squared(x.embedding.RawRowView(i), centre)
	}
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	return order[:min(prototypeRows, len(order))]
}

// sentence describes what is wrong with a region.
func (r Region) sentence(d *Diagnosis) string {
	rows := fmt.Sprintf("%d rows (%s)", r.Size, r.Describe)
	if r.Size == d.Rows {
		rows = fmt.Sprintf("all %d rows", r.Size)
	}
	if r.Class == nil {
		return fmt.Sprintf("in %s the confidence is %.3f and the accuracy %.3f", rows, r.Confidence, r.Frequency)
	}
	return fmt.Sprintf("in %s the probability of %s is %.3f and its frequency %.3f", rows, d.className(*r.Class), r.Confidence, r.Frequency)
}

// WithoutRows are the regions without the numbers of their rows.
func WithoutRows(regions []Region) []Region {
	out := slices.Clone(regions)
	for k := range out {
		out[k].Rows = nil
	}
	return out
}
