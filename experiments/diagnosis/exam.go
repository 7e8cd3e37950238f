package diagnosis

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"

	"gonum.org/v1/gonum/mat"
)

// exam is a diagnosis in the making.
type exam struct {
	*checked.Sample
	Examination
	embedding *mat.Dense    // N×d; nil without
	words     *describer    // nil without an embedding
	recovered *recalibrated // nil of too few rows
	candidates
	redrawn, swung []float64 // the maxima of the redraws and of the bootstrap, ascending
}

// candidates are all that is tested at one level: regions of the predictions and of the recalibrated ones, tenths by
// confidence, groups, predicted classes, intersections of two of those, sides of features, places of the map, all rows.
type candidates struct {
	raw, left, tenths, groups, predicted, crossed, sides, places []*tested
	all                                                          *tested
}

func (f *candidates) sets() []*tested {
	return slices.Concat(f.raw, f.left, f.tenths, f.groups, f.predicted, f.crossed, f.sides, f.places, []*tested{f.all})
}

// newExam is one of the rows that count.
func newExam(s *checked.Sample, e Examination, embedding *mat.Dense) *exam {
	if s.Of != nil {
		embedding, e.Features = checked.RowsOf(embedding, s.Of), checked.RowsOf(e.Features, s.Of)
		if e.Groups != nil {
			e.Groups = checked.Pick(e.Groups, s.Of)
		}
	}
	return &exam{Sample: s, Examination: e, embedding: embedding}
}

// critical is what |T| of what is called wrong exceeds: all but a share Level of the maxima, of the redraws and of the
// bootstrap.
func (x *exam) critical() float64 {
	allowed := int(level * float64(x.Redraws+1))
	return max(x.redrawn[x.Redraws-allowed], x.swung[x.Redraws-allowed])
}

// collect finds what is to be tested.
func (x *exam) collect(rng *rand.Rand) error {
	if err := x.search(rng); err != nil {
		return err
	}
	x.tenths = x.counted(parted(checked.QuantileBins(x.Confidences(), confidenceCells), confidenceCells), 1, x.Classes)
	x.groups = x.counted(parted(x.Groups, len(x.GroupNames)), 1, 0)
	for _, g := range x.groups {
		g.name = x.GroupNames[x.Groups[g.rows[0]]]
	}
	x.predicted = x.counted(parted(x.Top, x.Classes), x.Search.Rows, x.Classes)
	for _, g := range x.predicted {
		g.name = "predicted " + nameOf(x.ClassNames, int(x.Top[g.rows[0]]))
	}
	x.crossed = slices.Concat(x.cross(x.groups, x.predicted), x.cross(x.groups, x.raw), x.cross(x.predicted, x.raw))
	if x.embedding != nil {
		x.sides = x.cutInTwo()
		words := lloyd(x.embedding, min(mapPlaces, max(1, x.N/defaultRegion)), rng)
		k, _ := words.Dims()
		x.places = x.counted(parted(nearest(x.embedding, words), k), 1, x.Classes)
	}
	x.all = count(x.Sample, checked.FirstToLast(x.N), 0, nil)
	return nil
}

// search finds regions of the embedding, on one half of the rows for the other.
func (x *exam) search(rng *rand.Rand) error {
	if x.embedding == nil || x.N < 2*x.Search.Rows {
		return nil
	}
	half := foldsOf(places(x.Sample, x.embedding), 2, rng)
	var features [2]coordinates // of each half
	for h := range features {
		_, on := apart(half, h)
		features[h] = x.words.cutsOn(on)
	}
	x.raw = x.regions(x.Sample, half, features, rng)
	if x.recovered == nil || x.recovered.NLL.Global.Low <= leastGain {
		return nil
	}
	recalibrated, err := x.Saying(x.recovered.global)
	if err == nil {
		// draws of its own, so that the last digits of corrections change no other draws
		x.left = x.regions(recalibrated, half, features, rand.New(rand.NewPCG(rng.Uint64(), 0)))
	}
	return err
}

// nameOf is the name of a class, or its number.
func nameOf(names []string, class int) string {
	if names != nil {
		return names[class]
	}
	return strconv.Itoa(class)
}

// counted are the sums of the cells of so many rows or more.
func (x *exam) counted(cells [][]int, least, from int) (sets []*tested) {
	for _, rows := range cells {
		if len(rows) >= least {
			sets = append(sets, count(x.Sample, rows, from, nil))
		}
	}
	return sets
}

const (
	cutFeatures = 8  // at most, those of largest variance
	cutTenths   = 10 // of the cuts of a feature
)

