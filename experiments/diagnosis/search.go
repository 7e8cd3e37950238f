package diagnosis

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"calibra/experiments/internal/checked"
	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// SearchSettings are how regions are searched for: around the codewords balls are tried. Its zero value is the default.
type SearchSettings struct {
	Codewords int // at most; 0 means 32
	Rows      int // a region has so many of the rows it was found on, or more; 0 means 50
}

const (
	defaultCodewords = 32
	defaultRegion    = 50
)

// FewestRows is the number of rows that a diagnosis needs by default: for a region on each half.
const FewestRows = 2 * defaultRegion

func (s SearchSettings) filled() (SearchSettings, error) {
	if s.Codewords < 0 || s.Rows < 0 {
		return s, fmt.Errorf("diagnosis: a search around %d codewords for regions of %d rows: want numbers above 0", s.Codewords, s.Rows)
	}
	s.Codewords, s.Rows = cmp.Or(s.Codewords, defaultCodewords), cmp.Or(s.Rows, defaultRegion)
	return s, nil
}

const (
	searchCuts       = 64  // places between which a coordinate may be cut, at its quantiles
	searchConditions = 4   // of a piece, at most
	searchPieces     = 6   // of a half, at most
	searchClasses    = 16  // that are tried besides the top class, those that are worst off
	searchFeatures   = 256 // that rows may be cut by, those of largest variance
	// searchStatistic is |T| of a piece that is worth a test, and of two parts that differ. One
	// piece of each half is tested whatever its |T|.
	searchStatistic = 3.5
	// onlyClass is what |T| of a class counts beside that of the top class: where the top class is wrong, so is some
	// class in a part of the region, and the whole is the better answer.
	onlyClass = .75
	// learned is what |T| along a direction counts that was learned from the residuals, beside that along a feature.
	learned = .75
	// overlap of two pieces, as a share of the smaller, that may make them one region.
	overlap = .5
	// nearBest is the share of the best score by which another may lie below it and yet be it: far more than sums are off
	// that are rounded whenever residuals are shifted.
	nearBest = 1e-6
	// oneCluster is the share of the variance between two clusters that lies within them from which on they are one.
	oneCluster = .15
)

// coordinates are what rows are cut by: features, directions, distances to codewords.
type coordinates struct {
	rows int   // N
	on   []int // of whose values the cuts are quantiles
	all  []*coordinate
}

type coordinate struct {
	bin    []uint8   // N: how many cuts lie at or below the row
	cuts   []float64 // ascending
	column int       // the feature that it is
	ball   bool      // it is a distance
	trust  float64   // what |T| along it counts
}

// add adds so many coordinates with cuts at their quantiles and returns them; write sets dst to those of row i, from
// one on.
func (c *coordinates) add(count int, write func(dst []float64, from, i int)) []*coordinate {
	added := make([]*coordinate, count)
	work.Ranges(count, 16, func(lo, hi int) { // together they read what lies together
		row, values := make([]float64, hi-lo), make([][]float64, hi-lo)
		for k := range values {
			values[k] = make([]float64, c.rows)
		}
		for i := range c.rows {
			write(row, lo, i)
			for k, v := range row {
				values[k][i] = v
			}
		}
		for k, v := range values {
			added[lo+k] = cutAt(v, quantileCuts(checked.Pick(v, c.on))...)
		}
	})
	c.all = append(c.all, added...)
	return added
}

// quantileCuts are the cuts of values at their quantiles, each halfway between two of them: in a gap. Values are put
// into buckets of equal width, of which only those are sorted that hold a quantile.
func quantileCuts(values []float64) (cuts []float64) {
	const buckets = 1024
	low := slices.Min(values)
	inUnit := buckets / (slices.Max(values) - low)
	bucket := func(v float64) int {
		if k := (v - low) * inUnit; k < buckets {
			return int(k)
		}
		return buckets - 1 // the largest, and all of no width
	}
	begin := make([]int, buckets+1)
	for _, v := range values {
		begin[bucket(v)+1]++
	}
	for k := range buckets {
		begin[k+1] += begin[k]
	}
	ordered, next := make([]float64, len(values)), slices.Clone(begin)
	for _, v := range values {
		k := bucket(v)
		ordered[next[k]] = v
		next[k]++
	}
	last := -1                       // bucket that is sorted
	sorted := func(at int) float64 { // asked in ascending order
		if k := bucket(ordered[at]); k > last {
			slices.Sort(ordered[begin[k]:begin[k+1]])
			last = k
		}
		return ordered[at]
	}
	for k := 1; k < searchCuts; k++ {
		if at := k * len(values) / searchCuts; at > 0 {
			if below, above := sorted(at-1), sorted(at); above > below {
				cuts = append(cuts, (above+below)/2)
			}
		}
	}
	return cuts
}

