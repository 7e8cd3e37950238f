package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
)

// Examination says how a diagnosis is made. Its zero value is the default.
type Examination struct {
	Tree TreeSettings
	// Redraws of the labels behind the p-values; 0 means 999.
	Redraws int
	// Level is the chance that predictions without an error have any region called wrong; 0 means .05.
	Level float64
	// Features (N×M) and their names describe the regions, in place of the embedding; nil
	// for none. No names are "feature 0", "feature 1", ….
	Features   *mat.Dense
	Names      []string
	ClassNames []string // C, nil for none
	// Groups are N groups of the rows to be audited, 0…G−1, and their G names; nil for none.
	Groups     []int
	GroupNames []string
	Recovery   Recovery
	// Progress, when set, is told of each of the steps that is done.
	Progress func(done, total int)
}

const (
	defaultExamRedraws = 999
	defaultLevel       = .05
	confidenceCells    = 10
	prototypeRows      = 5
)

func (e Examination) filled(rows int) (Examination, error) {
	var err error
	if e.Tree, err = e.Tree.filled(); err != nil {
		return e, err
	}
	if e.Redraws == 0 {
		e.Redraws = defaultExamRedraws
	}
	if e.Level == 0 {
		e.Level = defaultLevel
	}
	switch {
	case !(e.Level > 0 && e.Level < 1):
		return e, fmt.Errorf("metrics: diagnosis: level %v: want a number between 0 and 1", e.Level)
	case int(e.Level*float64(e.Redraws+1)) < 1:
		return e, fmt.Errorf("metrics: diagnosis: %d redraws cannot show a level of %g: want %d or more", e.Redraws, e.Level, int(math.Ceil(1/e.Level))-1)
	case rows < 2*e.Tree.Rows:
		return e, fmt.Errorf("metrics: diagnosis: there are %d rows, and regions of %d are found on one half and tested on the other: want %d rows or more, or smaller regions", rows, e.Tree.Rows, 2*e.Tree.Rows)
	case e.Groups == nil && e.GroupNames != nil:
		return e, fmt.Errorf("metrics: diagnosis: there are names of groups and no groups")
	case e.Groups != nil && len(e.Groups) != rows:
		return e, fmt.Errorf("metrics: diagnosis: %d groups for %d rows: give one group for each row", len(e.Groups), rows)
	}
	if e.Features != nil {
		if n, m := e.Features.Dims(); n != rows || e.Names != nil && len(e.Names) != m {
			return e, fmt.Errorf("metrics: diagnosis: the features are %d×%d with %d names: want one row for each of the %d predictions", n, m, len(e.Names), rows)
		}
	}
	most := -1
	for i, g := range e.Groups {
		if g < 0 {
			return e, fmt.Errorf("metrics: diagnosis: row %d is in group %d: want 0 or more", i, g)
		}
		most = max(most, g)
	}
	if e.GroupNames != nil && most >= len(e.GroupNames) {
		return e, fmt.Errorf("metrics: diagnosis: there is a row of group %d and %d names of groups", most, len(e.GroupNames))
	}
	for g := len(e.GroupNames); g <= most; g++ {
		e.GroupNames = append(e.GroupNames, fmt.Sprintf("group %d", g))
	}
	return e, nil
}

// Diagnosis says where predictions are wrong.
type Diagnosis struct {
	Verdict string `json:"verdict"`
	// Regions of the latent space, the surest error first; each was found on rows other than its own.
	Regions []Region `json:"regions"`
	// All rows, the rows of each class being its probabilities, those of a confidence, those of a group.
	Classes    []Region `json:"classes"`
	Confidence []Region `json:"confidence"`
	Groups     []Region `json:"groups,omitempty"`

	Rows        int        `json:"n"`
	NumClasses  int        `json:"num_classes"`
	Redraws     int        `json:"redraws"`
	Level       float64    `json:"level"`
	Critical    float64    `json:"critical"` // what |T| must exceed
	Recoverable *Recovered `json:"recoverable"`
}

// Region is a set of rows with the error of one class, or of the top class: the one of
// largest |T|. Gaps are confidence less frequency, positive where the classifier claims too much.
type Region struct {
	Rows []int `json:"rows"` // ascending, counted from 0
	Size int   `json:"size"`
	// EffectiveSize is (Σ v)²/Σ v², v = p(1 − p) of Class: rows whose outcome is open
	// count, those that are certain do not.
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
	// RecoverableNLL is the mean of the cross-fitted gains of these rows, nats (see Recover).
	RecoverableNLL float64 `json:"recoverable_nll"`
	Wrong          bool    `json:"wrong"`
	Describe       string  `json:"describe"`

	// Accuracy of the top class, of all of the region's rows.
	Accuracy float64 `json:"accuracy"`
	// Prototype is the rows nearest the region's mean, the nearest first; nil without a region.
	Prototype []int `json:"prototype,omitempty"`
	// Parent is the region that encloses this one, a place in Regions; nil for none.
	Parent *int `json:"parent,omitempty"`
	// Half is the half of the rows that the region was tested on, 0 or 1; nil without a region.
	Half *int `json:"half,omitempty"`
	// PerClass are the gaps of all C classes and lastly the top class, with their adjusted p.
	PerClass []ClassGap `json:"per_class"`

	statistic float64
}

