package diagnosis

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

const (
	mostNamed  = 4 // descriptions
	mostAlone  = 3 // that are tried as the only one
	accounting = 3 // rounds in which the gaps of sets that share rows settle
	// What descriptions leave is theirs as long as its gap is below alikeGap of the largest gap of those, and its |T|
	// below alikeTest of the largest: the fringe of a region, or errors of another order.
	alikeGap, alikeTest = 1. / 3, 1. / 2
	mostOfAll           = 3. / 4 // of the rows are a region; more are nearly everywhere
)

// explain names the smallest descriptions that explain what is beyond chance: all rows, or a group, a predicted class,
// a region, the side of a feature, a place of the map, or the intersection of two of those. A description explains it
// if nothing else is beyond chance once the predictions of its rows are corrected. Of all that are beyond chance
// themselves those of the largest
//
//	T² − 2 log m
//
// are tried first, where m is how many descriptions have as few parts or fewer: a description of more parts, of which
// there are many, must show so much more. Named is the one that explains it and whose correction gains most of the
// log-likelihood, less log m. If none explains it alone, they are added one after the other, each beyond chance in what
// those before leave, and those that the others make superfluous are dropped. rest reports whether smaller errors
// remain.
func (x *exam) explain(ctx context.Context, rng *rand.Rand) (named []*tested, rest bool, err error) {
	a := &account{exam: x, ctx: ctx, rng: rng}
	before := a.of() // nothing
	all := slices.Concat([]*tested{x.all}, x.groups, x.predicted, x.raw, x.sides, x.places, x.crossed)
	order := a.order(before, all)
	if len(order) == 0 {
		return nil, false, a.err
	}
	alone := order[:min(len(order), mostAlone)]
	if slices.Contains(order, x.all) && !slices.Contains(alone, x.all) {
		alone = append(slices.Clone(alone), x.all)
	}
	most := math.Inf(-1)
	for _, g := range alone {
		left := a.of(g)
		if gain := a.gain(left) - math.Log(a.many(g)); gain > most && !a.remains(left, []*tested{g}) {
			most, named, rest = gain, []*tested{g}, a.worst(left) > x.critical()
		}
	}
	if named != nil {
		return named, rest, a.err
	}
	named = order[:1:1]
	for len(named) < mostNamed {
		left := a.of(named...)
		taken := func(g *tested) bool { return slices.Contains(named, g) }
		more := a.order(left, slices.DeleteFunc(slices.Concat(order, x.left), taken))
		at := slices.IndexFunc(more, func(g *tested) bool { return a.larger(g, left, named) })
		if at < 0 {
			break
		}
		named = append(named, more[at])
	}
	for k := 0; k < len(named) && len(named) > 1; {
		others := slices.Delete(slices.Clone(named), k, k+1)
		if a.remains(a.of(others...), others) {
			k++
		} else {
			named = others
		}
	}
	return named, a.worst(a.of(named...)) > x.critical(), a.err
}

// account corrects sets of rows.
type account struct {
	*exam
	ctx context.Context
	rng *rand.Rand
	err error
}

// accounted are predictions after corrections.
type accounted struct {
	*checked.Sample
	gap []float64 // N×(C+1), the mean gaps that the corrections left in their sets
}

// tested is a set under the corrected predictions.
func (l *accounted) tested(g *tested) *tested { return count(l.Sample, g.rows, g.from, l.gap) }

// of is what is left once the predictions of some sets are corrected, by a shrunk multinomial correction and then by
// the gap of each class.
func (a *account) of(sets ...*tested) *accounted {
	log := a.Log
	for k, g := range sets {
		if k == 0 {
			log = a.Bounded()
		}
		if err := a.correct(log, g.extent()); err != nil {
			a.err = cmp.Or(a.err, err)
		}
	}
	s, err := a.Saying(log)
	if err != nil {
		a.err, s = cmp.Or(a.err, err), a.Sample
	}
	wide := s.Classes + 1
	left := &accounted{s, make([]float64, s.N*wide)}
	for range accounting {
		for _, g := range sets {
			rows := g.extent()
			all := count(s, rows, 0, left.gap)
			for _, i := range rows {
				for c := range wide {
					left.gap[i*wide+c] += all.gap(c)
				}
			}
		}
	}
	return left
}

