package metrics

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Examination says how a diagnosis is made. Its zero value is the default.
type Examination struct {
	Search SearchSettings
	// Redraws of the labels behind the p-values; 0 means 999.
	Redraws int
	// Level is the chance that predictions without an error have any region called wrong; 0 means .05.
	Level float64
	// Features (N×M) and their names describe the regions, in place of the embedding; nil
	// for none. No names are "feature 0", "feature 1", ….
	Features *mat.Dense
	Names    []string
	// ClassNames are the C names of the classes; nil for their numbers.
	ClassNames []string
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
	if e.Search, err = e.Search.filled(); err != nil {
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
	case rows < 2*e.Search.Rows:
		return e, fmt.Errorf("metrics: diagnosis: there are %d rows, and regions of %d are found on one half and tested on the other: want %d rows or more, or smaller regions", rows, e.Search.Rows, 2*e.Search.Rows)
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
	// Kind is the error that there is; Global and Local have what corrections of each kind would save.
	Kind Kind `json:"kind"`
	// Regions of the latent space: those called wrong first, the one before whose correction would save most
	// in all. Each row lies in a region that was found without it.
	Regions []Region `json:"regions"`
	// All rows, the rows of each class being its probabilities, those of a confidence, those of a group.
	Classes    []Region `json:"classes"`
	Confidence []Region `json:"confidence"`
	Groups     []Region `json:"groups,omitempty"`

	Rows       int      `json:"n"`
	NumClasses int      `json:"num_classes"`
	ClassNames []string `json:"class_names,omitempty"`
	Redraws    int      `json:"redraws"`
	Level      float64  `json:"level"`
	Critical   float64  `json:"critical"` // what |T| must exceed
	// CriticalInterval is how many empirical standard deviations an interval reaches.
	CriticalInterval float64    `json:"critical_interval"`
	Recoverable      *Recovered `json:"recoverable"`
	// Advice is which corrections are worth while, the first the one to take.
	Advice []Advice `json:"advice"`
}

// Advice is what a correction would save.
type Advice struct {
	Correction Kind   `json:"correction"` // GlobalError: of the predictions alone; BothErrors: by the latent space too
	Text       string `json:"text"`
	Saves      Gain   `json:"saves"`
	Command    string `json:"command,omitempty"` // that fits it; the package knows none
}

// Kind is what error a diagnosis finds.
type Kind string

const (
	NoError     Kind = "none"   // nothing is called wrong
	GlobalError Kind = "global" // a correction of the predictions alone leaves no region that is wrong
	LocalError  Kind = "local"  // regions are wrong, and the rest is not wrong alike
	BothErrors  Kind = "both"   // regions are wrong beyond what a global correction mends
)

// Region is a set of rows with the error of one class, or of the top class: the one of
// largest |T|. Gaps are confidence less frequency, positive where the classifier claims too much.
type Region struct {
	Rows []int `json:"rows,omitempty"` // ascending, counted from 0; JSON leaves them out of Classes and Confidence
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
	// PerClass are the gaps of the classes that were tested with their adjusted p, the top class last:
	// of many classes those of largest |T|.
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

// Diagnose finds the regions of the embedding (N×d) in which predictions (N×C) and labels
// (N) disagree.
//
// The rows are halved at random. On each half regions are searched: pieces that a few cuts make,
// by features and by distances to codewords, until what is left differs no more from the predictions. Pieces of the
// two halves that overlap are one region, whose rows are those that the piece of the other half
// holds. Each is tested for each class c, and for the top class, by
// T = Σ_{i∈R} e_ic / √(Σ_{i∈R} p_ic(1 − p_ic) + 4). All rows for each class, tenths of the
// rows by confidence, and groups are tested beside. The labels of all rows are
// redrawn from the predictions; the adjusted p-value of T is the share of redraws, the
// observed labels among them, whose largest |T| over everything tested is as large. So it
// is exact for calibrated predictions, however small or nested the regions, and the chance that
// anything is called wrong is at most Level (up to what the two halves know of each other through their pieces).
//
// Intervals hold for all gaps at once, be the predictions right or wrong: their variance is
// that of the residuals, and the number of standard deviations the larger of what the redraws and a wild bootstrap
// of the residuals need (see [Diagnosis.CriticalInterval]). So a region may be called wrong and its interval hold 0, where
// labels vary more than the predictions say; an interval without 0 belongs to a region called wrong.
//
// Where a global correction saves something, regions are searched among what it leaves too. They are reported where
// the rows outside all regions are wrong alike: by a third of the regions' gap or more. The error is global where none is left,
// if so or if regions hold more than half of the rows.
//
// Memory grows with N·d, time with N·(C·redraws + d).
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
	if e.ClassNames != nil && len(e.ClassNames) != s.classes {
		return nil, fmt.Errorf("metrics: diagnosis: there are %d names of %d classes: give one for each", len(e.ClassNames), s.classes)
	}
	step, steps := 0, 3
	done := func() {
		if step++; e.Progress != nil {
			e.Progress(step, steps)
		}
	}
	x := &exam{sample: s, Examination: e, embedding: embedding}
	x.words = x.describer()
	if x.recovered, err = Recover(ctx, logProbs, labels, embedding, e.Recovery, rng); err != nil {
		return nil, err
	}
	done()
	if err := x.collect(rng); err != nil {
		return nil, err
	}
	done()
	if err := x.judge(ctx, rng); err != nil {
		return nil, err
	}
	done()
	return x.diagnosis(), nil
}

// exam is a diagnosis in the making.
type exam struct {
	*sample
	Examination
	embedding *mat.Dense
	words     *describer
	recovered *Recovered
	corrected *sample // by the global correction; nil where it saves nothing for sure
	sets      []tested
	// places in sets: regions of the predictions, of the corrected ones, confidences, groups; all rows are the last
	raw, left      []place
	tenths, groups []int
	redrawn, swung []float64 // the maxima of the redraws and of the bootstrap, ascending
}

// place is a region: where it is in the sets, and all rows that its conditions hold of (N).
type place struct {
	set int
	in  []bool
}

// allowed is how many of so many maxima may be as large as what is called wrong.
func (x *exam) critical(most []float64) float64 {
	return most[len(most)-int(x.Level*float64(len(most)+1))]
}

// collect finds what is to be tested.
func (x *exam) collect(rng *rand.Rand) error {
	add := func(rows []int, from int) int {
		x.sets = append(x.sets, x.count(rows, from))
		return len(x.sets) - 1
	}
	half := folds(x.rows, 2, rng)
	for _, f := range x.regions(x.sample, half, rng) {
		x.raw = append(x.raw, place{add(f.rows, 0), f.in})
	}
	if x.recovered.NLL.Global.Low > leastGain {
		corrected, err := newSample(x.recovered.global, x.labels(firstToLast(x.rows)))
		if err != nil {
			return err
		}
		x.corrected = corrected
		for _, f := range x.regions(corrected, half, rng) {
			x.left = append(x.left, place{add(f.rows, 0), f.in})
		}
	}
	confidence := make([]float64, x.rows)
	for i := range confidence {
		confidence[i] = x.confidence(i)
	}
	for _, rows := range parted(quantileBins(confidence, confidenceCells), confidenceCells) {
		if rows != nil {
			x.tenths = append(x.tenths, add(rows, x.classes))
		}
	}
	for _, rows := range parted(x.Groups, len(x.GroupNames)) {
		x.groups = append(x.groups, add(rows, 0))
	}
	add(firstToLast(x.rows), 0)
	return nil
}

// leastGain of a global correction, nats, that regions are searched beyond.
const leastGain = 1e-6

// parted are the rows of each cell.
func parted(cell []int, cells int) [][]int {
	rows := make([][]int, cells)
	for i, k := range cell {
		rows[k] = append(rows[k], i)
	}
	return rows
}

// judge draws what the sets are held against.
func (x *exam) judge(ctx context.Context, rng *rand.Rand) (err error) {
	if x.redrawn, err = x.largest(ctx, x.sets, x.Redraws, rng); err != nil {
		return err
	}
	x.swung, err = x.swings(ctx, x.sets, x.Redraws, rng)
	return err
}

// largestOf is the largest |T| of a set of rows.
func (x *exam) largestOf(g *tested) (most float64) {
	for c := g.from; c <= x.classes; c++ {
		most = max(most, math.Abs(g.statistic(c)))
	}
	return most
}

// largestGap is the largest |gap| of a set of rows.
func (x *exam) largestGap(g *tested) (most float64) {
	for c := g.from; c <= x.classes; c++ {
		most = max(most, math.Abs(g.gap(c)))
	}
	return most
}

// alikeGap is what the gap outside all wrong regions is at least, as a share of theirs, where the error is everywhere.
const alikeGap = 1. / 3

// apartFrom keeps those regions, the one of largest statistic first, that are wrong and stay wrong without the rows of
// those before: each must tell something that the others do not. What stays is less than was tested, so
// the chance of a false alarm is no larger.
func (x *exam) apartFrom(regions []place, statistic func(rows []int) float64, critical float64) (kept []place) {
	at := make([]float64, len(x.sets))
	for _, r := range regions {
		at[r.set] = statistic(x.sets[r.set].rows)
	}
	order := slices.Clone(regions)
	slices.SortStableFunc(order, func(a, b place) int { return cmp.Compare(at[b.set], at[a.set]) })
	for _, r := range order {
		rest := slices.DeleteFunc(slices.Clone(x.sets[r.set].rows), func(i int) bool {
			return slices.ContainsFunc(kept, func(k place) bool { return k.in[i] })
		})
		if at[r.set] > critical && statistic(rest) > critical {
			kept = append(kept, r)
		}
	}
	return kept
}

// explain chooses what error there is and which sets are its regions.
func (x *exam) explain() (Kind, []place) {
	critical := x.critical(x.redrawn)
	raw := func(rows []int) float64 { g := x.count(rows, 0); return x.largestOf(&g) }
	wrong := x.apartFrom(x.raw, raw, critical)
	var rest []int // outside all of them
	for i := range x.rows {
		if !slices.ContainsFunc(wrong, func(r place) bool { return r.in[i] }) {
			rest = append(rest, i)
		}
	}
	everywhere := x.largestOf(&x.sets[len(x.sets)-1]) > critical || slices.ContainsFunc(x.tenths, func(k int) bool { return x.largestOf(&x.sets[k]) > critical })
	if len(wrong) > 0 {
		g, most := x.count(rest, 0), 0.
		for _, r := range wrong {
			most = max(most, x.largestGap(&x.sets[r.set]))
		}
		// of few rows no test would tell
		few := len(rest) < x.Search.Rows
		everywhere = few || x.largestGap(&g) > alikeGap*most && (x.largestOf(&g) > critical || 2*len(rest) < x.rows)
	}
	if x.corrected != nil && (everywhere || 2*len(rest) < x.rows) {
		left := x.apartFrom(x.left, x.remaining, distuv.UnitNormal.Quantile(1-x.Level/float64(2*(x.classes+1)*max(1, len(x.left)))))
		switch {
		case len(left) == 0:
			return GlobalError, x.raw
		case everywhere:
			return BothErrors, left
		}
	}
	switch {
	case len(wrong) > 0:
		return LocalError, wrong
	case everywhere:
		return GlobalError, x.raw
	}
	return NoError, x.raw
}

// remaining is the largest |Σ e| of rows in standard deviations, after the global correction; the variance is the rows' own
// where that is larger than the corrected predictions say.
func (x *exam) remaining(rows []int) (most float64) {
	g := x.corrected.count(rows, 0)
	for c := range x.classes + 1 {
		most = max(most, math.Abs(g.predicted[c]-g.hits[c])/math.Sqrt(max(g.spread[c], g.variance[c])+steady))
	}
	return most
}

// diagnosis puts the tests together.
func (x *exam) diagnosis() *Diagnosis {
	d := &Diagnosis{
		Rows: x.rows, NumClasses: x.classes, ClassNames: x.ClassNames, Redraws: x.Redraws, Level: x.Level, Recoverable: x.recovered,
		Critical: x.critical(x.redrawn),
	}
	d.CriticalInterval = max(d.Critical, x.critical(x.swung))
	var places []place
	d.Kind, places = x.explain()
	for _, r := range places {
		region := x.region(d, r.set, -1)
		region.Prototype = x.prototype(region.Rows)
		region.Describe = x.words.region(region.Rows)
		d.Regions = append(d.Regions, region)
	}
	slices.SortStableFunc(d.Regions, func(a, b Region) int {
		if a.Wrong != b.Wrong {
			return map[bool]int{true: -1, false: 1}[a.Wrong]
		}
		return cmp.Or(cmp.Compare(b.Saved, a.Saved), cmp.Compare(a.P, b.P))
	})
	for c := range x.classes + 1 {
		region := x.region(d, len(x.sets)-1, c)
		region.Describe = "all rows, the top class"
		if c < x.classes {
			region.Describe = "all rows, " + d.className(c)
		}
		region.PerClass = nil
		d.Classes = append(d.Classes, region)
	}
	for _, k := range x.tenths {
		region := x.region(d, k, x.classes)
		low, high := 1., 0.
		for _, i := range region.Rows {
			low, high = min(low, x.confidence(i)), max(high, x.confidence(i))
		}
		region.Describe = "confidence " + span(low, high)
		region.PerClass = nil
		d.Confidence = append(d.Confidence, region)
	}
	for at, k := range x.groups {
		if len(x.sets[k].rows) > 0 {
			region := x.region(d, k, -1)
			region.Describe = x.GroupNames[at]
			d.Groups = append(d.Groups, region)
		}
	}
	d.Verdict, d.Advice = d.verdict(), advice(x.recovered.NLL)
	return d
}

// advice is the corrections in the order in which to take them: what saves more for sure comes first, and where
// the latent space adds nothing for sure, the simpler one alone.
func advice(g Gains) []Advice {
	says := func(what string, gain Gain) string {
		return fmt.Sprintf("%s would save %s nats a row, %s at 95 %%", what, Nats(gain.Value), atLeast(gain.Low))
	}
	global := Advice{Correction: GlobalError, Saves: g.Global, Text: says("a correction of the predictions alone", g.Global)}
	both := Advice{Correction: BothErrors, Saves: g.Total, Text: says("a correction that looks at the latent space too", g.Total) +
		", where the latent space adds " + Nats(g.Local.Value) + " (" + atLeast(g.Local.Low) + ")"}
	switch {
	case g.Local.Low > 0:
		return []Advice{both, global}
	case g.Global.Low > 0:
		return []Advice{global, both}
	}
	none := Advice{Correction: NoError, Text: "leave the predictions as they are: no correction saves anything for sure"}
	return []Advice{none, global, both}
}

func atLeast(low float64) string {
	if low > 0 && Nats(low) != Nats(0) {
		return "at least " + Nats(low)
	}
	return "perhaps nothing"
}

// Nats is a gain in four decimals, never −0.
func Nats(x float64) string {
	if math.Abs(x) < .00005 {
		return "0.0000"
	}
	return strings.Replace(strconv.FormatFloat(x, 'f', 4, 64), "-", "−", 1)
}

// mostClasses are listed of a region.
const mostClasses = 50

// region reports a set for a class, C being the top class and −1 the one of largest |T|.
func (x *exam) region(d *Diagnosis, k, class int) Region {
	g := &x.sets[k]
	n := float64(len(g.rows))
	out := Region{Rows: g.rows, Size: len(g.rows), Accuracy: g.hits[x.classes] / n}
	order := firstToLast(x.classes + 1)
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Abs(g.statistic(b)), math.Abs(g.statistic(a)))
	})
	if class < 0 {
		class = order[0]
	}
	listed := order[:min(mostClasses, len(order))]
	if !slices.Contains(listed, x.classes) {
		listed = append(slices.Clone(listed), x.classes)
	}
	slices.Sort(listed)
	for _, c := range listed {
		out.PerClass = append(out.PerClass, x.gapOf(g, c))
	}
	if x.ClassNames != nil && class < x.classes {
		out.ClassName = x.ClassNames[class]
	}
	c := x.gapOf(g, class)
	out.Class, out.Confidence, out.Frequency, out.Gap, out.P = c.Class, c.Confidence, c.Frequency, c.Gap, c.P
	out.Wrong = math.Abs(g.statistic(class)) > d.Critical
	out.Detectable = d.Critical * math.Sqrt(g.variance[class]+steady) / n
	p := make([]float64, len(g.rows))
	var v, v2 float64
	for at, i := range g.rows {
		p[at] = x.probability(i, class)
		open := p[at] * (1 - p[at])
		v += open
		v2 += open * open
		out.RecoverableNLL += (x.recovered.GlobalNLL[i] + x.recovered.LocalNLL[i]) / n
	}
	out.Saved = out.RecoverableNLL * n / float64(x.rows)
	if v2 > 0 {
		out.EffectiveSize = v * v / v2
	}
	out.Low, out.High = interval(p, g.predicted[class]-g.hits[class], g.spread[class], d.CriticalInterval)
	return out
}