// ClassGap is the gap of one class in a region.
type ClassGap struct {
	Class      *int    `json:"class"`
	Confidence float64 `json:"confidence"`
	Frequency  float64 `json:"frequency"`
	Gap        float64 `json:"gap"`
	P          float64 `json:"p"`
}

// Diagnose finds the regions of the embedding (N×d) in which predictions (N×C) and labels
// (N) disagree.
//
// The rows are halved at random. On each half a [Tree] is grown, and its regions, but for
// the root, are tested on the rows of the other: for each region R and class c, and for the
// top class, by T = Σ_{i∈R} e_ic / √(Σ_{i∈R} p_ic(1 − p_ic) + 4). All rows for each class, tenths of the
// rows by confidence, and groups are tested beside. The labels of all rows are
// redrawn from the predictions; the adjusted p-value of T is the share of redraws, the
// observed labels among them, whose largest |T| over everything tested is as large. So it
// is exact for calibrated predictions, however small or nested the regions, and the chance that
// anything is called wrong is at most Level (up to what the two halves know of each other through their trees).
//
// Memory grows with N, time with N·(C + d + redraws).
func Diagnose(ctx context.Context, logProbs *mat.Dense, labels []int, embedding *mat.Dense, e Examination, rng *rand.Rand) (*Diagnosis, error) {
	s, err := newSample(logProbs, labels)
	if err != nil {
		return nil, err
	}
	if err := s.checkFeatures(embedding); err != nil {
		return nil, err
	}
	if e, err = e.filled(s.rows); err != nil {
		return nil, err
	}
	if slices.Max(labels) == slices.Min(labels) {
		return nil, fmt.Errorf("metrics: diagnosis: every label is %d: want rows of two classes or more", labels[0])
	}
	step, steps := 0, 3
	done := func() {
		if step++; e.Progress != nil {
			e.Progress(step, steps)
		}
	}
	x := &exam{sample: s, Examination: e, embedding: embedding}
	if err := x.halve(rng); err != nil {
		return nil, err
	}
	x.beside()
	done()
	most, err := s.largest(ctx, x.partitions, x.counted, x.shown, e.Redraws, rng)
	if err != nil {
		return nil, err
	}
	done()
	if x.recovered, err = Recover(ctx, logProbs, labels, embedding, e.Recovery, rng); err != nil {
		return nil, err
	}
	done()
	return x.diagnosis(most), nil
}

// exam is a diagnosis in the making: partitions are the two trees, all rows, the cells of
// confidence and, if there are any, the groups.
type exam struct {
	*sample
	Examination
	embedding  *mat.Dense
	trees      [2]*Tree
	partitions []*partition
	counted    [][]tested
	shown      [][]bool
	recovered  *Recovered
}

// Places in exam.partitions, after the two trees.
const (
	allRows = 2 + iota
	byConfidence
	byGroup
)

// halve grows a tree on each half and tests it on the other.
func (x *exam) halve(rng *rand.Rand) error {
	half := folds(x.rows, 2, rng)
	for k := range x.trees {
		on, test := apart(half, k) // grown outside half k
		residuals := mat.NewDense(len(on), x.classes, nil)
		for at, i := range on {
			for c := range x.classes {
				residuals.Set(at, c, x.residual(i, c))
			}
		}
		t, err := GrowTree(rowsOf(x.embedding, on), residuals, x.Tree, rng)
		if err != nil {
			return err
		}
		x.trees[k] = t
		p := &partition{cell: make([]int, x.rows), cells: t.Leaves()}
		for i := range p.cell {
			p.cell[i] = -1
		}
		for at, leaf := range t.Leaf(rowsOf(x.embedding, test)) {
			p.cell[test[at]] = leaf
		}
		for _, n := range t.nodes[t.Leaves():] {
			p.left, p.right = append(p.left, n.left), append(p.right, n.right)
		}
		counted := x.count(p)
		shown := make([]bool, len(counted))
		for k, g := range counted {
			shown[k] = g.rows >= x.Tree.Rows && k < len(counted)-1
		}
		x.add(p, counted, shown)
	}
	return nil
}

