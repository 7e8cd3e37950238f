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

// Model is what a model file holds: a method's name, the settings that are not its
// defaults, and its fitted state.
type Model struct {
	Method   string
	Settings map[string]string
	State    State
}

// WriteModel saves a fitted calibrator as one safetensors file, readable from
// Python's safetensors: the weights as tensors, and in the metadata the strings
// format, version, method and config (JSON). The file appears whole or not at all.
func WriteModel(path, method string, c Stateful) error {
	return WriteModelWith(path, method, nil, c)
}

// WriteModelWith is [WriteModel] of a method with settings of its own; the metadata then
// also has the string settings (JSON), without which the weights could not be understood.
func WriteModelWith(path, method string, settings map[string]string, c Stateful) error {
	s, err := c.State()
	if err != nil {
		return err
	}
	metadata := map[string]string{"format": modelFormat, "version": modelVersion, "method": method, "config": string(s.Config)}
	if len(settings) > 0 {
		text, err := json.Marshal(settings)
		if err != nil {
			return fmt.Errorf("layers: the settings of %s: %w", method, err)
		}
		metadata["settings"] = string(text)
	}
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
	var settings map[string]string
	if text := meta["settings"]; text != "" {
		if err := json.Unmarshal([]byte(text), &settings); err != nil {
			return nil, data.Inputf(path, "the model's settings cannot be read: %w", err)
		}
	}
	return &Model{Method: meta["method"], Settings: settings, State: State{json.RawMessage(meta["config"]), w}}, nil
}

// Restore puts the model's state into a calibrator of its method.
func (m *Model) Restore(into Stateful) error {
	if err := into.Restore(m.State); err != nil {
		return fmt.Errorf("the model does not fit its method %s: %w", m.Method, err)
	}
	return nil
}
