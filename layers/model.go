package layers

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"calibra/data"
	"calibra/graph"
)

// modelFormat and modelVersion stand in the metadata of every model file.
const (
	modelFormat  = "calibra"
	modelVersion = "1"
)

// Model is what a model file holds: a method's name and its fitted state.
type Model struct {
	Method string
	State  State
}

// WriteModel saves a fitted calibrator as one safetensors file, readable from
// Python's safetensors: the weights as tensors, and in the metadata the strings
// format, version, method and config (JSON). The file appears whole or not at all.
func WriteModel(path, method string, c Stateful) error {
	s, err := c.State()
	if err != nil {
		return err
	}
	metadata := map[string]string{"format": modelFormat, "version": modelVersion, "method": method, "config": string(s.Config)}
	return data.WriteFile(path, func(out io.Writer) error {
		return graph.WriteSafetensors(out, s.Weights, metadata)
	})
}

// ReadModel reads a model file. Whatever is wrong with it is a *data.InputError;
// whether the weights fit the method, its Restore decides.
func ReadModel(path string) (*Model, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, data.Inputf(path, "the model cannot be read: %w", err)
	}
	w, meta, err := graph.ReadSafetensors(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	if meta["format"] != modelFormat {
		return nil, data.Inputf(path, "this safetensors file is not a Calibra model; write one with calibra fit")
	}
	if meta["version"] != modelVersion {
		return nil, data.Inputf(path, "the model has version %q, this program reads version %s; fit it again", meta["version"], modelVersion)
	}
	if !json.Valid([]byte(meta["config"])) {
		return nil, data.Inputf(path, "the model's configuration is no JSON")
	}
	return &Model{Method: meta["method"], State: State{json.RawMessage(meta["config"]), w}}, nil
}

// Restore puts the model's state into a calibrator of its method.
func (m *Model) Restore(into Stateful) error {
	if err := into.Restore(m.State); err != nil {
		return fmt.Errorf("the model does not fit its method %s: %w", m.Method, err)
	}
	return nil
}
