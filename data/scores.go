package data

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"calibra/graph/work"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Scores says what the numbers of a classifier are: its rows are read by it, once.
type Scores string

// Logits are as a network gives them, up to a constant of each row. LogProbabilities are after its log-softmax and are
// read as logits, Probabilities are after its softmax, on any scale: percentages and 0…256 too. OneVsRest are
// probabilities of each class against the rest, divided by the sums of their rows. Doubtful may be several of them, and
// the user has to say which.
const (
	Logits           Scores = "logits"
	LogProbabilities Scores = "log-probabilities"
	Probabilities    Scores = "probabilities"
	OneVsRest        Scores = "one-vs-rest"
	Doubtful         Scores = "what may be something else"
)

// sayWhich ends a question, and orSayWhich one after another way out.
const (
	sayWhich   = "; " + which
	orSayWhich = ", or " + which
	which      = "say which by --scores logits, probabilities, log-probabilities or one-vs-rest"
)

// UnmarshalText reads one of the four that a caller may say.
func (s *Scores) UnmarshalText(text []byte) error {
	if *s = Scores(text); !slices.Contains([]Scores{Logits, Probabilities, LogProbabilities, OneVsRest}, *s) {
		return fmt.Errorf("must be logits, probabilities, log-probabilities or one-vs-rest, not %q", text)
	}
	return nil
}

// raw is Logits of both that are read alike.
func (s Scores) raw() Scores {
	if s == LogProbabilities {
		return Logits
	}
	return s
}

// Normalized reports whether rows are divided by their sums.
func (s Scores) Normalized() bool { return s == Probabilities || s == OneVsRest }

// MaskDepth is how many nats below the largest logit of its row a logit is a mask: e^−745 is less than half
// of float64's least positive number, so that the softmax of such a logit is exactly 0. The class is then one
// that cannot be, at every temperature.
const MaskDepth = 745

// floors are what all probabilities below are read as, zeros too: they are rounded and no masks. That counts which no
// probability but 0, as the file has it, lies below: 1e-12, the floor of the metrics, so that the classifier as it is
// has the same loss before and after; else the least positive number of float32; else about that of float64, at which a
// number on a scale of 256 is no mask ([MaskDepth]).
var floors = [...]float64{1e-12, 0x1p-149, 1e-320}

// LogProbs are the log-probabilities of each row of scores: log-softmax over the classes that are not masked, and −∞
// for masked classes ([MaskDepth] below the row's largest). If scores are log-probabilities already, it returns scores
// itself. A row that holds NaN or +∞, or only −∞, is NaN.
func LogProbs(scores *mat.Dense) *mat.Dense {
	n, c := scores.Dims()
	var changed atomic.Bool
	other := sync.OnceValue(func() *mat.Dense { changed.Store(true); return mat.DenseCopyOf(scores) })
	work.Ranges(n, max(1, 1<<13/max(1, c)), func(lo, hi int) {
		buffer := make([]float64, c)
		for i := lo; i < hi; i++ {
			if normalize(buffer, scores.RawRowView(i)) {
				copy(other().RawRowView(i), buffer)
			}
		}
	})
	if !changed.Load() {
		return scores
	}
	return other()
}

// normalize writes the log-probabilities of a row to dst and reports whether they are others than the row.
// A row whose exponentials sum to 1 but for the rounding of float64 stays as it is, so that twice is once.
func normalize(dst, row []float64) (changed bool) {
	top, sum := floats.Max(row), 0.0
	for k, v := range row {
		if dst[k] = v; masks(v, top) {
			dst[k], changed = math.Inf(-1), changed || !math.IsInf(v, -1)
		}
		sum += math.Exp(dst[k] - top)
	}
	logSum := math.Log(sum)
	if math.Abs(top+logSum) <= float64(8+len(row))*0x1p-53 {
		return changed
	}
	for k, v := range dst {
		dst[k] = v - top - logSum // large logits lose no digits
	}
	return true
}

// masks reports whether a score is a mask in a row whose largest is top.
func masks(score, top float64) bool { return score-top < -MaskDepth }

// Masked reports whether the class of a log-probability cannot be.
func Masked(logProb float64) bool { return math.IsInf(logProb, -1) }

