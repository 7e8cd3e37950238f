package baselines

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"

	"calibra/data"
	"calibra/graph"
	"calibra/layers"

	"gorgonia.org/tensor"
)

// ProCalBins is bin-mean-shift, ProCal's method for discrete maps (Xiong et al.
// 2023): the calibration rows are cut at the quantiles of proximity, and in each part
// a one-dimensional map of the confidence is fitted to whether the top class is right.
// Its value replaces the top probability and the others are scaled to what is left.
type ProCalBins struct {
	Neighbours int           // K; 0: 50
	Parts      int           // of proximity; 0: 5
	Map        confidenceMap // IsotonicMap{}, as nil, or HistogramMap{}

	proximal
	cuts []float64 // the upper ends of the parts but the last
	maps []steps
}

var _ layers.Stateful = (*ProCalBins)(nil)

// confidenceMap is the map of a part: [IsotonicMap] or [HistogramMap], which model files name.
type confidenceMap interface {
	fit(confidence, right, weights []float64, t ties) steps
	value(s steps, confidence float64) float64
	name() string
}

// IsotonicMap is isotonic regression.
type IsotonicMap struct{}

func (IsotonicMap) name() string { return "isotonic" }

// HistogramMap is the share of right rows in ten bins of equal size.
type HistogramMap struct{}

func (IsotonicMap) fit(confidence, right, weights []float64, t ties) steps {
	return isotonic(t.values(confidence), right, weights, t)
}
func (IsotonicMap) value(s steps, confidence float64) float64 { return s.at(confidence) }

func (HistogramMap) fit(confidence, right, weights []float64, t ties) steps {
	return histogram(t.values(confidence), right, weights, 10)
}
func (HistogramMap) value(s steps, confidence float64) float64 { return s.bin(confidence) }

func (HistogramMap) name() string { return "histogram" }

// Fit cuts the calibration rows and fits the maps; there is nothing to stop early, and
// interrupted it keeps nothing.
func (m *ProCalBins) Fit(ctx context.Context, cal, _ *data.Set, _ *rand.Rand) error {
	parts := cmp.Or(m.Parts, 5)
	if parts < 0 {
		return &layers.SettingError{Reason: fmt.Sprintf("%d parts of proximity; choose at least 1", parts)}
	}
	rows, err := m.fit(ctx, cal, m.Neighbours)
	if err != nil {
		return wrap("ProCal", err)
	}
	sorted := slices.Sorted(slices.Values(rows.proximity))
	m.cuts = nil
	for p := 1; p < parts; p++ {
		cut := sorted[max(p*len(sorted)/parts-1, 0)]
		if cut < sorted[len(sorted)-1] && (len(m.cuts) == 0 || cut > m.cuts[len(m.cuts)-1]) { // equal proximities share a part
			m.cuts = append(m.cuts, cut)
		}
	}
	in, hits, weights := make([][]float64, len(m.cuts)+1), make([][]float64, len(m.cuts)+1), make([][]float64, len(m.cuts)+1)
	for i, v := range rows.proximity {
		part := sort.SearchFloat64s(m.cuts, v)
		in[part], hits[part] = append(in[part], rows.confidence[i]), append(hits[part], rows.right[i])
		if rows.weights != nil {
			weights[part] = append(weights[part], rows.weights[i])
		}
	}
	m.maps = make([]steps, len(in))
	for part := range in {
		m.maps[part] = m.of().fit(in[part], hits[part], weights[part], tiesOf(cal))
	}
	return nil
}

func (m *ProCalBins) of() confidenceMap {
	if m.Map == nil {
		return IsotonicMap{}
	}
	return m.Map
}

// Predict replaces the top probability of each row.
func (m *ProCalBins) Predict(x *data.Set) (*data.Predictions, error) {
	return m.predict(x, func(confidence, proximity []float64) []float64 {
		out := make([]float64, len(confidence))
		for i, v := range confidence {
			out[i] = m.of().value(m.maps[sort.SearchFloat64s(m.cuts, proximity[i])], v)
		}
		return out
	})
}

// partsConfig is the configuration of a ProCalBins.
type partsConfig struct {
	layers.Sizes
	Cuts []float64 `json:"cuts"`
	Map  string    `json:"map"`
}

// State is the embedding, the calibration rows in it, and the maps.
func (m *ProCalBins) State() (layers.State, error) {
	if m.w == nil {
		return layers.State{}, layers.ErrUnfitted
	}
	w := graph.NewWeights(tensor.Float64)
	addSteps(w, "procal", m.maps)
	config, err := json.Marshal(partsConfig{m.sizes, m.cuts, m.of().name()})
	return layers.State{Config: config, Weights: graph.NewWeights(tensor.Float64).Join(m.w, w)}, err
}

// Restore sets them, and Map.
func (m *ProCalBins) Restore(s layers.State) error {
	var config partsConfig
	if err := json.Unmarshal(s.Config, &config); err != nil {
		return fmt.Errorf("baselines: the parts cannot be read: %w", err)
	}
	if !slices.IsSorted(config.Cuts) {
		return fmt.Errorf("baselines: the parts of proximity are not in order")
	}
	rest, near := s.Weights.Split(func(name string) bool { return strings.HasPrefix(name, "procal/") })
	of, err := readProximal(layers.State{Config: s.Config, Weights: near})
	if err != nil {
		return err
	}
	maps, err := readSteps(rest, "procal", len(config.Cuts)+1)
	if err != nil {
		return err
	}
	all := []confidenceMap{IsotonicMap{}, HistogramMap{}}
	i := slices.IndexFunc(all, func(of confidenceMap) bool { return of.name() == config.Map })
	if i < 0 {
		return fmt.Errorf("baselines: there is no map %q of the confidence", config.Map)
	}
	m.proximal, m.Map, m.cuts, m.maps = of, all[i], config.Cuts, maps
	return nil
}
