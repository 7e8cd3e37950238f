package layers

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

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
	Inputs   *Inputs // of the rows it was fitted on; nil where the file does not say
}

// NewModel is a fitted calibrator as a file holds it. Settings and Inputs are left to be
// set.
func NewModel(method string, c Stateful) (*Model, error) {
	s, err := c.State()
	return &Model{Method: method, State: s}, err
}

// WriteModel saves a fitted calibrator as one file, see [Model.Write].
func WriteModel(path, method string, c Stateful) error {
	m, err := NewModel(method, c)
	if err != nil {
		return err
	}
	return m.Write(path)
}

// Write saves the model as one safetensors file, readable from Python's safetensors: the
// weights as tensors, the moments of Inputs under inputs/, and in the metadata the
// strings format, version, method, config (JSON) and, where there are any, settings
// (JSON). The file appears whole or not at all.
func (m *Model) Write(path string) error { return data.WriteFile(path, m.Encode) }

// Encode writes the bytes of that file.
func (m *Model) Encode(out io.Writer) error {
	metadata := map[string]string{"format": modelFormat, "version": modelVersion, "method": m.Method, "config": string(m.State.Config)}
	if len(m.Settings) > 0 {
		text, err := json.Marshal(m.Settings)
		if err != nil {
			return fmt.Errorf("layers: the settings of %s: %w", m.Method, err)
		}
		metadata["settings"] = string(text)
	}
	dt := m.State.Weights.Dtype()
	all := graph.NewWeights(dt).Join(m.State.Weights, m.Inputs.weights(dt))
	return graph.WriteSafetensors(out, all, metadata)
}

// ReadModel reads a model file. Whatever is wrong with it is a *data.InputError;
// whether the weights fit the method, its Restore decides.
func ReadModel(path string) (*Model, error) {
	file, err := data.ReadFile(path)
	if err != nil {
		return nil, err
	}
	w, meta, err := graph.ReadSafetensors(file)
	if err != nil {
		return nil, data.Inputf(path, "%w", err)
	}
	if meta["format"] != modelFormat {
		return nil, data.Inputf(path, "this safetensors file is not a Calibra model; write one with calibra fit")
	}
	if meta["version"] != modelVersion {
		return nil, data.Inputf(path, "the model has version %q and this program reads version %s: it is newer than this program or damaged; use the calibra that wrote it, or fit it again", meta["version"], modelVersion)
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
	inputs, weights := w.Split(func(name string) bool { return strings.HasPrefix(name, inputsPrefix) })
	return &Model{Method: meta["method"], Settings: settings, State: State{json.RawMessage(meta["config"]), weights}, Inputs: readInputs(inputs)}, nil
}

// Restore puts the model's state into a calibrator of its method.
func (m *Model) Restore(into Stateful) error {
	if err := into.Restore(m.State); err != nil {
		return fmt.Errorf("the model does not fit its method %s: %w", m.Method, err)
	}
	return nil
}
