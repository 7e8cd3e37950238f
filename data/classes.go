package data

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// classOrder is an order of classes that the columns of logits may have, and where it comes from.
type classOrder struct {
	by    string
	names []string
}

const byLevels, byZero, byOne = "order of their categories", "order from 0", "order from 1"

// nameByLabels takes for the classes what the labels name, in the order of ordered categories or else in the first of
// the orders that the columns may have: that of categories, of numbers, of the alphabet, and that in which the file
// names them.
func (a *archive) nameByLabels() error {
	seen, err := a.labelNames()
	if err != nil || seen == nil {
		return err
	}
	a.ordered = a.ordered && a.categories != nil
	may := func(by string, names []string) {
		if names != nil && !slices.ContainsFunc(a.orders, func(o classOrder) bool { return slices.Equal(o.names, names) }) {
			a.orders = append(a.orders, classOrder{by, names})
		}
	}
	may(byLevels, a.categories)
	a.asked = !a.ordered && (a.categories == nil || slices.Equal(a.categories, seen)) // dictionaries that a writer filled as it went
	if !a.ordered {
		if ascending, _ := encode(seen); numeric(seen) {
			may("ascending order", ascending)
			may("alphabetical order", slices.Sorted(slices.Values(seen)))
		} else {
			may("alphabetical order", ascending)
			may("order in which the file names them", seen)
		}
	}
	a.take(a.orders[0])
	return nil
}

// take takes an order, and says so.
func (a *archive) take(o classOrder) {
	a.names.Classes = o.names
	kind := "names"
	if strings.HasPrefix(o.by, byOne) {
		kind = "numbers"
	}
	a.order = fmt.Sprintf("the labels are %s, taken for the classes 0…%d in %s: %s (columns logit_NAME, or class_names, say another)",
		kind, len(o.names)-1, o.by, listed(Each(o.names, Printable), 6))
}

// judgeOrder holds the order that was taken to the rows, where nothing but the labels names the classes. Another one is
// taken if it fits the columns better beyond chance. It is an *InputError if the rows do not tell the orders apart, or
// if two classes seem to be exchanged in the best of them.
func (a *archive) judgeOrder(sets ...*Set) error {
	if a.orders == nil {
		return nil
	}
	scores, labels := labelledScores(sets)
	if scores == nil {
		return nil
	}
	at := Each(a.orders, func(o classOrder) []int { // the columns of the classes by which labels are numbered
		return Each(a.orders[0].names, func(name string) int {
			return max(slices.Index(o.names, name), 0) // 0 of a class without rows
		})
	})
	ranks := columnRanks(scores)
	best := 0
	for k := range at {
		if betterOrder(ranks, labels, at[k], at[best]) > surely {
			best = k
		}
	}
	placed := Each(labels, func(y int) int { return at[best][y] })
	names := a.orders[best].names
	const say = "add class_names, the names in the order of the columns, or name the columns logit_NAME"
	x, y, z, surelyBelow := Exchanged(scores, placed)
	if z < surelyBelow {
		fits := make([]string, len(names))
		for y, k := range fittingOrder(ranks, placed) {
			fits[k] = names[y]
		}
		return Inputf(a.path, "the labels fit the columns better in another order than the %s: %s; %s", a.orders[0].by, listed(Each(fits, Printable), 12), say)
	}
	unknown := ""
	for k, o := range a.orders {
		if k != best && betterOrder(ranks, labels, at[best], at[k]) < surely {
			unknown = fmt.Sprintf("it may be %s or %s", a.orders[best].by, o.by)
		}
	}
	if z < -leaning {
		unknown = fmt.Sprintf("%s and %s may be exchanged in %s", Printable(names[x]), Printable(names[y]), a.orders[best].by)
	}
	if unknown != "" && a.asked {
		return Inputf(a.path, "the labels are names, and the order of the columns is not known: %s, and the rows do not tell; %s", unknown, say)
	}
	if best > 0 {
		for _, x := range sets {
			if x != nil && x.Labels != nil {
				x.Labels = Each(x.Labels, func(y int) int { return at[best][y] })
			}
		}
		a.take(classOrder{a.orders[best].by + ", which fits the columns better than " + a.orders[0].by, names})
	}
	return nil
}