// cutInTwo are the rows on each side of cuts of features at about their deciles, tested for the top class.
func (x *exam) cutInTwo() (sets []*tested) {
	of := x.words.cuts
	for j, feature := range of.all[:min(len(of.all), cutFeatures)] {
		last := -1
		for k := range cutTenths {
			cut := k * len(feature.cuts) / cutTenths
			if cut == last || cut == len(feature.cuts) {
				continue
			}
			last = cut
			sides := make([]int, x.N)
			for i := range sides {
				if of.holds(condition{j, cut, true}, i) {
					sides[i] = 1
				}
			}
			// more than half is nearly all rows
			halves := slices.DeleteFunc(parted(sides, 2), func(rows []int) bool { return 2*len(rows) > x.N })
			sets = append(sets, x.counted(halves, x.Search.Rows, x.Classes)...)
		}
	}
	return sets
}

// notAll is the share of a set that its intersection with another holds at most, to be another set.
const notAll = .9

// cross are the intersections of each of as with each of bs, tested for the top class.
func (x *exam) cross(as, bs []*tested) (sets []*tested) {
	for _, a := range as {
		in := a.member(x.N)
		for _, b := range bs {
			both := slices.DeleteFunc(slices.Clone(b.rows), func(i int) bool { return !in[i] })
			if len(both) >= x.Search.Rows && float64(len(both)) <= notAll*float64(min(len(a.rows), len(b.rows))) {
				g := count(x.Sample, both, x.Classes, nil)
				g.of = []*tested{a, b}
				sets = append(sets, g)
			}
		}
	}
	return sets
}

// leastGain of a global correction, nats, that regions are searched beyond.
const leastGain = 1e-6

// parted are the rows of each cell.
func parted[K int | int32](cell []K, cells int) [][]int {
	rows := make([][]int, cells)
	for i, k := range cell {
		rows[k] = append(rows[k], i)
	}
	return rows
}

// judge draws what the sets are held against.
func (x *exam) judge(ctx context.Context, rng *rand.Rand) (err error) {
	if x.redrawn, err = x.largest(ctx, rng); err == nil {
		x.swung, err = x.swings(ctx, rng)
	}
	return err
}

// diagnosis puts the tests together.
func (x *exam) diagnosis(ctx context.Context, rng *rand.Rand) (*Diagnosis, error) {
	d := &Diagnosis{
		Rows: x.N, NumClasses: x.Classes, ClassNames: x.ClassNames, Redraws: x.Redraws, Level: level,
		Critical: x.critical(), CriticalInterval: x.critical(),
	}
	if x.recovered != nil {
		d.Recoverable = x.recovered.Recovered
	}
	named, rest, err := x.explain(ctx, rng)
	if err != nil {
		return nil, err
	}
	d.Kind = x.kind(named)
	found := slices.Concat(x.raw, x.left, x.sides, x.places)
	regions := slices.DeleteFunc(slices.Clone(named), func(g *tested) bool { return !slices.Contains(found, g) })
	explains := len(regions) > 0
	if !explains {
		regions = x.raw
	}
	for _, r := range regions {
		region := x.described(r)
		region.Named = explains
		region.Prototype = x.InputRows(x.prototype(r.rows))
		d.Regions = append(d.Regions, region)
	}
	slices.SortStableFunc(d.Regions, func(a, b Region) int {
		if a.Wrong != b.Wrong {
			return map[bool]int{true: -1, false: 1}[a.Wrong]
		}
		return cmp.Or(cmp.Compare(b.Saved, a.Saved), cmp.Compare(a.P, b.P))
	})
	d.Classes = make([]Region, x.Classes+1)
	work.Each(len(d.Classes), 1, func(c int) {
		name := "the top class"
		if c < x.Classes {
			name = d.className(c)
		}
		d.Classes[c] = x.told(x.all, c, "all rows, "+name)
	})
	for _, g := range x.tenths {
		low, high := 1., 0.
		for _, i := range g.rows {
			low, high = min(low, x.Confidence(i)), max(high, x.Confidence(i))
		}
		d.Confidence = append(d.Confidence, x.told(g, x.Classes, "confidence "+span(low, high)))
	}
	for _, g := range x.groups {
		d.Groups = append(d.Groups, x.described(g))
	}
	for k, g := range x.places {
		d.Places = append(d.Places, x.told(g, x.Classes, fmt.Sprintf("place %d", k)))
	}
	for _, g := range named {
		if g != x.all {
			region := x.described(g)
			region.Named = true
			d.Named = append(d.Named, region)
		}
	}
	calibrated, rows := x.calibratedBeside(named)
	d.Found = d.found(calibrated, rows, rest)
	nll, _ := lossesOf(x.Sample, x.Log)
	right := make([]float64, x.N)
	for i := range right {
		right[i] = x.Hit(i, x.Classes)
	}
	d.NLL, d.Accuracy = x.Mean(nll), x.Mean(right)
	return d, nil
}

// described is a set as the region of the class that is worst off in it.
func (x *exam) described(g *tested) Region {
	region := x.region(g, -1)
	region.Describe = x.describe(g)
	return region
}

// told is a set of rows as a region of one class alone.
func (x *exam) told(set *tested, class int, text string) Region {
	region := x.region(set, class)
	region.Describe, region.PerClass = text, nil
	return region
}
