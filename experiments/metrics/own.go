package metrics

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"

	"calibra/experiments/internal/checked"

	"gonum.org/v1/gonum/mat"
)

// Own is a metric of another module. It has an interval, a noise floor and a
// paired test like the metrics of this package. One of Row and All is set.
type Own struct {
	Key   string // in result files: lower-case letters, digits and underscores
	Title string // in tables; "": Key
	// HigherIsBetter marks that it is no error.
	HigherIsBetter bool
	// Row is the metric of one row, from its C log-probabilities (−Inf is a probability of 0) and
	// its label; the metric of all rows is their mean. NaN from Row or All means that the value cannot
	// be measured; tables leave it out. An infinity is an error.
	Row func(logProbs []float64, label int) float64
	// All is the metric of all rows together (logProbs N×C), which count by weight: how often a
	// row was drawn, times its own weight; weight is never nil. The arguments are to be left as they are; calls may be at the same time.
	All func(logProbs *mat.Dense, labels []int, weight []float64) float64
}

// OwnValue is an Own as it was measured.
type OwnValue struct {
	Own
	Value      float64   // NaN where it could not be measured
	Rows       []float64 // N: Row of each row, by its weight, on which two methods are compared by [Compare]; nil without Row
	Interval   Interval  // 95 %; NaN without the bootstrap
	Replicates []float64 // as [Report.Replicates]
	// Without are the values without each of up to 40 parts of the rows in turn, which depend on
	// nothing but their number: see [CompareReplicates]. Nil without Replicates.
	Without []float64
	Noise   *Noise // nil where there is none
}

// Head is how tables write it.
func (o Own) Head() string { return cmp.Or(o.Title, o.Key) }

// Like is a metric of this package that is written with as many digits and is better on the
// same side.
func (o Own) Like() Metric {
	if o.HigherIsBetter {
		return Accuracy
	}
	return NLL
}

var ownKey = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// CheckOwn returns an error where metrics lack something, or two have one key.
func CheckOwn(all []Own) error {
	seen := map[string]bool{}
	for m := range Metrics {
		seen[m.String()] = true
	}
	for _, o := range all {
		switch {
		case !ownKey.MatchString(o.Key):
			return fmt.Errorf("the key of a metric is %q; it must be lower-case letters, digits and underscores", o.Key)
		case seen[o.Key]:
			return fmt.Errorf("there are two metrics with the key %q", o.Key)
		case (o.Row == nil) == (o.All == nil):
			return fmt.Errorf("the metric %s must have one of Row and All", o.Key)
		}
		seen[o.Key] = true
	}
	return nil
}

// own measures o of a variant of the rows. All takes a row of soft label as one row for each of its classes.
func (b *binned) own(o Own, as variant) float64 {
	if o.All != nil && as.Shares != nil {
		var rows, labels []int
		var weight []float64
		for i, w := range as.weight {
			as.EachShare(i, func(c int, q float64) {
				rows, labels, weight = append(rows, i), append(labels, c), append(weight, w*q)
			})
		}
		return o.All(checked.RowsOf(b.Log, rows), labels, weight)
	}
	if o.All != nil {
		labels := make([]int, b.N)
		for i, y := range as.Label {
			labels[i] = int(y)
		}
		return o.All(b.Log, labels, as.weight)
	}
	var sum, n float64
	for i, w := range as.weight {
		if w > 0 {
			sum += w * b.ownRow(o, i, as.Truth)
			n += w
		}
	}
	return sum / n
}

// ownRow measures o of row i.
func (b *binned) ownRow(o Own, i int, of checked.Truth) (sum float64) {
	of.EachShare(i, func(c int, q float64) { sum += q * o.Row(b.Log.RawRowView(i), c) })
	return sum
}

// ownInterval is the interval of the mean of o.Row: of a share where each row is 0 or 1.
func (b *binned) ownInterval(o Own) Interval {
	x, hits := make([]float64, b.N), true
	for i := range x {
		x[i] = b.ownRow(o, i, b.Truth)
		hits = hits && (x[i] == 0 || x[i] == 1)
	}
	if hits {
		return b.shareInterval(x)
	}
	return meanInterval(b.observations(x))
}