// MaskedLabel is the first row whose label, or a class of its soft label, is masked by the logits, and the class; row
// is −1 where there is none.
func (s *Set) MaskedLabel() (row, class int) {
	if s.Logits == nil || s.Labels == nil {
		return -1, 0
	}
	for i, y := range s.Labels {
		l := s.Logits.RawRowView(i)
		top := floats.Max(l)
		if y >= 0 && y < len(l) && masks(l[y], top) {
			return i, y
		}
		for k, v := range l {
			if s.Soft != nil && masks(v, top) && s.Soft.At(i, k) > 0 {
				return i, k
			}
		}
	}
	return -1, 0
}

// possible returns an *InputError where a row masks all classes, or that which its label names. The first row is first.
func (s *Set) possible(path, part string, first int) error {
	if s.Logits == nil {
		return nil
	}
	for i := range s.Logits.RawMatrix().Rows {
		if floats.HasNaN(s.Logits.RawRowView(i)) {
			return Inputf(path, "row %d of %s_logits%s masks every class; one at least must be possible", first+i, part, columnOf(path, part+"_logits"))
		}
	}
	i, k := s.MaskedLabel()
	if i < 0 {
		return nil
	}
	class := strconv.Itoa(k)
	if s.Names.Classes != nil {
		class += " (" + Printable(s.Names.Classes[k]) + ")"
	}
	return Inputf(path, "%s_labels%s says class %s in row %d, where %[1]s_logits%[5]s masks it, more than %[6]d nats below the row's largest; correct the label or the mask, divide all logits by one number if none is a mask, and of logarithms of 0 hand over the probabilities",
		part, columnOf(path, part+"_labels"), class, first+i, columnOf(path, part+"_logits"), MaskDepth)
}

// Judge tells by all rows of an array what its numbers are. The zero value has seen none.
//
//	a negative number, or one above 1, and no row like another   logits
//	no number above 0, the exponentials of each row sum to 1      log-probabilities
//	no negative number, each row sums to 1, 100 or 255…256        probabilities, but for C times the rounding of the values
//	log2 p, log10 p, odds … whose p sum to 1 in each row          a question
//	everything in 0…1, or sums that logits have by no chance      a question
//
// It never guesses between two of them: what may be either is Doubtful, and the user says it.
type Judge struct {
	rows, columns int
	least, most   float64    // of the values
	sums, logs    [2]float64 // the least and the largest sum of a row, and of the logarithms of the sums of exponentials
	at, logAt     [2]int     // where they are
	summed        [2]int     // rows that sum to 1, and to 100, within closest
	negative      string     // the first negative value, and where; "" if there is none
	outside       string     // likewise, one that is no probability
	zeros         int        // values of 0
	smallest      float64    // of the positive values
	single        bool       // each row has one value but 0, or none
	grain         grain
	told          [len(forms)]told
}

// closest is how near to 1 any row of probabilities sums, however fine its values: as a softmax of many
// classes in float32 does. loosest is how far from 1 a row may sum for all to be taken for probabilities
// without being asked.
const closest, loosest = 1e-4, 0.2

// few rows say nothing where other rows or the model do.
const few = 5

// Add shows rows to the judge; first is the number of the first row.
func (j *Judge) Add(m *mat.Dense, first int) {
	n, c := m.Dims()
	if j.rows == 0 {
		*j = Judge{least: math.Inf(1), most: math.Inf(-1), smallest: math.Inf(1), single: true, columns: c,
			sums: [2]float64{math.Inf(1), math.Inf(-1)}, logs: [2]float64{math.Inf(1), math.Inf(-1)}}
	}
	for i := range n {
		j.add(m.RawRowView(i), first+i)
	}
	j.rows += n
}

