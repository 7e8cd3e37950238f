package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"calibra/data"
	"calibra/experiments/method"
	"calibra/experiments/metrics"
	"calibra/experiments/source"
	"calibra/graph"
)

// Spec describes one run completely: the same Spec on the same data gives the same
// bytes.
type Spec struct {
	Method  string
	Data    string // where the features came from
	Split   data.Holdout
	Seed    uint64
	Encoder string // of the Encoders, where the data are raw
	// Fraction of the calibration rows that is fitted on, stratified; 0 means all.
	Fraction float64
	// Shift judges on shifted rows in place of the test rows; fit and validation rows
	// stay in distribution. "" is no shift.
	Shift source.Shift
	// Set holds the settings of the method, "codebook.slots=32 optim.rate=3e-4"; what it does
	// not name has its default.
	Set string
	// Judging says by what the run is judged besides the values of the metrics.
	Judging Judging
	// Catalog is where Method is looked up; nil means Methods.
	Catalog *method.Catalog
	// Executor is where fits and kernel sums run; nil means in this process.
	Executor Executor
}

// Judging says by what runs are judged besides the values of the metrics, and on which rows.
// The zero value adds nothing, on the rows of the Spec's own split.
type Judging struct {
	// Split prepares the problem for Specs with different splits, so all share one
	// embedding. "" is the Spec's own split.
	Split data.Holdout `json:"split,omitempty"`
	// Replicates is the number of bootstrap replicates behind intervals, of the same resamples
	// in every run, which makes replicates of two runs pairs; 0 for none.
	Replicates int `json:"replicates,omitempty"`
	// Redraws is the number of label redraws behind noise floors, of strata by density too; 0
	// for none.
	Redraws int `json:"redraws,omitempty"`
	// Anchors is at how many of the test rows the local metrics are measured, where there are
	// more; 0 means at all.
	Anchors int `json:"anchors,omitempty"`
	// HeldOut also measures the NLL on a fifth of the calibration rows, after a fit to the others, so that settings can
	// be chosen without the test rows.
	HeldOut bool `json:"held_out,omitempty"`
	// Locality also measures the local calibration error at other bandwidths and along the codes, see [Locality].
	Locality bool `json:"locality,omitempty"`
	// Folds is into how many folds one labelled set is divided, each row to be predicted by a fit to the others; 0: the
	// rows are divided already.
	Folds int `json:"folds,omitempty"`
	// Within says which rows stay in one fold; "" means equal rows.
	Within Within `json:"within,omitempty"`
}

// Within says which rows stay in one fold.
type Within string

// WholeGroups keeps the rows of a group in one fold, which then are one observation.
const WholeGroups Within = "groups"

// uncertainty is what the metrics are asked for.
func (j Judging) uncertainty() metrics.Uncertainty {
	orNone := func(n int) int {
		if n == 0 {
			return metrics.None
		}
		return n
	}
	return metrics.Uncertainty{Replicates: orNone(j.Replicates), Redraws: orNone(j.Redraws)}
}

// Judged is the split that the Spec's problem is prepared by.
func (s Spec) Judged() data.Holdout { return cmp.Or(s.Judging.Split, s.Split) }

// Executor runs fits and the kernel sums of measurements.
type Executor interface {
	graph.Executor
	metrics.Executor
}

// Use adds the settings v of the method to Set. A setting that Set has with another value
// is a *data.InputError.
func (s *Spec) Use(v method.Values) error {
	set := s.values()
	for _, key := range v.Names() {
		if text, there := set[key]; there && text != v[key] {
			return data.Inputf("", "%s is set to %s and to %s; set it once", key, v[key], text)
		}
	}
	s.Set = set.With(v).String()
	return nil
}

// Possible reports whether the method has all settings of Set.
func (s Spec) Possible() bool {
	m, err := s.Catalog.Find(s.Method)
	if err != nil {
		return false
	}
	o, err := s.options(nil, nil)
	if err == nil {
		_, _, err = m.Build(o)
	}
	return err == nil
}

// Measuring are the settings of the run's metrics.
func (s Spec) Measuring() (metrics.Settings, error) {
	m, err := method.Measuring(s.values())
	m.Executor, m.Own = s.Executor, s.Catalog.Metrics()
	if s.Judging.Anchors > 0 {
		m.Anchors = s.Judging.Anchors
	}
	return m, err
}

