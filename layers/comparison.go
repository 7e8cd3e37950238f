package layers

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Comparison says how rows differ from the rows that a model was fitted on.
type Comparison struct {
	Drift []Drift `json:"drift,omitempty"` // of the arrays that drifted
	// Wrong has a sentence for each array whose columns stand in another order or are scaled
	// otherwise, which files record where it was accepted.
	Wrong []string `json:"accepted_shift,omitempty"`
}

// Drift says how the columns of an array lie otherwise than in the rows of the fit.
type Drift struct {
	Array   string  `json:"array"` // features or logits
	Columns int     `json:"columns"`
	Drifted int     `json:"drifted"`        // columns that certainly do
	Column  int     `json:"column"`         // that drifted most
	Name    string  `json:"name,omitempty"` // of that column, where it has one
	Was     float64 `json:"was"`            // share of the fit's rows below a threshold of that column,
	Is      float64 `json:"is"`             // and of these rows
}

// String is a sentence of a warning.
func (d Drift) String() string {
	return fmt.Sprintf("the %s lie otherwise than those of the fit in %d of %d columns, most in column %s: %.0f %% of the rows are below a value that %.0f %% of the fit's rows were below",
		d.Array, d.Drifted, d.Columns, named(d.Column, d.Name), 100*d.Is, 100*d.Was)
}

const (
	// falseAlarms is the chance of any alarm, of each kind and array, on rows of the same law.
	falseAlarms = 5e-5
	// drifting is from how large a share of rows on a drift is told, however certain.
	drifting = .1
	// scaling is how many times wider or narrower the middle column must be to be scaled
	// otherwise, and scalingRows of how many rows.
	scaling, scalingRows = 3.0, 100
	// fewestOfClass are the rows of a class whose mean is compared.
	fewestOfClass = 10
)

// Compare holds a sample to the fingerprint. It is empty where the model has none or the
// rows are of another width.
func (p *Profile) Compare(s *Sample) *Comparison { return p.compare(s, "features", "logits") }

// CompareShifted is [Profile.Compare] for rows whose classes are more or less frequent than in the fit. Features and
// logits then drift, so it finds only features of other columns.
func (p *Profile) CompareShifted(s *Sample) *Comparison {
	return &Comparison{Wrong: p.compare(s, "features").Wrong}
}

// compare holds these arrays of a sample to the fingerprint.
func (p *Profile) compare(s *Sample, arrays ...string) *Comparison {
	c := &Comparison{}
	if p == nil || p.Fingerprint == nil || s.at == 0 {
		return c
	}
	f := p.Fingerprint
	means, counts := s.means()
	spread := p.Features.deviations()
	related := means != nil && f.Means != nil && sameDims(means, f.Means) && len(spread) == f.Means.RawMatrix().Cols
	for _, a := range []*compared{
		{what: "feature", array: "features", names: s.names.Features, marks: f.Features, sd: spread, rows: s.features},
		{what: "logit", array: "logits", names: s.names.Classes, marks: f.Logits, sd: p.Logits.deviations(), rows: s.logits},
	} {
		if !slices.Contains(arrays, a.array) || a.marks == nil || a.rows == nil || a.marks.At.RawMatrix().Cols != a.rows.RawMatrix().Cols || len(a.sd) != len(a.marks.At.RawRowView(0)) {
			continue
		}
		a.columns = sorted(a.rows)
		a.unit = 2 / math.Sqrt(1/float64(f.Rows)+1/float64(s.at))
		if related {
			a.relate(f, means, counts, s.features, spread)
		}
		switch moved, scaled := a.moved(), a.scaled(); {
		case moved != "":
			c.Wrong = append(c.Wrong, moved)
		case scaled != "":
			c.Wrong = append(c.Wrong, scaled)
		default:
			c.Drift = append(c.Drift, a.drift()...)
		}
	}
	return c
}

func sameDims(a, b *mat.Dense) bool {
	n, m := a.Dims()
	p, q := b.Dims()
	return n == p && m == q
}

// compared is an array beside the marks of its columns.
type compared struct {
	what, array string
	names       []string // of the columns; nil: their numbers
	marks       *Marks
	sd          []float64 // of the columns of the fit
	rows        *mat.Dense
	columns     [][]float64 // sorted
	unit        float64     // of a difference of angles, by its standard error
	// means adds what the class means show against column i being column j of the fit, of so
	// many terms; nil where there are none.
	means func(i, j int) float64
	terms int
}

// z is the difference at a threshold of column j, in standard errors.
func (a *compared) z(i, j, q int) float64 {
	return a.angle(below(a.columns[i], a.marks.At.At(q, j)), a.marks.Below.At(q, j))
}