// byNumber reads labels that are numbers, and says how: as the numbers of a table's columns (see [Numbers]) or as 1…C
// of the C columns in their order, if no other labels reach C. Those that the names of a model number so are read so
// too, even if none reaches C. It is an *InputError where the numbers of the columns contradict their order and the
// labels are others.
func (a *archive) byNumber(classes int, all ...[]int) error {
	if seen, err := a.labelNames(); err != nil || seen != nil {
		return nil
	}
	joined := slices.Concat(all...)
	low, high := slices.Min(append(joined, math.MaxInt)), slices.Max(append(joined, 0))
	numbers, said := Numbers(a.names.Classes), a.has("class_names")
	places := low >= 0 && high < classes && (slices.IsSorted(numbers) || said && !a.table)
	if len(numbers) == classes && !places {
		strange := slices.IndexFunc(joined, func(y int) bool { return !slices.Contains(numbers, y) })
		switch {
		case strange < 0:
			for _, labels := range all {
				for i, y := range labels {
					labels[i] = slices.Index(numbers, y)
				}
			}
			return nil
		case !slices.IsSorted(numbers):
			return Inputf(a.path, "the columns of the classes are %s, in this order, and a label is %d, which is none of these numbers; "+
				"give the labels the names of the columns, or put the columns in the order of the labels",
				listed(Each(a.names.Classes, Printable), 6), joined[strange])
		}
	}
	named := Numerals(classes + 1)[1:]
	if low == 1 && high == classes-1 && a.names.Classes == nil && !a.table { // the rows may tell
		a.orders = []classOrder{{byZero, Numerals(classes)}, {byOne, named}}
	}
	if low < 1 || high > classes || high < classes && (!slices.Equal(a.names.Classes, named) || said) {
		return nil
	}
	for _, labels := range all {
		for i := range labels {
			labels[i]--
		}
	}
	a.order = fmt.Sprintf("the labels are numbers 1…%d, taken for the %d columns in their order", classes, classes)
	if a.names.Classes == nil {
		a.names.Classes = named
	}
	return nil
}

var endNumber = regexp.MustCompile(`^(.*?)(0|[1-9][0-9]{0,8})$`)

