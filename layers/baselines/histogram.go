package baselines

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gonum.org/v1/gonum/mat"
	"gorgonia.org/tensor"
)

// Histogram is one-vs-rest histogram binning (Zadrozny and Elkan 2001): p̂_k becomes
// the frequency of class k among the calibration rows of its bin, the results divided
// by their sum. The bins are those of equal size, cut at the quantiles of p̂_k; equal
// probabilities stay in one bin, so there may be fewer than asked for.
type Histogram struct {
	Bins int // of each class; 0: 15

	sizes layers.Sizes
	bins  []steps // x: the upper ends of the bins but the last, y: frequencies
}

var _ layers.Stateful = (*Histogram)(nil)

// Fit counts, class by class; there is nothing to stop early.
func (m *Histogram) Fit(_ context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	bins := m.Bins
	if bins == 0 {
		bins = 15
	}
	if bins < 0 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d bins make no histogram; choose at least 1", bins)}
	}
	sizes, err := sizesOf(cal)
	if err != nil {
		return err
	}
	p, err := probabilitiesOf(cal, sizes)
	if err != nil {
		return err
	}
	m.sizes, m.bins = sizes, make([]steps, sizes.Classes)
	for k := range m.bins {
		m.bins[k] = histogram(mat.Col(nil, k, p), indicator(cal.Labels, k), bins)
	}
	return nil
}

// Predict gives the normalized frequencies.
func (m *Histogram) Predict(x *data.Set) (*data.Predictions, error) {
	p, err := probabilitiesOf(x, m.sizes)
	if err != nil {
		return nil, err
	}
	for _, row := range rowsOf(p) {
		for k, v := range row {
			row[k] = m.bins[k].bin(v)
		}
	}
	return predictions(p, x.Labels), nil
}

// State is the ends and frequencies of all bins.
func (m *Histogram) State() (layers.State, error) {
	if m.bins == nil {
		return layers.State{}, errUnfitted
	}
	w := graph.NewWeights(tensor.Float64)
	addSteps(w, "histogram", m.bins)
	return stateOf(m.sizes, w)
}

// Restore sets them.
func (m *Histogram) Restore(s layers.State) error {
	sizes, err := readSizes(s.Config)
	if err != nil {
		return err
	}
	bins, err := readSteps(s.Weights, "histogram", sizes.Classes)
	if err != nil {
		return err
	}
	m.sizes, m.bins = sizes, bins
	return nil
}

// histogram is the mean target in bins of equal size of x. The x of a step is the
// largest value of its bin.
func histogram(x, target []float64, bins int) steps {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case x[i] < x[j]:
			return -1
		case x[i] > x[j]:
			return 1
		}
		return 0
	})
	var s steps
	for b, lo := 0, 0; b < bins && lo < len(order); b++ {
		hi := max((b+1)*len(order)/bins, lo+1)
		for hi < len(order) && x[order[hi]] == x[order[hi-1]] {
			hi++
		}
		var sum float64
		for _, i := range order[lo:hi] {
			sum += target[i]
		}
		s.x, s.y = append(s.x, x[order[hi-1]]), append(s.y, sum/float64(hi-lo))
		lo = hi
	}
	return s
}

// bin is the y of the first step whose x is not below v, or of the last.
func (s steps) bin(v float64) float64 {
	return s.y[min(sort.SearchFloat64s(s.x, v), len(s.y)-1)]
}