// angle is the difference of two shares of rows, in standard errors.
func (a *compared) angle(is, was float64) float64 {
	return a.unit * (math.Asin(math.Sqrt(is)) - math.Asin(math.Sqrt(was)))
}

// margin is what a column's misfit must be above to be told, among all columns.
func (a *compared) margin() float64 {
	n := float64(len(a.columns))
	return 2 * math.Log(n*n/falseAlarms)
}

// relate lets the class means speak: those of a feature over the classes, and those of a
// class over the features, which do not vary independently.
func (a *compared) relate(f *Fingerprint, means *mat.Dense, counts []float64, features *mat.Dense, sds []float64) {
	sd, least := slices.Clone(sds), 0.0
	for _, v := range sd {
		least += v * v
	}
	least = math.Max(.01*math.Sqrt(least/float64(len(sd))), 1e-12)
	for j := range sd {
		sd[j] = math.Max(sd[j], least)
	}
	classes, width := means.Dims()
	square := func(c, of, i, j int) float64 {
		d := (means.At(c, i) - f.Means.At(of, j)) / sd[j]
		return d * d / (1/counts[c] + 1/f.Counts[of])
	}
	enough := func(c, of int) bool { return counts[c] >= fewestOfClass && f.Counts[of] >= fewestOfClass }
	if a.array == "features" {
		a.terms = classes
		a.means = func(i, j int) (sum float64) {
			for c := range classes {
				if enough(c, c) {
					sum += square(c, c, i, j)
				}
			}
			return sum
		}
		return
	}
	share := 1 / spread(features, sd)
	a.terms = width
	a.means = func(c, of int) (sum float64) {
		if enough(c, of) {
			for j := range width {
				sum += square(c, of, j, j)
			}
		}
		return sum * share
	}
}

// misfit is what speaks against column i being column j of the fit: about as large as its
// number of terms if it is. The differences of a column go together, hence the third.
func (a *compared) misfit(i, j int) float64 {
	sum := 0.0
	for q := range markQuantiles {
		z := a.z(i, j, q)
		sum += z * z / 3
	}
	if a.means != nil {
		sum += a.means(i, j)
	}
	return sum
}