// cutAt is a coordinate of these values (N) with these cuts, ascending, at most searchCuts − 1.
func cutAt(values []float64, cuts ...float64) *coordinate {
	var ends [searchCuts]float64
	for k := copy(ends[:], cuts); k < searchCuts; k++ {
		ends[k] = math.NaN() // which lies below no value
	}
	bin := make([]uint8, len(values))
	for i, v := range values {
		at := 0
		for step := searchCuts / 2; step > 0; step /= 2 {
			past := 0 // no branch, which would be guessed wrong half the time
			if ends[at+step-1] <= v {
				past = 1
			}
			at += past * step
		}
		bin[i] = uint8(at)
	}
	return &coordinate{bin: bin, cuts: cuts, trust: 1}
}

// condition is a side of a cut.
type condition struct {
	coordinate, cut int
	above           bool
}

func (c *coordinates) holds(k condition, i int) bool {
	return (int(c.all[k.coordinate].bin[i]) > k.cut) == k.above
}

// meets reports whether row i meets all conditions.
func (c *coordinates) meets(conditions []condition, i int) bool {
	return !slices.ContainsFunc(conditions, func(k condition) bool { return !c.holds(k, i) })
}

// finder looks for pieces of the rows on in which residuals are large.
type finder struct {
	*coordinates
	classes            int         // those tried, the top class the last
	residual, variance [][]float64 // of each of on, of each class: e, and p(1 − p)
	weight             []float64   // of each of on
	least              int         // rows of a piece
	place              *mat.Dense  // the embedding (N×d)
	rng                *rand.Rand
	kept               [][]sums // those of all rows, of each class, along the coordinates that were there when last asked
}

// find is pieces, each what is largest in what those before leave unexplained, and once more, in what all others leave.
func (f *finder) find() (pieces [][]condition) {
	var gaps [][]float64
	add := func(parts [][]condition) bool {
		for _, part := range parts {
			pieces, gaps = append(pieces, part), append(gaps, f.explain(part))
		}
		return parts != nil
	}
	for len(pieces) < searchPieces && add(f.next(len(pieces) == 0)) {
	}
	for range len(pieces) {
		f.shift(pieces[0], 1, gaps[0])
		pieces, gaps = pieces[1:], gaps[1:]
		add(f.next(len(pieces) == 0))
	}
	return pieces
}

// explain takes the gaps of a piece from its residuals.
func (f *finder) explain(piece []condition) []float64 {
	rows, gap := f.within(checked.FirstToLast(len(f.on)), piece...), make([]float64, f.classes)
	var n float64
	for _, at := range rows {
		n += f.weight[at]
	}
	for _, at := range rows {
		floats.AddScaled(gap, f.weight[at]/n, f.residual[at])
	}
	f.shift(piece, -1, gap)
	return gap
}

// shift adds gaps, so many times, to the residuals of a piece.
func (f *finder) shift(piece []condition, times float64, gap []float64) {
	rows := f.within(checked.FirstToLast(len(f.on)), piece...)
	on := checked.Pick(f.on, rows)
	for class, kept := range f.kept {
		before := f.terms(rows, class)
		for _, at := range rows {
			f.residual[at][class] += times * gap[class]
		}
		change := f.terms(rows, class)
		for k := range change {
			change[k] = change[k].less(before[k])
		}
		work.Each(len(kept), 1, func(j int) {
			for k, i := range on {
				sums := &kept[j][f.all[j].bin[i]]
				sums.residual += change[k].residual
				sums.square += change[k].square
			}
		})
	}
}

