package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"calibra/experiments/internal/checked"
	"calibra/experiments/metrics"

	"gonum.org/v1/gonum/floats"
)

// Region is a set of rows with the error of one class, or of the top class: the one of
// largest |T|. Gaps are confidence less frequency, positive where the classifier claims too much.
type Region struct {
	Rows []int `json:"rows,omitempty"` // of the input, ascending, counted from 0; JSON leaves them out of Classes, Confidence and Places
	ClassGap
	Size int `json:"size"`
	// EffectiveSize is (Σ v)²/Σ v², v = w p(1 − p) of Class: rows with an uncertain outcome
	// count, rows with a certain one do not.
	EffectiveSize float64 `json:"effective_size"`
	ClassName     string  `json:"class_name,omitempty"`
	Low           float64 `json:"low"` // simultaneous interval of the gap
	High          float64 `json:"high"`
	Detectable    float64 `json:"detectable"` // gaps beyond it are called wrong
	// RecoverableNLL is the mean of the cross-fitted gains of these rows, nats (see Recover), and
	// Saved what that is of all rows: nats a row of the file.
	RecoverableNLL float64 `json:"recoverable_nll"`
	Saved          float64 `json:"saved_nll"`
	Wrong          bool    `json:"wrong"`           // BeyondChance
	Named          bool    `json:"named,omitempty"` // it is one of those that explain what is wrong
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
	Class        *int    `json:"class"` // nil: the top class of each row
	Confidence   float64 `json:"confidence"`
	Frequency    float64 `json:"frequency"`
	Gap          float64 `json:"gap"`
	P            float64 `json:"p"`             // adjusted for everything that was tested
	BeyondChance bool    `json:"beyond_chance"` // P is at most Level: what alone is marked and named
}

// Compare puts what is beyond chance first, then what is least likely by chance.
func (r *Region) Compare(o *Region) int {
	return cmp.Or(cmp.Compare(r.P, o.P), cmp.Compare(math.Abs(o.Gap)/o.Detectable, math.Abs(r.Gap)/r.Detectable))
}

// mostClasses are listed of a region.
const mostClasses = 50

// region reports a set for a class, C being the top class and −1 the one of largest |T|.
func (x *exam) region(g *tested, class int) Region {
	n := g.weight
	out := Region{Rows: x.InputRows(g.rows), Size: len(g.rows), Accuracy: g.hits[x.Classes] / n}
	order := checked.FirstToLast(x.Classes + 1)[g.from:]
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
	out.ClassGap = x.gapOf(g, class)
	out.Wrong = out.BeyondChance
	out.Detectable = x.critical() * g.deviation(class) / n
	var p, w, open []float64
	for _, i := range g.rows {
		of := x.Probability(i, class)
		p, w, open = append(p, of), append(w, x.W(i)), append(open, x.W(i)*of*(1-of))
		if x.recovered != nil {
			out.RecoverableNLL += x.W(i) * x.recovered.gain[i] / n
		}
	}
	out.Saved = out.RecoverableNLL * n / float64(x.N)
	if floats.Dot(open, open) > 0 {
		out.EffectiveSize = checked.Effective(open)
	}
	out.Low, out.High = interval(p, w, g.predicted[class]-g.hits[class], g.spread[class], x.critical())
	return out
}

// beyond reports whether a |T| is more than chance makes the largest of all that is tested, in a share Level of
// calibrated predictions. Whatever is marked as wrong or said to be, is so by this.
func (x *exam) beyond(t float64) bool { return t > x.critical() }

// gapOf is the gap of one class in a set.
func (x *exam) gapOf(g *tested, c int) ClassGap {
	n, t := g.weight, math.Abs(g.statistic(c))*(1-1e-9)
	redrawn, _ := slices.BinarySearch(x.redrawn, t)
	swung, _ := slices.BinarySearch(x.swung, t)
	return ClassGap{
		Class: x.classOf(c), Confidence: g.predicted[c] / n, Frequency: g.hits[c] / n, Gap: g.gap(c),
		P:            float64(1+x.Redraws-min(redrawn, swung)) / float64(x.Redraws+1),
		BeyondChance: x.beyond(math.Abs(g.statistic(c))),
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

// sentence is such as "East: says .78, right in .66 (1,315 rows)", and names no description of all rows.
func (r Region) sentence(d *Diagnosis) string {
	where := r.Describe + ": "
	if r.Size == d.Rows {
		where = ""
	}
	says, right := "says", "right in"
	if r.Class != nil {
		says, right = "gives "+d.className(*r.Class), "true in"
	}
	return fmt.Sprintf("%s%s %s, %s %s (%s rows)", where, says, r.share(r.Confidence), right, r.share(r.Frequency), metrics.Thousands(r.Size))
}

// share is a number in as many decimals as tell the gap, and the smaller of the two shares from 0.
func (r Region) share(x float64) string {
	decimals, smaller := 2, min(r.Confidence, r.Frequency)
	for decimals < 6 && (math.Abs(r.Gap) < 2*math.Pow10(-decimals) || smaller > 0 && smaller < math.Pow10(-decimals)/2) {
		decimals++
	}
	return strings.TrimPrefix(metrics.Fixed(x, decimals), "0")
}

// WithoutRows are the regions without the numbers of their rows.
func WithoutRows(regions []Region) []Region {
	out := slices.Clone(regions)
	for k := range out {
		out[k].Rows = nil
	}
	return out
}