// Chosen are the settings of the Spec that are not the defaults of its method for so many features.
func (s Spec) Chosen(features int) method.Values {
	v := s.values()
	m, err := s.Catalog.Find(s.Method)
	if err != nil {
		return v
	}
	for _, k := range m.Settings(method.Options{Catalog: s.Catalog, Values: maps.Clone(v), Features: features}) {
		if v[k.Name] == fmt.Sprint(k.Default) {
			delete(v, k.Name)
		}
	}
	return v
}

// Resolve writes down the sizes of the codebook that the Spec leaves open, of the settings
// that its method was built with.
func (s Spec) Resolve(keys []method.Key) Spec {
	sizes := method.Values{}
	for _, k := range keys {
		if _, words := k.Value.(string); words && k.Name != method.StartKey {
			continue // depends on data that are not there
		}
		if k.Name == method.SlotsKey || k.Name == method.CodewordsKey || k.Name == method.StartKey {
			sizes[k.Name] = fmt.Sprint(k.Value)
		}
	}
	s.Set = s.values().With(sizes).String()
	return s
}

// options are what the method is built with for these rows.
func (s Spec) options(cal *data.Set, observe method.Observer) (method.Options, error) {
	o := method.Options{Catalog: s.Catalog, Observe: observe, Executor: s.Executor}
	if cal != nil && cal.Features != nil {
		_, o.Features = cal.Features.Dims()
	}
	var err error
	o.Values, err = method.ParseValues(s.Set)
	return o, err
}

// Slots is the w that the Spec sets, 0 where it leaves it open.
func (s Spec) Slots() int { return s.integer(method.SlotsKey) }

// Codewords is the K that the Spec sets, 0 where it leaves it open.
func (s Spec) Codewords() int { return s.integer(method.CodewordsKey) }

// Start is the start of the codebook's averages, "" if the Spec leaves it open.
func (s Spec) Start() string { return s.Value(method.StartKey) }

// Value is a setting of the Spec, "" where it leaves it open.
func (s Spec) Value(key string) string { return s.values()[key] }

// values are the settings of Set; a word that is none has an empty value, of which whoever builds the method is told.
func (s Spec) values() method.Values {
	v := method.Values{}
	for word := range strings.FieldsSeq(s.Set) {
		key, value, _ := strings.Cut(word, "=")
		v[key] = value
	}
	return v
}

func (s Spec) integer(key string) int {
	n, err := strconv.Atoi(s.Value(key))
	if err != nil {
		return 0
	}
	return n
}

// Others are the settings of the Spec except Slots, Codewords and Start.
func (s Spec) Others() string { return s.file().Set }

// file is a Spec as config.json and the files of a study keep it.
type file struct {
	Method    string       `json:"method"`
	Data      string       `json:"data"`
	Split     data.Holdout `json:"split"`
	Seed      uint64       `json:"seed"`
	Slots     int          `json:"slots,omitempty"`
	Codewords int          `json:"codewords,omitempty"`
	EMA       string       `json:"ema,omitempty"`
	Encoder   string       `json:"encoder,omitempty"`
	Fraction  float64      `json:"calibration_fraction,omitempty"`
	Shift     source.Shift `json:"shift,omitempty"`
	Set       string       `json:"set,omitempty"` // besides those above
	Judging   Judging      `json:"judging,omitzero"`
}

func (s Spec) file() file {
	f := file{
		Method: s.Method, Data: s.Data, Split: s.Split, Seed: s.Seed, Slots: s.Slots(), Codewords: s.Codewords(), EMA: s.Start(),
		Encoder: s.Encoder, Fraction: s.Fraction, Shift: s.Shift, Set: s.Set, Judging: s.Judging,
	}
	rest := s.values()
	delete(rest, method.StartKey)
	if f.Slots > 0 {
		delete(rest, method.SlotsKey)
	}
	if f.Codewords > 0 {
		delete(rest, method.CodewordsKey)
	}
	f.Set = rest.String()
	return f
}

func (s Spec) MarshalJSON() ([]byte, error) { return json.Marshal(s.file()) }

func (s *Spec) UnmarshalJSON(text []byte) error {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = Spec{
		Method: f.Method, Data: f.Data, Split: f.Split, Seed: f.Seed, Encoder: f.Encoder, Fraction: f.Fraction,
		Shift: f.Shift, Set: f.Set, Judging: f.Judging,
	}
	apart := method.Values{}
	if f.Slots > 0 {
		apart[method.SlotsKey] = strconv.Itoa(f.Slots)
	}
	if f.Codewords > 0 {
		apart[method.CodewordsKey] = strconv.Itoa(f.Codewords)
	}
	if f.EMA != "" {
		apart[method.StartKey] = f.EMA
	}
	return s.Use(apart)
}
