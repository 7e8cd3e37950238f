package metrics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Metric names one number of a table. Its String is its key in every result file.
type Metric int

// The metrics, in the order of the result files.
const (
	Accuracy Metric = iota // share of rows whose top class is the label
	NLL                    // mean negative log-probability of the label, nats
	Brier                  // mean squared distance of the row to the one-hot label
	ECE                    // class-wise expected calibration error: key "ece", title "class-wise ECE"
	TopECE                 // expected calibration error of the top class's confidence: key "ece_top", title "ECE"
	MCE                    // class average of the largest gap of any bin
	ECCE                   // expected cumulative calibration error
	LCE                    // local calibration error
	MLCE                   // maximum local calibration error
	Metrics                // how many there are
)

var metricNames = [Metrics]struct{ key, title string }{
	{"accuracy", "ACC"}, {"nll", "NLL"}, {"brier", "Brier"}, {"ece", "class-wise ECE"}, {"ece_top", "ECE"},
	{"mce", "MCE"}, {"ecce", "ECCE"}, {"lce", "LCE"}, {"mlce", "MLCE"},
}

// String is the metric's key in result files: "accuracy", "ece", …
func (m Metric) String() string { return metricNames[m].key }

// Title is the metric's column head in tables: "ACC", "ECE", …
func (m Metric) Title() string { return metricNames[m].title }

// HigherIsBetter holds for accuracy alone.
func (m Metric) HigherIsBetter() bool { return m == Accuracy }

// Local reports whether the metric needs an embedding.
func (m Metric) Local() bool { return m == LCE || m == MLCE }

// Values holds one number per metric, NaN where it could not be measured: the
// local ones without an embedding, or when every local bin was too small.
type Values [Metrics]float64

// unmeasured is Values before anything is known.
func unmeasured() (v Values) {
	for m := range v {
		v[m] = math.NaN()
	}
	return v
}

// MarshalJSON writes an object with the metrics' keys, leaving out what could not be measured.
func (v Values) MarshalJSON() ([]byte, error) { return Object(v, nil) }

// Object has the values and then the values of own metrics, as in result files.
func Object(v Values, own []OwnValue) (json.RawMessage, error) {
	r := Report{Measurement: Measurement{Values: v, Own: own}}
	return r.object(func(m Measured) any { return m.Value })
}

// object has what was measured by its keys, in the order of the metrics.
func (r *Report) object(of func(Measured) any) (json.RawMessage, error) {
	var members [][]byte
	for _, m := range r.Measured() {
		value, err := json.Marshal(of(m))
		if err != nil {
			return nil, fmt.Errorf("metrics: write %s: %w", m.Key, err)
		}
		members = append(members, fmt.Appendf(nil, "%q:%s", m.Key, value))
	}
	return fmt.Appendf(nil, "{%s}", bytes.Join(members, []byte(","))), nil
}