func (j *Judge) add(row []float64, i int) {
	sum, positive := floats.Sum(row), 0
	for k, v := range row {
		j.grain.add(v)
		switch {
		case v == 0:
			j.zeros++
			continue
		case v > 0:
			positive++
			j.smallest = min(j.smallest, v)
		case j.negative == "":
			j.negative = fmt.Sprintf("%v at row %d, column %d", v, i, k)
		}
		if j.outside == "" && !(v >= 0 && v <= 1+1e-6) { // as float32 rounds
			j.outside = fmt.Sprintf("%v at row %d, column %d", v, i, k)
		}
	}
	j.single = j.single && positive <= 1
	for k := range j.told {
		j.told[k].add(&forms[k], row, &j.grain)
	}
	j.least, j.most = min(j.least, floats.Min(row)), max(j.most, floats.Max(row))
	extend(&j.sums, &j.at, sum, i)
	extend(&j.logs, &j.logAt, floats.LogSumExp(row), i)
	for k, scale := range [...]float64{1, 100} {
		if math.Abs(sum/scale-1) <= closest {
			j.summed[k]++
		}
	}
}

// extend makes a range hold v of row i.
func extend(r *[2]float64, at *[2]int, v float64, i int) {
	if v < r[0] {
		r[0], at[0] = v, i
	}
	if v > r[1] {
		r[1], at[1] = v, i
	}
}

// scales are what the rows of probabilities sum to: 1, 100 of percentages, and 255 or 256 of a quantized softmax, whose
// 256 is cut to 255.
var scales = [...][2]float64{{1, 1}, {100, 100}, {255, 256}}

// scale is what all rows sum to but for their rounding; 0 where they have no such sum.
func (j *Judge) scale() float64 {
	if j.rows == 0 || j.negative != "" {
		return 0
	}
	for _, s := range scales {
		if allowed := 1 + min(j.allowed(s[0]), loosest); j.most <= s[1]*(1+1e-6) && j.sums[0] >= s[0]*(2-allowed) && j.sums[1] <= s[1]*allowed {
			return min(max((j.sums[0]+j.sums[1])/2, s[0]), s[1])
		}
	}
	return 0
}

// constant is what all of a number of rows sum to, as votes do, whatever it is, but for the rounding of large numbers;
// 0 where they differ.
func (j *Judge) constant() float64 {
	sum, off := (j.sums[0]+j.sums[1])/2, closest
	if allowed := 2 * j.allowed(sum); allowed < mostRounding {
		off = max(off, allowed)
	}
	if j.rows < few || j.negative != "" || !(j.sums[1]-j.sums[0] <= off*j.sums[0]) {
		return 0
	}
	return sum
}

// allowed is how far from the scale a row of probabilities may sum, as a share of it.
func (j *Judge) allowed(scale float64) float64 {
	return max(closest, float64(j.columns)*j.grain.rounding(scale))
}

// Looks says what the values look like, "" if there are none. Why says what may be several.
func (j *Judge) Looks() (looks Scores, why string) {
	switch {
	case j.rows == 0:
		return "", ""
	case j.scale() > 0:
		return Probabilities, ""
	case j.most <= 0 && max(-j.logs[0], j.logs[1]) <= closest:
		return LogProbabilities, ""
	}
	if why = cmp.Or(j.form(), j.doubt()); why != "" {
		return Doubtful, why
	}
	return Logits, ""
}

// named are numbers whose array says by its name that they are as, "" if it does not: that, unless the rows tell a form
// of probabilities.
func (j *Judge) named(as Scores) (looks Scores, why string) {
	if looks, why = j.Looks(); as == "" || why != "" && why == j.form() {
		return looks, why
	}
	return as, ""
}

