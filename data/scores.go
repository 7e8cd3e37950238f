package data

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Scores says what the arrays of logits hold.
type Scores string

// Logits are as a network gives them, up to a constant of each row; Probabilities are after its
// softmax. Doubtful may be either, and the user has to say which.
const (
	Logits        Scores = "logits"
	Probabilities Scores = "probabilities"
	Doubtful      Scores = "logits or probabilities"
)

// MaskDepth is how many nats below the largest logit of its row a logit is a mask: e^−745 is less than half
// of float64's least positive number, so that the softmax of such a logit is exactly 0. The class is then one
// that cannot be, at every temperature.
const MaskDepth = 745

// LeastProbability stands for a given probability of 0, which is a rounded one and no mask, where its row has none
// that is less. It is the floor of the metrics, so that the classifier as it is has the same loss before and after.
const LeastProbability = 1e-12

// LogProbs are the log-probabilities of each row of scores: log-softmax over the classes that are not masked, and −∞
// for masked classes ([MaskDepth] below the row's largest). If scores are log-probabilities already, it returns scores
// itself. A row that holds NaN or +∞, or only −∞, is NaN.
func LogProbs(scores *mat.Dense) *mat.Dense {
	n, c := scores.Dims()
	out := scores
	buffer := make([]float64, c)
	for i := range n {
		if row := scores.RawRowView(i); normalize(buffer, row) {
			if out == scores {
				out = mat.DenseCopyOf(scores)
			}
			copy(out.RawRowView(i), buffer)
		}
	}
	return out
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

// MaskedLabel is the first row whose label, or a class of its soft label, is masked by the logits, and the class; row is −1 where there is none.
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

// Judge tells probabilities from logits by all rows of an array: they are probabilities if each value lies in
// 0…1 and each row sums to 1, but for C times the rounding of the values. The zero value has seen none.
type Judge struct {
	rows, columns int
	sums          [2]float64 // the least and the largest of a row
	at            [2]int     // where they are
	summed        int        // rows that sum to 1 within closest
	outside       string     // the first value that is no probability, and where; "" if there is none
	zeros         int        // values of 0
	grain         grain
}

// closest is how near to 1 any row of probabilities sums, however fine its values: as a softmax of many
// classes in float32 does. loosest is how far from 1 a row may sum for all to be taken for probabilities
// without being asked.
const closest, loosest = 1e-4, 0.2

// Add shows rows to the judge; first is the number of the first row.
func (j *Judge) Add(m *mat.Dense, first int) {
	n, c := m.Dims()
	j.columns = c
	for i := range n {
		row := m.RawRowView(i)
		for k, v := range row {
			j.grain.add(v)
			switch {
			case v == 0:
				j.zeros++
			case j.outside == "" && !(v > 0 && v <= 1+1e-6): // as float32 rounds
				j.outside = fmt.Sprintf("%v at row %d, column %d", v, first+i, k)
			}
		}
		sum := floats.Sum(row)
		if j.rows == 0 || sum < j.sums[0] {
			j.sums[0], j.at[0] = sum, first+i
		}
		if j.rows == 0 || sum > j.sums[1] {
			j.sums[1], j.at[1] = sum, first+i
		}
		if j.rows++; math.Abs(sum-1) <= closest {
			j.summed++
		}
	}
}

// Looks says what the values look like, "" if there are none. Values are in doubt if they lie in 0…1 and their rows sum
// to about 1, or most of them to 1, but not all within the rounding.
func (j *Judge) Looks() Scores {
	switch far := max(1-j.sums[0], j.sums[1]-1); {
	case j.rows == 0:
		return ""
	case j.outside != "":
		return Logits
	case far <= min(j.allowed(), loosest):
		return Probabilities
	case far <= loosest || 2*j.summed >= j.rows:
		return Doubtful
	}
	return Logits
}

// allowed is how far from 1 a row of probabilities may sum.
func (j *Judge) allowed() float64 {
	return max(closest, float64(j.columns)*j.grain.rounding())
}

// accept returns an *InputError unless the array holds what as says it does.
func (j *Judge) accept(path, array string, as Scores) error {
	array += columnOf(path, array)
	switch far := j.allowed(); {
	case as == Doubtful:
		return Inputf(path, "%s may be logits or probabilities: its values lie in 0…1 and its rows sum to %.6g…%.6g; say which by --logits or --probabilities", array, j.sums[0], j.sums[1])
	case as != Probabilities:
		return nil
	case j.outside != "":
		return Inputf(path, "%s holds %s, which is no probability; hand over probabilities, or logits alone", array, j.outside)
	case 1-j.sums[0] > far:
		return Inputf(path, "row %d of %s sums to %.6g; probabilities must sum to 1: divide each row by its sum, if that is right", j.at[0], array, j.sums[0])
	case j.sums[1]-1 > far:
		return Inputf(path, "row %d of %s sums to %.6g; probabilities must sum to 1: divide each row by its sum, if that is right", j.at[1], array, j.sums[1])
	}
	return nil
}

// join makes j what would have seen the rows of both.
func (j *Judge) join(with *Judge) {
	if j.rows == 0 {
		*j = *with
		return
	}
	j.sums = [2]float64{min(j.sums[0], with.sums[0]), max(j.sums[1], with.sums[1])}
	j.zeros += with.zeros
	j.grain = grain{max(j.grain.decimals, with.grain.decimals), max(j.grain.bits, with.grain.bits)}
}

// said is what probabilities were read as, in words.
func (j *Judge) said() string {
	text := "probabilities, not logits"
	if max(1-j.sums[0], j.sums[1]-1) > closest {
		text += fmt.Sprintf(", rounded to %s (rows sum to %.4g…%.4g and are normalized)", &j.grain, j.sums[0], j.sums[1])
	}
	if j.zeros > 0 {
		text += fmt.Sprintf(", and %d of them are 0, read as %g", j.zeros, LeastProbability)
	}
	return text
}

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

// grainOf is that of all numbers of m.
func grainOf(m *mat.Dense) (g grain) {
	n, _ := m.Dims()
	for i := range n {
		for _, v := range m.RawRowView(i) {
			g.add(v)
		}
	}
	return g
}

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

// rounding is by how much a probability may be off: a unit of its last decimal, as it may be cut, or the unit
// roundoff of its type. Nobody rounds to one decimal: .5 and .4 are exact.
func (g *grain) rounding() float64 {
	if g.decimals <= mostDecimals {
		return math.Pow10(-max(g.decimals, 2))
	}
	return g.bits.rounding()
}

func (g *grain) String() string {
	if g.decimals <= mostDecimals {
		return fmt.Sprintf("%d decimals", max(g.decimals, 2))
	}
	return g.bits.String()
}

// take puts the log-probabilities of the logits, which hold scores, in their place.
func (s *Set) take(scores Scores) {
	if s.Resolution = resolutionOf(scores, s.Logits); scores == Probabilities {
		for i := range s.Logits.RawMatrix().Rows {
			row := s.Logits.RawRowView(i)
			sum, zero := floats.Sum(row), LeastProbability
			for _, p := range row {
				if p > 0 {
					zero = min(zero, p/sum)
				}
			}
			for k, p := range row {
				row[k] = math.Log(cmp.Or(p/sum, zero))
			}
		}
	}
	s.Logits = LogProbs(s.Logits)
}

// Looks says what the logits of all parts look like, "" if there are none. If parts look different, it returns an
// *InputError.
func (s *Source) Looks() (looks Scores, err error) {
	first := "" // array
	for name, set := range s.sets() {
		j, key := set.judge(), name+"_logits"
		switch now := j.Looks(); {
		case now == "":
		case first == "":
			looks, first = now, key
		case now == Doubtful || looks == Doubtful:
			looks = Doubtful
		case now != looks:
			return "", Inputf(s.Path, "%s holds %s and %s holds %s; hand over the same of all rows, or say which by --logits or --probabilities", first, looks, key, now)
		}
	}
	return looks, nil
}

// Looks says what the logits of the set look like, "" if there are none.
func (s *Set) Looks() Scores { return s.judge().Looks() }

// judge is that of the logits.
func (s *Set) judge() *Judge {
	j := &Judge{}
	if s.Logits != nil {
		j.Add(s.Logits, 0)
	}
	return j
}

// Settle replaces the logits of all parts by log-probabilities (see [LogProbs]). It reads them as given by as or, if as
// is "", as their values look. It records the answer in Scores and ReadAs. Values that may be either, a row that is no
// distribution, and a label of a masked class are an *InputError.
func (s *Source) Settle(as Scores) error {
	looks, err := s.Looks()
	if as == "" {
		if err != nil {
			return err
		}
		as = looks
	}
	s.Scores, s.ReadAs = as, string(as)
	all := &Judge{}
	for name, set := range s.sets() {
		if set.Logits == nil {
			continue
		}
		j := set.judge()
		if err := j.accept(s.Path, name+"_logits", as); err != nil {
			return err
		}
		all.join(j)
		set.take(as)
		if err := set.possible(s.Path, name, 0); err != nil {
			return err
		}
	}
	if as == Probabilities {
		s.ReadAs = all.said()
	}
	return nil
}

// mostRounding is how far from 1 rows of the logarithms of rounded probabilities sum. Those of other logits have other
// sums, which say nothing, and their probabilities are apart as the logits are.
const mostRounding = 1. / 64

// resolutionOf is [Set.Resolution] of scores m as a file has them. Equal probabilities of two rows, divided by the sums
// of their rows, are apart by what these differ.
func resolutionOf(of Scores, m *mat.Dense) (far float64) {
	n, _ := m.Dims()
	for i := range n {
		row := m.RawRowView(i)
		if of != Probabilities {
			far = max(far, math.Abs(floats.LogSumExp(row)))
			continue
		}
		sum := 0.0
		for _, p := range row {
			sum += max(p, LeastProbability)
		}
		far = max(far, math.Abs(sum-1))
	}
	if of != Probabilities && !(far <= mostRounding) {
		return 0
	}
	return far
}