// beside are the partitions that are no regions of the embedding.
func (x *exam) beside() {
	all := &partition{cell: make([]int, x.rows), cells: 1}
	confidence := make([]float64, x.rows)
	for i := range confidence {
		confidence[i] = x.confidence(i)
	}
	tenths := &partition{cell: quantileBins(confidence, confidenceCells), cells: confidenceCells}
	partitions := []*partition{all, tenths}
	if x.Groups != nil {
		partitions = append(partitions, &partition{cell: x.Groups, cells: len(x.GroupNames)})
	}
	for _, p := range partitions {
		counted := x.count(p)
		shown := make([]bool, len(counted))
		for k, g := range counted {
			shown[k] = g.rows > 0
		}
		x.add(p, counted, shown)
	}
}

func (x *exam) add(p *partition, counted []tested, shown []bool) {
	x.partitions, x.counted, x.shown = append(x.partitions, p), append(x.counted, counted), append(x.shown, shown)
}

// diagnosis puts the tests together; most are the maxima of the redraws, ascending.
func (x *exam) diagnosis(most []float64) *Diagnosis {
	allowed := int(x.Level * float64(len(most)+1)) // redraws as large, the observed labels among them
	d := &Diagnosis{
		Rows: x.rows, NumClasses: x.classes, Redraws: x.Redraws, Level: x.Level,
		Critical: most[len(most)-allowed], Recoverable: x.recovered,
	}
	pValue := func(t float64) float64 {
		below, _ := slices.BinarySearch(most, math.Abs(t)*(1-1e-9))
		return float64(1+len(most)-below) / float64(len(most)+1)
	}
	report := func(k, r, class int) Region { return x.region(k, r, class, d.Critical, pValue) }
	words := x.describer()
	place := map[[2]int]int{}
	for k := range x.trees {
		for r, shown := range x.shown[k] {
			if !shown {
				continue
			}
			region := report(k, r, -1)
			region.Half = &k
			region.Prototype = x.prototype(region.Rows)
			region.Describe = words.region(region)
			place[[2]int{k, r}] = len(d.Regions)
			d.Regions = append(d.Regions, region)
		}
	}
	x.nest(d, place)
	for c := range x.classes + 1 {
		region := report(allRows, 0, c)
		region.Describe = "all rows, the top class"
		if c < x.classes {
			if region.Describe = fmt.Sprintf("all rows, class %d", c); c < len(x.ClassNames) {
				region.Describe = "all rows, class " + x.ClassNames[c]
			}
		}
		region.PerClass = nil
		d.Classes = append(d.Classes, region)
	}
	for r := range confidenceCells {
		if x.shown[byConfidence][r] {
			region := report(byConfidence, r, x.classes)
			low, high := 1., 0.
			for _, i := range region.Rows {
				low, high = min(low, x.confidence(i)), max(high, x.confidence(i))
			}
			region.Describe = fmt.Sprintf("confidence %.3g to %.3g", low, high)
			d.Confidence = append(d.Confidence, region)
		}
	}
	if x.Groups != nil {
		for r, name := range x.GroupNames {
			if x.shown[byGroup][r] {
				region := report(byGroup, r, -1)
				region.Describe = name
				d.Groups = append(d.Groups, region)
			}
		}
	}
	for _, regions := range [][]Region{d.Regions, d.Classes, d.Confidence, d.Groups} {
		for i := range regions {
			if c := regions[i].Class; c != nil && *c < len(x.ClassNames) {
				regions[i].ClassName = x.ClassNames[*c]
			}
		}
	}
	d.Verdict = d.verdict()
	return d
}

// nest ranks the regions and tells which encloses which.
func (x *exam) nest(d *Diagnosis, place map[[2]int]int) {
	order := firstToLast(len(d.Regions))
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(d.Regions[a].P, d.Regions[b].P), cmp.Compare(math.Abs(d.Regions[b].statistic), math.Abs(d.Regions[a].statistic)))
	})
	rank := make([]int, len(order))
	for at, r := range order {
		rank[r] = at
	}
	for key, r := range place {
		for parent := x.trees[key[0]].Parent(key[1]); parent >= 0; parent = x.trees[key[0]].Parent(parent) {
			if outer, ok := place[[2]int{key[0], parent}]; ok {
				d.Regions[r].Parent = &rank[outer]
				break
			}
		}
	}
	ranked := make([]Region, len(order))
	for at, r := range order {
		ranked[at] = d.Regions[r]
	}
	d.Regions = ranked
}