// next is the piece in which residuals are largest, or its parts; nil where none is worth a test, unless one must be
// there.
func (f *finder) next(must bool) [][]condition {
	all := checked.FirstToLast(len(f.on))
	// what differs most from the rest is cut off first; where nothing does, the error is alike
	classes := checked.FirstToLast(f.classes)
	first := f.best(all, classes, f.promising(contrast), contrast)
	if first.score < searchStatistic {
		alone := func(kept, _ *side) float64 { return kept.statistic() }
		first = f.best(all, classes, f.promising(alone), alone)
	}
	if first.class < 0 || !must && first.score < searchStatistic {
		return nil
	}
	class := first.class
	piece := []condition{first.condition}
	rows := f.within(all, piece...)
	for len(piece) < searchConditions {
		next := f.best(rows, []int{class}, checked.FirstToLast(len(f.all)), contrast)
		if next.score < searchStatistic*f.factor(class) {
			break
		}
		piece, rows = append(piece, next.condition), f.within(rows, next.condition)
	}
	return f.modes(piece, class)
}

// modes parts a piece whose rows lie in clusters, as long as some are wrong by themselves: two clusters that share an
// error are two regions.
func (f *finder) modes(piece []condition, class int) [][]condition {
	rows := f.within(checked.FirstToLast(len(f.on)), piece...)
	if len(rows) < 2*f.least || !f.clusters(checked.Pick(f.on, rows)) {
		return [][]condition{piece}
	}
	var parts [][]condition
	between := len(f.all) - 1
	for _, above := range []bool{false, true} {
		part := append(slices.Clone(piece), condition{between, 0, above})
		kept := f.within(rows, part[len(piece)])
		var all side
		for _, term := range f.terms(kept, class) {
			all.add(&term)
		}
		if len(kept) >= f.least && all.statistic() >= searchStatistic*f.factor(class) {
			parts = append(parts, f.modes(part, class)...)
		}
	}
	if parts == nil {
		return [][]condition{piece}
	}
	return parts
}

// clusters reports whether rows lie in two clusters, by their variance along the line between these, and adds the
// coordinate that parts them. The halves of a normal distribution hold 1 − 2/π of it, those of a uniform one 1/4.
func (f *finder) clusters(rows []int) bool {
	words := lloyd(checked.RowsOf(f.place, rows), 2, f.rng)
	a, b := words.RawRowView(0), words.RawRowView(1)
	line := floats.SubTo(make([]float64, len(a)), b, a)
	along := make([]float64, f.rows)
	for i := range along {
		along[i] = floats.Dot(line, f.place.RawRowView(i))
	}
	middle := (floats.Dot(line, a) + floats.Dot(line, b)) / 2
	var all []float64
	var sides [2][]float64
	for _, i := range rows {
		v, k := along[i], 0
		if v >= middle {
			k = 1
		}
		all, sides[k] = append(all, v), append(sides[k], v)
	}
	var within float64
	for _, side := range sides {
		if len(side) == 0 {
			return false
		}
		within += stat.PopVariance(side, nil) * float64(len(side)) / float64(len(all))
	}
	if within > oneCluster*stat.PopVariance(all, nil) {
		return false
	}
	f.all = append(f.all, cutAt(along, middle))
	return true
}

func (f *finder) within(rows []int, conditions ...condition) (in []int) {
	for _, at := range rows {
		if f.meets(conditions, f.on[at]) {
			in = append(in, at)
		}
	}
	return in
}

// side is the sums of the rows on one side of a cut: of w, of w e, of w² p(1 − p), and of w² e².
type side struct{ rows, weight, residual, variance, square float64 }

// sideOf is that of a row.
func sideOf(w, e, variance float64) side {
	return side{rows: 1, weight: w, residual: w * e, variance: w * w * variance, square: w * w * e * e}
}

func (s *side) add(o *side) {
	s.rows += o.rows
	s.weight += o.weight
	s.residual += o.residual
	s.variance += o.variance
	s.square += o.square
}

func (s side) less(o side) side {
	s.rows, s.weight, s.residual, s.variance, s.square = s.rows-o.rows, s.weight-o.weight, s.residual-o.residual, s.variance-o.variance, s.square-o.square
	return s
}

func (s side) gap() float64 { return s.residual / s.weight }

// spread is the larger of V and S, nearly as in a test (where rows count differently S is that of w e, which is
// larger): where predictions are surer than they should be V alone would make much of chance.
func (s side) spread() float64 { return max(s.variance, s.square-s.residual*s.residual/s.rows) }

// deviation is the standard deviation of the gap.
func (s side) deviation() float64 { return math.Sqrt(s.spread()+steady/2) / s.weight }

func (s side) statistic() float64 { return math.Abs(s.residual) / math.Sqrt(s.spread()+steady) }

