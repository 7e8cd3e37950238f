package diagnosis

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// describer puts regions into words: by the cuts of features that come nearest to them, or, where none come
// near, by the features in which they differ most from all rows.
type describer struct {
	*exam
	features *mat.Dense
	mean, sd []float64
	columns  []int       // that rows are cut by, ascending
	cuts     coordinates // of the columns; none where nothing is described
	share    []float64   // of the rows, that are predicted to be of each class
}

func (x *exam) describer() *describer {
	d := &describer{exam: x, features: x.embedding, share: make([]float64, x.Classes)}
	if x.Features != nil {
		d.features = x.Features
	}
	d.mean, d.sd = checked.Moments(d.features)
	d.columns = slices.Sorted(slices.Values(checked.Descending(d.sd)[:min(len(d.sd), searchFeatures)]))
	for i := range x.N {
		d.share[x.Top[i]] += 1 / float64(x.N)
	}
	return d
}

// cutsOn are the coordinates of the columns, with cuts at the quantiles of some rows.
func (d *describer) cutsOn(on []int) coordinates {
	c := coordinates{rows: d.N, on: on}
	for k, added := range c.add(len(d.columns), func(dst []float64, from, i int) {
		row := d.features.RawRowView(i)
		for k := range dst {
			dst[k] = row[d.columns[from+k]]
		}
	}) {
		added.column = d.columns[k]
	}
	return c
}

// name is how a feature is called.
func (d *describer) name(j int) string {
	switch {
	case d.Features == nil:
		return fmt.Sprintf("direction %d", j)
	case d.Names != nil:
		return d.Names[j]
	}
	return fmt.Sprintf("feature %d", j)
}

const (
	namedFeatures = 3
	leastShift    = .5 // standard deviations that are worth a word
	// likeness (Jaccard's) of a region and its cuts that lets these stand for it, and what a further cut must add
	likeness, moreLikeness = .6, .03
	worthShare             = .5 // of a region, that is predicted to be of one class
)

// region is such as "feature 3 > 0.8, feature 7 < 1.2" or "feature 3 +1.9 sd, feature 7 −1.2 sd", with the class
// that its rows are predicted to be of more often than all.
func (d *describer) region(rows []int) string {
	text := d.cut(rows)
	if text == "" {
		text = d.shifted(rows)
	}
	predicted := make([]float64, d.Classes)
	for _, i := range rows {
		predicted[d.Top[i]] += 1 / float64(len(rows))
	}
	for c, share := range predicted {
		if share >= worthShare && share >= 1.5*d.share[c] {
			text += fmt.Sprintf("; predicted %s (%.0f %%)", nameOf(d.ClassNames, c), 100*share)
		}
	}
	return text
}

// cut is the cuts of features that are most like the rows, "" where nothing comes near.
func (d *describer) cut(rows []int) string {
	inside := make([]bool, d.N)
	for _, i := range rows {
		inside[i] = true
	}
	var chosen []condition
	within, like := checked.FirstToLast(d.N), 0.
	for range namedFeatures {
		k, l := d.cuts.likest(within, inside, len(rows))
		if l < like+moreLikeness {
			break
		}
		chosen, like = append(chosen, k), l
		within = slices.DeleteFunc(slices.Clone(within), func(i int) bool { return !d.cuts.holds(k, i) })
	}
	if like < likeness {
		return ""
	}
	return d.inWords(chosen)
}

// inWords is conditions in words, feature by feature.
func (d *describer) inWords(chosen []condition) string {
	low, high := map[int]string{}, map[int]string{}
	var order []int
	for _, k := range chosen {
		if !slices.Contains(order, k.coordinate) {
			order = append(order, k.coordinate)
		}
		if at := short(d.cuts.all[k.coordinate].cuts[k.cut]); k.above {
			low[k.coordinate] = at
		} else {
			high[k.coordinate] = at
		}
	}
	var words []string
	for _, j := range order {
		text := d.name(d.cuts.all[j].column)
		if low[j] != "" && high[j] == "" {
			words = append(words, text+" > "+low[j])
			continue
		}
		if low[j] != "" {
			text = low[j] + " < " + text
		}
		words = append(words, text+" < "+high[j])
	}
	return strings.Join(words, ", ")
}

// likest is the cut whose side is most like the rows inside, of which there are so many, and how much: |A∩B|/|A∪B|.
func (c *coordinates) likest(rows []int, inside []bool, many int) (best condition, like float64) {
	for j, of := range c.all {
		var hits, count [searchCuts]float64
		var allHits, all float64
		for _, i := range rows {
			b := of.bin[i]
			count[b]++
			all++
			if inside[i] {
				hits[b]++
				allHits++
			}
		}
		var h, n float64
		for b := range of.cuts {
			h, n = h+hits[b], n+count[b]
			if l := h / (float64(many) + n - h); l > like {
				best, like = condition{j, b, false}, l
			}
			if l := (allHits - h) / (float64(many) + all - n - allHits + h); l > like {
				best, like = condition{j, b, true}, l
			}
		}
	}
	return best, like
}

// shifted are the features in which rows differ most from all.
func (d *describer) shifted(rows []int) string {
	_, m := d.features.Dims()
	shift, size := make([]float64, m), make([]float64, m)
	for _, i := range rows {
		for j, v := range d.features.RawRowView(i) {
			if d.sd[j] > 0 {
				shift[j] += (v - d.mean[j]) / d.sd[j] / float64(len(rows))
			}
		}
	}
	for j, v := range shift {
		size[j] = math.Abs(v)
	}
	var words []string
	for k, j := range checked.Descending(size)[:min(namedFeatures, m)] {
		if k > 0 && size[j] < leastShift {
			break
		}
		words = append(words, strings.ReplaceAll(fmt.Sprintf("%s %+.1f sd", d.name(j), shift[j]), "-", "−"))
	}
	return strings.Join(words, ", ")
}

// short is a number in two digits that count.
func short(x float64) string {
	return strings.Replace(strconv.FormatFloat(rounded(x, 2), 'g', -1, 64), "-", "−", 1)
}

// rounded is x to so many digits that count.
func rounded(x float64, digits int) float64 {
	y, _ := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	return y
}

// span is such as "0.2 to 0.4", with as many digits as distinguish the two, or "above 0.99999".
func span(low, high float64) string {
	for digits := 3; digits <= 9; digits++ {
		a, b := strconv.FormatFloat(rounded(low, digits), 'f', -1, 64), strconv.FormatFloat(rounded(high, digits), 'f', -1, 64)
		if a != b && b == "1" && rounded(low, digits) > .9 {
			return "above " + a
		}
		if a != b {
			return a + " to " + b
		}
	}
	if high > .999999999 {
		return "of 1, but for less than 1e-9"
	}
	return "of " + strconv.FormatFloat(rounded(low, 9), 'f', -1, 64)
}