// gapOf is the gap of one class in a set.
func (x *exam) gapOf(g *tested, c int) ClassGap {
	below, _ := slices.BinarySearch(x.redrawn, math.Abs(g.statistic(c))*(1-1e-9))
	n := float64(len(g.rows))
	return ClassGap{
		Class: x.classOf(c), Confidence: g.predicted[c] / n, Frequency: g.hits[c] / n, Gap: g.gap(c),
		P: float64(1+len(x.redrawn)-below) / float64(len(x.redrawn)+1),
	}
}

// classOf is how results name class c of C, C standing for the top class.
func (x *exam) classOf(c int) *int {
	if c == x.classes {
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

// className is such as "class 3", or its name.
func (d *Diagnosis) className(c int) string {
	if d.ClassNames != nil {
		return "class " + d.ClassNames[c]
	}
	return fmt.Sprintf("class %d", c)
}

// verdict is the answer in a sentence.
func (d *Diagnosis) verdict() string {
	wrong := d.Wrong()
	regions := 0
	for _, r := range d.Regions {
		if r.Wrong {
			regions++
		}
	}
	plural := "s"
	if regions == 1 {
		plural = ""
	}
	switch {
	case len(wrong) == 0:
		return fmt.Sprintf("calibrated as far as %d rows can tell", d.Rows)
	case d.Kind == GlobalError:
		worst := d.worst(wrong)
		if top := &d.Classes[d.NumClasses]; top.Wrong {
			worst = top
		}
		return fmt.Sprintf("wrong everywhere alike: the error is global; %s", worst.sentence(d))
	case d.Kind == BothErrors:
		return fmt.Sprintf("wrong everywhere, and in %d region%s beyond that; first: %s", regions, plural, d.Regions[0].sentence(d))
	case regions == 0:
		return fmt.Sprintf("wrong in no region, but in %d of the classes, confidences and groups; first: %s", len(wrong), d.worst(wrong).sentence(d))
	}
	return fmt.Sprintf("wrong in %d region%s; first: %s", regions, plural, d.Regions[0].sentence(d))
}

// worst is the one of least p, the first among equals.
func (d *Diagnosis) worst(wrong []Region) *Region {
	return &wrong[slices.IndexFunc(wrong, func(r Region) bool {
		return !slices.ContainsFunc(wrong, func(o Region) bool { return o.P < r.P })
	})]
}

// sentence says what is wrong with a region.
func (r *Region) sentence(d *Diagnosis) string {
	class := "the top class"
	if r.Class != nil {
		class = d.className(*r.Class)
	}
	return fmt.Sprintf("%d rows (%s), %s said %.3f and was %.3f", r.Size, r.Describe, class, r.Confidence, r.Frequency)
}

// MarshalJSON leaves out the rows of classes and confidences, which are all rows many times over.
func (d *Diagnosis) MarshalJSON() ([]byte, error) {
	type plain Diagnosis
	short := plain(*d)
	short.Classes, short.Confidence = withoutRows(d.Classes), withoutRows(d.Confidence)
	return json.Marshal(short)
}

func withoutRows(regions []Region) []Region {
	out := slices.Clone(regions)
	for k := range out {
		out[k].Rows = nil
	}
	return out
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
