package experiments

import (
	"encoding/json"
	"strconv"
	"strings"

	"calibra/data"
)

// The settings that files of a run name apart, and studies vary.
const (
	slotsKey     = "codebook.slots"
	codewordsKey = "codebook.codewords"
	startKey     = "codebook.start"
)

// Slots is the w that the Spec sets, 0 where it leaves it open.
func (s Spec) Slots() int { return s.integer(slotsKey) }

// Codewords is the K that the Spec sets, 0 where it leaves it open.
func (s Spec) Codewords() int { return s.integer(codewordsKey) }

// Start is what the codebook's averages start from, "" where the Spec leaves it open.
func (s Spec) Start() string { return s.Value(startKey) }

// Value is a setting of the Spec, "" where it leaves it open.
func (s Spec) Value(key string) string { return s.values()[key] }

// values are the settings of Set; a word that is none has an empty value, of which whoever builds the method is told.
func (s Spec) values() Values {
	v := Values{}
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

// Others are the settings of the Spec without those of Slots, Codewords and Start.
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
	Shift     Shift        `json:"shift,omitempty"`
	Tune      bool         `json:"tune,omitempty"`
	Set       string       `json:"set,omitempty"` // besides those above
	Judging   Judging      `json:"judging,omitzero"`
}

func (s Spec) file() file {
	f := file{
		Method: s.Method, Data: s.Data, Split: s.Split, Seed: s.Seed, Slots: s.Slots(), Codewords: s.Codewords(), EMA: s.Start(),
		Encoder: s.Encoder, Fraction: s.Fraction, Shift: s.Shift, Tune: s.Tune, Set: s.Set, Judging: s.Judging,
	}
	rest := s.values()
	delete(rest, startKey)
	if f.Slots > 0 {
		delete(rest, slotsKey)
	}
	if f.Codewords > 0 {
		delete(rest, codewordsKey)
	}
	f.Set = rest.String()
	return f
}

// MarshalJSON writes the Spec.
func (s Spec) MarshalJSON() ([]byte, error) { return json.Marshal(s.file()) }

// UnmarshalJSON reads it.
func (s *Spec) UnmarshalJSON(text []byte) error {
	var f file
	if err := json.Unmarshal(text, &f); err != nil {
		return err
	}
	*s = Spec{
		Method: f.Method, Data: f.Data, Split: f.Split, Seed: f.Seed, Encoder: f.Encoder, Fraction: f.Fraction,
		Shift: f.Shift, Tune: f.Tune, Set: f.Set, Judging: f.Judging,
	}
	apart := Values{}
	if f.Slots > 0 {
		apart[slotsKey] = strconv.Itoa(f.Slots)
	}
	if f.Codewords > 0 {
		apart[codewordsKey] = strconv.Itoa(f.Codewords)
	}
	if f.EMA != "" {
		apart[startKey] = f.EMA
	}
	return s.Use(apart)
}
