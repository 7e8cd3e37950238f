package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// SearchSettings say how regions are looked for. Its zero value is the default.
type SearchSettings struct {
	Codewords int // at most, around which balls are tried; 0 means 32
	Rows      int // a region has so many of the rows it was found on, or more; 0 means 50
}

func (s SearchSettings) filled() (SearchSettings, error) {
	if s.Codewords < 0 || s.Rows < 0 {
		return s, fmt.Errorf("metrics: a search around %d codewords for regions of %d rows: want numbers above 0", s.Codewords, s.Rows)
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
	// overlap of two pieces, as a share of the smaller, that may make them one region.
	overlap = .5
)

// coordinates are what rows are cut by: features, directions, distances to codewords.
type coordinates struct {
	rows   int // N
	on     []int
	bin    [][]uint8   // of each coordinate, N: how many cuts lie at or below the row
	cuts   [][]float64 // of each coordinate, ascending
	column []int       // the feature that each of the first coordinates is
	balls  int         // so many of the coordinates, the last, are distances
}

// newCoordinates has cuts at the quantiles of the rows on.
func newCoordinates(rows int, on []int) *coordinates { return &coordinates{rows: rows, on: on} }

func (c *coordinates) add(value func(i int) float64) {
	seen := make([]float64, len(c.on))
	for at, i := range c.on {
		seen[at] = value(i)
	}
	slices.Sort(seen)
	var cuts []float64
	for k := 1; k < searchCuts; k++ {
		// halfway between two rows: a cut lies in a gap of the values
		if at := k * len(seen) / searchCuts; at > 0 && seen[at] > seen[at-1] {
			cuts = append(cuts, (seen[at]+seen[at-1])/2)
		}
	}
	bin := make([]uint8, c.rows)
	for i := range bin {
		v := value(i)
		at, found := slices.BinarySearch(cuts, v)
		if found {
			at++
		}
		bin[i] = uint8(at)
	}
	c.cuts, c.bin = append(c.cuts, cuts), append(c.bin, bin)
}

// addColumns adds the features of largest variance.
func (c *coordinates) addColumns(features *mat.Dense) {
	_, sd := moments(features)
	order := firstToLast(len(sd))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(sd[j], sd[i]) })
	c.column = slices.Sorted(slices.Values(order[:min(len(order), searchFeatures)]))
	for _, j := range c.column {
		c.add(func(i int) float64 { return features.At(i, j) })
	}
}

// condition is a side of a cut.
type condition struct {
	coordinate, cut int
	above           bool
}

func (c *coordinates) holds(k condition, i int) bool {
	return (int(c.bin[k.coordinate][i]) > k.cut) == k.above
}

// meets tells whether row i meets all conditions.
func (c *coordinates) meets(conditions []condition, i int) bool {
	return !slices.ContainsFunc(conditions, func(k condition) bool { return !c.holds(k, i) })
}

// finder looks for pieces of the rows on in which residuals are large.
type finder struct {
	*coordinates
	classes            int         // those tried, the top class the last
	residual, variance [][]float64 // of each of on, of each class: e, and p(1 − p)
	least              int         // rows of a piece
}

// find is pieces, each what is largest in what those before leave unexplained.
func (f *finder) find() (pieces [][]condition) {
	for range searchPieces {
		// what differs most from the rest is cut off first; where nothing does, the error is alike
		first, class, t := f.wrongest()
		if sharp, of, contrast := f.sharpest(firstToLast(len(f.on)), firstToLast(f.classes)...); contrast >= searchStatistic {
			first, class, t = sharp, of, contrast
		}
		if class < 0 || len(pieces) > 0 && t < searchStatistic {
			break
		}
		piece := []condition{first}
		rows := f.within(firstToLast(len(f.on)), first)
		for len(piece) < searchConditions {
			next, _, contrast := f.sharpest(rows, class)
			if contrast < searchStatistic*f.weight(class) {
				break
			}
			piece, rows = append(piece, next), f.within(rows, next)
		}
		pieces = append(pieces, piece)
		gap := make([]float64, f.classes)
		for _, at := range rows {
			floats.AddScaled(gap, 1/float64(len(rows)), f.residual[at])
		}
		for _, at := range rows {
			floats.Sub(f.residual[at], gap)
		}
	}
	return pieces
}

func (f *finder) within(rows []int, k condition) (in []int) {
	for _, at := range rows {
		if f.holds(k, f.on[at]) {
			in = append(in, at)
		}
	}
	return in
}

// side is the sums of the rows on one side of a cut.
type side struct{ rows, residual, variance float64 }

func (s *side) add(o side) {
	s.rows, s.residual, s.variance = s.rows+o.rows, s.residual+o.residual, s.variance+o.variance
}

func (s side) less(o side) side {
	return side{s.rows - o.rows, s.residual - o.residual, s.variance - o.variance}
}

func (s side) gap() float64 { return s.residual / s.rows }

// deviation is the standard deviation of the gap.
func (s side) deviation() float64 { return math.Sqrt(s.variance+steady/2) / s.rows }

func (s side) statistic() float64 { return math.Abs(s.residual) / math.Sqrt(s.variance+steady) }

// binned are the sums of rows in each bin of a coordinate, and of all of them.
func (f *finder) binned(rows []int, coordinate, class int) (bins [searchCuts]side, all side) {
	for _, at := range rows {
		bins[f.bin[coordinate][f.on[at]]].add(side{1, f.residual[at][class], f.variance[at][class]})
	}
	for _, b := range bins {
		all.add(b)
	}
	return bins, all
}