// Numbers are the whole numbers that names end in, after one beginning that all share, such as class_2, class_0; nil if
// they do not.
func Numbers(names []string) []int {
	var numbers []int
	for k, name := range names {
		m := endNumber.FindStringSubmatch(name)
		if m == nil || k > 0 && m[1] != strings.TrimSuffix(names[0], strconv.Itoa(numbers[0])) {
			return nil
		}
		number, _ := strconv.Atoi(m[2]) // of at most nine digits
		if slices.Contains(numbers, number) {
			return nil
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// orderAlarm is the chance of taking labels for exchanged where chance alone is the reason, and surely as many standard
// deviations.
const orderAlarm = 1e-3

var surely = distuv.UnitNormal.Quantile(1 - orderAlarm)

// orderRows are as many rows as are looked at.
const orderRows = 10_000

// labelledScores are the logits and labels of rows that have both and count, of orderRows at most; nil where there are
// none.
func labelledScores(sets []*Set) (*mat.Dense, []int) {
	var rows [][]float64
	var labels []int
	for _, x := range sets {
		if x = x.ForFit(); x == nil || x.Logits == nil || x.Labels == nil {
			continue
		}
		for i, y := range x.Labels {
			rows, labels = append(rows, x.Logits.RawRowView(i)), append(labels, y)
		}
	}
	if rows == nil {
		return nil, nil
	}
	some := Spread(len(rows), orderRows)
	scores := mat.NewDense(len(some), len(rows[0]), nil)
	for k, i := range some {
		scores.SetRow(k, rows[i])
	}
	return scores, at(labels, some)
}

// Exchanged are the two classes whose labels fit the columns least as they are, by the rows of these two: z is by how
// many standard deviations the rows of a have larger differences s_a − s_b than those of b (Mann and Whitney 1947), and
// below surely chance alone has it so low at orderAlarm for all pairs together. A bias or a temperature of the logits
// is no matter.
func Exchanged(scores *mat.Dense, labels []int) (a, b int, z, surely float64) {
	_, classes := scores.Dims()
	of := make([][]int, classes)
	for i, y := range labels {
		of[y] = append(of[y], i)
	}
	seen := slices.DeleteFunc(UpTo(classes), func(c int) bool { return of[c] == nil })
	pairs := float64(len(seen)*(len(seen)-1)) / 2
	surely = distuv.UnitNormal.Quantile(orderAlarm / max(pairs, 1))
	for k, x := range seen {
		for _, y := range seen[k+1:] {
			n, m := float64(len(of[x])), float64(len(of[y]))
			if pairs > manyPairs && 3*n*m/(n+m+1) < surely*surely { // whatever the rows
				continue
			}
			differences := func(i int) float64 { return difference(scores.At(i, x), scores.At(i, y)) }
			if low := rankSum(Each(of[x], differences), Each(of[y], differences)); low < z {
				z, a, b = low, x, y
			}
		}
	}
	return a, b, z, surely
}

// rankSum is by how many standard deviations the values of a (n) rank above those of b (m), which it sorts:
//
//	(Σ_i r(a_i) − n(N+1)/2) / √(nm/12 · (N + 1 − Σ(t³−t)/(N(N−1)))),  N = n + m
//
// with midranks of ties of t values, 0 where all are equal (Mann and Whitney 1947).
func rankSum(a, b []float64) float64 {
	slices.Sort(a)
	slices.Sort(b)
	n, m := float64(len(a)), float64(len(b))
	sum, ties, below := 0.0, 0.0, 0.0
	for i, j := 0, 0; i < len(a) || j < len(b); {
		value := math.Inf(1)
		if i < len(a) {
			value = a[i]
		}
		if j < len(b) {
			value = min(value, b[j])
		}
		first, ofA, ofB := below, 0.0, 0.0
		for ; i < len(a) && !(a[i] > value); i++ {
			ofA++
		}
		for ; j < len(b) && !(b[j] > value); j++ {
			ofB++
		}
		t := ofA + ofB
		below += t
		sum += ofA * (first + (t+1)/2)
		ties += t*t*t - t
	}
	variance := n * m / 12 * (n + m + 1 - ties/((n+m)*(n+m-1)))
	if !(variance > 1e-12*(n+m)) {
		return 0
	}
	return (sum - n*(n+m+1)/2) / math.Sqrt(variance)
}

// manyPairs are so many that those of too few rows to tell are left out, and leaning is by how many standard deviations
// two classes fit better if they are exchanged where the rows do not tell: of 6000 problems in their right order of
// TestColumnsPermuted none does, and of 6000 with two classes exchanged all but one do.
const manyPairs, leaning = 10_000, 1

// difference is a − b, 0 of two classes that are both masked.
func difference(a, b float64) float64 {
	if a == b {
		return 0
	}
	return a - b
}

// midranks are the ranks of values, equal ones together.
func midranks(values []float64) []float64 {
	order := UpTo(len(values))
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(values[i], values[j]) })
	ranks := make([]float64, len(values))
	for lo, hi := 0, 0; lo < len(order); lo = hi {
		for hi = lo; hi < len(order) && values[order[hi]] == values[order[lo]]; hi++ {
		}
		for _, i := range order[lo:hi] {
			ranks[i] = float64(lo+hi-1) / 2
		}
	}
	return ranks
}

// columnRanks are the ranks of log p_ic within each column, from −1/2 to 1/2 (N×C).
func columnRanks(scores *mat.Dense) *mat.Dense {
	n, classes := scores.Dims()
	p := mat.DenseCopyOf(scores)
	for i := range n {
		row := p.RawRowView(i)
		floats.AddConst(-floats.LogSumExp(row), row)
	}
	for c := range classes {
		r := midranks(mat.Col(nil, c, p))
		floats.Scale(1/float64(n), r)
		floats.AddConst(-.5, r)
		p.SetCol(c, r)
	}
	return p
}

// betterOrder is by how many standard deviations labels whose columns are one fit the ranks better than if they are
// other.
func betterOrder(ranks *mat.Dense, labels, one, other []int) float64 {
	n, _ := ranks.Dims()
	gain := mat.NewDense(n, len(one), nil)
	gain.Apply(func(i, y int, _ float64) float64 { return ranks.At(i, one[y]) - ranks.At(i, other[y]) }, gain)
	return Agreement(gain, labels)
}

// fittingOrder is the column of each label: the largest mean rank first, each column once.
func fittingOrder(ranks *mat.Dense, labels []int) []int {
	_, classes := ranks.Dims()
	mean, counts := make([]float64, classes*classes), make([]float64, classes)
	for i, y := range labels {
		floats.Add(mean[y*classes:(y+1)*classes], ranks.RawRowView(i))
		counts[y]++
	}
	for k := range mean {
		mean[k] /= max(counts[k/classes], 1)
	}
	places := UpTo(len(mean))
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(mean[b], mean[a]) })
	columns := slices.Repeat([]int{-1}, classes)
	for _, at := range places {
		if y, k := at/classes, at%classes; columns[y] < 0 && !slices.Contains(columns, k) {
			columns[y] = k
		}
	}
	return columns
}

// Agreement is T = Σ_i ã_iy_i, ã_ic = q_ic − Σ_j q_jc / N, in its standard deviations if the labels are permuted:
//
//	Var T = Σ_i (Σ_c n_c ã_ic² − (Σ_c n_c ã_ic)²/N) / (N − 1)
func Agreement(q *mat.Dense, labels []int) float64 {
	n, classes := q.Dims()
	mean, counts := make([]float64, classes), make([]float64, classes)
	for i, y := range labels {
		floats.AddScaled(mean, 1/float64(n), q.RawRowView(i))
		counts[y]++
	}
	var sum, variance float64
	for i, y := range labels {
		row := q.RawRowView(i)
		sum += row[y] - mean[y]
		var squares, product float64
		for c, m := range counts {
			a := row[c] - mean[c]
			squares, product = squares+m*a*a, product+m*a
		}
		variance += squares - product*product/float64(n)
	}
	if variance /= float64(n - 1); !(variance > 1e-12*float64(n)) { // outputs that are equal but for rounding
		return 0
	}
	return sum / math.Sqrt(variance)
}
