package layers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"calibra/graph"
	"calibra/optim"
)

// State is all that a fitted calibrator consists of.
type State struct {
	Config  json.RawMessage // sizes and settings, as the calibrator marshals them
	Weights *graph.Weights
}

// Stage is one part of a fit, as a report shows it.
type Stage struct {
	Name   string // "divide"
	Result optim.Result
	Time   time.Duration // wall time
}

// SettingError is a setting that the data at hand does not allow.
type SettingError struct{ Reason string }

// Error is the reason, one sentence.
func (e *SettingError) Error() string { return e.Reason }

// ErrUnfitted is the error of a calibrator that is used before it is fitted.
var ErrUnfitted = errors.New("layers: the calibrator is used before it is fitted")

// StateOf is the state of what consists of sizes and weights, which are nil before Fit.
func StateOf(s Sizes, w *graph.Weights) (State, error) {
	if w == nil {
		return State{}, ErrUnfitted
	}
	config, err := json.Marshal(s)
	return State{config, w}, err
}

// ReadSizes reads a base's configuration and refuses sizes that no fit produces.
func ReadSizes(config json.RawMessage) (Sizes, error) {
	var s Sizes
	if err := json.Unmarshal(config, &s); err != nil {
		return s, fmt.Errorf("layers: the sizes cannot be read: %w", err)
	}
	negative := slices.ContainsFunc(s.Counts, func(n float64) bool { return n < 0 })
	if s.Classes < 2 || len(s.Counts) != s.Classes || negative || s.Weighed < 0 || s.Features < 0 || s.Rows() < 1 {
		return s, fmt.Errorf("layers: sizes of %d classes with %d class counts make no calibrator", s.Classes, len(s.Counts))
	}
	return s, nil
}

// least are sizes as small as a map can start with, which determine the names of its weights.
func (s Sizes) least() Sizes {
	out := Sizes{Classes: 2, Counts: []float64{1, 1}, Features: min(s.Features, 1)}
	if s.Slots != 0 {
		out.Features, out.Slots, out.Codewords = 1, 1, 1 // names need no shares
	}
	return out
}

// SlotWidth is M/w, of sizes that make a divided space.
func (s Sizes) SlotWidth() (int, error) {
	m, w, k := s.Features, s.Slots, s.Codewords
	if w < 1 || k < 1 || m < 1 || m%w != 0 {
		return 0, fmt.Errorf("layers: %d features, %d slots and %d codewords do not make a divided space", m, w, k)
	}
	if s.Each < 0 || s.Each > k || s.Share < 0 {
		return 0, fmt.Errorf("layers: %d codewords do not give a slot %d codes with shares of %g", k, s.Each, s.Share)
	}
	of := 0
	for _, own := range s.Tables {
		of += own
	}
	if s.Tables != nil && (len(s.Tables) != w || of != k || slices.Min(s.Tables) < 1) {
		return 0, fmt.Errorf("layers: tables of %v codewords are not those of %d slots with %d in all", s.Tables, w, k)
	}
	return m / w, nil
}