// sums are those of the rows in each bin of a coordinate.
type sums [searchCuts]side

func (s *sums) add(bin []uint8, rows []int, terms []side) {
	for k, i := range rows {
		s[bin[i]].add(&terms[k])
	}
}

// terms are what rows add to the sums of a class.
func (f *finder) terms(rows []int, class int) []side {
	terms := make([]side, len(rows))
	for k, at := range rows {
		terms[k] = sideOf(f.weight[at], f.residual[at][class], f.variance[at][class])
	}
	return terms
}

// score is how much a side of a cut is worth, by its sums and those of the other side.
type score func(kept, other *side) float64

// bestCut is the side of a cut of largest score in any class; class −1 for none.
type bestCut struct {
	condition
	class int
	score float64
}

// best is the side of a cut of rows, along these coordinates, of largest score, weighed. Of equal ones it is the first
// by class, coordinate and cut.
func (f *finder) best(rows, classes, coordinates []int, score score) bestCut {
	best, on := bestCut{class: -1}, checked.Pick(f.on, rows)
	for _, class := range classes {
		terms, tried := f.terms(rows, class), make([]bestCut, len(coordinates))
		work.Each(len(coordinates), 1, func(k int) {
			var bins sums
			bins.add(f.all[coordinates[k]].bin, on, terms)
			tried[k] = f.bestOf(coordinates[k], class, &bins, score)
		})
		for _, cut := range tried {
			if cut.score > best.score {
				best = cut
			}
		}
	}
	return best
}

// promising are the coordinates along which the best side of a cut of all rows may lie, by the sums that are kept.
func (f *finder) promising(score score) (near []int) {
	all := checked.FirstToLast(len(f.on))
	for class, known := range f.kept {
		more, terms := make([]sums, len(f.all)-len(known)), f.terms(all, class)
		work.Each(len(more), 1, func(j int) { more[j].add(f.all[len(known)+j].bin, f.on, terms) })
		f.kept[class] = append(known, more...)
	}
	scores := make([]float64, len(f.all))
	work.Each(len(scores), 1, func(j int) {
		for class := range f.kept {
			scores[j] = max(scores[j], f.bestOf(j, class, &f.kept[class][j], score).score)
		}
	})
	least := (1 - nearBest) * slices.Max(scores)
	for j, score := range scores {
		if score > 0 && score >= least {
			near = append(near, j)
		}
	}
	return near
}

// bestOf is that of one coordinate and class, by the sums of the rows in each bin.
func (f *finder) bestOf(coordinate, class int, bins *sums, score score) bestCut {
	of, best := f.all[coordinate], bestCut{class: -1}
	try := func(k condition, kept, other *side) {
		if kept.rows < float64(f.least) {
			return
		}
		if s := of.trust * f.factor(class) * score(kept, other); s > best.score {
			best = bestCut{k, class, s}
		}
	}
	var all, below side
	for k := range bins {
		all.add(&bins[k])
	}
	for cut := range of.cuts {
		below.add(&bins[cut])
		above := all.less(below)
		try(condition{coordinate, cut, false}, &below, &above)
		if !of.ball { // what lies outside a ball is no neighbourhood
			try(condition{coordinate, cut, true}, &above, &below)
		}
	}
	return best
}

// contrast is by how many standard deviations the gap of a side differs from that of the other, which is no larger.
func contrast(kept, other *side) float64 {
	own, others := kept.gap(), other.gap()
	if other.rows == 0 || math.Abs(own) < math.Abs(others) {
		return 0
	}
	return math.Abs(own-others) / math.Hypot(kept.deviation(), other.deviation())
}

// factor is what a class counts beside the top class.
func (f *finder) factor(class int) float64 {
	if class == f.classes-1 {
		return 1
	}
	return onlyClass
}