// region reports region r of partition k for a class, C being the top class and −1 the
// one of largest |T|.
func (x *exam) region(k, r, class int, critical float64, pValue func(float64) float64) Region {
	g := &x.counted[k][r]
	out := Region{Rows: x.members(k, r), Size: g.rows}
	most := class
	for c := range x.classes + 1 {
		t := g.statistic(c)
		if class < 0 && (most < 0 || math.Abs(t) > math.Abs(g.statistic(most))) {
			most = c
		}
		out.PerClass = append(out.PerClass, ClassGap{x.classOf(c), g.predicted[c] / float64(g.rows), g.hits[c] / float64(g.rows), g.gap(c), pValue(t)})
	}
	out.statistic = g.statistic(most)
	c := out.PerClass[most]
	out.Class, out.Confidence, out.Frequency, out.Gap, out.P = c.Class, c.Confidence, c.Frequency, c.Gap, c.P
	out.Wrong = math.Abs(out.statistic) > critical
	out.Detectable = critical * math.Sqrt(g.variance[most]+steady) / float64(g.rows)
	out.Accuracy = g.hits[x.classes] / float64(g.rows)
	p := make([]float64, g.rows)
	var v, v2 float64
	for at, i := range out.Rows {
		p[at] = x.confidence(i)
		if most < x.classes {
			p[at] = x.prob[i*x.classes+most]
		}
		open := p[at] * (1 - p[at])
		v += open
		v2 += open * open
		out.RecoverableNLL += (x.recovered.GlobalNLL[i] + x.recovered.LocalNLL[i]) / float64(g.rows)
	}
	if v2 > 0 {
		out.EffectiveSize = v * v / v2
	}
	out.Low, out.High = interval(p, g.predicted[most]-g.hits[most], critical)
	return out
}

// classOf is how results name class c of C, C standing for the top class.
func (x *exam) classOf(c int) *int {
	if c == x.classes {
		return nil
	}
	return &c
}

// members are the rows of region r of partition k.
func (x *exam) members(k, r int) []int {
	p := x.partitions[k]
	in := make([]bool, p.regions())
	in[r] = true
	for u := len(p.left) - 1; u >= 0; u-- {
		if in[p.cells+u] {
			in[p.left[u]], in[p.right[u]] = true, true
		}
	}
	rows := []int{} // JSON: [], not null
	for i, cell := range p.cell {
		if cell >= 0 && in[cell] {
			rows = append(rows, i)
		}
	}
	return rows
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
		distance[i] = squared(x.embedding.RawRowView(i), centre)
	}
	order := slices.Clone(rows)
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(distance[a], distance[b]) })
	return order[:min(prototypeRows, len(order))]
}

// Wrong are the regions, classes, cells of confidence and groups that are called wrong.
func (d *Diagnosis) Wrong() (wrong []Region) {
	for _, regions := range [][]Region{d.Regions, d.Classes, d.Confidence, d.Groups} {
		for _, r := range regions {
			if r.Wrong {
				wrong = append(wrong, r)
			}
		}
	}
	return wrong
}

// verdict is the answer in a sentence.
func (d *Diagnosis) verdict() string {
	wrong := d.Wrong()
	if len(wrong) == 0 {
		return fmt.Sprintf("calibrated as far as %d rows can tell", d.Rows)
	}
	regions := 0
	for _, r := range d.Regions {
		if r.Wrong {
			regions++
		}
	}
	if regions == 0 {
		return fmt.Sprintf("wrong in none of %d regions, but in %d of the classes, confidences and groups; first: %s", len(d.Regions), len(wrong), wrong[0].sentence())
	}
	largest := 0
	for k, r := range d.Regions {
		if r.Wrong && math.Abs(r.Gap) > math.Abs(d.Regions[largest].Gap) {
			largest = k
		}
	}
	return fmt.Sprintf("wrong in %d of %d regions; largest: %s", regions, len(d.Regions), d.Regions[largest].sentence())
}

// sentence says what is wrong with a region.
func (r *Region) sentence() string {
	class := "the top class"
	if r.ClassName != "" {
		class = "class " + r.ClassName
	} else if r.Class != nil {
		class = fmt.Sprintf("class %d", *r.Class)
	}
	return fmt.Sprintf("%d rows (%s), %s said %.3f and was %.3f", r.Size, r.Describe, class, r.Confidence, r.Frequency)
}

// MarshalJSON writes what was recovered without the terms of each row.
func (r *Recovered) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		NLL    Gains  `json:"nll"`
		Brier  Gains  `json:"brier"`
		Global string `json:"global_family"`
		Local  string `json:"local_family"`
	}{r.NLL, r.Brier, r.Families[0], r.Families[1]})
}
