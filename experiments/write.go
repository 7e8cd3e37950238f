package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"calibra/data"
	"calibra/experiments/metrics"
	"calibra/layers"
)

// summary is metrics.json. It holds no time and no path, so that the same seed
// gives the same bytes.
type summary struct {
	Protocol  metrics.Protocol `json:"protocol"`
	Split     data.Protocol    `json:"split"`
	Method    string           `json:"method"`
	Seed      uint64           `json:"seed"`
	Embedding string           `json:"embedding"` // that of metrics.lce and metrics.mlce
	Metrics   metrics.Values   `json:"metrics"`
	Own       *local           `json:"own_embedding,omitempty"`
}

type local struct {
	LCE  float64 `json:"lce"`
	MLCE float64 `json:"mlce"`
}

// configuration is config.json.
type configuration struct {
	Spec
	Classes         int `json:"classes"`
	Features        int `json:"features"`
	CalibrationRows int `json:"calibration_rows"`
	ValidationRows  int `json:"validation_rows"`
	TestRows        int `json:"test_rows"`
	// Settings are all that the method was built with, defaults included.
	Settings map[string]any `json:"settings"`

	Program Program `json:"program"` // that fitted and measured
}

// PrepareDir makes sure that results can be written to dir, before any work is
// done for them. A failure is a *data.InputError, and undo removes what was made.
func PrepareDir(dir string) (undo func(), err error) {
	var made []string // dir and those of its parents that were not there, the deepest first
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(at); err == nil || at == filepath.Dir(at) {
			break
		}
		made = append(made, at)
	}
	undo = func() {
		for _, at := range made {
			os.Remove(at) // fails, as it should, if something else is in it
		}
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		undo()
		return nil, data.Inputf("", "the output directory %s cannot be made: %w", dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		undo()
		return nil, data.Inputf("", "the output directory %s cannot be written to: %w", dir, err)
	}
	probe.Close()
	os.Remove(probe.Name())
	return undo, nil
}

// WriteModel saves a model of the Spec's method, with the settings that it was built with
// and, where the rows it was fitted on are given, where those lay.
func (s Spec) WriteModel(path string, m layers.Stateful, cal *data.Set) error {
	model, err := layers.NewModel(s.Method, m)
	if err != nil {
		return err
	}
	if model.Settings, err = ParseValues(s.Set); err != nil {
		return err
	}
	if cal != nil {
		model.Inputs = layers.InputsOf(cal)
	}
	return model.Write(path)
}

// Write puts the run's files into dir, each whole or not at all. A run without an
// outcome has no metrics and no predictions; those of an earlier one are removed.
func (r *Run) Write(dir string) error {
	if err := r.Spec.WriteModel(filepath.Join(dir, "model.safetensors"), r.Model, r.Source.Cal); err != nil {
		return err
	}
	if r.Embed != nil {
		if err := r.Embed.WriteFile(filepath.Join(dir, "embedding.npz")); err != nil {
			return err
		}
	}
	if o := r.Outcome; o == nil {
		for _, name := range []string{"predictions.npz", "metrics.json"} {
			if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("experiments: remove what an earlier model predicted: %w", err)
			}
		}
	} else {
		arrays := o.Predictions.Arrays()
		if o.Shared != nil {
			arrays = append(arrays, data.Array{Name: "embedding", Value: o.Shared})
		}
		if o.Own != nil {
			arrays = append(arrays, data.Array{Name: "embedding_own", Value: o.Own})
		}
		if err := data.WriteNPZ(filepath.Join(dir, "predictions.npz"), arrays...); err != nil {
			return err
		}
		if err := writeJSON(filepath.Join(dir, "metrics.json"), r.summary()); err != nil {
			return err
		}
	}
	c := r.configuration()
	var err error
	if c.Program, err = ThisProgram(); err != nil {
		return err
	}
	return writeJSON(filepath.Join(dir, "config.json"), c)
}

func (r *Run) summary() summary {
	o := r.Outcome
	s := summary{
		Protocol: o.Metrics.Protocol, Split: r.Spec.Split, Method: r.Spec.Method, Seed: r.Spec.Seed,
		Embedding: "none", Metrics: o.Metrics.Values,
	}
	if o.Shared != nil {
		s.Embedding = "shared"
	}
	if o.OwnMetrics != nil && !math.IsNaN(o.OwnMetrics.Values[metrics.LCE]) {
		s.Own = &local{o.OwnMetrics.Values[metrics.LCE], o.OwnMetrics.Values[metrics.MLCE]}
	}
	return s
}

func (r *Run) configuration() configuration {
	rows := func(s *data.Set) int {
		if s == nil {
			return 0
		}
		return s.Len()
	}
	c := configuration{
		Spec: r.Spec, Classes: r.Source.Classes, CalibrationRows: rows(r.Source.Cal),
		ValidationRows: rows(r.Source.Val), TestRows: rows(r.Source.Test), Settings: map[string]any{},
	}
	for _, k := range r.Keys {
		c.Settings[k.Name] = k.Value
	}
	if x := r.Source.Cal.Features; x != nil {
		_, c.Features = x.Dims()
	}
	return c
}

func writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return data.WriteBytes(path, append(text, '\n'))
}