// sides calls do with the two sides of every cut of rows by a class.
func (f *finder) sides(rows []int, class int, do func(k condition, kept, other side)) {
	for j := range f.cuts {
		bins, all := f.binned(rows, j, class)
		var below side
		for cut := range f.cuts[j] {
			below.add(bins[cut])
			above := all.less(below)
			if below.rows >= float64(f.least) {
				do(condition{j, cut, false}, below, above)
			}
			// what lies outside a ball is no neighbourhood
			if j < len(f.cuts)-f.balls && above.rows >= float64(f.least) {
				do(condition{j, cut, true}, above, below)
			}
		}
	}
}

// wrongest is the side of a cut of all rows that has the largest |T| of any class; −1 for none.
func (f *finder) wrongest() (best condition, class int, t float64) {
	rows := firstToLast(len(f.on))
	class = -1
	for c := range f.classes {
		f.sides(rows, c, func(k condition, kept, _ side) {
			if s := f.weight(c) * kept.statistic(); s > t {
				best, class, t = k, c, s
			}
		})
	}
	return best, class, t
}

// weight is what a class counts beside the top class.
func (f *finder) weight(class int) float64 {
	if class == f.classes-1 {
		return 1
	}
	return onlyClass
}

// sharpest is the cut of rows whose sides differ most in the gap of one of the classes, weighed, and by how many standard
// deviations; the side of the larger gap.
func (f *finder) sharpest(rows []int, classes ...int) (best condition, class int, contrast float64) {
	for _, c := range classes {
		f.sides(rows, c, func(k condition, kept, other side) {
			if other.rows == 0 || math.Abs(kept.gap()) < math.Abs(other.gap()) {
				return
			}
			s := f.weight(c) * math.Abs(kept.gap()-other.gap()) / math.Hypot(kept.deviation(), other.deviation())
			if s > contrast {
				best, class, contrast = k, c, s
			}
		})
	}
	return best, class, contrast
}

// pieces are those found on some rows, each as the rows of all that meet its conditions (N).
func (x *exam) pieces(s *sample, on []int, rng *rand.Rand) (pieces [][]bool) {
	residuals := mat.NewDense(len(on), s.classes, nil)
	for at, i := range on {
		for c := range s.classes {
			residuals.Set(at, c, s.residual(i, c))
		}
	}
	c := newCoordinates(s.rows, on)
	c.addColumns(x.words.features)
	_, d := x.embedding.Dims()
	space := newSpace(rowsOf(x.embedding, on), residuals)
	placed := space.place(x.embedding)
	_, all := placed.Dims()
	for j := d; j < all; j++ {
		c.add(func(i int) float64 { return placed.At(i, j) })
	}
	words := lloyd(rowsOf(x.embedding, on), min(x.Search.Codewords, max(1, len(on)/x.Search.Rows)), rng)
	c.balls, _ = words.Dims()
	for w := range c.balls {
		c.add(func(i int) float64 { return squared(x.embedding.RawRowView(i), words.RawRowView(w)) })
	}
	f := &finder{coordinates: c, least: x.Search.Rows}
	tried := s.worst(c)
	f.classes = len(tried)
	for _, i := range on {
		e, v := make([]float64, len(tried)), make([]float64, len(tried))
		for k, y := range tried {
			p := s.probability(i, y)
			e[k], v[k] = s.miss(i, y), p*(1-p)
		}
		f.residual, f.variance = append(f.residual, e), append(f.variance, v)
	}
	for _, conditions := range f.find() {
		in := make([]bool, s.rows)
		for i := range in {
			in[i] = c.meets(conditions, i)
		}
		pieces = append(pieces, in)
	}
	return pieces
}

// worst are the classes that are tried: those whose residuals are farthest from 0 in a small ball
// around a codeword, and the top class.
func (s *sample) worst(c *coordinates) []int {
	order := firstToLast(s.classes)
	if s.classes > searchClasses {
		worst := make([]float64, s.classes)
		for j := len(c.cuts) - c.balls; j < len(c.cuts); j++ {
			sums := make([]side, s.classes)
			for _, i := range c.on {
				if c.bin[j][i] < searchCuts/8 {
					for y := range sums {
						p := s.prob[i*s.classes+y]
						sums[y].add(side{1, s.residual(i, y), p * (1 - p)})
					}
				}
			}
			for y := range sums {
				worst[y] = max(worst[y], sums[y].statistic())
			}
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(worst[b], worst[a]) })
		order = slices.Sorted(slices.Values(order[:searchClasses]))
	}
	return append(order, s.classes)
}

// found is a region: the rows that meet the conditions of a piece of either half, and of these the
// rows that meet those of a piece found without them, by which it is tested.
type found struct {
	in   []bool // N
	rows []int
}

// regions are found on both halves of the rows. The two pieces of different halves that are most like each other are one
// region, and so on with those left, as long as half of one lies in the other.
func (x *exam) regions(s *sample, half []int, rng *rand.Rand) (regions []found) {
	var pieces [2][][]bool
	for h := range pieces {
		_, on := apart(half, h)
		pieces[h] = x.pieces(s, on, rng)
	}
	add := func(each [2][]bool) { // the piece found on each half, nil for none
		f := found{in: make([]bool, x.rows)}
		for i, h := range half {
			of, other := each[h], each[1-h]
			f.in[i] = of != nil && of[i] || other != nil && other[i]
			if other != nil && other[i] {
				f.rows = append(f.rows, i)
			}
		}
		if len(f.rows) >= x.Search.Rows {
			regions = append(regions, f)
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