// doubt says what speaks against logits, and the way out, "" for nothing.
func (j *Judge) doubt() string {
	whole, sums := j.grain.decimals == 0, fmt.Sprintf("rows sum to %.6g…%.6g", j.sums[0], j.sums[1])
	mostly := func(rows int) bool { return rows > 1 && 2*rows >= j.rows }
	c := float64(j.columns)
	switch {
	case j.negative == "" && j.most > 0 && j.most <= 1+closest: // fastText adds 1e-5 to each
		return "may be logits, probabilities, or probabilities of each class against the rest: its values lie in 0…1 and its " + sums + sayWhich
	case j.summed[0] == j.rows && j.rows > 1:
		return "may be 1 − m and m of a margin m: every row sums to 1, and it holds " + j.outside + "; put 0 in the place of 1 − m if m is a logit" + orSayWhich
	case mostly(j.summed[0]):
		return fmt.Sprintf("may be logits or probabilities: %d of %d rows sum to 1, and it holds %s%s", j.summed[0], j.rows, j.outside, sayWhich)
	case j.negative == "" && mostly(j.summed[1]):
		return fmt.Sprintf("may be logits or percentages: %d of %d rows sum to 100, and its %s%s", j.summed[1], j.rows, sums, sayWhich)
	case whole && j.negative == "" && j.most >= 100 && j.most <= 256:
		return fmt.Sprintf("may be logits or the output of a quantized network: it holds whole numbers up to %g, and its %s; convert them by their scale and zero point%s", j.most, sums, orSayWhich)
	case whole && j.least >= -128 && j.least < -64 && j.most <= 127 && j.rows >= few && j.sums[0] >= 256-129*c && j.sums[1] <= 256-127*c: // of q − 128 each
		return "may be the softmax of a quantized network: it holds whole numbers from −128 to 127, and its " + sums + "; add 128 to them" + orSayWhich
	case j.constant() > 0 && !j.single:
		return fmt.Sprintf("may be logits, votes or probabilities: no number is negative and every row sums to %.6g%s", j.constant(), sayWhich)
	}
	return ""
}

// accept returns an *InputError unless the array holds what as says it does; why is what it may be where that is
// Doubtful.
func (j *Judge) accept(path, array string, as Scores, why string) error {
	array += columnOf(path, array)
	switch {
	case as == Doubtful:
		return Inputf(path, "%s %s", array, why)
	case as == LogProbabilities && max(1-math.Exp(j.logs[0]), math.Exp(j.logs[1])-1) > j.allowed(1):
		i := 0
		if j.logs[1] > -j.logs[0] {
			i = 1
		}
		return Inputf(path, "row %d of %s sums to %.6g; the exponentials of log-probabilities must sum to 1: if these are logits, say --scores logits", j.logAt[i], array, math.Exp(j.logs[i]))
	case as == OneVsRest && j.negative != "":
		return Inputf(path, "%s holds %s, which is no probability; hand over probabilities, or logits alone", array, j.negative)
	case as != Probabilities || j.scale() > 0 || j.constant() > 0:
		return nil
	}
	far, end := j.allowed(1), 1
	if j.negative != "" || j.outside != "" && j.sums[0] <= 1+far {
		return Inputf(path, "%s holds %s, which is no probability; hand over probabilities, or logits alone", array, cmp.Or(j.negative, j.outside))
	}
	if 1-j.sums[0] > far {
		end = 0
	}
	return Inputf(path, "row %d of %s sums to %.6g; probabilities must sum to 1: divide each row by its sum, if that is right (--scores one-vs-rest does)", j.at[end], array, j.sums[end])
}

// Applied is what rows for a model that was fitted on scores are read as, where the caller says said: what may be
// several is what the model's rows were, and so are a few rows; doubt says where they seem to be no logits for all
// that. Rows that are something else are an *InputError. An old model does not record its scores.
func (j *Judge) Applied(path string, said, fitted Scores) (as Scores, doubt string, err error) {
	looks, _ := j.Looks()
	if as = cmp.Or(said, fitted); said == "" {
		doubt = j.form()
	}
	switch {
	case doubt != "" && fitted.Normalized():
		return "", "", Inputf(path, "test_logits %s", doubt)
	case looks == "" || as == "":
		return Logits, doubt, nil
	case said != "" && said.raw() != cmp.Or(fitted, Logits).raw():
		looks = said
	case said == "" && fitted.raw() == Logits && looks == Probabilities && j.rows >= few:
	case said == "" && fitted == Probabilities && looks.raw() == Logits:
	default:
		return as, doubt, nil
	}
	fitted = cmp.Or(fitted, Logits)
	hint := ""
	if said == "" && fitted.raw() == Logits {
		hint = " (--logits if these are logits)"
	}
	return "", "", Inputf(path, "test_logits holds %s and the model was fitted on %s; hand over %[2]s, or fit on %[1]s%[3]s",
		looks, fitted, hint)
}

// floor is that of floors for the rows.
func (j *Judge) floor() float64 {
	for _, f := range floors {
		if j.smallest >= f {
			return f
		}
	}
	return floors[len(floors)-1]
}