// moved is a sentence about columns each of which does not look like itself but like another
// that does not either; "" if there are none.
func (a *compared) moved() string {
	n, margin := len(a.columns), a.margin()
	dof := float64(len(markQuantiles) + a.terms)
	fits := dof + 4*math.Sqrt(2*dof) + margin
	own := make([]float64, n)
	var strange []int // columns that do not look like themselves
	for i := range n {
		if own[i] = a.misfit(i, i); own[i] > margin {
			strange = append(strange, i)
		}
	}
	type pair struct {
		i, j   int
		misfit float64
	}
	var pairs []pair
	for _, i := range strange {
		for _, j := range strange {
			if i == j {
				continue
			}
			if m := a.misfit(i, j); m < own[i]-margin && m < own[i]/4 && m <= math.Max(fits, own[i]/20) {
				pairs = append(pairs, pair{i, j, m})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int { return cmp.Compare(a.misfit, b.misfit) })
	to, taken := map[int]int{}, map[int]bool{}
	for _, p := range pairs {
		if _, done := to[p.i]; !done && !taken[p.j] {
			to[p.i], taken[p.j] = p.j, true
		}
	}
	return reordered(a.what, a.array, a.names, to)
}

// reordered is a sentence about columns of which each looks like another of them; "" where they
// are fewer than two.
func reordered(what, array string, names []string, to map[int]int) string {
	var pairs, others []string
	targets := map[int]bool{}
	for _, i := range slices.Sorted(maps.Keys(to)) {
		j := to[i]
		if _, moved := to[j]; !moved || targets[j] {
			delete(to, i)
			continue
		}
		targets[j] = true
		switch {
		case to[j] == i && i < j:
			pairs = append(pairs, fmt.Sprintf("%s %s and %s look exchanged", array, named(i, nameOf(names, i)), named(j, nameOf(names, j))))
		case to[j] != i:
			others = append(others, fmt.Sprintf("%s %s looks like %s of the fit", what, named(i, nameOf(names, i)), named(j, nameOf(names, j))))
		}
	}
	if len(to) < 2 {
		return ""
	}
	said, most := append(pairs, others...), 4
	if more := len(said) - most; more > 0 {
		said = append(said[:most], fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%s; put the columns of %s into the order that the model was fitted on", strings.Join(said, ", "), array)
}

// named is a column by its number and, where it has one, its name.
func named(column int, name string) string {
	if name == "" {
		return strconv.Itoa(column)
	}
	return fmt.Sprintf("%d (%s)", column, name)
}

func nameOf(names []string, column int) string {
	if column >= len(names) {
		return ""
	}
	return names[column]
}

// scaled is a sentence about a middle column that is wider or narrower by far, or else about
// features that are and have the shape that they had; "" otherwise.
func (a *compared) scaled() string {
	var ratios []float64
	times := make([]float64, len(a.columns))
	for j := range a.columns {
		if times[j] = a.widening(j); times[j] > 0 {
			ratios = append(ratios, times[j])
		}
	}
	by := func(ratio float64) bool { return ratio >= scaling || ratio <= 1/scaling }
	if slices.Sort(ratios); 2*len(ratios) >= len(a.columns) && by(ratios[len(ratios)/2]) { // else most columns are constant
		return fmt.Sprintf("the %s look scaled otherwise: the spread of the middle column is %.3g times that of the fit; scale them as they were", a.array, ratios[len(ratios)/2])
	}
	var shown []string
	first := 0.0
	for j := range a.columns {
		if a.what == "feature" && times[j] > 0 && by(times[j]) && a.rescaled(j) {
			if shown = append(shown, named(j, nameOf(a.names, j))); first == 0 {
				first = times[j]
			}
		}
	}
	switch n := len(shown); n {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%s %s looks scaled otherwise: its spread is %.3g times that of the fit; scale it as it was", a.what, shown[0], first)
	default:
		const most = 4
		if n > most {
			shown = append(shown[:most-1], fmt.Sprintf("%d more", n-most+1))
		}
		last := len(shown) - 1
		return fmt.Sprintf("%s %s and %s look scaled otherwise: the spread of %s is %.3g times that of the fit; scale them as they were",
			a.array, strings.Join(shown[:last], ", "), shown[last], shown[0], first)
	}
}

// widening is how many times the fit's spread that of column j is; 0 where it is unknown. Of quartiles and of the
// standard deviation it is the one that claims less: a quartile can jump where many rows have one value, the other
// hangs on few rows.
func (a *compared) widening(j int) float64 {
	column, sd := a.columns[j], a.sd[j]
	was := a.marks.At.At(3, j) - a.marks.At.At(1, j)
	is := quantile(column, .75) - quantile(column, .25)
	if !(was > 0 && is > 0 && sd > 0 && len(column) >= scalingRows) {
		return 0
	}
	near := math.Inf(1)
	for _, ratio := range []float64{is / was, stat.PopStdDev(column, nil) / sd} {
		if math.Abs(math.Log(ratio)) < math.Abs(math.Log(near)) {
			near = ratio
		}
	}
	return near
}

func quantile(sorted []float64, share float64) float64 {
	return sorted[int(share*float64(len(sorted)-1))]
}

// rescaled reports whether column j does not look like itself, but does once its quartiles lie where
// those of the fit did.
func (a *compared) rescaled(j int) bool {
	own := a.misfit(j, j)
	if own <= a.margin() {
		return false
	}
	column, left := a.columns[j], 0.0
	low, high := a.marks.At.At(1, j), a.marks.At.At(3, j)
	from, width := quantile(column, .25), quantile(column, .75)-quantile(column, .25)
	for q := range markQuantiles {
		at := from + (a.marks.At.At(q, j)-low)/(high-low)*width
		z := a.angle(below(column, at+1e-6*width), a.marks.Below.At(q, j)) // marks are of single precision
		left += z * z / 3
	}
	const fits = 5 // of rows of the same law one in a thousand has more
	return left <= math.Max(fits, own/20)
}

// drift is the drift of the array, where it is certain and large enough to be told.
func (a *compared) drift() []Drift {
	certain := distuv.UnitNormal.Quantile(1 - falseAlarms/2/float64(len(markQuantiles)*len(a.columns)))
	d, largest := Drift{Array: a.array, Columns: len(a.columns)}, 0.0
	for j, column := range a.columns {
		drifted := false
		for q := range markQuantiles {
			was, is := a.marks.Below.At(q, j), below(column, a.marks.At.At(q, j))
			size := math.Abs(is - was)
			if math.Abs(a.z(j, j, q)) < certain || size < drifting {
				continue
			}
			drifted = true
			if size > largest {
				largest, d.Column, d.Was, d.Is = size, j, was, is
			}
		}
		if drifted {
			d.Drifted++
		}
	}
	if d.Drifted == 0 {
		return nil
	}
	d.Name = nameOf(a.names, d.Column)
	return []Drift{d}
}

func (m *Moments) deviations() []float64 {
	if m == nil {
		return nil
	}
	return m.SD
}