// ownValues are Settings.Own of the rows as they are, whose predictions they leave as they are.
func (b *binned) ownValues() ([]OwnValue, error) {
	var all []OwnValue
	for _, o := range b.settings.Own {
		before := mat.DenseCopyOf(b.Log)
		v := OwnValue{Own: o, Interval: noInterval}
		if o.Row != nil {
			v.Rows = make([]float64, b.N)
			for i := range v.Rows {
				v.Rows[i] = b.ownRow(o, i, b.Truth)
			}
			v.Value = checked.Mean(b.Plain(v.Rows))
		} else {
			as := b.observed()
			v.Value = b.own(o, as)
			if !slices.Equal(as.weight, b.observed().weight) {
				return nil, fmt.Errorf("metrics: the metric %s changes the weights that it is given: let it work on a copy", o.Key)
			}
		}
		if !mat.Equal(before, b.Log) {
			return nil, fmt.Errorf("metrics: the metric %s changes the log-probabilities that it is given: let it work on a copy", o.Key)
		}
		if math.IsInf(v.Value, 0) {
			return nil, fmt.Errorf("metrics: the metric %s of these rows is %v; give a number, or NaN where it cannot be measured", o.Key, v.Value)
		}
		all = append(all, v)
	}
	return all, nil
}

// spread fills in the uncertainty, by the value of each variant.
func (v *OwnValue) spread(from *variants, x []float64) {
	if from.firstPart() > 0 {
		v.Replicates, v.Without = x[:from.firstPart()], x[from.firstPart():from.firstRedraw()]
		v.Interval = around(v.Value, v.Replicates, from.wider())
	}
	if redraws := x[from.firstRedraw():]; len(redraws) > 0 {
		v.Noise = newNoise(v.Like(), v.Value, redraws)
	}
}

// variants are the rows as resampled by each seed, without each part in turn, and with redrawn labels.
type variants struct {
	*binned
	seeds   []uint64
	parts   int   // 0 without seeds, or metrics from outside
	place   []int // of each row in the order that the parts are dealt
	redrawn []ids // T×N
}

// variants draws them, as many as r sets.
func (b *binned) variants(r *Report, rng *rand.Rand) *variants {
	v := &variants{binned: b, seeds: make([]uint64, r.Uncertainty.Replicates)}
	for k := range v.seeds {
		v.seeds[k] = rng.Uint64()
	}
	v.redrawn = b.redraw(r.Uncertainty.Redraws, rng)
	if len(v.seeds) > 0 && r.Own != nil {
		v.parts, v.place = min(mostParts, b.N), rand.New(rand.NewPCG(0, 8)).Perm(b.N)
	}
	return v
}

func (v *variants) firstPart() int { return len(v.seeds) }

func (v *variants) firstRedraw() int { return len(v.seeds) + v.parts }

func (v *variants) count() int { return v.firstRedraw() + len(v.redrawn) }

// drawn counts how often each row is drawn, with its group where there are groups.
func (b *binned) drawn(rng *rand.Rand) []float64 {
	if b.groups == nil {
		return multiplicities(b.N, rng)
	}
	count, rows := multiplicities(slices.Max(b.groups)+1, rng), make([]float64, b.N)
	for i, g := range b.groups {
		rows[i] = count[g]
	}
	return rows
}

// at is the k-th of them.
func (v *variants) at(k int) variant {
	as := v.observed()
	switch part := k - v.firstPart(); {
	case part < 0:
		as.weight = v.Times(v.drawn(rand.New(rand.NewPCG(v.seeds[k], 0))))
	case part < v.parts:
		for i, at := range v.place {
			if at%v.parts == part {
				as.weight[i] = 0
			}
		}
	default:
		as.Truth = checked.Truth{Label: v.redrawn[part-v.parts].all(v.N)}
	}
	return as
}