// said is what the rows were read as, in words.
func (j *Judge) said(as Scores, floor float64) string {
	var text string
	switch scale := cmp.Or(j.scale(), j.constant(), 1); {
	case !as.Normalized():
		return string(as)
	case as == OneVsRest:
		text = fmt.Sprintf("probabilities of each class against the rest (rows sum to %.4g…%.4g and are divided by their sums)", j.sums[0], j.sums[1])
	case scale > 1+loosest:
		text = fmt.Sprintf("probabilities on another scale, not logits, rounded to %s (rows sum to %.4g…%.4g and are divided by their sums)", j.grain.on(scale), j.sums[0], j.sums[1])
	case max(1-j.sums[0], j.sums[1]-1) > closest:
		text = fmt.Sprintf("probabilities, not logits, rounded to %s (rows sum to %.4g…%.4g and are normalized)", j.grain.on(1), j.sums[0], j.sums[1])
	default:
		text = "probabilities, not logits"
	}
	if j.zeros > 0 && floor > 0 {
		text += fmt.Sprintf(", and %d of them are 0, read as %.3g", j.zeros, floor)
	}
	return text
}

// resolution is [Set.Resolution] of rows that are read as as. Equal probabilities of two rows, divided by the sums of
// their rows, are apart by what these differ.
func (j *Judge) resolution(as Scores) float64 {
	switch far := max(-j.logs[0], j.logs[1]); {
	case j.rows == 0 || as == OneVsRest:
		return 0
	case as == Probabilities:
		scale := cmp.Or(j.scale(), j.constant(), 1)
		return max(1-j.sums[0]/scale, j.sums[1]/scale-1)
	case far <= mostRounding:
		return far
	}
	return 0
}

// mostRounding is how far from 1 rows of the logarithms of rounded probabilities sum. Those of other logits have other
// sums, which say nothing, and their probabilities are apart as the logits are.
const mostRounding = 1. / 64

// grain is how finely numbers are written: to so many decimals, or by a floating-point type.
type grain struct {
	decimals int // 0 before the first number that is not whole; more than mostDecimals: not by decimals
	bits     bits
}

// bits are the least of a type that holds all numbers; 0 is the coarsest.
type bits int

const (
	bfloat16 bits = iota
	float16
	float32s
	float64s
)

func (b bits) String() string { return [...]string{"bfloat16", "float16", "float32", "float64"}[b] }

// rounding is the unit roundoff of the type: 2⁻⁸ for the 8 bits of a bfloat16, and so on; 0 of float64.
func (b bits) rounding() float64 { return [...]float64{0x1p-8, 0x1p-11, 0x1p-24, 0}[b] }

// holds reports whether a number of the type is v.
func (b bits) holds(v float64) bool {
	single := float32(v)
	low := math.Float32bits(single)
	switch {
	case b == float64s:
		return true
	case float64(single) != v:
		return false
	case b == bfloat16:
		return low&(1<<16-1) == 0
	case b == float16:
		return low&(1<<13-1) == 0 && math.Abs(v) <= 65504 && math.Abs(v) >= 0x1p-14 || v*0x1p24 == math.Trunc(v*0x1p24) && math.Abs(v) < 0x1p-14
	}
	return true
}

// mostDecimals are the most that are told from a floating-point type.
const mostDecimals = 6

func (g *grain) add(v float64) {
	if math.IsInf(v, 0) { // every type has it
		return
	}
	for g.decimals <= mostDecimals && !decimalOf(v, g.decimals) {
		g.decimals++
	}
	for !g.bits.holds(v) {
		g.bits++
	}
}

// decimalOf reports whether v is a number of so many decimals, but for the rounding to float32.
func decimalOf(v float64, decimals int) bool {
	scaled := v * math.Pow10(decimals)
	return math.Abs(scaled-math.Round(scaled)) <= 0x1p-24*math.Abs(scaled)
}

// unit is the last digit of v.
func (g *grain) unit(v float64) float64 {
	if g.decimals <= mostDecimals {
		return math.Pow10(-g.decimals)
	}
	return math.Abs(v) * 2 * g.bits.rounding()
}