// pieces are those found on the rows that have these coordinates by the features, each as the rows of all that meet its
// conditions (N).
func (x *exam) pieces(s *checked.Sample, features coordinates, rng *rand.Rand) (pieces [][]bool) {
	c, on := &features, features.on
	c.all = slices.Clone(c.all)
	_, d := x.embedding.Dims()
	space := newSpace(checked.RowsOf(x.embedding, on), s.Misses(on, s.Classes+1))
	placed := space.place(x.embedding)
	_, all := placed.Dims()
	for _, added := range c.add(all-d, func(dst []float64, from, i int) { copy(dst, placed.RawRowView(i)[d+from:]) }) {
		added.trust = learned
	}
	here := checked.RowsOf(x.embedding, on)
	for k := min(x.Search.Codewords, max(1, len(on)/x.Search.Rows)); k > 0; k /= 2 { // few codewords lie amid large clusters
		words := lloyd(here, k, rng)
		apart := func(dst []float64, from, i int) {
			for w := range dst {
				dst[w] = checked.Squared(x.embedding.RawRowView(i), words.RawRowView(from+w))
			}
		}
		for _, added := range c.add(k, apart) {
			added.ball = true
		}
	}
	f := &finder{coordinates: c, least: x.Search.Rows, place: x.embedding, rng: rng}
	tried := worst(s, c)
	f.classes, f.kept = len(tried), make([][]sums, len(tried))
	for _, i := range on {
		var e, v []float64
		for _, y := range tried {
			p := s.Probability(i, y)
			e, v = append(e, s.Miss(i, y)), append(v, p*(1-p))
		}
		f.residual, f.variance, f.weight = append(f.residual, e), append(f.variance, v), append(f.weight, s.W(i))
	}
	for _, conditions := range f.find() {
		in := make([]bool, s.N)
		for i := range in {
			in[i] = c.meets(conditions, i)
		}
		pieces = append(pieces, in)
	}
	return pieces
}

// worst are the classes that are tried: those whose residuals are farthest from 0 in a small ball
// around a codeword, and the top class.
func worst(s *checked.Sample, c *coordinates) []int {
	order := checked.FirstToLast(s.Classes)
	if s.Classes > searchClasses {
		most := make([]float64, s.Classes)
		for _, ball := range c.all {
			if !ball.ball {
				continue
			}
			sums := make([]side, s.Classes)
			for _, i := range c.on {
				if ball.bin[i] < searchCuts/8 {
					for y := range sums {
						p := s.Prob[i*s.Classes+y]
						of := sideOf(s.W(i), s.Residual(i, y), p*(1-p))
						sums[y].add(&of)
					}
				}
			}
			for y := range sums {
				most[y] = max(most[y], sums[y].statistic())
			}
		}
		order = slices.Sorted(slices.Values(checked.Descending(most)[:searchClasses]))
	}
	return append(order, s.Classes)
}

// regions are found on both halves of the rows: the rows that meet the conditions of a piece of either half, tested by
// those of them that meet the conditions of a piece found without them. The two pieces of different halves that are
// most like each other are one region, and so on with those left, as long as half of one lies in the other.
func (x *exam) regions(s *checked.Sample, half []int, features [2]coordinates, rng *rand.Rand) (regions []*tested) {
	var pieces [2][][]bool
	for h := range pieces {
		pieces[h] = x.pieces(s, features[h], rng)
	}
	add := func(each [2][]bool) { // the piece found on each half, nil for none
		in, rows := make([]bool, x.N), []int(nil)
		for i, h := range half {
			of, other := each[h], each[1-h]
			in[i] = of != nil && of[i] || other != nil && other[i]
			if other != nil && other[i] {
				rows = append(rows, i)
			}
		}
		if len(rows) >= x.Search.Rows {
			g := count(x.Sample, rows, 0, nil)
			g.in, regions = in, append(regions, g)
		}
	}
	for {
		best, a, b := 0., -1, -1
		for i, p := range pieces[0] {
			for j, q := range pieces[1] {
				both, either, smaller := shared(p, q)
				if l := both / either; both >= overlap*smaller && l > best {
					best, a, b = l, i, j
				}
			}
		}
		if a < 0 {
			break
		}
		add([2][]bool{pieces[0][a], pieces[1][b]})
		pieces[0], pieces[1] = slices.Delete(pieces[0], a, a+1), slices.Delete(pieces[1], b, b+1)
	}
	for h := range pieces {
		for _, p := range pieces[h] {
			var alone [2][]bool
			alone[h] = p
			add(alone)
		}
	}
	return regions
}

// shared are the rows of both of two sets, of either, and of the smaller.
func shared(p, q []bool) (both, either, smaller float64) {
	var n, m float64
	for i := range p {
		if p[i] {
			n++
		}
		if q[i] {
			m++
		}
		if p[i] && q[i] {
			both++
		}
	}
	return both, n + m - both, min(n, m)
}
