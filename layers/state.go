package layers

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"calibra/graph"
)

// SettingError is a setting that the data at hand does not allow.
type SettingError struct{ Reason string }

// Error is the reason, one sentence.
func (e *SettingError) Error() string { return e.Reason }

// ErrUnfitted is what a calibrator says that is used before it is fitted.
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
	var of struct {
		Sizes
		Earlier Sizes `json:"sizes"` // of Local Nets and kernel calibrations up to commit b9b6e2c
	}
	if err := json.Unmarshal(config, &of); err != nil {
		return of.Sizes, fmt.Errorf("layers: the sizes cannot be read: %w", err)
	}
	s := of.Sizes
	if s.Classes == 0 {
		s = of.Earlier
	}
	if s.Classes < 2 || len(s.Counts) != s.Classes || slices.ContainsFunc(s.Counts, func(n int) bool { return n < 0 }) {
		return s, fmt.Errorf("layers: sizes of %d classes with %d class counts make no calibrator", s.Classes, len(s.Counts))
	}
	return s, nil
}

// least are sizes as small as a map can start with, which tell the names of its weights.
func (s Sizes) least() Sizes {
	out := Sizes{Classes: 2, Counts: []int{1, 1}, Features: min(s.Features, 1)}
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
	if s.Stages < 0 || s.Nearest < 0 || s.Apart && (s.Stages > 1 || k%w != 0) || k%max(1, s.Stages) != 0 || s.Nearest > s.perBook() {
		return 0, fmt.Errorf("layers: %d codewords in %d stages do not give each of %d slots %d", k, s.Stages, w, s.Nearest)
	}
	return m / w, nil
}
