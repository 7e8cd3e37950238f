package diagnosis

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// exam is a diagnosis in the making.
type exam struct {
	*checked.Sample
	Examination
	embedding    *mat.Dense
	words        *describer
	recovered    *recalibrated
	recalibrated *checked.Sample // by the global correction; nil where it saves nothing for sure
	// what is tested: regions of the predictions, of the recalibrated ones, confidences, groups, all rows
	raw, left, tenths, groups []*tested
	all                       *tested
	redrawn, swung            []float64 // the maxima of the redraws and of the bootstrap, ascending
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
	allowed := int(x.Level * float64(x.Redraws+1))
	return max(x.redrawn[x.Redraws-allowed], x.swung[x.Redraws-allowed])
}

// collect finds what is to be tested.
func (x *exam) collect(rng *rand.Rand) error {
	half := foldsOf(places(x.Sample, x.embedding), 2, rng)
	x.raw = x.regions(x.Sample, half, rng)
	if x.recovered.NLL.Global.Low > leastGain {
		recalibrated, err := x.Saying(x.recovered.global)
		if err != nil {
			return err
		}
		x.recalibrated = recalibrated
		x.left = x.regions(recalibrated, half, rng)
	}
	for _, rows := range parted(checked.QuantileBins(x.Confidences(), confidenceCells), confidenceCells) {
		if rows != nil {
			x.tenths = append(x.tenths, count(x.Sample, rows, x.Classes))
		}
	}
	for _, rows := range parted(x.Groups, len(x.GroupNames)) {
		x.groups = append(x.groups, count(x.Sample, rows, 0))
	}
	x.all = count(x.Sample, checked.FirstToLast(x.N), 0)
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
	sets := slices.Concat(x.raw, x.left, x.tenths, x.groups, []*tested{x.all})
	if x.redrawn, err = largest(x.Sample, ctx, sets, x.Redraws, rng); err != nil {
		return err
	}
	x.swung, err = swings(x.Sample, ctx, sets, x.Redraws, rng)
	return err
}

// alikeGap is what the gap outside all wrong regions is at least, as a share of theirs, where the error is everywhere.
const alikeGap = 1. / 3

// apartFrom keeps those regions, the one of largest |T| under s first, that are wrong and stay wrong without the rows of
// those before: each must show something that the others do not. What stays is less than was tested, so
// the chance of a false alarm is no larger.
func (x *exam) apartFrom(regions []*tested, s *checked.Sample, critical float64) (kept []*tested) {
	at := map[*tested]float64{}
	for _, r := range regions {
		at[r] = count(s, r.rows, 0).worst()
	}
	order := slices.Clone(regions)
	slices.SortStableFunc(order, func(a, b *tested) int { return cmp.Compare(at[b], at[a]) })
	for _, r := range order {
		rest := slices.DeleteFunc(slices.Clone(r.rows), func(i int) bool {
			return slices.ContainsFunc(kept, func(k *tested) bool { return k.in[i] })
		})
		if at[r] > critical && count(s, rest, 0).worst() > critical {
			kept = append(kept, r)
		}
	}
	return kept
}

// explain chooses what error there is and which sets are its regions.
func (x *exam) explain() (Kind, []*tested) {
	critical := x.critical()
	wrong := x.apartFrom(x.raw, x.Sample, critical)
	var rest []int // outside all of them
	for i := range x.N {
		if !slices.ContainsFunc(wrong, func(r *tested) bool { return r.in[i] }) {
			rest = append(rest, i)
		}
	}
	tooLarge := func(g *tested) bool { return g.worst() > critical }
	everywhere := tooLarge(x.all) || slices.ContainsFunc(x.tenths, tooLarge)
	if len(wrong) > 0 {
		g, most := count(x.Sample, rest, 0), 0.
		for _, r := range wrong {
			most = max(most, r.largest(r.gap))
		}
		few := len(rest) < x.Search.Rows // too few for a test
		everywhere = few || g.largest(g.gap) > alikeGap*most && (tooLarge(g) || 2*len(rest) < x.N)
	}
	if x.recalibrated != nil && (everywhere || 2*len(rest) < x.N) {
		left := x.apartFrom(x.left, x.recalibrated, distuv.UnitNormal.Quantile(1-x.Level/float64(2*(x.Classes+1)*max(1, len(x.left)))))
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

// diagnosis puts the tests together.
func (x *exam) diagnosis() *Diagnosis {
	d := &Diagnosis{
		Rows: x.N, NumClasses: x.Classes, ClassNames: x.ClassNames, Redraws: x.Redraws, Level: x.Level, Recoverable: x.recovered.Recovered,
		Critical: x.critical(), CriticalInterval: x.critical(),
	}
	var regions []*tested
	d.Kind, regions = x.explain()
	for _, r := range regions {
		region := x.region(d, r, -1)
		region.Prototype = x.InputRows(x.prototype(r.rows))
		region.Describe = x.words.region(r.rows)
		d.Regions = append(d.Regions, region)
	}
	slices.SortStableFunc(d.Regions, func(a, b Region) int {
		if a.Wrong != b.Wrong {
			return map[bool]int{true: -1, false: 1}[a.Wrong]
		}
		return cmp.Or(cmp.Compare(b.Saved, a.Saved), cmp.Compare(a.P, b.P))
	})
	for c := range x.Classes + 1 {
		name := "the top class"
		if c < x.Classes {
			name = d.className(c)
		}
		d.Classes = append(d.Classes, x.told(d, x.all, c, "all rows, "+name))
	}
	for _, g := range x.tenths {
		low, high := 1., 0.
		for _, i := range g.rows {
			low, high = min(low, x.Confidence(i)), max(high, x.Confidence(i))
		}
		d.Confidence = append(d.Confidence, x.told(d, g, x.Classes, "confidence "+span(low, high)))
	}
	for at, g := range x.groups {
		if len(g.rows) > 0 {
			region := x.region(d, g, -1)
			region.Describe = x.GroupNames[at]
			d.Groups = append(d.Groups, region)
		}
	}
	d.Found = d.found()
	nll, _ := lossesOf(x.Sample, x.Log)
	right := make([]float64, x.N)
	for i := range right {
		right[i] = x.Hit(i, x.Classes)
	}
	d.NLL, d.Accuracy = x.Mean(nll), x.Mean(right)
	return d
}

// told is a set of rows as a region of one class alone.
func (x *exam) told(d *Diagnosis, set *tested, class int, text string) Region {
	region := x.region(d, set, class)
	region.Describe, region.PerClass = text, nil
	return region
}