// rounding is by how much numbers on a scale may be off, as a share of it: a unit of the last decimal, as it may be
// cut, or the unit roundoff of their type. Nobody rounds probabilities to one decimal: .5 and .4 are exact.
func (g *grain) rounding(scale float64) float64 {
	if g.decimals <= mostDecimals {
		return math.Pow10(-g.told(scale)) / scale
	}
	return g.bits.rounding()
}

// told are the decimals that numbers on a scale are taken to have.
func (g *grain) told(scale float64) int {
	if scale == 1 {
		return max(g.decimals, 2)
	}
	return g.decimals
}

// on is the grain in words.
func (g *grain) on(scale float64) string {
	if g.decimals <= mostDecimals {
		return fmt.Sprintf("%d decimals", g.told(scale))
	}
	return g.bits.String()
}

// take puts the log-probabilities of the logits, which hold scores of this resolution, in their place.
func (s *Set) take(scores Scores, floor, resolution float64) {
	s.Scores, s.Resolution = scores, resolution
	if scores.Normalized() {
		s.Logits.Apply(func(_, _ int, p float64) float64 { return math.Log(max(p, floor)) }, s.Logits)
	}
	s.Logits = LogProbs(s.Logits)
}

// Judge has seen the logits of the set.
func (s *Set) Judge() *Judge {
	j := &Judge{}
	if s.Logits != nil {
		j.Add(s.Logits, 0)
	}
	return j
}

// Settle replaces the logits of all parts by log-probabilities (see [LogProbs]). It reads them as given by as or, if as
// is "", as the [Judge] tells of the part that has most rows; another part that may be several, or of a few rows, is
// read alike. Floor is that of a model, 0 for that of the rows. It records the answers in Scores, ReadAs and Floor.
// What may be several, a row that is no distribution, and a label of a masked class are an *InputError.
func (s *Source) Settle(as Scores) error {
	var (
		seen    = map[string]*Judge{}
		all     = &Judge{smallest: math.Inf(1)}
		largest string
		looks   Scores
		why     string
	)
	for name, set := range s.sets() {
		if j := set.Judge(); j.rows > 0 {
			seen[name] = j
			if all.join(j); largest == "" || j.rows > seen[largest].rows {
				largest = name
			}
		}
	}
	if as == "" && largest != "" {
		looks, why = seen[largest].named(s.named)
		as = looks
	}
	for _, j := range seen { // log-probabilities are logits, of which one part may hold others
		if other, _ := j.Looks(); looks == LogProbabilities && other != looks {
			as = Logits
		}
	}
	s.Scores, s.ReadAs = as, string(as)
	if as.Normalized() {
		s.Floor = cmp.Or(s.Floor, all.floor())
	}
	for name, set := range s.sets() {
		j := seen[name]
		if j == nil {
			continue
		}
		other, _ := j.Looks()
		told := looks != "" && looks != Doubtful && other != Doubtful && j.rows >= few
		if name != largest && told && other.raw() != looks.raw() {
			return Inputf(s.Path, "%s_logits holds %s and %s_logits holds %s; hand over the same of all rows, or say which by --scores", largest, looks, name, other)
		}
		if as == Doubtful {
			name = largest
		}
		if err := j.accept(s.Path, name+"_logits", as, why); err != nil {
			return err
		}
		set.take(as, s.Floor, j.resolution(as))
		if err := set.possible(s.Path, name, 0); err != nil {
			return err
		}
	}
	if as.Normalized() {
		s.ReadAs = all.said(as, s.Floor)
	}
	return nil
}

// join makes j what would have said of the rows of both.
func (j *Judge) join(with *Judge) {
	if j.rows == 0 {
		*j = *with
		return
	}
	j.rows += with.rows
	j.sums = [2]float64{min(j.sums[0], with.sums[0]), max(j.sums[1], with.sums[1])}
	j.most, j.smallest = max(j.most, with.most), min(j.smallest, with.smallest)
	for k, t := range with.told {
		j.told[k].rows, j.told[k].others = j.told[k].rows+t.rows, j.told[k].others+t.others
	}
	j.zeros += with.zeros
	j.grain = grain{max(j.grain.decimals, with.grain.decimals), max(j.grain.bits, with.grain.bits)}
}