// correct fits a correction to some rows and applies it to them.
func (a *account) correct(log *mat.Dense, rows []int) error {
	here := checked.RowsOf(log, rows)
	y := &targets{a.Sample, rows, places(a.Sample, a.embedding)}
	correction, err := correct(a.ctx, here, nil, y, a.rng)
	if err != nil {
		return err
	}
	corrected := correction.apply(here, nil)
	for at, i := range rows {
		row := corrected.RawRowView(at)
		floats.AddConst(-floats.LogSumExp(row), row)
		log.SetRow(i, row)
	}
	return nil
}

// extent are all rows that a description holds of; of a region these are more than it is tested on.
func (g *tested) extent() []int {
	if g.in == nil {
		return g.rows
	}
	var rows []int
	for i, in := range g.in {
		if in {
			rows = append(rows, i)
		}
	}
	return rows
}

// gain is what the corrections gain of the log-likelihood.
func (a *account) gain(left *accounted) float64 {
	before, _ := lossesOf(a.Sample, a.Bounded())
	after, _ := lossesOf(a.Sample, left.Log)
	return a.Mean(difference(before, after)) * float64(a.N)
}

// many is how many descriptions have as few parts as a set or fewer.
func (a *account) many(g *tested) float64 {
	switch parts := 1 + len(a.groups) + len(a.predicted) + len(a.raw) + len(a.sides) + len(a.places); {
	case g == a.all:
		return 1
	case g.of != nil:
		return float64(parts + len(a.crossed))
	default:
		return float64(parts)
	}
}

// order are the descriptions that are beyond chance before and after corrections, by T² − 2 log m; all rows are tested
// by their tenths too.
func (a *account) order(left *accounted, of []*tested) (order []*tested) {
	score := map[*tested]float64{}
	for _, g := range of {
		if g.in != nil && float64(len(g.extent())) > mostOfAll*float64(a.N) {
			continue
		}
		t, at := left.tested(g).worst(), g.worst()
		if g == a.all {
			for _, tenth := range a.tenths {
				t, at = max(t, left.tested(tenth).worst()), max(at, tenth.worst())
			}
		}
		if a.beyond(t) && a.beyond(at) {
			score[g], order = t*t-2*math.Log(a.many(g)), append(order, g)
		}
	}
	slices.SortStableFunc(order, func(g, h *tested) int { return cmp.Compare(score[h], score[g]) })
	return order
}

// worst is the largest |T| of all that is tested, under corrected predictions.
func (a *account) worst(left *accounted) float64 {
	sets := a.sets()
	most := make([]float64, len(sets))
	work.Each(len(sets), 1, func(k int) { most[k] = left.tested(sets[k]).worst() })
	return slices.Max(most)
}

// larger reports whether a set is beyond chance in what is left, and by no little beside those named.
func (a *account) larger(g *tested, left *accounted, named []*tested) bool {
	now := left.tested(g)
	var gap, t float64
	for _, n := range named {
		gap, t = max(gap, n.largest(n.gap)), max(t, n.worst())
	}
	return a.beyond(now.worst()) && (now.largest(now.gap) > alikeGap*gap || now.worst() > alikeTest*t)
}

// remains reports whether something is, once those named are corrected.
func (a *account) remains(left *accounted, named []*tested) bool {
	return slices.ContainsFunc(a.sets(), func(g *tested) bool { return a.larger(g, left, named) })
}

// kind is the error that descriptions stand for.
func (x *exam) kind(named []*tested) Kind {
	switch everywhere := slices.Contains(named, x.all); {
	case len(named) == 0:
		return NoError
	case everywhere && len(named) == 1:
		return GlobalError
	case everywhere:
		return BothErrors
	}
	return LocalError
}

// describe is a set in words.
func (x *exam) describe(g *tested) string {
	switch {
	case g.of != nil:
		return x.describe(g.of[0]) + ", " + x.describe(g.of[1])
	case g.name != "":
		return g.name
	}
	return x.words.region(g.rows)
}

// calibratedBeside are the groups that are not beyond chance, if what is named are groups and their intersections.
func (x *exam) calibratedBeside(named []*tested) (beside []string, rows int) {
	grouped := func(g *tested) bool {
		return slices.Contains(x.groups, g) || g.of != nil && slices.Contains(x.groups, g.of[0])
	}
	if len(named) == 0 || slices.ContainsFunc(named, func(g *tested) bool { return !grouped(g) }) {
		return nil, 0
	}
	for _, g := range x.groups {
		if !x.beyond(g.worst()) && !slices.ContainsFunc(named, func(n *tested) bool { return n.of != nil && n.of[0] == g }) {
			beside, rows = append(beside, g.name), rows+len(g.rows)
		}
	}
	return beside, rows
}
